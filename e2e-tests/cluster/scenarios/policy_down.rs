//! The policy-server is away, but its webhook is registered.

use anyhow::{Context as _, ensure};

use crate::world::World;
use crate::world::installation::USER;
use crate::world::web::Web;

/// `failurePolicy: Fail` affects changes of templates, and StatefulSets with an annotation of claim-rollout, as each has
/// after its first rollout.
pub(super) async fn without_policy_unrelated_updates_pass(world: &mut World) -> anyhow::Result<()> {
    let policies = world.policies.take().context("policies")?;
    let ns = world.managed("policy-down").await?;
    let plain = |size: &str| Web::replicas(1).size(size).plain();
    ns.target(&plain("1Gi")).await?;
    ns.until_ready(1).await?;
    let claims = ns.claims().await?;
    let annotated = Web::replicas(0).plain().named("old");
    ns.target(&annotated).await?;
    ns.done(
        &["annotate", "statefulset", "old", "claim-rollout.io/sync=LockStep"],
        "",
    )
    .await?;
    policies.lose().await?;

    for edit in [
        &["set", "env", "statefulset/web", "A=b"][..],
        &["annotate", "statefulset", "web", "example.com/note=hello"],
        &["label", "statefulset", "web", "team=storage"],
        &["scale", "statefulset", "web", "--replicas=1"],
    ] {
        ns.done(edit, "").await?;
    }
    ns.done(&["scale", "statefulset", "old", "--replicas=0"], "").await?;
    let edited = ns.kubectl(&["set", "env", "statefulset/old", "A=b"], "").await?;
    ensure!(
        !edited.success && edited.stderr.contains("failed calling webhook"),
        "{edited:?}"
    );
    let before = ns.set().await?;
    let grown = ns.kubectl(&["apply", "-f", "-"], &plain("2Gi")).await?;
    ensure!(
        !grown.success && grown.stderr.contains("failed calling webhook"),
        "{grown:?}"
    );
    ensure!(ns.set().await?["spec"] == before["spec"], "the set was changed");
    let ours = ns.writes_of(USER).await?;
    ensure!(ours.is_empty(), "{ours:?}");
    let after = ns.claims().await?;
    ensure!(after[0]["spec"] == claims[0]["spec"], "{after:#?}");
    ensure!(
        after[0]["metadata"]["labels"] == claims[0]["metadata"]["labels"],
        "{after:#?}"
    );
    Ok(())
}
