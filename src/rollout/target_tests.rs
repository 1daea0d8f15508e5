//! Each test compares the whole list of actions.

use crate::api::settings::Mode;
use crate::gate::Idle;
use crate::rollout::action::{Action, ApplyClaim, Reason};
use crate::rollout::fixtures::{apply, gi, owner, refused, template, web as fixture, writes};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::Snapshot;
use crate::templates::{Phase, StagedError, UpdatePolicy, keys};
use std::sync::Arc;

#[test]
fn idle_set_has_no_actions_and_is_settled() {
    type Row = (&'static str, fn(&mut Snapshot));
    let rows: [Row; 10] = [
        ("StagedChangeUnreadable", |web| {
            (web.set.staged, web.set.unreadable) = (None, Some(StagedError::Version));
        }),
        ("NothingStaged", |web| web.set.staged = None),
        ("SetTerminating", |web| web.set.terminating = true),
        ("ValidateOnly", |web| {
            Arc::make_mut(&mut web.settings).mode = Mode::ValidateOnly;
        }),
        ("SetOwned", |web| {
            web.set.controller = Some(owner("Prometheus", "k8s", "p"));
        }),
        ("OnClaimDelete", |web| {
            web.set.update_policy = Some(UpdatePolicy::OnClaimDelete);
        }),
        ("OnClaimDelete", |web| {
            web.set.staged.as_mut().unwrap().update_policy = UpdatePolicy::OnClaimDelete;
        }),
        ("ReCreateNotEnabled", |web| {
            web.set.update_policy = Some(UpdatePolicy::ReCreate);
        }),
        ("TooManyClaims", |web| web.set.replicas = u32::MAX),
        ("StagedChangeNotAllowed", |web| {
            web.set.live = vec![template("data", "3Gi")];
        }),
    ];
    for (reason, change) in rows {
        let mut web = fixture();
        change(&mut web);
        web.previous.as_mut().unwrap().ready = reason.to_owned();
        let plan = plan(&web);
        assert_eq!(
            (plan.actions, plan.settled, plan.requeue_after),
            (vec![], true, None),
            "{reason}"
        );
        assert_eq!(plan.progress.ready.reason, reason);
    }
}

#[test]
fn too_many_claims_counts_templates_and_replicas() {
    let mut set = fixture().set;
    let two = [template("data", "2Gi"), template("log", "2Gi")];
    for (replicas, templates, expected) in [
        (150_000, &two[..1], None),
        (150_001, &two[..1], Some(150_001)),
        (75_000, &two, None),
        (75_001, &two, Some(150_002)),
        (150_001, &[], Some(150_001)),
    ] {
        set.replicas = replicas;
        let found = set.too_many_claims(templates);
        assert_eq!(found, expected, "{replicas} replicas, {} templates", templates.len());
    }
}

#[test]
fn set_with_too_many_claims_is_stalled_with_an_event() {
    let mut web = fixture();
    (web.set.replicas, web.previous) = (200_000, None);
    let plan = plan(&web);
    let message = "The StatefulSet has 200000 PVCs, more than the limit of 150000";
    assert_eq!(plan.progress.stalled.message, message);
    match &plan.actions[..] {
        [Action::Event(events)] => assert!(events.message.ends_with(message), "{}", events.message),
        other => panic!("{other:?}"),
    }
}

/// A newer policy staged the change, or somebody damaged the annotation: this is no withdrawal.
#[test]
fn unreadable_change_is_stalled_with_one_event() {
    let mut web = fixture();
    (web.set.staged, web.set.unreadable) = (None, Some(StagedError::Version));
    let first = plan(&web);
    let message = "Failed to read the staged change: expected version 1";
    assert_eq!(first.progress.stalled.message, message);
    match &first.actions[..] {
        [Action::Event(events)] => assert_eq!(
            (events.reason, events.message.as_str()),
            (Reason::ClaimRolloutStalled, message)
        ),
        other => panic!("{other:?}"),
    }
    web.previous.as_mut().unwrap().ready = first.progress.ready.reason.to_owned();
    assert_eq!(plan(&web).actions, []);
}

#[test]
fn staged_change_that_breaks_a_rule_is_not_rolled_out() {
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
        assert_eq!(plan.progress.stalled.reason, "StagedChangeNotAllowed", "{path}");
        assert!(
            plan.progress.stalled.message.contains(&format!("{path}: ")),
            "{}",
            plan.progress.stalled.message
        );
        assert!(
            plan.actions.iter().all(|action| matches!(action, Action::Event(_))),
            "{path}"
        );
    }
}

#[test]
fn halted_rollout_stalls_and_requeues() {
    let undone = Idle::WriteUndone {
        what: "the annotation x".to_owned(),
        retry_at: 1008,
    };
    let missing = |unread: Option<&str>| Idle::PolicyMissing {
        unread: unread.map(str::to_owned),
    };
    for (halted, requeue, message) in [
        (missing(None), 15, "register one of them"),
        (missing(Some("not allowed to list")), 15, "not allowed to list"),
        (undone.clone(), 8, "undid a write of this controller (the annotation x)"),
    ] {
        let mut web = fixture();
        web.halted = Some(halted.clone());
        let plan = plan(&web);
        let stalled = &plan.progress.stalled;
        assert_eq!((stalled.holds, stalled.reason), (true, halted.as_str()));
        assert!(stalled.message.contains(message), "{}", stalled.message);
        assert_eq!(
            (plan.requeue_after, plan.settled, plan.halted),
            (Some(requeue), false, true),
            "{message}"
        );
        assert_eq!(writes(&web), [], "{message}");
    }
    // Nothing is rolled out any more: a write that was undone is still not repeated before its time.
    let mut web = fixture();
    web.set.update_policy = Some(UpdatePolicy::OnClaimDelete);
    web.halted = Some(undone);
    assert_eq!((writes(&web), plan(&web).requeue_after), (vec![], Some(8)));
    assert_eq!(plan(&web).progress.ready.reason, "OnClaimDelete");
}

