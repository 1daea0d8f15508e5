//! A newer version has staged a change, and an older controller runs: an unreadable staged change is not an absent one.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use crate::world::World;
use crate::world::installation::USER;
use crate::world::namespace::{STAGED, TestNamespace, condition};
use crate::world::web::Web;

/// Long enough for a change to be seen.
const A_WHILE: Duration = Duration::from_secs(1);

/// Writes the annotation, as the controller of that version would.
async fn write(ns: &TestNamespace<'_>, staged: &str) -> anyhow::Result<()> {
    let set = ns.set().await?;
    let metadata = &set["metadata"];
    let patch = json!({"metadata": {
        "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"], "annotations": {STAGED: staged},
    }});
    let sets: Api<StatefulSet> = Api::namespaced(ns.cluster.client_for(USER, &[]).await?, &ns.namespace);
    sets.patch("web", &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

pub(super) async fn change_of_newer_version_not_rolled_out_and_not_withdrawn(env: &World) -> anyhow::Result<()> {
    let mut ns = env.with_web("unreadable", &Web::replicas(2).partition(1)).await?;
    ns.target(&Web::replicas(2).size("2Gi").partition(1)).await?;
    ns.until_reported("the first claim", |rollout| rollout["status"]["readyReplicas"] == 1)
        .await?;
    let set = ns.set().await?;
    let staged = set["metadata"]["annotations"][STAGED]
        .as_str()
        .context("a staged change")?;
    let newer = staged.replace("\"version\":1", "\"version\":2");
    ensure!(newer != staged, "{staged}");
    write(&ns, &newer).await?;
    let begun = ns.mark().await?;
    let stalled = |rollout: &serde_json::Value| {
        rollout["status"]["conditions"][2]["reason"] == "StagedChangeUnreadable"
            && condition(rollout, "Stalled") == "True"
    };
    let rollout = ns.until_reported("what cannot be read", stalled).await?;
    ensure!(condition(&rollout, "Ready") == "False", "{rollout:#}");
    ns.until_event("ClaimRolloutStalled").await?;

    // Everything that would let the rest follow, and another controller.
    let lowered = r#"{"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}"#;
    ns.typed(&format!("patch statefulset web --patch '{lowered}'")).await?;
    ns.start_controller(env, &[]).await?;
    tokio::time::sleep(A_WHILE).await;
    let count = ns.writes_since(begun).await?.count();
    ensure!(count.claims.is_empty() && count.changes == 0, "{count:?}");
    let annotations = &ns.set().await?["metadata"]["annotations"];
    ensure!(annotations[STAGED] == *newer, "{annotations}");
    ensure!(stalled(&ns.rollout().await?), "{:#}", ns.rollout().await?);
    let events = ns.events().await?;
    ensure!(!events.contains_key("ClaimRolloutWithdrawn"), "{events:?}");

    write(&ns, staged).await?;
    ns.until_complete(2, "2Gi").await
}
