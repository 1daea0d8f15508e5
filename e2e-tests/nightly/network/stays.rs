//! Faults that stay: the controller reports them, and everything that does not need the failing part goes on.

use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::asked::Asked;
use super::script::{Fault, Rule, To};
use super::trial::{CLAIMS, Trial};
use crate::world::namespace::condition;
use crate::world::web::Web;
use crate::world::{World, eventually};

/// The most time until a PVC whose writes get no answer is reported.
const REPORTED: Duration = Duration::from_secs(90);
/// The longest pause before a retry after so many failures.
const RETRIED: Duration = Duration::from_secs(70);

fn for_ever(asked: Asked, code: u16) -> Rule {
    Rule {
        to: To::Only(asked),
        after: 0,
        times: u32::MAX,
        fault: Fault::Answer(code, 0),
    }
}

/// The CRD does not exist, a quota on ClaimRollouts is used up, or a right is missing.
pub(super) async fn rollout_with_denied_report_completes(env: &World) -> anyhow::Result<()> {
    let trial = Trial::begin(env, "network-unreported").await?;
    trial.inject(for_ever(Asked::Target, 403));
    trial.inject(for_ever(Asked::Status, 403));
    trial.roll_out().await?;
    let ns = &trial.ns;
    let complete = eventually("the rollout to end", REPORTED, async || {
        Ok((ns.staged_change().await?["phase"] == "Complete").then_some(()))
    });
    complete.await.with_context(|| ns.log())?;
    ns.until_event("ClaimRolloutNotWritten").await?;
    ensure!(
        condition(&ns.rollout().await?, "Ready") != "True",
        "nothing could be reported"
    );
    trial.network.repair();
    trial.until_done().await
}

/// The webhook of another project for PVCs is away: the API server answers with 500.
pub(super) async fn pvcs_never_answered_are_reported_and_each_is_tried(env: &World) -> anyhow::Result<()> {
    let trial = Trial::begin(env, "network-unanswered").await?;
    let ns = &trial.ns;
    let parallel = |size: &str| Web::replicas(3).size(size).parallel();
    ns.done(&["delete", "statefulset", "web"], "").await?;
    ns.target(&parallel("1Gi")).await?;
    ns.settled().await?;
    trial.inject(for_ever(Asked::Claim, 500));
    ns.target(&parallel("2Gi")).await?;
    let reported = eventually("every PVC to be reported as not answered", REPORTED, async || {
        let rollout = ns.rollout().await?;
        let claims = rollout["status"]["claims"].as_array().cloned().unwrap_or_default();
        let is_reported = |name: &str| {
            let mut found = claims.iter().filter(|claim| claim["name"] == *name);
            found.any(|claim| claim["state"] == "Refused" && claim["reason"] == "NotAnswered")
        };
        let all = CLAIMS.iter().all(|name| is_reported(name)) && condition(&rollout, "Stalled") == "True";
        Ok(all.then_some(()))
    });
    reported.await.with_context(|| ns.log())?;
    ns.until_event("FailedToPatchPVC").await?;
    trial.is_well()?;
    trial.network.repair();
    let done = eventually("the rollout to end", RETRIED + REPORTED, async || {
        Ok((ns.staged_change().await?["phase"] == "Complete").then_some(()))
    });
    done.await.with_context(|| ns.log())?;
    trial.until_done().await
}
