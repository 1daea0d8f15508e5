//! Asks why a claim takes long: what the resizer or the kubelet last said of it in an Event.
//!
//! What a driver answers is in a condition of the claim, which is watched. What nobody knows the end of (the driver is
//! unavailable, the call timed out) the resizer says in Events and nowhere else. Events are not watched: those of one claim
//! are listed once in a while, when it has been on its way for long.
//!
//! The API server keeps no copy of Events: it goes through all of the namespace in etcd, whatever is selected. So this
//! controller lists them twelve times a minute at most, however many claims are on their way: one claim at each look, and each
//! look in its turn.

use k8s_openapi::api::core::v1::Event;
use kube::ResourceExt;
use kube::api::{Api, ListParams};

use super::act::{Outcome, call, shorten};
use super::claim_events::{ClaimEvent, ClaimEvents};
use super::context::Context;
use super::crd::ClaimRollout;
use super::slim::Set;
use crate::rollout::snapshot::Trouble;
use crate::rollout::{ClaimProgress, Progress, Seconds};

/// A claim that has been on its way for less is not asked about.
pub(super) const PATIENCE: Seconds = 30;
/// Time between two questions about one claim.
const PAUSE: Seconds = 300;
/// How many Events are read about one claim. There is one for each cause, and each lives for an hour.
const MAX_EVENTS: u32 = 50;

impl Context {
    /// Asks about a claim of the set that has been on its way for long. True iff something new was said.
    pub(super) async fn read_events(&self, set: &Set, progress: &Progress) -> bool {
        let now = (self.clock)();
        let report = self.report_of(set);
        let due = self.remember(set, |memory| {
            memory
                .claim_events
                .retain(|uid, _| moving(progress).any(|(known, _)| known == uid));
            due(progress, report.as_deref(), &memory.claim_events, now)
        });
        let Some(uid) = due.filter(|_| self.questions.admits(now)) else {
            return false;
        };
        let events: Api<Event> = Api::namespaced(self.client.clone(), &set.namespace().unwrap_or_default());
        let params = ListParams::default()
            .fields(&format!("involvedObject.uid={uid},type=Warning"))
            .limit(MAX_EVENTS);
        let message = match call(events.list(&params)).await {
            Outcome::Done(listed) => latest(&listed.items),
            other => {
                tracing::debug!(uid, outcome = other.as_str(), "the Events of a claim could not be read");
                None
            }
        };
        self.remember(set, |memory| {
            let before = memory
                .claim_events
                .remove(&uid)
                .map(|claim_events| claim_events.message)
                .unwrap_or_default();
            let message = message.unwrap_or_else(|| before.clone());
            let news = message != before;
            memory.claim_events.insert(uid, ClaimEvent { message, asked: now });
            news
        })
    }

    /// Adds what was said of claims to what users read of them.
    pub(super) fn quote(&self, set: &Set, progress: &mut Progress) {
        self.remembered(set, |memory| quote(progress, &memory.claim_events));
    }
}

/// True iff the claim is on its way, and no condition of it says what keeps it.
fn is_silent(claim: &&ClaimProgress) -> bool {
    claim.state.is_in_motion() && !Trouble::reports(&claim.reason)
}

/// The claims that may have to be asked about, with their uids.
fn moving(progress: &Progress) -> impl Iterator<Item = (&str, &ClaimProgress)> {
    let moving = progress.claims.iter().filter(is_silent);
    moving.filter_map(|claim| Some((claim.uid.as_deref()?, claim)))
}

/// True iff a claim is on its way, so that it may have to be asked about without anything having changed.
pub(super) fn is_needed(progress: &Progress) -> bool {
    moving(progress).next().is_some()
}

/// The uid of the claim to ask about now: one after the other, each again after a while. For how long a claim has been on its way, the last report says.
fn due(progress: &Progress, report: Option<&ClaimRollout>, claim_events: &ClaimEvents, now: Seconds) -> Option<String> {
    let reported = report.and_then(|report| report.status.as_ref());
    let since = |claim: &ClaimProgress| {
        let mut claims = reported?.claims.iter();
        let known = claims.find(|known| known.name == claim.name && known.state == claim.state.as_str())?;
        u64::try_from(known.since.0.as_second()).ok()
    };
    let long =
        moving(progress).filter(|(_, claim)| since(claim).is_some_and(|since| since.saturating_add(PATIENCE) <= now));
    let mut unasked = long.filter(|(uid, _)| {
        claim_events
            .get(*uid)
            .is_none_or(|claim_events| claim_events.asked.saturating_add(PAUSE) <= now)
    });
    unasked.next().map(|(uid, _)| uid.to_owned())
}

/// The latest message, with its reason; nothing of what this controller said itself.
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
        let claim_events = claim.uid.as_ref().and_then(|uid| claim_events.get(uid));
        if let Some(claim_events) = claim_events.filter(|claim_events| !claim_events.message.is_empty()) {
            claim.message = format!("{}; {}", claim.message, claim_events.message);
        }
    }
}

#[cfg(test)]
#[path = "read_events_tests.rs"]
mod tests;
