//! When there is nothing to roll out, and how a wish ends that is given up.

use crate::rollout::fixtures::{events, template, web, writes};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::{Previous, Snapshot};
use crate::rollout::{Action, Reason};
use crate::templates::{Revision, UpdatePolicy};

fn previous(web: &mut Snapshot) -> &mut Previous {
    web.previous.as_mut().unwrap()
}

/// The wish is gone from the set; what was reported before is left.
fn dropped() -> Snapshot {
    let mut web = web();
    web.set.staged = None;
    web
}

/// What was reported before, and the reason that is reported now.
type Row = (&'static str, fn(&mut Snapshot), &'static str);

const GONE: [Row; 9] = [
    ("it was on its way", |_| {}, "Withdrawn"),
    (
        "it was stuck",
        |web| previous(web).ready = "ClaimRefused".to_owned(),
        "Withdrawn",
    ),
    (
        "it was complete",
        |web| previous(web).ready = "Complete".to_owned(),
        "Withdrawn",
    ),
    (
        "only new claims got it",
        |web| previous(web).ready = "OnClaimDelete".to_owned(),
        "Withdrawn",
    ),
    (
        "it was withdrawn before",
        |web| {
            previous(web).ready = "Withdrawn".to_owned();
            previous(web).revision = Revision::of(&web.set.live);
        },
        "Withdrawn",
    ),
    (
        "the templates were changed where they may be",
        |web| web.set.live = vec![template("data", "2Gi")],
        "NothingStaged",
    ),
    (
        "the templates were changed where they may be, and nothing was staged before",
        |web| previous(web).ready = "NothingStaged".to_owned(),
        "NothingStaged",
    ),
    (
        "the templates were changed where they may be, after a withdrawal",
        |web| previous(web).ready = "Withdrawn".to_owned(),
        "NothingStaged",
    ),
    (
        "nothing was reported before",
        |web| web.previous = None,
        "NothingStaged",
    ),
];

#[test]
fn a_wish_that_is_gone_was_withdrawn_unless_the_live_templates_are_what_was_wished() {
    for (sentence, change, expected) in GONE {
        let mut web = dropped();
        change(&mut web);
        let plan = plan(&web);
        let progress = &plan.progress;
        let conditions = [&progress.ready, &progress.reconciling, &progress.stalled];
        assert_eq!(
            conditions.map(|condition| condition.holds),
            [true, false, false],
            "{sentence}"
        );
        assert_eq!(
            conditions.map(|condition| condition.reason),
            [expected; 3],
            "{sentence}"
        );
        let live = Revision::of(&web.set.live);
        assert_eq!(
            (&progress.update_revision, &progress.current_revision),
            (&live, &live),
            "{sentence}"
        );
        assert_eq!(
            (progress.counts, progress.claims.len(), plan.settled),
            (None, 0, true),
            "{sentence}"
        );
        assert_eq!(writes(&web), [], "{sentence}");
    }
}

#[test]
fn a_withdrawal_is_told_once_and_names_what_was_wished() {
    let mut web = dropped();
    let target = previous(&mut web).revision.clone();
    let message =
        "what was staged is withdrawn: the templates of the set are the wish again, and claims stay as they are";
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
fn a_wish_after_a_withdrawal_begins_anew_also_if_it_is_the_same() {
    let mut web = web();
    previous(&mut web).ready = "Withdrawn".to_owned();
    previous(&mut web).revision = Revision::of(&web.set.live);
    let plan = plan(&web);
    assert_eq!(plan.progress.started, web.now, "what was first seen then is over");
    assert!(matches!(
        &plan.actions[..],
        [Action::ApplyClaim(_), Action::Event(events)] if events.reason == Reason::ClaimsStaged
    ));
}

#[test]
fn when_a_wish_was_first_seen_is_kept_for_as_long_as_it_is_wished() {
    let mut web = web();
    assert_eq!(plan(&web).progress.started, 950);
    web.set.update_policy = Some(UpdatePolicy::OnClaimDelete);
    assert_eq!(plan(&web).progress.started, 950, "claims do not follow now");
    web.set.update_policy = None;
    previous(&mut web).started = None;
    assert_eq!(plan(&web).progress.started, 1000, "from now on it is known");
    web.previous = None;
    assert_eq!(plan(&web).progress.started, 1000);
}

#[test]
fn a_set_that_is_being_deleted_before_its_wish_was_reached_is_not_ready() {
    let mut web = web();
    web.set.terminating = true;
    let progress = plan(&web).progress;
    assert_eq!(
        (progress.ready.holds, progress.reconciling.holds, progress.stalled.holds),
        (false, true, false)
    );
    assert_eq!(progress.ready.reason, "SetTerminating");
}
