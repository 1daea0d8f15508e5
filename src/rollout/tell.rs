//! What is said once: the difference between what was last reported and what is reported now.
//!
//! The memory is the ClaimRollout itself, so a controller that starts anew does not say everything again.

use super::action::{Reason, Tell};
use super::idle::Idle;
use super::lag;
use super::progress::{ClaimProgress, Progress};
use super::readiness::ClaimState;
use super::replica::Replica;
use super::snapshot::{Earlier, Snapshot, Strategy};
use super::wish::Wish;
use crate::api::ReadyReason;
use crate::templates::Record;

/// What to say about a set for which nothing is rolled out: that its claims stay as they are, when a wish is new, or that
/// it was withdrawn.
#[must_use]
pub fn idle(snapshot: &Snapshot, idle: &Idle) -> Option<Tell> {
    if *idle == Idle::Withdrawn {
        let earlier = snapshot.earlier.as_ref()?;
        let asking = lag::asking(snapshot).map(|asking| format!("; {asking}"));
        let message = format!("revision {}: {idle}{}", earlier.revision, asking.unwrap_or_default());
        return (earlier.ready != idle.as_str()).then(|| Tell {
            reason: Reason::ClaimRolloutWithdrawn,
            ..staged(snapshot, message)
        });
    }
    let worth_saying = *idle == Idle::OnClaimDelete || idle.is_stalled();
    let revision = snapshot.set.staged.as_ref().map(Record::revision);
    let is_same = |earlier: &Earlier| revision.as_ref().is_none_or(|revision| earlier.revision == *revision);
    let known = snapshot
        .earlier
        .as_ref()
        .is_some_and(|earlier| is_same(earlier) && earlier.ready == idle.as_str());
    let message = match &revision {
        Some(revision) => format!("revision {revision}: {idle}"),
        None => idle.to_string(),
    };
    let reason = if idle.is_stalled() {
        Reason::ClaimRolloutStalled
    } else {
        Reason::ClaimsStaged
    };
    (worth_saying && !known).then(|| Tell {
        reason,
        ..staged(snapshot, message)
    })
}

/// What to say about a rollout.
#[must_use]
pub fn changes(snapshot: &Snapshot, wish: &Wish<'_>, replicas: &[Replica<'_>], progress: &Progress) -> Vec<Tell> {
    let mut told = Vec::new();
    let earlier = snapshot
        .earlier
        .as_ref()
        .filter(|earlier| earlier.revision == wish.revision);
    if earlier.is_none() {
        let names: Vec<&str> = wish
            .record
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
            wish.revision,
            snapshot.set.ordinals().count() * names.len(),
            names.join(", "),
        );
        told.push(staged(snapshot, message));
    }
    for claim in progress.claims.iter().chain(&progress.unlisted) {
        told.extend(trouble(snapshot, earlier, claim));
    }
    if let Some(earlier) = earlier {
        told.extend(newly_ready(snapshot, earlier, replicas));
    }
    told.extend(stalled(snapshot, earlier, progress));
    if progress.ready.holds && earlier.is_some_and(|earlier| earlier.ready != progress.ready.reason) {
        let message = format!("revision {}: {}", wish.revision, progress.ready.message);
        told.push(Tell {
            reason: Reason::ClaimRolloutComplete,
            ..staged(snapshot, message)
        });
    }
    told
}

/// That nothing goes on, where no claim says so.
fn stalled(snapshot: &Snapshot, earlier: Option<&Earlier>, progress: &Progress) -> Option<Tell> {
    let reason = progress.ready.reason;
    let is_new = |earlier: &Earlier| earlier.ready != reason;
    let is_told = match ReadyReason::read(reason)? {
        ReadyReason::WriteRefused | ReadyReason::ProgressDeadlineExceeded => earlier.is_some_and(is_new),
        // It may be the first that is known of a wish.
        ReadyReason::WouldExceedQuota => earlier.is_none_or(is_new),
        _ => false,
    };
    is_told.then(|| Tell {
        reason: Reason::ClaimRolloutStalled,
        ..staged(snapshot, progress.ready.message.clone())
    })
}

fn staged(snapshot: &Snapshot, message: String) -> Tell {
    Tell {
        set_uid: snapshot.set.uid.clone(),
        claim: None,
        reason: Reason::ClaimsStaged,
        message,
    }
}

/// Once per claim and cause.
fn trouble(snapshot: &Snapshot, earlier: Option<&Earlier>, claim: &ClaimProgress) -> Option<Tell> {
    let reason = match claim.state {
        ClaimState::Refused => Reason::FailedToPatchPVC,
        ClaimState::Infeasible => Reason::ClaimExpansionFailed,
        ClaimState::Foreign => Reason::ClaimForeign,
        _ => return None,
    };
    let known = earlier
        .and_then(|earlier| earlier.claims.get(&claim.name))
        .is_some_and(|(state, reason, message)| {
            (state.as_str(), reason) == (claim.state.as_str(), &claim.reason) && is_same_cause(message, &claim.message)
        });
    (!known).then(|| Tell {
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
    earlier: &'a Earlier,
    replicas: &'a [Replica<'a>],
) -> impl Iterator<Item = Tell> + 'a {
    let was_ours_to_do = |name: &str| {
        let state = earlier.claims.get(name).and_then(|(state, ..)| ClaimState::read(state));
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
            Some(Tell {
                set_uid: snapshot.set.uid.clone(),
                claim: Some((claim.name.clone(), claim.uid.clone())),
                reason: Reason::ClaimReady,
                message: format!("{}: capacity {}", claim.name, claim.capacity.unwrap_or(claim.request)),
            })
        })
}

#[cfg(test)]
#[path = "tell_tests.rs"]
mod tests;
