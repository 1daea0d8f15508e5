//! `ownedSets: Skip`: claim-rollout does nothing, and the operator does what it does without claim-rollout.

use anyhow::ensure;
use serde_json::json;

use super::trial::{Monitored, live, of_sets};
use crate::cluster::eventually;
use crate::environment::Environment;
use crate::installation::USER;
use crate::scenarios::namespace::PATIENCE;

pub(super) async fn growth_restarts_all_pods_and_pvcs_stay(env: &Environment) -> anyhow::Result<()> {
    let web = Monitored::new(
        env,
        "owned-skipped",
        &json!({"defaultUpdatePolicy": "InPlace"}),
        json!({}),
    )
    .await?;
    web.allow_patches().await?;
    let before = web.before().await?;
    web.resize("2Gi").await?;
    let created = eventually("another StatefulSet", PATIENCE, async || {
        let now = web.set().await?;
        Ok((!now.is_null() && now["metadata"]["uid"] != before.set["metadata"]["uid"]).then_some(()))
    });
    created.await?;
    let set = web.until_ready().await?;
    let writes = web.writes_since(&before).await?;
    ensure!(live(&set) == "2Gi", "{}", live(&set));
    let sizes = web.sizes().await?;
    ensure!(sizes == ["1Gi", "1Gi"], "{sizes:?}");
    let pods = web.ns.pods().await?;
    ensure!(
        before.pods.iter().all(|pod| !pods.contains(pod)),
        "Pods: {pods:?}, before {:?}",
        before.pods
    );
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
