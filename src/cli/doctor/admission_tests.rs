use serde_json::{Value, json};

use super::{By, InstalledWebhook, Probe, WebhookPart};

/// A webhook in a configuration, with this name and client configuration.
fn read(name: &str, client: &Value) -> Option<InstalledWebhook> {
    let webhook = json!({"name": name, "clientConfig": client, "matchConditions": [{"name": "a"}]});
    let configuration = json!({"metadata": {"name": "all"}, "webhooks": [webhook]});
    InstalledWebhook::list("mutatingwebhookconfiguration", &configuration, "volumes").pop()
}

#[test]
fn webhook_of_ours_is_known_by_name_or_path() {
    let nowhere = json!({});
    let url = |url: &str| json!({"url": url, "caBundle": "Y2E="});
    let service = |path: &str| json!({"service": {"name": "claim-rollout-webhook", "path": path}});
    for (name, client, expected) in [
        (
            "claim-rollout.claim-rollout.io",
            nowhere.clone(),
            Some((WebhookPart::Sets, By::BuiltIn)),
        ),
        (
            "claim-rollout-claims.claim-rollout.io",
            nowhere.clone(),
            Some((WebhookPart::Claims, By::BuiltIn)),
        ),
        (
            "claim-rollout-pods.claim-rollout.io",
            nowhere.clone(),
            Some((WebhookPart::Pods, By::BuiltIn)),
        ),
        (
            "claim-rollout-retention.claim-rollout.io",
            nowhere.clone(),
            Some((WebhookPart::Retention, By::BuiltIn)),
        ),
        (
            "clusterwide-claim-rollout.kubewarden.admission",
            nowhere.clone(),
            Some((WebhookPart::Sets, By::Kubewarden)),
        ),
        (
            "clusterwide-claim-rollout-claims.kubewarden.admission",
            service("/validate/clusterwide-claim-rollout-claims"),
            Some((WebhookPart::Claims, By::Kubewarden)),
        ),
        (
            "ours.example.com",
            url("https://10.0.0.1:1/validate/claim-rollout"),
            Some((WebhookPart::Sets, By::BuiltIn)),
        ),
        (
            "ours.example.com",
            service("/validate/claim-rollout-claims"),
            Some((WebhookPart::Claims, By::BuiltIn)),
        ),
        (
            "other.example.com",
            url("https://claim-rollout.example.com/other"),
            None,
        ),
        ("other.claim-rollout.io", service("/other"), None),
        (
            "clusterwide-pod-privileged.kubewarden.admission",
            service("/validate/clusterwide-pod-privileged"),
            None,
        ),
    ] {
        let found = read(name, &client).map(|webhook| (webhook.part, webhook.by));
        assert_eq!(found, expected, "{name} {client}");
    }
}

#[test]
fn webhook_of_kubewarden_has_the_name_in_the_chart() {
    for (name, expected) in [
        ("clusterwide-volumes.kubewarden.admission", Some(WebhookPart::Sets)),
        (
            "clusterwide-volumes-pods-team-a.kubewarden.admission",
            Some(WebhookPart::Pods),
        ),
        ("clusterwide-other.kubewarden.admission", None),
    ] {
        let found = read(name, &json!({})).map(|webhook| webhook.part);
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn webhook_of_a_tenant_is_not_ours() {
    let client = json!({"service": {"path": "/validate/namespaced-a-claim-rollout"}});
    assert_eq!(read("namespaced-a-claim-rollout.kubewarden.admission", &client), None);
}

#[test]
fn webhook_without_fields_has_api_defaults() {
    let webhook = read("claim-rollout.claim-rollout.io", &json!({"caBundle": ""})).expect("ours");
    assert!(
        webhook.fails_closed && webhook.has_conditions && !webhook.is_trusted,
        "{webhook:?}"
    );
}

#[test]
fn probe_denied_by_others_is_unknown() {
    let unknown = |text: &str| Probe::Unknown(text.to_owned());
    let ours = "admission webhook \"claim-rollout.claim-rollout.io\" denied the request: claim-rollout: annotation \
                claim-rollout.io/sync: expected one of LockStep, Async, but found Sometimes";
    let away = "Internal error occurred: failed calling webhook \"claim-rollout.claim-rollout.io\": no route";
    let others = "admission webhook \"other.example.com\" denied the request: no";
    let others_away = "Internal error occurred: failed calling webhook \"other.example.com\": no route";
    let forbidden = "statefulsets.apps is forbidden: User \"bob\" cannot create resource";
    for (message, expected) in [
        (None, Probe::Accepted),
        (Some(ours), Probe::Denied),
        (Some(away), Probe::Unreachable(away.to_owned())),
        (Some(others), unknown(others)),
        (Some(others_away), unknown(others_away)),
        (Some(forbidden), unknown(forbidden)),
    ] {
        assert_eq!(Probe::read(message), expected, "{message:?}");
    }
}
