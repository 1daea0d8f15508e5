//! GitOps: the same manifest, again and again.

use anyhow::ensure;

use crate::world::World;
use crate::world::again::Unmoved;
use crate::world::namespace::{are_as_written, staged_change};
use crate::world::web::Web;

pub(super) async fn same_manifest_again_writes_nothing(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("repeated", 2).await?;
    ns.apply(2, "2Gi").await?;
    ns.until_complete(2, "2Gi").await?;
    // The last write of a rollout.
    ns.until_event("ClaimRolloutComplete").await?;
    let (before, claims, pods) = (ns.set().await?, ns.claims().await?, ns.pods().await?);
    let written = ns.mark().await?;

    let send = async |way: &[&str]| {
        let output = ns.done(way, &Web::replicas(2).size("2Gi")).await?;
        ensure!(
            !output.stderr.contains("claim-rollout"),
            "nothing new is staged: {output:?}"
        );
        ns.set().await
    };
    let mut unmoved = Unmoved::from(before.clone())?;
    for _ in 0..5 {
        unmoved.still(send(&["apply", "-f", "-"]).await?)?;
    }
    let server_side = &["apply", "--server-side", "--force-conflicts", "-f", "-"];
    // The first request takes the fields over from their managers.
    let taken = send(server_side).await?;
    for path in ["/spec", "/status", "/metadata/generation"] {
        ensure!(taken.pointer(path) == before.pointer(path), "{path}: {taken:#}");
    }
    ensure!(staged_change(&taken)? == staged_change(&before)?, "{taken:#}");
    let mut unmoved = Unmoved::from(taken)?;
    for _ in 0..5 {
        unmoved.still(send(server_side).await?)?;
    }
    ensure!(are_as_written(&ns.claims().await?, &claims), "a claim was written");
    ensure!(ns.pods().await? == pods, "Pods restarted");
    let ours = ns.writes_since(written).await?;
    ensure!(ours.ours().next().is_none(), "{:#?}", ours.count());
    Ok(())
}
