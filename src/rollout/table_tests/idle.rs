//! Why nothing is rolled out, and withdrawn changes.

use std::sync::Arc;

use super::words::{act, common};
use crate::rollout::fixtures::{events, rows, web, writes};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::{Previous, Snapshot};
use crate::rollout::{Action, Reason};
use crate::templates::{Revision, UpdatePolicy};

fn previous(web: &mut Snapshot) -> &mut Previous {
    web.previous.as_mut().unwrap()
}

/// The annotation was removed from the set; the last report remains.
fn dropped() -> Snapshot {
    let mut web = web();
    web.set.staged = None;
    web
}

/// The last report, and the reason that is reported now.
const WITHDRAWN: &str = "
    the rollout was running                            |                                      | Withdrawn
    the rollout was stalled                            | reported ClaimRefused                | Withdrawn
    the rollout was complete                           | reported Complete                    | Withdrawn
    only new claims got the templates                  | reported OnClaimDelete               | Withdrawn
    the change was withdrawn before                    | reported Withdrawn, live is reported | Withdrawn
    the live templates have become the staged ones     | live 2                               | NothingStaged
    the live templates have changed, and nothing was staged before | reported NothingStaged | NothingStaged
    the live templates have changed after a withdrawal | reported Withdrawn                   | NothingStaged
    nothing was reported before                        | nothing reported                     | NothingStaged
    the PVCs cannot be listed, which a withdrawal does not need | unlisted | Withdrawn
";

#[test]
fn staged_change_removed_is_withdrawn_unless_it_is_live() {
    for [row, change, expected] in rows(WITHDRAWN) {
        let mut web = dropped();
        act(&mut web, change, |web, word, numbers| match word {
            "live is reported" => previous(web).revision = Revision::of(&web.set.live),
            _ => common(web, word, numbers),
        });
        let plan = plan(&web);
        let progress = &plan.progress;
        let conditions = [&progress.ready, &progress.reconciling, &progress.stalled];
        assert_eq!(
            conditions.map(|condition| condition.holds),
            [true, false, false],
            "{row}"
        );
        assert_eq!(conditions.map(|condition| condition.reason), [expected; 3], "{row}");
        let live = Revision::of(&web.set.live);
        assert_eq!(
            (&progress.update_revision, &progress.current_revision),
            (&live, &live),
            "{row}"
        );
        assert_eq!(
            (progress.counts, progress.claims.len(), plan.settled),
            (None, 0, true),
            "{row}"
        );
        assert_eq!(writes(&web), [], "{row}");
    }
}

/// The annotation, the setting, and whether something is staged under `InPlace`.
type PolicyRow = (Option<UpdatePolicy>, UpdatePolicy, bool, UpdatePolicy);

#[test]
fn report_has_the_policy_in_force() {
    use UpdatePolicy::{InPlace, OnClaimDelete, ReCreate};
    let rows: [PolicyRow; 6] = [
        (None, InPlace, false, InPlace),
        (None, OnClaimDelete, false, OnClaimDelete),
        (Some(OnClaimDelete), InPlace, false, OnClaimDelete),
        (Some(InPlace), OnClaimDelete, false, InPlace),
        (None, ReCreate, true, InPlace),
        (Some(OnClaimDelete), InPlace, true, OnClaimDelete),
    ];
    for (annotation, setting, is_staged, expected) in rows {
        let mut web = if is_staged { web() } else { dropped() };
        web.set.update_policy = annotation;
        Arc::make_mut(&mut web.settings).default_update_policy = setting;
        let found = plan(&web).progress.update_policy;
        assert_eq!(found, expected, "{annotation:?}, {setting:?}, staged: {is_staged}");
    }
}

#[test]
fn withdrawal_emits_one_event_with_the_revision() {
    let mut web = dropped();
    let target = previous(&mut web).revision.clone();
    let message = "Staged change withdrawn; existing PVCs keep their current size";
    assert_eq!(
        events(&web),
        [(Reason::ClaimRolloutWithdrawn, format!("revision {target}: {message}"))]
    );
    assert_eq!(plan(&web).progress.ready.message, message);
    assert!(!Reason::ClaimRolloutWithdrawn.is_warning());
    // As it was reported then.
    previous(&mut web).ready = "Withdrawn".to_owned();
    previous(&mut web).revision = Revision::of(&web.set.live);
    assert_eq!(plan(&web).actions, []);
}

#[test]
fn same_target_after_a_withdrawal_starts_again() {
    let mut web = web();
    previous(&mut web).ready = "Withdrawn".to_owned();
    previous(&mut web).revision = Revision::of(&web.set.live);
    let plan = plan(&web);
    assert_eq!(plan.progress.started, web.now, "the first time does not count");
    assert!(matches!(
        &plan.actions[..],
        [Action::ApplyClaim(_), Action::Event(events)] if events.reason == Reason::ClaimsStaged
    ));
}

#[test]
fn start_of_a_target_is_kept_while_it_is_desired() {
    let mut web = web();
    assert_eq!(plan(&web).progress.started, 950);
    web.set.update_policy = Some(UpdatePolicy::OnClaimDelete);
    assert_eq!(plan(&web).progress.started, 950, "with OnClaimDelete");
    web.set.update_policy = None;
    previous(&mut web).started = None;
    assert_eq!(plan(&web).progress.started, 1000, "the report has no start");
    web.previous = None;
    assert_eq!(plan(&web).progress.started, 1000);
}

#[test]
fn set_terminating_during_a_rollout_is_not_ready() {
    let mut web = web();
    web.set.terminating = true;
    let progress = plan(&web).progress;
    assert_eq!(
        (progress.ready.holds, progress.reconciling.holds, progress.stalled.holds),
        (false, true, false)
    );
    assert_eq!(progress.ready.reason, "SetTerminating");
}

/// The first ordinal, the replicas, and whether the name of a PVC is too long.
#[test]
fn name_too_long_for_the_last_ordinal_rolls_nothing_out() {
    for (first, replicas, is_too_long) in [(0, 9, false), (0, 10, true), (7, 2, false), (8, 2, true)] {
        let mut web = web();
        // With `data-` and `-9`, it is as long as a name may be.
        web.set.name = "w".repeat(246);
        (web.set.first_ordinal, web.set.replicas) = (first, replicas);
        let stalled = plan(&web).progress.stalled;
        let reason = stalled.reason == "StagedChangeNotAllowed";
        assert_eq!(reason, is_too_long, "{first} {replicas}: {stalled:?}");
    }
}
