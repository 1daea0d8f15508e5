//! Reads StatefulSets and their PVCs from the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::Client;
use kube::api::ListParams;
use serde_json::Value;

use super::find::{DriftClaim, DriftSet, named};
use crate::cli::cluster::{CLAIM, SET, claims, sets};
use crate::cli::lists::{ClusterList, SkippedObject, all_shown, list, path};
use crate::controller::objects::conversion;
use crate::gate::SetView;
use crate::json::Map;
use crate::templates::keys;

/// Claims, by namespace and name.
struct ClaimsByName {
    read: BTreeMap<(String, String), Value>,
    unread: Vec<SkippedObject>,
}

/// What was read.
#[derive(Debug)]
pub(crate) struct ReadSets {
    /// Sorted by namespace and name; the settings are the default ones.
    pub(crate) sets: Vec<DriftSet>,
    /// The sets that are not among them, and claims of those that are.
    pub(crate) unread: Vec<SkippedObject>,
}

/// Reads the sets of these names, or all if none is named, that these labels select, with the claims of their replicas,
/// in one namespace or in all. An object that cannot be read hides no other.
///
/// # Errors
/// If a named set is not found or cannot be read, or sets or claims cannot be listed.
pub(crate) async fn read(
    client: &Client,
    namespace: Option<&str>,
    names: &[String],
    selector: Option<&str>,
) -> anyhow::Result<ReadSets> {
    let selected = ListParams {
        label_selector: selector.map(str::to_owned),
        ..ListParams::default()
    };
    let sets = list(client, namespace, &sets(), &selected).await?;
    let claims = list(client, namespace, &claims(), &ListParams::default()).await?;
    let read = of_lists(sets, claims, names);
    let is_shown = |name: &str| read.sets.iter().any(|seen| seen.set.name == name);
    all_shown(SET, names, is_shown, &read.unread)?;
    Ok(read)
}

/// The sets of these names, or all, and their claims.
fn of_lists(sets: ClusterList<Value>, claims: ClusterList<Value>, names: &[String]) -> ReadSets {
    let is_asked = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
    let mut unread = sets.unread;
    unread.retain(|set| is_asked(&set.name));
    let mut sets = sets.items;
    sets.retain(|set| is_asked(&path(set).1));
    sets.sort_by_key(path);
    let listed = ClaimsByName {
        read: claims.items.into_iter().map(|claim| (path(&claim), claim)).collect(),
        unread: claims.unread,
    };
    let mut read = Vec::new();
    for object in &sets {
        match conversion::set(object) {
            Ok(set) => read.push(seen(set, object, &listed, &mut unread)),
            Err(error) => unread.push(SkippedObject::unreadable(SET, path(object), error.to_string())),
        }
    }
    ReadSets { sets: read, unread }
}

fn seen(set: SetView, object: &Value, listed: &ClaimsByName, unread: &mut Vec<SkippedObject>) -> DriftSet {
    let (namespace, _) = path(object);
    let mut annotations = annotations(object);
    annotations.retain(|key, _| key.starts_with(keys::PREFIX));
    let mut seen = DriftSet {
        set,
        settings: Arc::default(),
        annotations,
        has_native_policy: object["spec"]["volumeClaimUpdatePolicy"].is_string(),
        claims: BTreeMap::new(),
        unread: BTreeSet::new(),
    };
    let names: Vec<String> = named(&seen.set, seen.set.wanted())
        .map(|(.., name)| name.as_str().to_owned())
        .collect();
    for name in names {
        let place = (namespace.clone(), name);
        let found = listed
            .read
            .get(&place)
            .map(|object| (object, conversion::claim(object)));
        let lost = match found {
            Some((object, Ok(view))) => {
                let annotations = self::annotations(object);
                seen.claims.insert(place.1, DriftClaim { view, annotations });
                continue;
            }
            Some((_, Err(error))) => Some(SkippedObject::unreadable(CLAIM, place.clone(), error.to_string())),
            None => {
                let mut unread = listed.unread.iter();
                unread.find(|unread| unread.is(CLAIM, &place.0, &place.1)).cloned()
            }
        };
        if let Some(lost) = lost {
            seen.unread.insert(place.1);
            unread.push(lost);
        }
    }
    seen
}

fn annotations(object: &Value) -> Map<String> {
    let annotations = object["metadata"]["annotations"].as_object();
    let pairs = annotations.into_iter().flatten();
    let texts = pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
    Map::from_unsorted(texts.collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CLAIM, ClusterList, SET, SkippedObject, of_lists};
    use crate::cli::drift::find::rows;
    use crate::gate::ClaimState;

    fn object(name: &str, spec: &Value) -> Value {
        json!({"metadata": {"namespace": "shop", "name": name, "uid": "u", "resourceVersion": "1"}, "spec": spec})
    }

    fn set(name: &str) -> Value {
        let template = json!({"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}});
        let selector = json!({"matchLabels": {"app": name}});
        object(
            name,
            &json!({"replicas": 1, "selector": selector, "volumeClaimTemplates": [template]}),
        )
    }

    fn claim(name: &str, size: &Value) -> Value {
        object(name, &json!({"resources": {"requests": {"storage": size}}}))
    }

    fn lost(kind: &str, name: &str) -> SkippedObject {
        SkippedObject {
            kind: kind.to_owned(),
            namespace: "shop".to_owned(),
            name: name.to_owned(),
            why: "why".to_owned(),
        }
    }

    #[test]
    fn unread_object_hides_no_other_and_is_named() {
        let asked = |names: &[&str]| {
            let sets = ClusterList {
                items: vec![
                    set("web"),
                    set("db"),
                    set("queue"),
                    object("odd", &json!({"replicas": "many"})),
                ],
                unread: vec![lost(SET, "bad")],
            };
            let sizes = [
                ("data-web-0", json!("1Gi")),
                ("data-db-0", json!("odd")),
                ("data-other-0", json!("odd")),
            ];
            let claims = ClusterList {
                items: sizes.map(|(name, size)| claim(name, &size)).into(),
                unread: vec![lost(CLAIM, "data-queue-0"), lost(CLAIM, "data-other-1")],
            };
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let read = of_lists(sets, claims, &names);
            let sets: Vec<String> = read.sets.iter().map(|seen| seen.set.name.clone()).collect();
            for seen in &read.sets {
                let missing = rows(seen).iter().any(|row| row.state == Some(ClaimState::Missing));
                assert!(!missing, "{}: a PVC that cannot be read exists", seen.set.name);
            }
            let unread: Vec<String> = read.unread.into_iter().map(|unread| unread.name).collect();
            (sets.join(" "), unread.join(" "))
        };
        for (names, sets, unread) in [
            (&[][..], "db queue web", "bad data-db-0 odd data-queue-0"),
            (&["web"], "web", ""),
            (&["web", "bad"], "web", "bad"),
            (&["queue"], "queue", "data-queue-0"),
        ] {
            let expected = (sets.to_owned(), unread.to_owned());
            assert_eq!(asked(names), expected, "{names:?}");
        }
    }
}
