//! A webhook of a tenant with the name of the policy is not the policy.

use anyhow::ensure;
use claim_rollout::templates::Phase;
use serde_json::json;

use super::{PATIENCE, TENANT, tenant};
use crate::nightly::scale::fleet::Fleet;
use crate::nightly::scale::until_reported;
use crate::world::{Options, World};

/// What Kubewarden creates for an AdmissionPolicy of this name, which tenants may make.
fn webhook() -> String {
    let name = format!("namespaced-{TENANT}-claim-rollout");
    let rule = json!({
        "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["statefulsets"],
    });
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": name},
        "webhooks": [{
            "name": format!("{name}.kubewarden.admission"), "rules": [rule], "failurePolicy": "Ignore",
            "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 1,
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": TENANT}},
        }],
    })
    .to_string()
}

/// There is neither the policy nor the guard, so whoever may change the StatefulSet may write a staged change.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn policy_of_a_tenant_lets_no_forged_change_roll_out() -> anyhow::Result<()> {
    let world = World::with(Options::default()).without_the_guard().build().await?;
    let fleet = Fleet::create(&world.client, 2, 2, 1).await?;
    world.cluster.done(&["create", "-f", "-"], &webhook()).await?;
    let mut controller = world.controllers.start(&["--leader-elect=false"]).await?;
    fleet.stage("2Gi", Phase::RollingOut).await?;
    until_reported(PATIENCE, &controller, "PolicyMissing", fleet.sets.len()).await?;
    let sizes = [
        "get",
        "pvc",
        "-o",
        "jsonpath={.items[*].spec.resources.requests.storage}",
    ];
    let size = tenant(&world.cluster, &sizes, "").await?;
    ensure!(size == "1Gi", "{size}");
    controller.terminate().await?;
    world.stop().await
}
