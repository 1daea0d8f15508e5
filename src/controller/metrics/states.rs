//! Counts rollouts and PVCs by state, from the ClaimRollouts.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::api::reasons::Kind;
use crate::api::{ReadyReason, Seconds};
use crate::controller::crd::ClaimRollout;
use crate::gate::ClaimState;

/// The number of states of a rollout: the reasons of the condition `Ready`, and one for unknown reasons.
pub(crate) const STATES: usize = ReadyReason::ALL.len() + 1;

/// The states as label values.
pub(crate) fn states() -> impl Iterator<Item = &'static str> {
    ReadyReason::ALL.map(ReadyReason::as_str).into_iter().chain(["Other"])
}

/// The number of rollouts and PVCs in each state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateCounts {
    /// Rollouts, in the order of [`states`].
    pub(crate) rollouts: [i64; STATES],
    /// PVCs that are not ready, in the order of [`ClaimState::ALL`].
    pub(crate) claims: [i64; ClaimState::ALL.len()],
    /// The longest time in seconds without progress in a rollout. Rollouts that wait because their user asked for it,
    /// such as paused ones, do not count.
    pub(crate) standstill: i64,
}

impl StateCounts {
    pub(crate) fn take<'a>(rollouts: impl Iterator<Item = &'a CountedRollout>, now: Seconds) -> Self {
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let mut counts = Self::default();
        for rollout in rollouts {
            counts.rollouts[rollout.state.map_or(STATES - 1, |reason| reason as usize)] += 1;
            for state in &rollout.claims {
                counts.claims[*state as usize] += 1;
            }
            if let Some(moved) = rollout.last_moved {
                counts.standstill = counts.standstill.max(now.saturating_sub(moved));
            }
        }
        counts
    }
}

/// What is counted of one rollout.
#[derive(Clone, Debug)]
pub(crate) struct CountedRollout {
    /// None if the reason is unknown.
    state: Option<ReadyReason>,
    /// The states of the PVCs that are not ready.
    claims: Box<[ClaimState]>,
    /// See [`last_moved`].
    last_moved: Option<i64>,
}

impl CountedRollout {
    pub(crate) fn of(rollout: &ClaimRollout) -> Self {
        let claims = rollout.status.iter().flat_map(|status| &status.claims);
        let known = |state: &str| ClaimState::ALL.into_iter().find(|known| known.as_str() == state);
        Self {
            state: reason(rollout),
            claims: claims.filter_map(|claim| known(&claim.state)).collect(),
            last_moved: last_moved(rollout),
        }
    }
}

fn condition<'a>(rollout: &'a ClaimRollout, type_: &str) -> Option<&'a Condition> {
    rollout.status.as_ref()?.condition(type_)
}

fn reason(rollout: &ClaimRollout) -> Option<ReadyReason> {
    ReadyReason::read(&condition(rollout, "Ready")?.reason)
}

/// When the rollout last made progress; where nothing is rolled out, when a condition last changed. None if no progress is
/// expected.
fn last_moved(rollout: &ClaimRollout) -> Option<i64> {
    let holds = |type_| condition(rollout, type_).is_some_and(|condition| condition.status == "True");
    let waits_for_user = reason(rollout).is_some_and(|reason| reason.kind() == Kind::Waiting);
    if waits_for_user || !(holds("Reconciling") || holds("Stalled")) {
        return None;
    }
    let status = rollout.status.as_ref()?;
    let conditions = status
        .conditions
        .iter()
        .map(|condition| &condition.last_transition_time);
    let progress = status.last_progress_time.as_ref().map(|time| time.0.as_second());
    progress.or_else(|| conditions.map(|time| time.0.as_second()).max())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{CountedRollout, StateCounts, states};
    use crate::controller::fixtures;
    use crate::gate::ClaimState;

    /// A rollout with this reason. The condition `holds` is true since `second`, and the last progress was then; the PVCs
    /// have these states since these seconds.
    fn rollout(reason: &str, holds: &str, second: i64, claims: &[(&str, i64)]) -> CountedRollout {
        let time = |second: i64| jiff::Timestamp::from_second(second).unwrap().to_string();
        let condition = |type_: &str| {
            let status = if type_ == holds { "True" } else { "False" };
            let reason = if type_ == "Ready" { reason } else { "Other" };
            json!({
                "type": type_, "status": status, "reason": reason, "message": "",
                "lastTransitionTime": time(second),
            })
        };
        let claims = claims.iter().map(|(state, since)| {
            let since = time(*since);
            json!({"name": "c", "ordinal": 0, "state": state, "reason": "", "message": "", "since": since})
        });
        let progress = (reason == "RollingOut").then(|| time(second));
        let conditions = ["Ready", "Reconciling", "Stalled"].map(condition);
        let claims: Vec<_> = claims.collect();
        let status = json!({"conditions": conditions, "claims": claims, "lastProgressTime": progress});
        CountedRollout::of(&fixtures::rollout(&json!({"name": "web"}), &status))
    }

    #[test]
    fn rollouts_and_claims_are_counted_by_state() {
        let rollouts = [
            rollout("RollingOut", "Reconciling", 0, &[("Expanding", 0), ("Pending", 0)]),
            rollout("RollingOut", "Reconciling", 0, &[("Pending", 0), ("Unheard", 0)]),
            rollout("Complete", "Ready", 0, &[]),
            rollout("Unheard", "Ready", 0, &[]),
        ];
        let counts = StateCounts::take(rollouts.iter(), 0);
        let named = |names: &[&str], numbers: &[i64]| {
            let pairs = names.iter().zip(numbers).filter(|(_, count)| **count > 0);
            pairs.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>()
        };
        assert_eq!(
            named(&states().collect::<Vec<_>>(), &counts.rollouts),
            ["RollingOut 2", "Complete 1", "Other 1"]
        );
        let states = ClaimState::ALL.map(ClaimState::as_str);
        assert_eq!(named(&states, &counts.claims), ["Pending 2", "Expanding 1"]);
    }

    #[test]
    fn standstill_ignores_rollouts_without_expected_progress() {
        for (why, rollouts, expected) in [
            ("none", vec![], 0),
            ("done long ago", vec![rollout("Complete", "Ready", 100, &[])], 0),
            ("paused", vec![rollout("Paused", "Reconciling", 100, &[])], 0),
            ("moving", vec![rollout("RollingOut", "Reconciling", 900, &[])], 100),
            (
                "a driver that fails and tries again makes no progress",
                vec![rollout(
                    "RollingOut",
                    "Reconciling",
                    100,
                    &[("Expanding", 990), ("Pending", 100)],
                )],
                900,
            ),
            ("denied", vec![rollout("ClaimRefused", "Stalled", 400, &[])], 600),
            (
                "the longest of several",
                vec![
                    rollout("RollingOut", "Reconciling", 800, &[]),
                    rollout("RollingOut", "Reconciling", 700, &[]),
                    rollout("RollingOut", "Reconciling", 900, &[]),
                ],
                300,
            ),
            (
                "a clock that is behind",
                vec![rollout("RollingOut", "Reconciling", 2000, &[])],
                0,
            ),
        ] {
            assert_eq!(StateCounts::take(rollouts.iter(), 1000).standstill, expected, "{why}");
        }
    }
}
