//! What is said once: the difference between what was last reported and what is reported now.
//!
//! The memory is the ClaimRollout itself, so a controller that starts anew does not say everything again.

use super::action::{EventNotice, Reason};
use super::idle::Idle;
use super::lag;
use super::progress::{ClaimProgress, Progress};
use super::readiness::ClaimState;
use super::replica::Replica;
use super::snapshot::{Previous, Snapshot, Strategy};
use super::target::Target;
use crate::api::ReadyReason;
use crate::templates::StagedChange;

/// What to say about a set for which nothing is rolled out: that its claims stay as they are, when a wish is new, or that
/// it was withdrawn.
#[must_use]
pub fn idle(snapshot: &Snapshot, idle: &Idle) -> Option<EventNotice> {
    if *idle == Idle::Withdrawn {
        let previous = snapshot.previous.as_ref()?;
        let asking = lag::asking(snapshot).map(|asking| format!("; {asking}"));
        let message = format!("revision {}: {idle}{}", previous.revision, asking.unwrap_or_default());
        return (previous.ready != idle.as_str()).then(|| EventNotice {
            reason: Reason::ClaimRolloutWithdrawn,
            ..staged(snapshot, message)
        });
    }
    let worth_saying = *idle == Idle::OnClaimDelete || idle.is_stalled();
    let revision = snapshot.set.staged.as_ref().map(StagedChange::revision);
    let is_same = |previous: &Previous| revision.as_ref().is_none_or(|revision| previous.revision == *revision);
    let known = snapshot
        .previous
        .as_ref()
        .is_some_and(|previous| is_same(previous) && previous.ready == idle.as_str());
    let message = match &revision {
        Some(revision) => format!("revision {revision}: {idle}"),
        None => idle.to_string(),
    };
    let reason = if idle.is_stalled() {
        Reason::ClaimRolloutStalled
    } else {
        Reason::ClaimsStaged
    };
    (worth_saying && !known).then(|| EventNotice {
        reason,
        ..staged(snapshot, message)
    })
}

/// What to say about a rollout.
#[must_use]
pub fn changes(
    snapshot: &Snapshot,
    target: &Target<'_>,
    replicas: &[Replica<'_>],
    progress: &Progress,
) -> Vec<EventNotice> {
    let mut events = Vec::new();
    let previous = snapshot
        .previous
        .as_ref()
        .filter(|previous| previous.revision == target.revision);
    if previous.is_none() {
        let names: Vec<&str> = target
            .change
            .templates
            .iter()
            .map(|template| template.name.as_str())
            .collect();
        let order = match snapshot.set.strategy {
            Strategy::RollingUpdate | Strategy::Recreate => "highest ordinal first",
            Strategy::OnDelete => "each when its Pod has been deleted",
        };
        let message = format!(
            "revision {}: {} claims of {} follow, {order}",
            target.revision,
            snapshot.set.ordinals().count() * names.len(),
            names.join(", "),
        );
        events.push(staged(snapshot, message));
    }
    for claim in progress.claims.iter().chain(&progress.unlisted) {
        events.extend(trouble(snapshot, previous, claim));
    }
    if let Some(previous) = previous {
        events.extend(newly_ready(snapshot, previous, replicas));
    }
    events.extend(stalled(snapshot, previous, progress));
    if progress.ready.holds && previous.is_some_and(|previous| previous.ready != progress.ready.reason) {
        let message = format!("revision {}: {}", target.revision, progress.ready.message);
        events.push(EventNotice {
            reason: Reason::ClaimRolloutComplete,
            ..staged(snapshot, message)
        });
    }
    events
}

/// That nothing goes on, where no claim says so.
fn stalled(snapshot: &Snapshot, previous: Option<&Previous>, progress: &Progress) -> Option<EventNotice> {
    let reason = progress.ready.reason;
    let is_new = |previous: &Previous| previous.ready != reason;
    let is_told = match ReadyReason::read(reason)? {
        ReadyReason::WriteRefused | ReadyReason::ProgressDeadlineExceeded => previous.is_some_and(is_new),
        // It may be the first that is known of a wish.
        ReadyReason::WouldExceedQuota => previous.is_none_or(is_new),
        _ => false,
    };
    is_told.then(|| EventNotice {
        reason: Reason::ClaimRolloutStalled,
        ..staged(snapshot, progress.ready.message.clone())
    })
}

fn staged(snapshot: &Snapshot, message: String) -> EventNotice {
    EventNotice {
        set_uid: snapshot.set.uid.clone(),
        claim: None,
        reason: Reason::ClaimsStaged,
        message,
    }
}

/// Once per claim and cause.
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

/// True iff two messages differ in numbers and amounts only: a quota says what is used at the moment.
fn is_same_cause(one: &str, other: &str) -> bool {
    fn words(text: &str) -> impl Iterator<Item = &str> {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '.');
        words.filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()))
    }
    words(one).eq(words(other))
}

/// Claims that were to be brought to the wish when last reported and are done now. Of one that grew while a report was
/// being written, nobody reported that it was on its way.
fn newly_ready<'a>(
    snapshot: &'a Snapshot,
    previous: &'a Previous,
    replicas: &'a [Replica<'a>],
) -> impl Iterator<Item = EventNotice> + 'a {
    let was_ours_to_do = |name: &str| {
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
    done.filter(move |claim| was_ours_to_do(claim.name.as_str()))
        .filter_map(|standing| {
            let claim = standing.claim?;
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
