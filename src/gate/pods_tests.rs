//! The gate as tables: the state, and why the Pod waits.

use super::{Pod, gate};
use crate::api::Settings;
use crate::rollout::Snapshot;
use crate::rollout::fixtures::{owner, template, trouble, web};
use crate::rollout::snapshot::{Modify, Resize};
use crate::templates::{Phase, Ready, ReplaceSet, Revision, Strategy, Sync, UpdatePolicy};

/// The Pod of the highest ordinal, whose claim is outdated.
fn pod() -> Pod {
    Pod {
        name: "web-2".to_owned(),
        set_name: "web".to_owned(),
        set_uid: "set-uid".to_owned(),
        mounts_claims: true,
        ..Pod::default()
    }
}

fn answer(web: &Snapshot, pod: &Pod, settings: &Settings) -> Option<String> {
    gate(pod, &web.set, settings, |name| web.claims.get(name.as_str()))
}

type GateSetup = fn(&mut Snapshot, &mut Pod);

#[track_caller]
fn table(rows: &[(&str, GateSetup, Option<&str>)]) {
    for (row, change, expected) in rows {
        let (mut web, mut pod) = (web(), pod());
        change(&mut web, &mut pod);
        let answer = answer(&web, &pod, &Settings::default());
        assert_eq!(answer.as_deref(), *expected, "{row}");
    }
}

const BEHIND: Option<&str> =
    Some("data-web-2 is not yet at revision 9jjhnzsfjj; Pod web-2 is replaced when it is ready");

const LOST: Option<&str> = Some(
    "data-web-2 is Refused: its volume does not exist any more, so a new Pod could not start; Pod web-2 is replaced when \
     it is ready",
);

#[test]
fn pod_whose_volume_is_lost_is_kept() {
    table(&[
        (
            "its volume is lost: the next Pod could not start",
            |web, _| (web.claim("data-web-2").bound, web.claim("data-web-2").lost) = (false, true),
            LOST,
        ),
        (
            "updated, and its volume is lost while the node had work to do",
            |web, _| {
                let claim = web.applied("data-web-2");
                (claim.bound, claim.lost, claim.resize) = (false, true, Some(Resize::NodePending));
            },
            LOST,
        ),
    ]);
}

#[test]
fn pod_waits_for_claim_that_is_not_ready() {
    let grows: Option<&str> =
        Some("data-web-2 is Expanding: capacity 1Gi of 2Gi; Pod web-2 is replaced when it is ready");
    let applied = Some("data-web-2 is Applied: capacity 1Gi of 2Gi; Pod web-2 is replaced when it is ready");
    let modifying =
        Some("data-web-2 is Modifying: attributes class none, expected fast; Pod web-2 is replaced when it is ready");
    table(&[
        ("outdated", |_, _| {}, BEHIND),
        ("updated", |web, _| _ = web.applied("data-web-2"), applied),
        (
            "expanding",
            |web, _| web.applied("data-web-2").resize = Some(Resize::ControllerInProgress),
            grows,
        ),
        (
            "infeasible for the driver",
            |web, _| web.applied("data-web-2").resize = Some(Resize::ControllerInfeasible),
            Some("data-web-2 is Infeasible: not possible for the driver; Pod web-2 is replaced when it is ready"),
        ),
        (
            "large enough, while the class changes",
            |web, _| {
                web.done("data-web-2");
                let claim = web.claim("data-web-2");
                (claim.class, claim.modify) = (Some("fast".to_owned()), Some(Modify::InProgress));
            },
            modifying,
        ),
        (
            "expanded by the node, while the class changes",
            |web, _| {
                let claim = web.applied("data-web-2");
                (claim.class, claim.resize) = (Some("fast".to_owned()), Some(Resize::NodePending));
            },
            Some("data-web-2 is NodeExpanding: capacity 1Gi of 2Gi; Pod web-2 is replaced when it is ready"),
        ),
        (
            "the second of two",
            |web, _| {
                web.set.live = vec![template("data", "1Gi"), template("logs", "1Gi")];
                web.stage(vec![template("data", "2Gi"), template("logs", "2Gi")]);
                web.add_claim("logs", 2);
                web.done("data-web-2");
            },
            Some("logs-web-2 is not yet at revision 7jwrhmgwww; Pod web-2 is replaced when it is ready"),
        ),
        (
            "paused",
            |web, _| {
                web.set.paused = true;
                web.done("data-web-2");
            },
            Some(
                "the rollout is paused by the annotation claim-rollout.io/paused; Pod web-2 is replaced after the pause",
            ),
        ),
    ]);
}

