//! The guard in the model denies what the API server denies, and every hole in it is noticed by a row.

mod controller;
// A row is a line.
#[rustfmt::skip]
mod holes;
mod replacing;
#[rustfmt::skip]
mod staged;

use serde_json::{Value, json};

use super::guard::{self, CelGuard};

/// A request, and the policy and validation that deny it.
struct GuardRow {
    what: String,
    request: Value,
    old: Value,
    object: Value,
    /// The ClaimRollouts of the namespace.
    rollouts: Vec<Value>,
    expected: Option<String>,
}

/// The request of a user.
fn request(user: &str, operation: &str, subresource: &str, resource: (&str, &str)) -> Value {
    json!({
        "resource": {"group": resource.0, "version": "v1", "resource": resource.1}, "subResource": subresource,
        "namespace": "shop", "operation": operation, "options": {}, "userInfo": {"username": user},
    })
}

const SETS: (&str, &str) = ("apps", "statefulsets");

fn rows() -> Vec<GuardRow> {
    [staged::rows(), replacing::rows(), controller::rows()]
        .into_iter()
        .flatten()
        .collect()
}

/// The rows that the guard answers otherwise.
fn wrong(guard: &CelGuard) -> Vec<String> {
    let wrong = |row: GuardRow| {
        let denial = guard.denial_among(&row.rollouts, &row.request, &row.object, &row.old);
        let GuardRow {
            what, expected, object, ..
        } = row;
        (denial != expected).then(|| format!("{what}: expected {expected:?}, found {denial:?}: {object}"))
    };
    rows().into_iter().filter_map(wrong).collect()
}

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
