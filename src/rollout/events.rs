//! Events: the difference between the last report and the present one.
//!
//! The ClaimRollout itself is the memory, so a restarted controller does not repeat Events.

use super::action::{EventNotice, Reason};
use super::idle_report;
use super::progress::{ClaimProgress, Progress};
use super::replica::Replica;
use super::snapshot::{Previous, Snapshot};
use crate::api::ReadyReason;
use crate::gate::{ClaimState, Idle, Target};
use crate::templates::{StagedChange, Strategy};

/// The Event for a set for which nothing is rolled out: a new staged change leaves existing claims as they are, the
/// rollout is stalled, or the staged change was withdrawn.
#[must_use]
pub fn idle(snapshot: &Snapshot, idle: &Idle) -> Option<EventNotice> {
    if *idle == Idle::Withdrawn {
        let previous = snapshot.previous.as_ref()?;
        let asking = idle_report::asking(snapshot).map(|asking| format!("; {asking}"));
        let message = format!("revision {}: {idle}{}", previous.revision, asking.unwrap_or_default());
        return (previous.ready != idle.as_str()).then(|| EventNotice {
            reason: Reason::ClaimRolloutWithdrawn,
            ..staged(snapshot, message)
        });
    }
    let is_reported = *idle == Idle::OnClaimDelete || idle.is_stalled();
    let revision = snapshot.set.staged.as_ref().map(StagedChange::revision);
    let previous = match &revision {
        Some(revision) => snapshot.reported(revision),
        None => snapshot.previous.as_ref(),
    };
    let known = previous.is_some_and(|previous| previous.ready == idle.as_str());
    let message = match &revision {
        Some(revision) => format!("revision {revision}: {idle}"),
        None => idle.to_string(),
    };
    let reason = if idle.is_stalled() {
        Reason::ClaimRolloutStalled
    } else {
        Reason::ClaimsStaged
    };
    (is_reported && !known).then(|| EventNotice {
        reason,
        ..staged(snapshot, message)
    })
}

/// The Events of a rollout.
#[must_use]
pub fn changes(
    snapshot: &Snapshot,
    target: &Target<'_>,
    replicas: &[Replica<'_>],
    progress: &Progress,
) -> Vec<EventNotice> {
    let mut events = Vec::new();
    let previous = snapshot.reported(&target.label.revision);
    if previous.is_none() {
        events.push(staged(snapshot, updating(snapshot, target)));
    }
    for claim in progress.claims.iter().chain(&progress.unlisted) {
        events.extend(trouble(snapshot, previous, claim));
    }
    if let Some(previous) = previous {
        events.extend(newly_ready(snapshot, previous, replicas));
    }
    events.extend(stalled(snapshot, previous, progress));
    if progress.ready.holds && previous.is_some_and(|previous| previous.ready != progress.ready.reason) {
        let message = format!("revision {}: {}", target.label.revision, progress.ready.message);
        events.push(EventNotice {
            reason: Reason::ClaimRolloutComplete,
            ..staged(snapshot, message)
        });
    }
    events
}

/// The message for a new staged change.
fn updating(snapshot: &Snapshot, target: &Target<'_>) -> String {
    let templates = &target.change.templates;
    let names: Vec<String> = templates
        .iter()
        .map(|template| format!("\"{}\"", template.name))
        .collect();
    let order = match snapshot.set.strategy {
        Strategy::RollingUpdate | Strategy::Recreate => "highest ordinal first",
        Strategy::OnDelete => "each after its Pod is deleted",
    };
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let claims = snapshot.set.ordinals().count() * names.len();
    format!(
        "Updating {claims} PVC{} of template{} {} to revision {}, {order}",
        plural(claims),
        plural(names.len()),
        names.join(", "),
        target.label.revision,
    )
}

/// The Event for a stalled rollout, where no claim is the cause.
fn stalled(snapshot: &Snapshot, previous: Option<&Previous>, progress: &Progress) -> Option<EventNotice> {
    let reason = progress.ready.reason;
    let is_new = |previous: &Previous| previous.ready != reason;
    let is_emitted = match ReadyReason::read(reason)? {
        ReadyReason::WriteRefused | ReadyReason::ProgressDeadlineExceeded => previous.is_some_and(is_new),
        // These may hold from the first report on.
        ReadyReason::WouldExceedQuota | ReadyReason::ReCreateStopped => previous.is_none_or(is_new),
        _ => false,
    };
    is_emitted.then(|| EventNotice {
        reason: Reason::ClaimRolloutStalled,
        ..staged(snapshot, progress.ready.message.clone())
    })
}

fn staged(snapshot: &Snapshot, message: String) -> EventNotice {
    EventNotice::of_set(&snapshot.set.uid, Reason::ClaimsStaged, message)
}

/// One Event for each claim and cause.
fn trouble(snapshot: &Snapshot, previous: Option<&Previous>, claim: &ClaimProgress) -> Option<EventNotice> {
    let reason = match claim.state {
        ClaimState::Refused => Reason::FailedToPatchPVC,
        ClaimState::Infeasible => Reason::ClaimExpansionFailed,
        ClaimState::Foreign => Reason::ClaimForeign,
        _ => return None,
    };
    let known = previous
        .and_then(|previous| previous.claims.get(&claim.name))
        .is_some_and(|(state, reason, message)| {
            (state.as_str(), reason) == (claim.state.as_str(), &claim.reason) && is_same_cause(message, &claim.message)
        });
    (!known).then(|| EventNotice {
        set_uid: snapshot.set.uid.clone(),
        claim: claim.uid.clone().map(|uid| (claim.name.clone(), uid)),
        reason,
        message: format!("{}: {}", claim.name, claim.message),
    })
}

/// True iff two messages differ in numbers and amounts only: the message of a quota contains the present usage.
pub(crate) fn is_same_cause(one: &str, other: &str) -> bool {
    fn words(text: &str) -> impl Iterator<Item = &str> {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '.');
        words.filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()))
    }
    words(one).eq(words(other))
}

/// One Event for each claim that the last report listed as pending, failed or in motion and that is done now. Pending
/// claims count as well, because a claim may grow faster than reports are written.
fn newly_ready<'a>(
    snapshot: &'a Snapshot,
    previous: &'a Previous,
    replicas: &'a [Replica<'a>],
) -> impl Iterator<Item = EventNotice> + 'a {
    let was_not_done = |name: &str| {
        let state = previous
            .claims
            .get(name)
            .and_then(|(state, ..)| ClaimState::read(state));
        state.is_some_and(|state| {
            let waits = matches!(
                state,
                ClaimState::Pending | ClaimState::Refused | ClaimState::Infeasible
            );
            waits || state.is_in_motion()
        })
    };
    let done = replicas
        .iter()
        .flat_map(|replica| &replica.claims)
        .filter(|claim| claim.state == ClaimState::Done);
    done.filter(move |claim| was_not_done(claim.name.as_str()))
        .filter_map(|assessment| {
            let claim = assessment.claim?;
            Some(EventNotice {
                set_uid: snapshot.set.uid.clone(),
                claim: Some((claim.name.clone(), claim.uid.clone())),
                reason: Reason::ClaimReady,
                message: format!("{}: capacity {}", claim.name, claim.capacity.unwrap_or(claim.request)),
            })
        })
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
