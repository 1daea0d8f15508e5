//! `features` of the chart: each sets its rights, its arguments and its settings together.

use anyhow::{Context as _, ensure};
use serde_json::{Map, Value, json};

use super::deployed::{Objects, by_name, deployed};
use super::render;
use super::rows::{B, K};
use crate::world::Cluster;

/// A feature, the files of `deploy/` with its objects, the arguments of the controller, and the settings in JSON.
type Feature = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    &'static str,
);

const FEATURES: [Feature; 5] = [
    ("replaceSets", &["replace-sets.yaml"], &[], "{}"),
    (
        "templateChanges",
        &["replace-sets.yaml", "evict-pods.yaml"],
        &[],
        r#"{"templateChanges": "Allow"}"#,
    ),
    (
        "reCreate",
        &["recreate.yaml"],
        &["--recreate"],
        r#"{"allowReCreate": true}"#,
    ),
    ("openkruise", &["openkruise.yaml"], &["--openkruise"], "{}"),
    ("restart", &["evict-pods.yaml"], &[], "{}"),
];

pub(super) async fn check_features(cluster: &Cluster) -> anyhow::Result<()> {
    for admission in [K, B] {
        for feature in FEATURES {
            feature_alone_sets_all_that_it_needs(cluster, admission, feature).await?;
        }
    }
    Ok(())
}

async fn feature_alone_sets_all_that_it_needs(
    cluster: &Cluster,
    admission: &str,
    (feature, files, given, settings): Feature,
) -> anyhow::Result<()> {
    let what = format!("{admission}, {feature}");
    let plain = by_name(render(cluster, &[admission]).await?)?;
    let mut found = by_name(render(cluster, &[admission, &format!("features.{feature}=true")]).await?)?;
    let mut expected: Map<String, Value> = serde_json::from_str(settings)?;
    expected.insert("defaultUpdatePolicy".to_owned(), "InPlace".into());
    let places = all_settings(&found);
    ensure!(!places.is_empty(), "{what}: no settings");
    for place in places {
        assert_eq!(*place, Value::from(expected.clone()), "{what}");
    }
    let before = arguments(&plain)?;
    let mut added = arguments(&found)?;
    added.retain(|argument| !before.contains(argument));
    assert_eq!(added, given, "{what}");
    let creations = json!(if feature == "openkruise" {
        &["CREATE", "UPDATE"][..]
    } else {
        &["UPDATE"]
    });
    assert_eq!(*operations_on_openkruise(&found)?, creations, "{what}");
    found.retain(|name, _| !plain.contains_key(name));
    assert_eq!(found, deployed(files)?, "{what}");
    Ok(())
}

/// The arguments of the controller.
fn arguments(objects: &Objects) -> anyhow::Result<Vec<String>> {
    let deployment = &objects["Deployment claim-rollout-controller"];
    let given = deployment["spec"]["template"]["spec"]["containers"][0]["args"].clone();
    Ok(serde_json::from_value(given)?)
}

/// The settings in every policy object and in the ConfigMap.
fn all_settings(objects: &Objects) -> Vec<&Value> {
    let places = objects.values().map(|object| match object["kind"].as_str() {
        Some("ClusterAdmissionPolicy") => &object["spec"]["settings"],
        Some("ConfigMap") => &object["data"]["settings.yaml"],
        _ => &Value::Null,
    });
    places.filter(|settings| !settings.is_null()).collect()
}

/// The operations on StatefulSets of OpenKruise for which the policy is called.
fn operations_on_openkruise(objects: &Objects) -> anyhow::Result<&Value> {
    let kubewarden = objects.get("ClusterAdmissionPolicy claim-rollout");
    let rules = kubewarden.map(|policy| &policy["spec"]["rules"]).or_else(|| {
        let configuration = objects.get("MutatingWebhookConfiguration claim-rollout-webhook")?;
        Some(&configuration["webhooks"][0]["rules"])
    });
    let rules = rules.and_then(Value::as_array).context("rules")?;
    let of_openkruise = rules.iter().find(|rule| rule["apiGroups"] == json!(["apps.kruise.io"]));
    Ok(&of_openkruise.context("a rule")?["operations"])
}