#[test]
fn pod_with_ready_claims_or_needed_remount_is_deleted() {
    table(&[
        ("ready", |web, _| web.done("data-web-2"), None),
        ("absent", |web, _| _ = web.claims.remove("data-web-2"), None),
        ("terminating", |web, _| web.claim("data-web-2").terminating = true, None),
        ("not bound", |web, _| web.claim("data-web-2").bound = false, None),
        (
            "without the labels, and ready",
            |web, _| {
                web.done("data-web-2");
                web.claim("data-web-2").labels.remove("app");
            },
            None,
        ),
        (
            "of another owner",
            |web, _| web.claim("data-web-2").owners = vec![owner("StatefulSet", "db", "db-uid")],
            None,
        ),
        (
            "the node expands it at the next mount",
            |web, _| web.applied("data-web-2").resize = Some(Resize::NodePending),
            None,
        ),
        (
            "the node failed, because the expansion needs a new mount",
            |web, _| {
                let claim = web.applied("data-web-2");
                (claim.resize, claim.file_system_resize_pending) = (Some(Resize::NodeInProgress), Some(String::new()));
                claim.troubles = vec![trouble("NodeResizeError")];
            },
            None,
        ),
        (
            "infeasible for the node",
            |web, _| web.applied("data-web-2").resize = Some(Resize::NodeInfeasible),
            None,
        ),
        (
            "the file system is pending, without a resize status",
            |web, _| web.applied("data-web-2").file_system_resize_pending = Some(String::new()),
            None,
        ),
    ]);
}

/// The set is being deleted, and the garbage collector has taken the owner from the Pod.
fn left(web: &mut Snapshot, pod: &mut Pod) {
    web.set.terminating = true;
    pod.set_uid.clear();
}

#[test]
fn pod_not_being_replaced_is_deleted() {
    table(&[
        ("out of range: scale-down", |web, _| web.set.replicas = 2, None),
        ("below the first ordinal", |web, _| web.set.first_ordinal = 3, None),
        ("ended", |_, pod| pod.has_ended = true, None),
        ("terminating", |_, pod| pod.terminating = true, None),
        ("being evicted", |_, pod| pod.disrupted = true, None),
        ("without claims", |_, pod| pod.mounts_claims = false, None),
        (
            "of a set that was deleted",
            |_, pod| pod.set_uid = "another".to_owned(),
            None,
        ),
        ("of no set", |_, pod| pod.set_uid.clear(), None),
        ("left by a set that is being deleted", left, None),
        ("not named after its set", |_, pod| pod.name = "web-x".to_owned(), None),
    ]);
}

#[test]
fn pod_outside_rollout_is_deleted() {
    table(&[
        ("nothing is staged", |web, _| web.set.staged = None, None),
        ("complete", |web, _| web.phase(Phase::Complete), None),
        (
            "OnClaimDelete",
            |web, _| web.set.update_policy = Some(UpdatePolicy::OnClaimDelete),
            None,
        ),
        ("Async", |web, _| web.set.sync = Sync::Async, None),
        ("below the partition", |web, _| web.set.partition = 3, None),
        ("at the partition", |web, _| web.set.partition = 2, BEHIND),
        ("the set is being deleted", |web, _| web.set.terminating = true, None),
        (
            "owned by another controller",
            |web, _| web.set.controller = Some(owner("Postgres", "db", "uid")),
            None,
        ),
        (
            "forbidden by the rules",
            |web, _| web.stage(vec![template("data", "512Mi")]),
            None,
        ),
        (
            "the ordinals begin at 2",
            |web, _| (web.set.first_ordinal, web.set.partition) = (2, 1),
            None,
        ),
    ]);
}

