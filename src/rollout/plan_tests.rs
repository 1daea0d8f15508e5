//! Each test asserts everything that is done, so that nothing else is.

use super::{LOOK_AGAIN, plan};
use crate::rollout::action::{Action, ApplyClaim, Reason, SetRecord, Tell};
use crate::rollout::fixtures::{gi, owner, record, template, web as fixture};
use crate::rollout::readiness::ClaimState;
use crate::rollout::replica::{At, Step, step};
use crate::rollout::snapshot::{Neighbour, PodManagement, Refusal, Snapshot, Strategy, Trouble};
use crate::templates::{ClaimName, Phase, UpdatePolicy, keys};

/// The apply that brings `data-web-<ordinal>` to 2Gi.
fn apply(snapshot: &Snapshot, ordinal: u32) -> Action {
    let name = ClaimName::new("data", "web", ordinal).unwrap();
    Action::ApplyClaim(ApplyClaim {
        uid: format!("{name}-uid"),
        name,
        resource_version: "7".to_owned(),
        storage: gi(2),
        volume_attributes_class_name: None,
        labels: [].into(),
        annotations: [].into(),
        revision: snapshot.wish(),
    })
}

fn complete(snapshot: &Snapshot) -> Action {
    let record = snapshot.set.staged.as_ref().unwrap();
    Action::SetRecord(SetRecord::phase("set-uid", "100", record, Phase::Complete))
}

fn told(snapshot: &Snapshot) -> Vec<(Reason, String)> {
    let tells = plan(snapshot).actions.into_iter().filter_map(|action| match action {
        Action::Tell(Tell { reason, message, .. }) => Some((reason, message)),
        _ => None,
    });
    tells.collect()
}

fn writes(snapshot: &Snapshot) -> Vec<Action> {
    plan(snapshot)
        .actions
        .into_iter()
        .filter(|action| !matches!(action, Action::Tell(_)))
        .collect()
}

fn state(snapshot: &Snapshot, claim: &str) -> ClaimState {
    let listed = plan(snapshot).progress.claims;
    listed
        .into_iter()
        .find(|listed| listed.name == claim)
        .map_or(ClaimState::Done, |listed| listed.state)
}

