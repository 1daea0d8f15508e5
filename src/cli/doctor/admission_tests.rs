use serde_json::json;

use super::{InstalledWebhook, Probe};

/// A webhook in a configuration, with this name, and the URL or the path of a service that it calls, if there is one.
fn read(name: &str, place: &str) -> Option<InstalledWebhook> {
    let client = match place {
        "" => json!({"caBundle": ""}),
        path if path.starts_with('/') => json!({"service": {"name": "claim-rollout-webhook", "path": path}}),
        url => json!({"url": url, "caBundle": "Y2E="}),
    };
    let webhook = json!({"name": name, "clientConfig": client, "matchConditions": [{"expression": "true"}]});
    let configuration = json!({"metadata": {"name": "all"}, "webhooks": [webhook]});
    InstalledWebhook::list("mutatingwebhookconfiguration", &configuration, "volumes").pop()
}

/// The name and the place of a webhook, what it is called for, and by whom. The chart may give the policies of Kubewarden
/// the name `volumes`.
const WEBHOOKS: &str = "
claim-rollout.claim-rollout.io                         |                                           | Sets BuiltIn
claim-rollout-claims.claim-rollout.io                  |                                           | Claims BuiltIn
claim-rollout-pods.claim-rollout.io                    |                                           | Pods BuiltIn
claim-rollout-retention.claim-rollout.io               |                                           | Retention BuiltIn
clusterwide-claim-rollout.kubewarden.admission         |                                           | Sets Kubewarden
clusterwide-claim-rollout-claims.kubewarden.admission  | /validate/clusterwide-claim-rollout-claims | Claims Kubewarden
ours.example.com                                       | https://10.0.0.1:1/validate/claim-rollout | Sets BuiltIn
ours.example.com                                       | /validate/claim-rollout-claims            | Claims BuiltIn
other.example.com                                      | https://claim-rollout.example.com/other   | none
other.claim-rollout.io                                 | /other                                    | none
clusterwide-pod-privileged.kubewarden.admission        | /validate/clusterwide-pod-privileged      | none
clusterwide-volumes.kubewarden.admission               |                                           | Sets Kubewarden
clusterwide-volumes-pods-team-a.kubewarden.admission   |                                           | Pods Kubewarden
clusterwide-other.kubewarden.admission                 |                                           | none
namespaced-a-claim-rollout.kubewarden.admission        | /validate/namespaced-a-claim-rollout      | none
";

#[test]
fn webhook_of_ours_is_known_by_name_or_path() {
    for row in WEBHOOKS.lines().skip(1) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let found = read(cells[0], cells[1]).map(|webhook| format!("{:?} {:?}", webhook.part, webhook.by));
        assert_eq!(found.as_deref().unwrap_or("none"), cells[2], "{row}");
    }
}

#[test]
fn webhook_without_fields_has_api_defaults() {
    let webhook = read("claim-rollout.claim-rollout.io", "").expect("ours");
    assert!(
        webhook.fails_closed && webhook.conditions == "true" && !webhook.is_trusted,
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
    let named =
        "Internal error occurred: failed calling webhook \"clusterwide-volumes.kubewarden.admission\": no route";
    let ours_named = read("clusterwide-volumes.kubewarden.admission", "").expect("ours");
    let others_away = "Internal error occurred: failed calling webhook \"other.example.com\": no route";
    let forbidden = "statefulsets.apps is forbidden: User \"bob\" cannot create resource";
    for (message, expected) in [
        (None, Probe::Accepted),
        (Some(ours), Probe::Denied),
        (Some(away), Probe::Unreachable(away.to_owned())),
        (Some(named), Probe::Unreachable(named.to_owned())),
        (Some(others), unknown(others)),
        (Some(others_away), unknown(others_away)),
        (Some(forbidden), unknown(forbidden)),
    ] {
        assert_eq!(
            Probe::read(message, std::slice::from_ref(&ours_named)),
            expected,
            "{message:?}"
        );
    }
}
