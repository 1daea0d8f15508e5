//! `claim-rollout.io/max-in-motion`: the PVCs of several replicas are in motion at the same time.

use anyhow::ensure;

use crate::world::World;
use crate::world::web::Web;
use crate::world::written::Written;

const CLAIMS: [&str; 4] = ["data-web-3", "data-web-2", "data-web-1", "data-web-0"];

/// The highest number of PVCs in motion at the same time: written and not yet ready.
fn most_in_motion(written: &Written) -> anyhow::Result<usize> {
    let mut steps = Vec::new();
    for claim in CLAIMS {
        steps.push((written.applied(claim)?, true));
        steps.push((written.ready(claim)?, false));
    }
    steps.sort_unstable();
    let mut moving = 0_usize;
    let numbers = steps.into_iter().map(|(_, begins)| {
        moving = if begins { moving + 1 } else { moving - 1 };
        moving
    });
    Ok(numbers.max().unwrap_or_default())
}

pub(super) async fn max_in_motion_two_moves_two_replicas_and_default_moves_one(env: &World) -> anyhow::Result<()> {
    let two = Web::replicas(4).annotated("max-in-motion", "2");
    let ns = env.with_set("in-motion", 4).await?;
    let pods = ns.pods().await?;
    for (size, web, most) in [("2Gi", two, 2), ("3Gi", Web::replicas(4), 1)] {
        let begun = ns.mark().await?;
        ns.target(&web.size(size)).await?;
        ns.until_complete(4, size).await?;
        let written = ns.writes_since(begun).await?;
        let found = most_in_motion(&written)?;
        ensure!(found == most, "expected {most} at a time, but found {found}");
        written.is_a_rollout(&CLAIMS, 0)?;
    }
    ensure!(ns.pods().await? == pods, "Pods restarted");
    Ok(())
}
