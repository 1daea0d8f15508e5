//! Each test asserts everything that is done, so that nothing else is.

use crate::rollout::action::Action;
use crate::rollout::fixtures::{apply, complete, gi, state, template, web as fixture};
use crate::rollout::plan::{RECHECK, plan};
use crate::rollout::readiness::ClaimState;
use crate::rollout::replica::{At, Step, step};
use crate::rollout::snapshot::Snapshot;
use crate::templates::Phase;

#[test]
fn the_table_is_that_of_kep_4650() {
    let table = [
        (At::Absent, At::Absent, Step::Nothing),
        (At::Absent, At::Outdated, Step::Apply),
        (At::Absent, At::Updated, Step::Wait),
        (At::Outdated, At::Absent, Step::Nothing),
        (At::Outdated, At::Outdated, Step::Apply),
        (At::Outdated, At::Updated, Step::Wait),
        (At::Updated, At::Absent, Step::Nothing),
        (At::Updated, At::Outdated, Step::Apply),
        (At::Updated, At::Updated, Step::Wait),
    ];
    for (pod, claim, expected) in table {
        assert_eq!(step(pod, claim), expected, "{pod:?} {claim:?}");
    }
}

#[test]
fn the_highest_ordinal_is_first_and_the_next_one_waits_until_it_is_ready() {
    let mut web = fixture();
    for ordinal in [2, 1, 0] {
        assert_eq!(plan(&web).actions, [apply(&web, ordinal)]);
        let name = format!("data-web-{ordinal}");
        web.applied(&name);
        assert_eq!(plan(&web).actions, [], "{name} is not ready");
        assert_eq!(state(&web, &name), ClaimState::Applied);
        web.done(&name);
    }
    assert_eq!(plan(&web).actions, [complete(&web)]);
    web.phase(Phase::Complete);
    web.previous.as_mut().unwrap().ready = "Complete".to_owned();
    let end = plan(&web);
    assert_eq!((end.actions, end.settled, end.requeue_after), (vec![], true, None));
}

#[test]
fn every_claim_of_a_replica_is_applied_then_every_one_is_waited_for() {
    let mut web = fixture();
    web.set.live.push(template("log", "1Gi"));
    web.stage(vec![template("data", "2Gi"), template("log", "2Gi")]);
    for ordinal in 0..3 {
        web.add_claim("log", ordinal);
    }
    let named = |web: &Snapshot| -> Vec<String> {
        let names = plan(web).actions.into_iter().map(|action| match action {
            Action::ApplyClaim(apply) => apply.name.to_string(),
            other => panic!("{other:?}"),
        });
        names.collect()
    };
    assert_eq!(named(&web), ["data-web-2", "log-web-2"]);
    web.done("data-web-2");
    assert_eq!(named(&web), ["log-web-2"]);
    web.applied("log-web-2");
    assert_eq!(named(&web), [""; 0]);
    web.done("log-web-2");
    assert_eq!(named(&web), ["data-web-1", "log-web-1"]);
}

#[test]
fn a_claim_at_the_revision_is_not_touched_again_whatever_it_holds_now() {
    let mut web = fixture();
    for name in ["data-web-2", "data-web-1", "data-web-0"] {
        web.done(name);
    }
    web.claim("data-web-1").request = gi(1);
    web.claim("data-web-1").capacity = Some(gi(1));
    assert_eq!(plan(&web).actions, [complete(&web)]);
}

#[test]
fn a_paused_rollout_is_only_watched() {
    let mut web = fixture();
    web.set.paused = true;
    web.applied("data-web-2");
    let paused = plan(&web);
    assert_eq!(
        (paused.actions, paused.settled, paused.requeue_after),
        (vec![], false, Some(RECHECK))
    );
    assert_eq!(paused.progress.ready.reason, "Paused");
    assert_eq!(state(&web, "data-web-2"), ClaimState::Applied);
    for name in ["data-web-2", "data-web-1", "data-web-0"] {
        web.done(name);
    }
    assert_eq!(plan(&web).actions, []);
}

#[test]
fn the_partition_counts_replicas_from_the_first_ordinal_and_keeps_the_record_rolling_out() {
    let mut web = fixture();
    web.set.partition = 2;
    assert_eq!(plan(&web).actions, [apply(&web, 2)]);
    web.done("data-web-2");
    let plan_held = plan(&web);
    assert_eq!((plan_held.actions, plan_held.settled), (vec![], false));
    assert_eq!(plan_held.progress.ready.reason, "Partitioned");
    web.set.first_ordinal = 1;
    web.add_claim("data", 3);
    assert_eq!(plan(&web).actions, [apply(&web, 3)], "ordinal 3 has index 2");
}

#[test]
fn leftovers_out_of_range_are_left_alone_and_no_replicas_are_complete_at_once() {
    let mut web = fixture();
    web.set.replicas = 0;
    assert_eq!(plan(&web).actions, [complete(&web)]);
    web.set.replicas = 2;
    assert_eq!(plan(&web).actions, [apply(&web, 1)]);
}

#[test]
fn a_newcomer_born_old_is_brought_to_a_complete_wish() {
    let mut web = fixture();
    for name in ["data-web-2", "data-web-1", "data-web-0"] {
        web.done(name);
    }
    web.phase(Phase::Complete);
    web.set.replicas = 4;
    let before = plan(&web);
    assert_eq!(
        (before.actions, before.settled),
        (vec![], false),
        "its claim does not exist yet"
    );
    web.add_claim("data", 3);
    web.add_pod(3);
    assert_eq!(plan(&web).actions, [apply(&web, 3)]);
}

#[test]
fn a_missing_or_terminating_claim_is_neither_waited_for_nor_written_but_keeps_the_wish_open() {
    let mut web = fixture();
    web.claims.remove("data-web-2");
    assert_eq!(plan(&web).actions, [apply(&web, 1)]);
    assert_eq!(state(&web, "data-web-2"), ClaimState::Missing);
    web.claim("data-web-1").terminating = true;
    assert_eq!(plan(&web).actions, [apply(&web, 0)]);
    assert_eq!(state(&web, "data-web-1"), ClaimState::Terminating);
    web.done("data-web-0");
    assert_eq!(plan(&web).actions, []);
}
