//! Reads the last Event of the resizer or the kubelet about a slow PVC, to report the cause.
//!
//! An error of a driver is in a condition of the PVC, which is watched. If the outcome of a call is unknown (the
//! driver is unavailable, the call timed out), the resizer only emits Events. Events are not watched; those of one
//! PVC are listed from time to time while it has been in motion for long.
//!
//! The API server does not cache Events: each list reads all Events of the namespace from etcd, whatever the
//! selector. So the controller lists them at most twelve times a minute in total, for one PVC in each reconcile.

use k8s_openapi::api::core::v1::Event;
use kube::ResourceExt;
use kube::api::{Api, ListParams};

use super::api_calls::{ApiOutcome, call, shorten};
use super::claim_events::{ClaimEvent, ClaimEvents};
use super::context::Context;
use super::crd::ClaimRollout;
use super::slim_set::SlimSet;
use crate::rollout::snapshot::Trouble;
use crate::rollout::{ClaimProgress, Progress, Seconds};

/// The time in motion before the Events of a PVC are read.
pub(super) const PATIENCE: Seconds = 30;
/// The time between two reads for one PVC.
const PAUSE: Seconds = 300;
/// The maximum number of Events of a read. Each cause has one Event, which expires after an hour.
const MAX_EVENTS: u32 = 50;

impl Context {
    /// Reads the Events of one slow PVC of the set. True iff there is a new message.
    pub(super) async fn read_events(&self, set: &SlimSet, progress: &Progress) -> bool {
        let now = (self.clock)();
        let report = self.report_of(set);
        let due = self.remember(set, |memory| {
            memory
                .claim_events
                .retain(|uid, _| moving(progress).any(|(known, _)| known == uid));
            due(progress, report.as_deref(), &memory.claim_events, now)
        });
        let Some(uid) = due.filter(|_| self.event_reads.admits(now)) else {
            return false;
        };
        let events: Api<Event> = Api::namespaced(self.client.clone(), &set.namespace().unwrap_or_default());
        let params = ListParams::default()
            .fields(&format!("involvedObject.uid={uid},type=Warning"))
            .limit(MAX_EVENTS);
        let message = match call(events.list(&params)).await {
            ApiOutcome::Done(listed) => latest(&listed.items),
            other => {
                tracing::debug!(uid, outcome = other.as_str(), "failed to list the Events of a PVC");
                None
            }
        };
        self.remember(set, |memory| {
            let before = memory
                .claim_events
                .remove(&uid)
                .map(|event| event.message)
                .unwrap_or_default();
            let message = message.unwrap_or_else(|| before.clone());
            let is_new = message != before;
            memory.claim_events.insert(uid, ClaimEvent { message, read_at: now });
            is_new
        })
    }

    /// Adds the last Events to the messages of PVCs in the progress.
    pub(super) fn quote(&self, set: &SlimSet, progress: &mut Progress) {
        self.remembered(set, |memory| quote(progress, &memory.claim_events));
    }
}

/// True iff the PVC is in motion and none of its conditions has the cause.
fn is_silent(claim: &&ClaimProgress) -> bool {
    claim.state.is_in_motion() && !Trouble::reports(&claim.reason)
}

/// The PVCs whose Events may have to be read, with their uids.
fn moving(progress: &Progress) -> impl Iterator<Item = (&str, &ClaimProgress)> {
    let moving = progress.claims.iter().filter(is_silent);
    moving.filter_map(|claim| Some((claim.uid.as_deref()?, claim)))
}

/// True iff Events may have to be read later although no object changes.
pub(super) fn is_needed(progress: &Progress) -> bool {
    moving(progress).next().is_some()
}

/// The uid of the PVC whose Events are to be read now. The last report contains since when a PVC has been in motion.
fn due(progress: &Progress, report: Option<&ClaimRollout>, claim_events: &ClaimEvents, now: Seconds) -> Option<String> {
    let reported = report.and_then(|report| report.status.as_ref());
    let since = |claim: &ClaimProgress| {
        let mut claims = reported?.claims.iter();
        let known = claims.find(|known| known.name == claim.name && known.state == claim.state.as_str())?;
        u64::try_from(known.since.0.as_second()).ok()
    };
    let long =
        moving(progress).filter(|(_, claim)| since(claim).is_some_and(|since| since.saturating_add(PATIENCE) <= now));
    let mut unread = long.filter(|(uid, _)| {
        claim_events
            .get(*uid)
            .is_none_or(|event| event.read_at.saturating_add(PAUSE) <= now)
    });
    unread.next().map(|(uid, _)| uid.to_owned())
}

/// The latest reason and message, without Events of this controller.
fn latest(events: &[Event]) -> Option<String> {
    let time = |event: &Event| {
        let series = event
            .series
            .as_ref()
            .and_then(|series| series.last_observed_time.as_ref());
        let observed = series.or(event.event_time.as_ref()).map(|time| time.0);
        event.last_timestamp.as_ref().map(|time| time.0).max(observed)
    };
    let others = events
        .iter()
        .filter(|event| event.reporting_component.as_deref() != Some(super::events::REPORTER));
    let event = others.max_by_key(|event| time(event))?;
    let (reason, message) = (event.reason.as_deref()?, event.message.as_deref()?);
    Some(shorten(&format!("{reason}: {message}")))
}

fn quote(progress: &mut Progress, claim_events: &ClaimEvents) {
    for claim in progress.claims.iter_mut().filter(|claim| is_silent(&&**claim)) {
        let event = claim.uid.as_ref().and_then(|uid| claim_events.get(uid));
        if let Some(event) = event.filter(|event| !event.message.is_empty()) {
            claim.message = format!("{}; {}", claim.message, event.message);
        }
    }
}

#[cfg(test)]
#[path = "read_events_tests.rs"]
mod tests;
