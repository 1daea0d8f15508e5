//! Each test compares the whole list of actions.

use crate::gate::ClaimState;
use crate::rollout::action::{Action, SetStaged};
use crate::rollout::fixtures::{apply, complete, state, template, web as fixture};
use crate::rollout::plan::{RECHECK, plan};
use crate::rollout::snapshot::Snapshot;
use crate::templates::Phase;

#[test]
fn highest_ordinal_is_first_and_the_next_waits() {
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
fn all_claims_of_a_replica_are_applied_then_waited_for() {
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
fn updated_claim_is_not_written_again() {
    let mut web = fixture();
    for name in ["data-web-2", "data-web-1", "data-web-0"] {
        web.done(name);
    }
    let claim = web.claim("data-web-1");
    (claim.class, claim.current_class) = (Some("slow".to_owned()), Some("slow".to_owned()));
    assert_eq!(plan(&web).actions, [complete(&web)]);
}

#[test]
fn paused_rollout_writes_nothing() {
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
fn partition_counts_indexes_and_keeps_the_phase() {
    let mut web = fixture();
    web.set.partition = 2;
    assert_eq!(plan(&web).actions, [apply(&web, 2)]);
    web.done("data-web-2");
    let partitioned = plan(&web);
    assert_eq!((partitioned.actions, partitioned.settled), (vec![], false));
    assert_eq!(partitioned.progress.ready.reason, "Partitioned");
    web.set.first_ordinal = 1;
    web.add_claim("data", 3);
    assert_eq!(plan(&web).actions, [apply(&web, 3)], "ordinal 3 has index 2");
}

#[test]
fn new_outdated_claim_follows_a_complete_rollout() {
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
    let change = web.set.staged.as_ref().unwrap();
    let back = Action::SetStaged(SetStaged::taken_back(&web.set, change));
    assert_eq!(plan(&web).actions, [apply(&web, 3), back]);
}

#[test]
fn missing_or_terminating_claim_keeps_the_phase() {
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