/// The change is older than the policy: nothing is written but that it is held, and PVCs that are done stay so.
#[test]
fn change_from_before_the_policy_is_held() {
    let hold = |web: &Snapshot| Action::HoldStaged(web.set.version());
    let mut web = fixture();
    web.halted = Some(Idle::StagedBeforePolicy);
    let first = plan(&web);
    assert_eq!(writes(&web), [hold(&web)]);
    assert_eq!(
        (first.settled, first.halted, first.requeue_after),
        (false, true, Some(15))
    );
    assert_eq!(first.progress.stalled.reason, "StagedBeforePolicy");
    assert!(first.progress.stalled.message.contains("apply it again"), "{first:?}");

    // The write was denied, and its time has not come yet.
    web.write_refused = Some(("no".to_owned(), web.now + 1));
    assert_eq!(writes(&web), []);
    web.write_refused = None;

    // The hold is on the set, so the time does not matter any more.
    web.set.is_held = true;
    for halted in [Some(Idle::StagedBeforePolicy), None] {
        web.halted = halted;
        let held = plan(&web);
        assert_eq!(writes(&web), []);
        assert_eq!(
            (held.settled, held.progress.stalled.reason),
            (true, "StagedBeforePolicy")
        );
    }

    // Nothing is left to do: there is nothing to hold.
    let mut done = fixture();
    done.halted = Some(Idle::StagedBeforePolicy);
    for ordinal in 0..3 {
        done.done(&format!("data-web-{ordinal}"));
    }
    assert_eq!(writes(&done), [hold(&done)], "the phase is not written");
    done.set
        .staged
        .iter_mut()
        .for_each(|change| change.phase = Phase::Complete);
    let complete = plan(&done);
    assert_eq!(
        (writes(&done), complete.settled, complete.halted),
        (vec![], true, false)
    );
    assert_eq!(complete.progress.ready.reason, "Complete");
}

#[test]
fn apply_has_the_template_without_selector_keys() {
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
fn claim_never_gets_smaller() {
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
    // KEP-4650: the capacity needs to reach the smaller one of the two.
    let claim = web.applied("data-web-2");
    claim.capacity = Some(gi(3));
    assert_eq!(plan(&web).actions, [apply(&web, 1)]);
}

/// Kubernetes stores a size as its user writes it, and it stays so unless it is smaller: 2Gi is staged.
#[test]
fn size_in_any_notation_is_compared_by_amount() {
    for (request, expected) in [
        ("1e9", "2Gi"),
        ("1073741824500m", "2Gi"),
        ("2147483648", "2147483648"),
        ("2147483647999m", "2Gi"),
        ("2147483649", "2147483649"),
        ("3e9", "3e9"),
        ("1T", "1T"),
    ] {
        let mut web = fixture();
        let claim = web.claim("data-web-2");
        claim.request = request.parse().expect("a size");
        claim.capacity = Some(claim.request);
        let [Action::ApplyClaim(apply)] = &writes(&web)[..] else {
            panic!("{request}: {:?}", writes(&web));
        };
        assert_eq!(apply.storage.to_string(), expected, "{request}");
    }
}

/// The requested class, whether it is ours, the class of the volume, and the message of the last denial; the class that
/// is applied.
type ClassRow = (
    &'static str,
    bool,
    Option<&'static str>,
    &'static str,
    Option<&'static str>,
);

const CLASSES: &[ClassRow] = &[
    ("gold", true, Some("gold"), "", Some("gold")),
    ("gold", false, Some("gold"), "", None),
    // An earlier staging asked for it, and the volume never got it.
    ("gold", true, None, "", None),
    ("gold", true, Some(""), "", None),
    ("gold", true, Some("slow"), "", Some("slow")),
    ("gold", false, None, "", None),
    // Kubernetes 1.33 lets nobody remove a class.
    (
        "gold",
        true,
        None,
        "spec.volumeAttributesClassName: Forbidden",
        Some("gold"),
    ),
    ("gold", true, None, "exceeded quota", None),
];

#[test]
fn template_without_a_class_repeats_only_a_reached_one() {
    for (class, ours, current, denied, expected) in CLASSES {
        let mut web = fixture();
        if !denied.is_empty() {
            refused(&mut web, 900);
            web.refusals.get_mut("data-web-2-uid").unwrap().message = (*denied).to_owned();
        }
        let claim = web.claim("data-web-2");
        claim.class = Some((*class).to_owned());
        claim.current_class = current.map(str::to_owned);
        claim.class_is_ours = *ours;
        let Action::ApplyClaim(apply) = apply(&web, 2) else {
            unreachable!()
        };
        let expected = ApplyClaim {
            volume_attributes_class_name: expected.map(str::to_owned),
            ..apply
        };
        assert_eq!(
            writes(&web),
            [Action::ApplyClaim(expected)],
            "{class} {current:?} {denied}"
        );
    }
}
