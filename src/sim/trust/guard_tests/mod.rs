//! The guard in the model denies what the API server denies, and every hole in it is noticed by a row.

mod controller;
// A row is a line.
#[rustfmt::skip]
mod holes;
mod replacing;
mod row;
mod rows;
#[rustfmt::skip]
mod staged;

use serde_json::Value;

use self::rows::wrong;
use super::guard::{self, CelGuard};

#[test]
fn guard_in_model_denies_as_api_server() {
    let guard = CelGuard::of(&guard::manifests().expect("manifests")).expect("the guard");
    let wrong = wrong(&guard);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn guard_in_model_is_deployed_guard() {
    let kustomization: Value =
        serde_saphyr::from_str(include_str!("../../../../deploy/guard/kustomization.yaml")).expect("YAML");
    let files: Vec<&str> = guard::MANIFESTS.iter().map(|(file, _)| *file).collect();
    let mut deployed: Vec<&str> = kustomization["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    deployed.sort_unstable_by_key(|file| files.iter().position(|known| known == file));
    assert_eq!(deployed, files);
    assert_eq!(guard::manifests().expect("manifests").len(), 5);
    assert_eq!(holes::unbound(&guard::MANIFESTS), [""; 0]);
}
