//! Reads StatefulSets and their PVCs from the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use kube::Client;
use kube::api::ListParams;
use serde_json::Value;

use super::find::{DriftClaim, DriftSet, named};
use crate::cli::cluster;
use crate::controller::objects;
use crate::json::Map;
use crate::templates::keys;

/// Claims, by namespace and name.
type ClaimsByName = BTreeMap<(String, String), Value>;

/// Reads the sets of these names, or all if none is named, that these labels select, with the claims of their replicas,
/// in one namespace or in all. The result is sorted by namespace and name; the settings are the default ones.
///
/// # Errors
/// If a named set is not found, or sets or claims cannot be read.
pub(crate) async fn read(
    client: &Client,
    namespace: Option<&str>,
    names: &[String],
    selector: Option<&str>,
) -> anyhow::Result<Vec<DriftSet>> {
    let selected = ListParams {
        label_selector: selector.map(str::to_owned),
        ..ListParams::default()
    };
    let mut sets = list(client, namespace, ("apps", "StatefulSet"), &selected).await?;
    if !names.is_empty() {
        sets.retain(|set| names.iter().any(|name| set["metadata"]["name"] == name.as_str()));
    }
    let missing = |name: &&String| sets.iter().all(|set| set["metadata"]["name"] != name.as_str());
    if let Some(missing) = names.iter().find(missing) {
        bail!("StatefulSet {missing:?} not found");
    }
    let claims = list(client, namespace, ("", "PersistentVolumeClaim"), &ListParams::default()).await?;
    let claims: ClaimsByName = claims.into_iter().map(|claim| (path(&claim), claim)).collect();
    sets.sort_by_key(path);
    sets.iter().map(|set| seen(set, &claims)).collect()
}

/// The selected objects of a kind, given by group and name.
async fn list(
    client: &Client,
    namespace: Option<&str>,
    (group, kind): (&str, &str),
    selected: &ListParams,
) -> anyhow::Result<Vec<Value>> {
    let api = cluster::objects(client, namespace, &cluster::kind(group, "v1", kind));
    let objects = api.list(selected).await?.into_iter();
    Ok(objects.map(serde_json::to_value).collect::<Result<_, _>>()?)
}

/// Namespace and name of an object.
fn path(object: &Value) -> (String, String) {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

fn seen(object: &Value, claims: &ClaimsByName) -> anyhow::Result<DriftSet> {
    let (namespace, name) = path(object);
    let set = objects::set(object).with_context(|| format!("{namespace}/{name}"))?;
    let mut annotations = annotations(object);
    annotations.retain(|key, _| key.starts_with(keys::PREFIX));
    let mut seen = DriftSet {
        set,
        settings: Arc::default(),
        annotations,
        has_native_policy: object["spec"]["volumeClaimUpdatePolicy"].is_string(),
        claims: BTreeMap::new(),
    };
    let names: Vec<String> = named(&seen.set, seen.desired())
        .map(|(.., name)| name.as_str().to_owned())
        .collect();
    for name in names {
        let place = (namespace.clone(), name);
        if let Some(object) = claims.get(&place) {
            let view = objects::claim(object).with_context(|| namespace.clone())?;
            let annotations = self::annotations(object);
            seen.claims.insert(place.1, DriftClaim { view, annotations });
        }
    }
    Ok(seen)
}

fn annotations(object: &Value) -> Map<String> {
    let annotations = object["metadata"]["annotations"].as_object();
    let pairs = annotations.into_iter().flatten();
    let texts = pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
    Map::from_unsorted(texts.collect()).unwrap_or_default()
}
