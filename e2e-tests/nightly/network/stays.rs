//! A fault that stays: the controller reports it, and everything that does not need the failing part goes on.

use anyhow::ensure;

use super::asked::Asked;
use super::script::{Fault, Rule};
use super::trial::Trial;
use crate::world::World;
use crate::world::namespace::condition;

/// The CRD does not exist, a quota on ClaimRollouts is used up, or a right is missing.
pub(super) async fn rollout_with_denied_report_completes(env: &World) -> anyhow::Result<()> {
    let trial = Trial::begin(env, "network-unreported").await?;
    for report in [Asked::Target, Asked::Status] {
        trial.inject(Rule::always(report, Fault::Answer(403, 0)));
    }
    trial.roll_out().await?;
    let ns = &trial.ns;
    ns.until("the rollout to end", "staged", |staged| staged["phase"] == "Complete")
        .await?;
    ns.until_event("ClaimRolloutNotWritten").await?;
    ensure!(
        condition(&ns.rollout().await?, "Ready") != "True",
        "nothing could be reported"
    );
    trial.network.repair();
    trial.until_done().await
}