#[test]
fn the_table_is_that_of_kep_4650() {
    let table = [
        (At::Absent, At::Absent, Step::Nothing),
        (At::Absent, At::A, Step::Apply),
        (At::Absent, At::B, Step::Wait),
        (At::A, At::Absent, Step::Nothing),
        (At::A, At::A, Step::Apply),
        (At::A, At::B, Step::Wait),
        (At::B, At::Absent, Step::Nothing),
        (At::B, At::A, Step::Apply),
        (At::B, At::B, Step::Wait),
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
    web.earlier.as_mut().unwrap().ready = "Complete".to_owned();
    let end = plan(&web);
    assert_eq!((end.actions, end.settled, end.wake), (vec![], true, None));
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
fn nothing_is_done_where_nothing_is_to_be_rolled_out() {
    type Change = (&'static str, fn(&mut Snapshot));
    let rows: [Change; 7] = [
        ("NothingStaged", |web| web.set.staged = None),
        ("SetTerminating", |web| web.set.terminating = true),
        ("SetOwned", |web| {
            web.set.controller = Some(owner("Prometheus", "k8s", "p"))
        }),
        ("OnClaimDelete", |web| {
            web.set.update_policy = Some(UpdatePolicy::OnClaimDelete)
        }),
        ("OnClaimDelete", |web| {
            web.set.staged.as_mut().unwrap().update_policy = UpdatePolicy::OnClaimDelete
        }),
        ("ReCreateNotEnabled", |web| {
            web.set.update_policy = Some(UpdatePolicy::ReCreate)
        }),
        ("RecordUnsound", |web| web.set.live = vec![template("data", "3Gi")]),
    ];
    for (reason, change) in rows {
        let mut web = fixture();
        change(&mut web);
        web.earlier.as_mut().unwrap().ready = reason.to_owned();
        let plan = plan(&web);
        assert_eq!(
            (plan.actions, plan.settled, plan.wake),
            (vec![], true, None),
            "{reason}"
        );
        assert_eq!(plan.progress.ready.reason, reason);
    }
}

#[test]
fn a_forged_record_is_not_honoured() {
    let mut cases = Vec::new();
    let mut labelled = template("data", "2Gi");
    labelled.labels.insert("kubernetes.io/x".to_owned(), "y".to_owned());
    cases.push((
        vec![labelled],
        "spec.volumeClaimTemplates[data].metadata.labels[kubernetes.io/x]",
    ));
    let mut ours = template("data", "2Gi");
    ours.labels.insert(keys::REVISION.to_owned(), "y".to_owned());
    cases.push((
        vec![ours],
        "spec.volumeClaimTemplates[data].metadata.labels[claim-rollout.io/revision]",
    ));
    let mut frozen = template("data", "2Gi");
    frozen.spec.insert("storageClassName".to_owned(), "fast".into());
    cases.push((vec![frozen], "spec.volumeClaimTemplates[data].spec.storageClassName"));
    cases.push((
        vec![template("data", "500Mi")],
        "spec.volumeClaimTemplates[data].spec.resources.requests.storage",
    ));
    cases.push((
        vec![template("data", "16Ei")],
        "spec.volumeClaimTemplates[data].spec.resources.requests.storage",
    ));
    cases.push((
        vec![template("data", "2Gi"), template("more", "1Gi")],
        "spec.volumeClaimTemplates[more]",
    ));
    cases.push((vec![], "spec.volumeClaimTemplates[data]"));
    for (templates, path) in cases {
        let mut web = fixture();
        web.stage(templates);
        let plan = plan(&web);
        assert_eq!(plan.progress.stalled.reason, "RecordUnsound", "{path}");
        assert!(
            plan.progress.stalled.message.contains(&format!("{path}: expected")),
            "{}",
            plan.progress.stalled.message
        );
        assert!(
            plan.actions.iter().all(|action| matches!(action, Action::Tell(_))),
            "{path}"
        );
    }
}

#[test]
fn what_may_change_outside_the_reserved_domains_is_applied_and_selector_keys_keep_the_selectors_values() {
    let mut web = fixture();
    let mut wanted = template("data", "2Gi");
    for (key, value) in [("app.kubernetes.io/version", "2"), ("app", "other"), ("tier", "a")] {
        wanted.labels.insert(key.to_owned(), value.to_owned());
    }
    wanted.annotations.insert("note".to_owned(), "x".to_owned());
    wanted.volume_attributes_class_name = Some("fast".to_owned());
    web.stage(vec![wanted]);
    let Action::ApplyClaim(expected) = apply(&web, 2) else {
        unreachable!()
    };
    let expected = ApplyClaim {
        volume_attributes_class_name: Some("fast".to_owned()),
        labels: [("app.kubernetes.io/version", "2"), ("tier", "a")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        annotations: [("note".to_owned(), "x".to_owned())].into(),
        ..expected
    };
    assert_eq!(plan(&web).actions, [Action::ApplyClaim(expected)]);
}

#[test]
fn a_claim_is_never_made_smaller() {
    let mut web = fixture();
    web.claim("data-web-2").request = gi(5);
    let Action::ApplyClaim(expected) = apply(&web, 2) else {
        unreachable!()
    };
    assert_eq!(
        plan(&web).actions,
        [Action::ApplyClaim(ApplyClaim {
            storage: gi(5),
            ..expected
        })]
    );
    // KEP-4650: it need only have reached the smaller one of the two.
    let claim = web.applied("data-web-2");
    claim.capacity = Some(gi(3));
    assert_eq!(plan(&web).actions, [apply(&web, 1)]);
}

#[test]
fn a_wish_without_an_attributes_class_repeats_the_claims_class_if_we_set_it() {
    for (ours, expected) in [(true, Some("gold".to_owned())), (false, None)] {
        let mut web = fixture();
        let claim = web.claim("data-web-2");
        claim.class = Some("gold".to_owned());
        claim.current_class = Some("gold".to_owned());
        claim.class_is_ours = ours;
        let Action::ApplyClaim(apply) = apply(&web, 2) else {
            unreachable!()
        };
        let expected = ApplyClaim {
            volume_attributes_class_name: expected,
            ..apply
        };
        assert_eq!(plan(&web).actions, [Action::ApplyClaim(expected)]);
    }
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
    let plan = plan(&web);
    assert_eq!(
        (plan.actions, plan.settled, plan.wake),
        (vec![], false, Some(LOOK_AGAIN))
    );
    assert_eq!(plan.progress.ready.reason, "Paused");
    assert_eq!(state(&web, "data-web-2"), ClaimState::Applied);
    for name in ["data-web-2", "data-web-1", "data-web-0"] {
        web.done(name);
    }
    assert_eq!(super::plan(&web).actions, []);
}

#[test]
fn with_on_delete_claims_wait_for_their_turn_by_hand() {
    let mut web = fixture();
    web.set.strategy = Strategy::OnDelete;
    let plan = plan(&web);
    assert_eq!(plan.actions, []);
    assert_eq!(plan.progress.claims[0].reason, "OnDelete");
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

#[test]
fn an_unbound_claim_is_waited_for_while_its_pod_is_there() {
    let mut web = fixture();
    let claim = web.claim("data-web-2");
    (claim.bound, claim.capacity) = (false, None);
    assert_eq!(plan(&web).actions, []);
    assert_eq!(state(&web, "data-web-2"), ClaimState::Unbound);
    // Its Pod may wait for a lower one, and that one for a larger disk.
    web.pods.remove("web-2");
    assert_eq!(plan(&web).actions, [apply(&web, 1)]);
}

#[test]
fn a_file_system_that_needs_a_pod_is_waited_for_while_the_pod_is_there() {
    let mut web = fixture();
    web.applied("data-web-2").file_system_resize_pending = true;
    assert_eq!(plan(&web).actions, []);
    assert_eq!(state(&web, "data-web-2"), ClaimState::NodeExpanding);
    web.pods.remove("web-2");
    assert_eq!(plan(&web).actions, [apply(&web, 1)]);
}

#[test]
fn what_is_stuck_stops_the_rest_with_ordered_ready_and_not_with_parallel() {
    type Change = (ClaimState, fn(&mut Snapshot));
    let rows: [Change; 3] = [
        (ClaimState::Infeasible, |web| {
            web.applied("data-web-2").trouble = Some(Trouble {
                reason: "ControllerResizeError".to_owned(),
                message: "out of range".to_owned(),
            });
        }),
        (ClaimState::Foreign, |web| web.claim("data-web-2").labels.clear()),
        (ClaimState::Refused, |web| refused(web, 1000)),
    ];
    for (expected, change) in rows {
        let mut web = fixture();
        change(&mut web);
        assert_eq!(writes(&web), [], "{expected}");
        assert_eq!(state(&web, "data-web-2"), expected);
        assert!(plan(&web).progress.stalled.holds);
        web.set.pod_management = PodManagement::Parallel;
        assert_eq!(writes(&web), [apply(&web, 1)], "{expected}");
    }
}

fn refused(web: &mut Snapshot, last: u64) {
    let refusal = Refusal {
        revision: web.wish(),
        resource_version: "7".to_owned(),
        cause: "Forbidden".to_owned(),
        message: "exceeded quota".to_owned(),
        attempts: 3,
        last,
    };
    web.refusals.insert("data-web-2-uid".to_owned(), refusal);
}

#[test]
fn a_refused_claim_is_tried_again_after_a_pause_or_as_soon_as_it_or_the_wish_changes() {
    let mut web = fixture();
    refused(&mut web, 998);
    assert_eq!((writes(&web), plan(&web).wake), (vec![], Some(2)));
    web.now = 1002;
    assert_eq!(
        (writes(&web), plan(&web).wake),
        (vec![apply(&web, 2)], Some(LOOK_AGAIN))
    );
    web.now = 1000;
    web.refusals.get_mut("data-web-2-uid").unwrap().resource_version = "6".to_owned();
    assert_eq!(writes(&web), [apply(&web, 2)]);
    refused(&mut web, 1000);
    web.stage(vec![template("data", "2049Mi")]);
    assert!(matches!(&writes(&web)[..], [Action::ApplyClaim(_)]));
}

#[test]
fn a_claim_that_is_not_the_sets_is_reported_and_never_written() {
    type Change = (&'static str, fn(&mut Snapshot));
    let rows: [Change; 3] = [
        ("SelectorMismatch", |web| {
            _ = web.claim("data-web-2").labels.insert("app".to_owned(), "db".to_owned())
        }),
        ("OwnedByAnother", |web| {
            web.claim("data-web-2").controller = Some(owner("VirtualMachine", "web", "vm"))
        }),
        ("MountedByAnother", |web| {
            web.pods.get_mut("web-2").unwrap().controller = Some(owner("StatefulSet", "web", "older"))
        }),
    ];
    for (reason, change) in rows {
        let mut web = fixture();
        change(&mut web);
        assert_eq!(writes(&web), [], "{reason}");
        assert_eq!(plan(&web).progress.claims[0].reason, reason);
        assert_eq!(plan(&web).progress.stalled.reason, "ClaimForeign");
    }
}

#[test]
fn a_name_that_another_set_could_give_is_nobodys() {
    let mut web = fixture();
    web.set.name = "a-web".to_owned();
    let mut claim = web.claims.remove("data-web-2").unwrap();
    claim.name = "data-a-web-2".to_owned();
    web.claims.insert(claim.name.clone(), claim);
    web.neighbours.push(Neighbour {
        set: "web".to_owned(),
        templates: vec!["log".to_owned()],
    });
    assert!(matches!(&writes(&web)[..], [Action::ApplyClaim(_)]));
    web.neighbours.push(Neighbour {
        set: "web".to_owned(),
        templates: vec!["data-a".to_owned()],
    });
    assert_eq!(writes(&web), []);
    assert_eq!(plan(&web).progress.claims[0].reason, "AmbiguousName");
}

#[test]
fn claims_owned_by_the_set_or_by_their_pod_are_the_sets() {
    for owner in [
        owner("StatefulSet", "web", "set-uid"),
        owner("Pod", "web-2", "web-2-uid"),
    ] {
        let mut web = fixture();
        web.claim("data-web-2").controller = Some(owner);
        assert_eq!(writes(&web), [apply(&web, 2)]);
    }
}

#[test]
fn things_are_said_once() {
    let mut web = fixture();
    web.earlier = None;
    let first = told(&web);
    let revision = web.wish();
    assert_eq!(
        first,
        [(
            Reason::ClaimsStaged,
            format!("revision {revision}: 3 claims of data follow, highest ordinal first")
        )]
    );

    let mut web = fixture();
    refused(&mut web, 1000);
    assert_eq!(
        told(&web),
        [(Reason::FailedToPatchPVC, "data-web-2: exceeded quota".to_owned())]
    );
    let known = ["Refused", "Forbidden", "exceeded quota"].map(str::to_owned);
    web.earlier
        .as_mut()
        .unwrap()
        .claims
        .insert("data-web-2".to_owned(), known.into());
    assert_eq!(told(&web), []);

    let mut web = fixture();
    let known = ["Expanding", "Resizing", ""].map(str::to_owned);
    web.earlier
        .as_mut()
        .unwrap()
        .claims
        .insert("data-web-2".to_owned(), known.into());
    web.done("data-web-2");
    assert_eq!(
        told(&web),
        [(Reason::ClaimReady, "data-web-2: capacity 2Gi".to_owned())]
    );
}

#[test]
fn the_end_is_told_when_the_record_says_complete() {
    let mut web = fixture();
    for name in ["data-web-2", "data-web-1", "data-web-0"] {
        web.done(name);
    }
    assert_eq!(told(&web), []);
    web.phase(Phase::Complete);
    let revision = web.wish();
    let expected = format!("revision {revision}: every claim is at the wish and ready");
    assert_eq!(told(&web), [(Reason::ClaimRolloutComplete, expected)]);
}

#[test]
fn the_counters_are_those_of_the_kep() {
    let mut web = fixture();
    web.done("data-web-2");
    web.applied("data-web-1");
    let progress = plan(&web).progress;
    let counts = progress.counts.unwrap();
    assert_eq!(
        (counts.replicas, counts.current, counts.updated, counts.ready),
        (3, 1, 2, 1)
    );
    let data = &progress.by_template[0];
    assert_eq!(
        (
            data.updated,
            data.ready,
            data.compatible,
            data.compatible_ready,
            data.finished
        ),
        (2, 1, 2, 1, false)
    );
    let listed: Vec<_> = progress
        .claims
        .iter()
        .map(|claim| (claim.ordinal, claim.state))
        .collect();
    assert_eq!(listed, [(1, ClaimState::Applied), (0, ClaimState::Pending)]);
    assert_eq!(progress.current_revision, record(web.set.live.clone()).revision());
    assert_eq!(
        (progress.ready.holds, progress.reconciling.holds, progress.stalled.holds),
        (false, true, false)
    );
}