#[test]
fn pod_with_forbidden_staged_change_is_deleted() {
    for (settings, expected) in [
        ("{}", BEHIND),
        (r#"{"maxStorage":{"*":"1Gi"}}"#, None),
        (r#"{"mode":"ValidateOnly"}"#, None),
    ] {
        let settings_read = Settings::read(settings).expect("settings");
        assert_eq!(
            answer(&web(), &pod(), &settings_read).as_deref(),
            expected,
            "{settings}"
        );
    }
}

/// A template `logs` is to be added, and every PVC is ready.
fn adds_logs(web: &mut Snapshot) {
    web.set.replace_set = Some(ReplaceSet::WhenComplete);
    web.stage(vec![template("data", "2Gi"), template("logs", "1Gi")]);
    web.done("data-web-2");
}

#[test]
fn pod_waits_until_added_template_is_live() {
    let allow = Settings::read(r#"{"templateChanges": "Allow"}"#).expect("settings");
    let after: Option<&str> =
        Some("the staged template logs is not live yet; Pod web-2 is replaced after the StatefulSet");
    let rows: &[(&str, GateSetup, Option<&str>)] = &[
        ("rolling out", |_, _| {}, after),
        ("complete", |web, _| web.phase(Phase::Complete), after),
        ("Async", |web, _| web.set.sync = Sync::Async, after),
        (
            "OnClaimDelete",
            |web, _| web.set.update_policy = Some(UpdatePolicy::OnClaimDelete),
            after,
        ),
        ("below the partition", |web, _| web.set.partition = 3, after),
        ("OnDelete", |web, _| web.set.strategy = Strategy::OnDelete, after),
        ("being replaced", |web, _| web.set.terminating = true, after),
        ("left by the set that is being replaced", left, after),
        ("of no set", |_, pod| pod.set_uid.clear(), None),
        ("paused", |web, _| web.set.paused = true, after),
        ("renamed", |web, _| web.stage(vec![template("logs", "1Gi")]), after),
        (
            "live",
            |web, _| web.set.live = vec![template("data", "1Gi"), template("logs", "1Gi")],
            None,
        ),
        (
            "removed",
            |web, _| {
                web.set.live.push(template("more", "1Gi"));
                web.stage(vec![template("data", "2Gi")]);
                web.done("data-web-2");
            },
            None,
        ),
        ("never replaced", |web, _| web.set.replace_set = None, None),
        ("out of range", |web, _| web.set.replicas = 2, None),
        ("ended", |_, pod| pod.has_ended = true, None),
        ("evicted", |_, pod| pod.disrupted = true, None),
        ("of another set", |_, pod| pod.set_uid = "another".to_owned(), None),
        (
            "of another set while this one is being replaced",
            |web, pod| (web.set.terminating, pod.set_uid) = (true, "another".to_owned()),
            None,
        ),
    ];
    for (row, change, expected) in rows {
        let (mut web, mut pod) = (web(), pod());
        adds_logs(&mut web);
        change(&mut web, &mut pod);
        assert_eq!(answer(&web, &pod, &allow).as_deref(), *expected, "{row}");
        let denied = answer(&web, &pod, &Settings::default());
        assert!(denied.as_deref() != after, "{row}: {denied:?}");
    }
}

#[test]
fn pods_under_recreate_wait_for_all_claims() {
    let together = Some("the Pods of web are replaced together, when all its PVCs are ready");
    fn recreate(web: &mut Snapshot) {
        web.set.strategy = Strategy::Recreate;
        web.done("data-web-2");
    }
    fn ready(web: &mut Snapshot, revision: Revision) {
        recreate(web);
        web.set.ready = Some(Ready { revision, ordinal: 0 });
    }
    table(&[
        ("the claims of the Pod are ready", |web, _| recreate(web), together),
        ("all claims are ready", |web, _| ready(web, web.target()), None),
        (
            "all claims were ready for another revision",
            |web, _| ready(web, Revision::from_text("another")),
            together,
        ),
        (
            "the claim of the Pod is outdated again",
            |web, _| {
                ready(web, web.target());
                web.claim("data-web-2").labels.remove("claim-rollout.io/revision");
            },
            BEHIND,
        ),
    ]);
}
