//! The settings that the cluster uses: those of the policy object of Kubewarden, or else those in the ConfigMap of the
//! installation.

use anyhow::Context as _;
use kube::Client;
use kube::api::{DynamicObject, ListParams};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::cluster::{OURS, kind};
use super::files::read_settings;
use super::lists::list;

/// Settings, and the object that contains them.
#[derive(Debug)]
pub(crate) struct FoundSettings {
    /// The object as kubectl names it, or why there is none.
    pub(crate) place: String,
    pub(crate) settings: Box<RawValue>,
}

/// Reads the settings of the cluster. Without an object, or without the right to read one, these are the default ones.
///
/// # Errors
/// If the API server does not answer, or the settings cannot be read.
pub(crate) async fn read(client: &Client) -> anyhow::Result<FoundSettings> {
    let kinds = [("policies.kubewarden.io", "ClusterAdmissionPolicy"), ("", "ConfigMap")];
    let mut forbidden = Vec::new();
    for (group, name) in kinds {
        let listed = match list(client, None, &kind(group, "v1", name), &selection(name)).await {
            Ok(listed) => listed.named(),
            // Kubewarden is not installed.
            Err(kube::Error::Api(status)) if status.code == 404 => continue,
            Err(kube::Error::Api(status)) if status.code == 403 => {
                forbidden.push(format!("{}s", name.to_lowercase()));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if let Some((place, settings)) = listed.iter().find_map(|object| settings(name, object)) {
            let settings = settings.with_context(|| place.clone())?;
            return Ok(FoundSettings { place, settings });
        }
    }
    let why = if forbidden.is_empty() {
        "no policy object or ConfigMap with settings found".to_owned()
    } else {
        format!("you may not list {}", forbidden.join(", "))
    };
    Ok(FoundSettings {
        place: format!("the default ones: {why}"),
        settings: read_settings("{}")?,
    })
}

/// The policy objects may be somebody's own.
fn selection(kind: &str) -> ListParams {
    if kind == "ConfigMap" {
        ListParams::default().labels(OURS)
    } else {
        ListParams::default()
    }
}

/// The object as kubectl names it, and its settings, if it has ours.
pub(crate) fn settings(kind: &str, object: &DynamicObject) -> Option<(String, anyhow::Result<Box<RawValue>>)> {
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let namespace = object.metadata.namespace.as_deref();
    let place = match namespace {
        Some(namespace) => format!("{}/{name} in namespace {namespace}", kind.to_lowercase()),
        None => format!("{}/{name}", kind.to_lowercase()),
    };
    let settings = if kind == "ConfigMap" {
        read_settings(object.data["data"]["settings.yaml"].as_str()?)
    } else {
        policy_settings(&object.data["spec"])?
    };
    Some((place, settings))
}

/// True iff a policy object of Kubewarden with this spec runs our module. A mirror may have another registry.
pub(crate) fn is_our_policy(spec: &Value) -> bool {
    let module = spec["module"].as_str();
    module.is_some_and(|module| module.contains("claim-rollout"))
}

/// The settings of a policy object that judges StatefulSets with our module.
fn policy_settings(spec: &Value) -> Option<anyhow::Result<Box<RawValue>>> {
    let is_ours = is_our_policy(spec) && spec["mutating"] == true;
    let of_sets = |rule: &Value| {
        rule["resources"]
            .as_array()
            .is_some_and(|it| it.contains(&"statefulsets".into()))
    };
    let judges = spec["rules"].as_array()?.iter().any(of_sets);
    let settings = spec.get("settings").filter(|settings| !settings.is_null());
    let raw = || settings.map_or_else(|| read_settings("{}"), |settings| Ok(to_raw_value(settings)?));
    (is_ours && judges).then(raw)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::settings;

    fn policy(module: &str, resource: &str, settings: &Value) -> Value {
        json!({"module": module, "mutating": true, "rules": [{"resources": [resource]}], "settings": settings})
    }

    #[test]
    fn settings_are_those_of_our_objects() {
        let ours = "registry://ghcr.io/claim-rollout/policy:v0.1.0";
        let follow = json!({"defaultUpdatePolicy": "InPlace"});
        let kubewarden = r#"clusteradmissionpolicy/x {"defaultUpdatePolicy":"InPlace"}"#;
        let of_map = r#"configmap/x in namespace ops {"defaultUpdatePolicy":"InPlace"}"#;
        let text = json!({"settings.yaml": "defaultUpdatePolicy: InPlace"});
        let (sets, other) = ("statefulsets", "registry://other");
        for (part, body, expected) in [
            ("spec", policy(ours, sets, &follow), kubewarden),
            ("spec", policy(ours, sets, &json!(null)), "clusteradmissionpolicy/x {}"),
            ("spec", policy(ours, "pods", &follow), ""),
            ("spec", policy(other, sets, &follow), ""),
            ("data", text, of_map),
            ("data", json!({"dashboard.json": "{}"}), ""),
        ] {
            let (kind, metadata) = match part {
                "spec" => ("ClusterAdmissionPolicy", json!({"name": "x"})),
                _ => ("ConfigMap", json!({"name": "x", "namespace": "ops"})),
            };
            let object = serde_json::from_value(json!({"metadata": metadata, part: body})).expect("an object");
            let found = settings(kind, &object);
            let found = found.map(|(place, settings)| format!("{place} {}", settings.expect("settings")));
            assert_eq!(found.unwrap_or_default(), expected, "{object:?}");
        }
    }
}
