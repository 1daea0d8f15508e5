//! `deploy/webhook` has the same rules as the objects for Kubewarden.

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::world::installation::NAMESPACE;
use crate::world::policy_host::{Shipped, documents};

/// The webhook of this name in a file.
fn webhook(file: &str, policy: &str) -> anyhow::Result<Value> {
    let name = format!("{policy}.claim-rollout.io");
    let objects = documents(file)?;
    let mut webhooks = objects
        .iter()
        .flat_map(|object| object["webhooks"].as_array().into_iter().flatten());
    let found = webhooks.find(|webhook| webhook["name"] == name.as_str());
    found.cloned().with_context(|| format!("expected {name} in {file}"))
}

#[test]
fn each_webhook_equals_its_policy_object() -> anyhow::Result<()> {
    for (file, policy) in [
        ("webhook/configuration.yaml", Shipped::sets()?),
        ("webhook/configuration.yaml", Shipped::claims()?),
        ("webhook/configuration.yaml", Shipped::pods()?),
        ("webhook/retention.yaml", Shipped::retention()?),
    ] {
        let webhook = webhook(file, &policy.name)?;
        for key in ["rules", "failurePolicy", "timeoutSeconds", "matchConditions"] {
            assert_eq!(webhook[key], policy.spec[key], "{}: {key}", policy.name);
        }
        // The webhook writes the path. A path in the manifest would remove the secret each time it is applied.
        let service = json!({"namespace": NAMESPACE, "name": "claim-rollout-webhook", "port": 443});
        assert_eq!(webhook["clientConfig"], json!({"service": service}), "{}", policy.name);
        assert_eq!(webhook["sideEffects"], "None", "{}", policy.name);
        assert_eq!(webhook["matchPolicy"], "Equivalent", "{}", policy.name);
    }
    Ok(())
}

#[test]
fn lookups_of_the_cluster_match_policy_server() -> anyhow::Result<()> {
    let rules = |file: &str, name: &str| -> anyhow::Result<Vec<Value>> {
        let objects = documents(file)?;
        let mut roles = objects.iter().filter(|object| object["kind"] == "ClusterRole");
        let role = roles
            .find(|role| role["metadata"]["name"] == name)
            .context(name.to_owned())?;
        Ok(role["rules"].as_array().cloned().unwrap_or_default())
    };
    let mut ours = rules("webhook/rbac.yaml", "claim-rollout-webhook")?;
    ours.retain(|rule| rule["apiGroups"] != json!(["admissionregistration.k8s.io"]));
    assert_eq!(ours, rules("policy-server-rbac.yaml", "claim-rollout-policy-server")?);
    Ok(())
}
