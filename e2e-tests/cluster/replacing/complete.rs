//! A StatefulSet with a complete rollout is replaced, and nothing else changes.

use anyhow::ensure;

use super::trial::{journals, prepare, replaced, uids, until_replaced};
use crate::world::World;
use crate::world::namespace::text;

pub(super) async fn complete_set_is_replaced_and_nothing_else_changes(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "replacing", 3).await?;
    let (pods, claims) = (ns.pods().await?, ns.claims().await?);
    let grown = replaced(3, "2Gi");
    ns.target(&grown).await?;
    let before = ns.set().await?;
    until_replaced(&ns, &before, "2Gi").await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    ensure!(uids(&ns.claims().await?) == uids(&claims), "PVCs were created");
    ns.until_event("StatefulSetReplaced").await?;
    let events = ns.events().await?;
    ensure!(events.get("StatefulSetReplaced") == Some(&1), "{events:?}");
    let journals = journals(&ns).await?;
    ensure!(journals.is_empty(), "{journals:#?}");

    // What every tool asks next.
    let diff = ns.kubectl(&["diff", "-f", "-"], &grown).await?;
    ensure!(
        diff.success && diff.stdout.is_empty(),
        "{} {}",
        diff.stdout,
        diff.stderr
    );
    let version = text(&ns.set().await?["metadata"]["resourceVersion"]);
    ns.target(&grown).await?;
    let now = text(&ns.set().await?["metadata"]["resourceVersion"]);
    ensure!(now == version, "an apply wrote");
    Ok(())
}
