//! The pause of the controller after writes of a PVC that failed again and again.

use std::time::Duration;

use anyhow::Context as _;

use super::namespace::{PATIENCE, TestNamespace, condition};
use crate::world::eventually;
use crate::world::installation::USER;

/// After this many failures the controller pauses for 256 seconds: longer than [`PATIENCE`], so what continues in that
/// time does not continue because the pause is over.
const FAILURES: usize = 9;

/// The writes of PVCs by the controller here that failed.
async fn failures(ns: &TestNamespace<'_>) -> anyhow::Result<usize> {
    let writes = ns.writes_of(USER).await?;
    let failed = writes
        .iter()
        .filter(|entry| entry.resource == "persistentvolumeclaims" && entry.code >= 400);
    Ok(failed.count())
}

/// Waits until the controller pauses for minutes because of an obstacle. Requests to try again end the shorter pauses.
pub(crate) async fn until_pause_is_long(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    ns.until_reported("a failed write", |rollout| condition(rollout, "Stalled") == "True")
        .await?;
    for failure in 0..FAILURES {
        let before = failures(ns).await?;
        let again = format!("claim-rollout.io/retry={failure}");
        ns.typed(&format!("annotate claimrollout web {again} --overwrite"))
            .await?;
        let failed = eventually("another write to fail", PATIENCE, async || {
            Ok((failures(ns).await? > before).then_some(()))
        });
        failed.await.with_context(|| ns.log())?;
    }
    // A pause may have ended by itself together with a request.
    let calm = eventually("no further write", PATIENCE, async || {
        let before = failures(ns).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok((failures(ns).await? == before).then_some(()))
    });
    calm.await
}
