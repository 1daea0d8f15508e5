//! `ownedSets: Skip`: claim-rollout does nothing, and the operator does what it does without claim-rollout.

use anyhow::ensure;

use super::prometheus::PROMETHEUS;
use super::trial::{Owned, live};
use super::written::of_sets;
use crate::world::World;
use crate::world::installation::USER;

pub(super) async fn growth_restarts_all_pods_and_pvcs_stay(env: &World) -> anyhow::Result<()> {
    let web = Owned::skipped(env, &PROMETHEUS, "owned-skipped").await?;
    web.allow_patches().await?;
    let before = web.before().await?;
    web.resize("2Gi").await?;
    let set = web.until_created_anew(&before).await?;
    let writes = web.writes_since(&before).await?;
    ensure!(live(&set) == "2Gi", "{}", live(&set));
    web.has_sizes("1Gi").await?;
    before.has_no_pod(&web).await?;
    let writes = of_sets(&writes);
    let (again, further) = writes.split_at(writes.len().min(3));
    ensure!(
        again == [("update", 422), ("delete", 200), ("create", 201)],
        "{again:?}"
    );
    ensure!(
        further.len() <= 2 && further.iter().all(|write| *write == ("update", 200)),
        "{further:?}"
    );
    ensure!(web.ns.writes_of(USER).await?.is_empty(), "the controller wrote");
    Ok(())
}
