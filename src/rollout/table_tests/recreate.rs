//! `ReCreate`: which PVCs are deleted, and every obstacle before the first step for a replica.

use std::sync::Arc;

use super::{text, unready};
use crate::api::Settings;
use crate::api::settings::{ReCreate, TemplateChanges};
use crate::claims::progress::Resize;
use crate::json;
use crate::rollout::fixtures::{gi, owner, template, web};
use crate::rollout::snapshot::{Sibling, Snapshot, StagedAt, Strategy};
use crate::rollout::volume_snapshot::{EvictionAnswer, ReCreateQuestion, VolumeSnapshot, VolumeSnapshotAnswer};
use crate::rollout::{Action, Idle, plan};
use crate::templates::rules::{Frozen, Shrink};
use crate::templates::{ClaimTemplate, ProgressDeadline, ReplaceSet, UpdatePolicy, keys};

/// A template `data` of this size and storage class.
pub(super) fn of_class(class: &str, size: &str) -> ClaimTemplate {
    let mut template = template("data", size);
    template
        .spec
        .insert("storageClassName".to_owned(), json::Value::String(class.into()));
    template
}

/// The storage class changes from `slow` to `fast`, under `ReCreate`; the Pod `web-2` may be evicted.
pub(super) fn reclassed() -> Snapshot {
    let mut web = web();
    web.settings = Arc::new(Settings {
        recreate: ReCreate::Allowed,
        ..Settings::default()
    });
    web.set.update_policy = Some(UpdatePolicy::ReCreate);
    web.set.live = vec![of_class("slow", "1Gi")];
    web.stage(vec![of_class("fast", "1Gi")]);
    for ordinal in 0..3 {
        web.add_claim("data", ordinal);
        web.claim(&format!("data-web-{ordinal}")).created = 800;
    }
    web.set.staged_at = StagedAt::At(950);
    web.recreate.eviction = Some(("web-2-uid".to_owned(), EvictionAnswer::Allowed));
    web.recreate.live = Some(Ok(()));
    web
}

/// The staged change also adds the template `logs`.
pub(super) fn adds_logs(web: &mut Snapshot) {
    let mut settings = Settings::clone(&web.settings);
    settings.template_changes = TemplateChanges::Allow;
    web.settings = Arc::new(settings);
    web.set.replace_set = Some(ReplaceSet::WhenComplete);
    web.stage(vec![of_class("fast", "1Gi"), template("logs", "1Gi")]);
}

/// The PVC was created from the desired template, after its Pod of before was evicted.
pub(super) fn created_anew(web: &mut Snapshot, ordinal: u32) {
    let spec = Arc::new(web.set.wanted()[0].spec.clone());
    let revision = web.label().to_string();
    let storage = web.set.wanted()[0].storage.expect("a size");
    let claim = web.claim(&format!("data-web-{ordinal}"));
    claim.uid = format!("data-web-{ordinal}-new");
    claim.spec = spec;
    claim.created = 980;
    (claim.terminating, claim.recreated_for) = (false, None);
    (claim.request, claim.capacity, claim.bound) = (storage, Some(storage), true);
    claim.labels.insert(keys::REVISION.to_owned(), revision);
    let pod = web.pods.get_mut(&format!("web-{ordinal}")).expect("a Pod");
    pod.uid = format!("web-{ordinal}-new");
    (pod.created, pod.ready_since, pod.deleted) = (981, Some(985), None);
}

/// All actions and questions, and the condition `Ready`.
pub(super) fn seen(web: &Snapshot) -> (String, String) {
    let planned = plan(web);
    let texts = planned.actions.into_iter().map(|action| match action {
        Action::ApplyClaim(apply) => format!("apply {} {}", apply.name, apply.storage),
        action => text(web, action),
    });
    let asks = planned.asks.map(|question| match question {
        ReCreateQuestion::Eviction { pod, .. } => format!("ask eviction of {pod}"),
        ReCreateQuestion::VolumeSnapshot(name) => format!("ask {name}"),
        ReCreateQuestion::Live => "ask live".to_owned(),
    });
    let ready = planned.progress.ready;
    let all: Vec<String> = texts.chain(asks).collect();
    (all.join(", "), format!("{}: {}", ready.reason, ready.message))
}

/// Checks rows of this world: a change, all actions, and a part of the message.
pub(super) fn check_rows(world: fn() -> Snapshot, rows: &[Row]) {
    let mut wrong = Vec::new();
    for (row, change, actions, message) in rows {
        let mut web = world();
        change(&mut web);
        let (found, ready) = seen(&web);
        if found != *actions || !ready.contains(message) {
            wrong.push(format!(
                "{row}: expected {actions:?} and {message:?}, but found {found:?} and {ready:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A change of the fixture, all actions, and a part of the message.
pub(super) type Row = (&'static str, fn(&mut Snapshot), &'static str, &'static str);

const DUE: &[Row] = &[
    ("another storage class", |_| {}, "mark data-web-2", "RollingOut: "),
    (
        "a smaller size",
        |web| {
            web.set.live = vec![of_class("fast", "2Gi")];
            for name in ["data-web-0", "data-web-1", "data-web-2"] {
                web.claim(name).spec = Arc::new(of_class("fast", "2Gi").spec);
                web.claim(name).request = gi(2);
            }
        },
        "mark data-web-2",
        "RollingOut: ",
    ),
    (
        "a smaller size, which an expansion that was not reached is taken back to",
        |web| {
            let mut settings = Settings::clone(&web.settings);
            settings.shrink = Shrink::Recover;
            web.settings = Arc::new(settings);
            web.set.live = vec![of_class("fast", "2Gi")];
            web.stage(vec![of_class("fast", "1536Mi")]);
            for ordinal in 0..3 {
                let name = format!("data-web-{ordinal}");
                web.applied(&name).size_is_ours = true;
                web.claim(&name)
                    .labels
                    .insert(keys::REVISION.to_owned(), "older".to_owned());
                web.claim(&name).spec = Arc::new(of_class("fast", "2Gi").spec);
            }
        },
        "apply data-web-2 1536Mi",
        "RollingOut: ",
    ),
    (
        "a larger PVC, but the template does not get smaller",
        |web| {
            web.claim("data-web-2").spec = Arc::new(of_class("fast", "1Gi").spec);
            web.claim("data-web-2").request = gi(9);
            web.claim("data-web-2").capacity = Some(gi(9));
        },
        "apply data-web-2 9Gi",
        "",
    ),
    (
        "a higher replica is updated in place first, although a lower Pod is not Ready",
        |web| {
            web.claim("data-web-2").spec = Arc::new(of_class("fast", "1Gi").spec);
            unready(web, 0);
        },
        "apply data-web-2 1Gi",
        "",
    ),
    (
        "only a larger size: it grows in place",
        |web| {
            web.set.live = vec![of_class("slow", "1Gi")];
            web.stage(vec![of_class("slow", "2Gi")]);
        },
        "apply data-web-2 2Gi",
        "",
    ),
    (
        "updated at this staging before the policy was ReCreate: it has its label",
        |web| _ = web.applied("data-web-2"),
        "FailedToPatchPVC",
        "ClaimRefused: data-web-2: has spec.storageClassName \"slow\" instead of \"fast\" although it was updated for this \
         change",
    ),
    (
        "updated at an earlier staging of the same templates",
        |web| {
            let earlier = format!("{}.bcdfg", web.target());
            _ = web
                .claim("data-web-2")
                .labels
                .insert(keys::REVISION.to_owned(), earlier);
        },
        "mark data-web-2",
        "RollingOut: ",
    ),
    (
        "created a second before the staging was seen",
        |web| web.claim("data-web-2").created = 949,
        "mark data-web-2",
        "RollingOut: ",
    ),
    (
        "created in the second in which the staging was seen: kept",
        |web| web.claim("data-web-2").created = 950,
        "FailedToPatchPVC",
        "ClaimRefused: data-web-2: was created with spec.storageClassName \"slow\" instead of \"fast\" after the change was \
         staged",
    ),
    (
        "created after the staging was seen, and the report was deleted: kept",
        |web| {
            web.claim("data-web-2").created = 960;
            (web.previous, web.now) = (None, 2000);
        },
        "ClaimsStaged, FailedToPatchPVC",
        "ClaimRefused: data-web-2: was created with ",
    ),
    (
        "nobody has written when the staging was seen: that comes before anything else",
        |web| web.set.staged_at = StagedAt::Absent,
        "staged-at 1000",
        "RollingOut: 0 of 3 replicas are ready; waiting for the annotation claim-rollout.io/staged-at",
    ),
    (
        "the same, and the rollout is paused",
        |web| (web.set.staged_at, web.set.paused) = (StagedAt::Absent, true),
        "staged-at 1000",
        "Paused: ",
    ),
    (
        "the same, and the write was denied: the retry is not due",
        |web| {
            web.set.staged_at = StagedAt::Absent;
            web.write_refused = Some(("no".to_owned(), 1001));
        },
        "ClaimRolloutStalled",
        "WriteRefused: Failed to update the StatefulSet: no",
    ),
    (
        "the same, and a PVC could grow in place",
        |web| {
            web.set.staged_at = StagedAt::Absent;
            web.set.live = vec![of_class("slow", "1Gi")];
            web.stage(vec![of_class("slow", "2Gi")]);
        },
        "staged-at 1000",
        "",
    ),
    (
        "the time of the staging is no time",
        |web| web.set.staged_at = StagedAt::Unreadable,
        "ClaimRolloutStalled",
        "ReCreateStopped: web-2 is not re-created: the annotation claim-rollout.io/staged-at is no time",
    ),
    (
        "a PVC differed in a field that the change does not concern: not deleted",
        |web| {
            web.set.live = vec![of_class("slow", "1Gi")];
            web.stage(vec![of_class("slow", "2Gi")]);
            web.claim("data-web-2").spec = Arc::new(of_class("other", "1Gi").spec);
        },
        "FailedToPatchPVC",
        "ClaimRefused: data-web-2: the template has spec.storageClassName \"slow\", but the PVC has \"other\"",
    ),
    (
        "the order of access modes is no difference",
        |web| {
            let modes = |modes: &str| json::read(modes).expect("a list");
            let mut wanted = of_class("slow", "2Gi");
            wanted
                .spec
                .insert("accessModes".to_owned(), modes(r#"["ReadWriteOnce","ReadOnlyMany"]"#));
            web.stage(vec![wanted.clone()]);
            wanted
                .spec
                .insert("accessModes".to_owned(), modes(r#"["ReadOnlyMany","ReadWriteOnce"]"#));
            web.set.live = vec![wanted.clone()];
            web.set.live[0].storage = Some(gi(1));
            web.claims
                .values_mut()
                .for_each(|claim| claim.spec = Arc::new(wanted.spec.clone()));
        },
        "apply data-web-2 2Gi",
        "",
    ),
    (
        "a watch may be late: the Pods and PVCs are read",
        |web| web.recreate.live = None,
        "ask live",
        "RollingOut: ",
    ),
    (
        "the Pods and PVCs cannot be read",
        |web| web.recreate.live = Some(Err("503".to_owned())),
        "",
        "waiting for the Pods and PVCs, which cannot be read: 503",
    ),
    (
        "the one that was created anew has grown since: done",
        |web| {
            created_anew(web, 2);
            web.set.live = vec![of_class("slow", "2Gi")];
            web.claim("data-web-2").request = gi(5);
            web.recreate.eviction = Some(("web-1-uid".to_owned(), EvictionAnswer::Allowed));
        },
        "mark data-web-1",
        "RollingOut: ",
    ),
    (
        "created anew without the policy: it would be again",
        |web| {
            created_anew(web, 2);
            web.claim("data-web-2").labels.remove(keys::REVISION);
            web.claim("data-web-2").spec = Arc::new(of_class("slow", "1Gi").spec);
            web.recreate.eviction = Some(("web-1-uid".to_owned(), EvictionAnswer::Allowed));
        },
        "FailedToPatchPVC",
        "ClaimRefused: data-web-2: was created with spec.storageClassName \"slow\" instead of \"fast\" after the change was staged",
    ),
    (
        "created anew, and a webhook has changed it",
        |web| {
            created_anew(web, 2);
            web.claim("data-web-2").spec = Arc::new(of_class("other", "1Gi").spec);
        },
        "FailedToPatchPVC",
        "ClaimRefused: data-web-2: was created with spec.storageClassName \"other\" instead of \"fast\"",
    ),
    (
        "below the partition: left alone",
        |web| {
            created_anew(web, 2);
            created_anew(web, 1);
            web.set.partition = 1;
        },
        "",
        "Partitioned: ",
    ),
    (
        "under OnClaimDelete nothing is deleted",
        |web| {
            let mut settings = Settings::clone(&web.settings);
            settings.immutable_fields = Frozen::ForNewClaims;
            web.settings = Arc::new(settings);
            web.set.update_policy = Some(UpdatePolicy::OnClaimDelete);
        },
        "ClaimsStaged",
        "",
    ),
    (
        "the settings do not allow it",
        |web| {
            let mut settings = Settings::clone(&web.settings);
            (settings.recreate, settings.immutable_fields) = (ReCreate::Denied, Frozen::ForNewClaims);
            web.settings = Arc::new(settings);
        },
        "ClaimRolloutStalled",
        "ReCreateNotEnabled: The update policy is ReCreate, which is off: ",
    ),
    (
        "the controller runs without it",
        |web| web.halted = Some(Idle::ReCreate),
        "ClaimRolloutStalled",
        "ReCreateNotEnabled: The update policy is ReCreate, which is off: it needs the setting allowReCreate: true, and",
    ),
];

#[test]
fn recreate_deletes_only_what_in_place_cannot_reach() {
    check_rows(reclassed, DUE);
}

const OBSTACLES: &[Row] = &[
    (
        "another Pod is not Ready",
        |web| unready(web, 0),
        "",
        "RollingOut: 0 of 3 replicas are ready; web-2 waits to be re-created: Pod web-0 is not Ready",
    ),
    (
        "another Pod does not exist",
        |web| _ = web.pods.remove("web-1"),
        "",
        "web-2 waits to be re-created: Pod web-1 does not exist",
    ),
    (
        "another Pod is of another set",
        |web| web.pods.get_mut("web-1").expect("a Pod").controller = Some(owner("StatefulSet", "b", "b-uid")),
        "ClaimForeign, ClaimRolloutStalled",
        "web-2 is not re-created: data-web-1 is Foreign: mounted by Pod web-1 of another StatefulSet",
    ),
    (
        "another Pod is being deleted",
        |web| web.pods.get_mut("web-1").expect("a Pod").deleted = Some(1030),
        "",
        "web-2 waits to be re-created: Pod web-1 is being deleted",
    ),
    (
        "another Pod is not available yet",
        |web| {
            web.set.min_ready_seconds = 30;
            web.pods.get_mut("web-1").expect("a Pod").ready_since = Some(980);
        },
        "",
        "web-2 waits to be re-created: Pod web-1 has not been Ready for 30 seconds yet",
    ),
    (
        "another Pod is one of a late watch: its PVC is new",
        |web| web.claim("data-web-1").created = 900,
        "",
        "web-2 waits to be re-created: Pod web-1 is older than its PVC",
    ),
    (
        "another PVC is missing",
        |web| _ = web.claims.remove("data-web-0"),
        "",
        "web-2 waits to be re-created: data-web-0 is Missing",
    ),
    (
        "another PVC is being deleted, not by us",
        |web| web.claim("data-web-0").terminating = true,
        "",
        "web-2 waits to be re-created: data-web-0 is Terminating",
    ),
    (
        "another PVC is not bound",
        |web| {
            web.claim("data-web-0").spec = Arc::new(of_class("fast", "1Gi").spec);
            web.claim("data-web-0").bound = false;
        },
        "",
        "web-2 waits to be re-created: data-web-0 is Unbound",
    ),
    (
        "another PVC is being expanded",
        |web| {
            web.claim("data-web-0").spec = Arc::new(of_class("fast", "1Gi").spec);
            web.applied("data-web-0").resize = Some(Resize::ControllerInProgress);
            web.stage(vec![of_class("fast", "2Gi")]);
            _ = web.applied("data-web-0");
        },
        "",
        "web-2 waits to be re-created: data-web-0 is Expanding",
    ),
    (
        "another PVC does not belong to the set: reported before anything is deleted",
        |web| {
            web.take_over("data-web-0");
        },
        "ClaimForeign, ClaimRolloutStalled",
        "web-2 is not re-created: data-web-0 is Foreign: owned by Backup b",
    ),
    (
        "the PVC does not belong to the set",
        |web| web.take_over("data-web-2"),
        "ClaimForeign",
        "ClaimForeign: data-web-2: owned by Backup b",
    ),
    (
        "the PVC can be that of another set",
        |web| {
            web.siblings = vec![Sibling {
                set: "b".to_owned(),
                templates: vec!["data-web".to_owned()],
            }];
            web.set.name = "web".to_owned();
        },
        "mark data-web-2",
        "",
    ),
    (
        "a Job uses the PVC",
        |web| {
            let mut backup = web.pods["web-2"].clone();
            (backup.name, backup.uid) = ("backup".to_owned(), "backup-uid".to_owned());
            backup.controller = Some(owner("Job", "backup", "job-uid"));
            _ = web.pods.insert("backup".to_owned(), backup);
        },
        "",
        "web-2 waits to be re-created: Pod backup uses data-web-2 as well",
    ),
    (
        "the Pod is being deleted",
        |web| web.pods.get_mut("web-2").expect("a Pod").deleted = Some(1030),
        "",
        "web-2 waits to be re-created: the Pod is being deleted",
    ),
    (
        "the Pod itself is not Ready: all others are",
        |web| unready(web, 2),
        "mark data-web-2",
        "",
    ),
    (
        "there is no Pod: nothing is to be evicted",
        |web| _ = web.pods.remove("web-2"),
        "mark data-web-2",
        "",
    ),
    (
        "the status of the set is old",
        |web| web.set.status_is_current = false,
        "",
        "web-2 waits to be re-created: the StatefulSet controller has not seen the last change",
    ),
    (
        "a template is added too",
        adds_logs,
        "ClaimRolloutStalled",
        "ReCreateStopped: web-2 is not re-created: the staged change also adds template logs",
    ),
    (
        "the update strategy is OnDelete",
        |web| web.set.strategy = Strategy::OnDelete,
        "",
        "OnDelete: ",
    ),
    (
        "the update strategy is OnDelete, and the Pod was deleted by hand",
        |web| {
            web.set.strategy = Strategy::OnDelete;
            web.pods.get_mut("web-2").expect("a Pod").created = 960;
        },
        "ClaimRolloutStalled",
        "ReCreateStopped: web-2 is not re-created: it needs the update strategy RollingUpdate",
    ),
    (
        "the update strategy is Recreate",
        |web| web.set.strategy = Strategy::Recreate,
        "ClaimRolloutStalled",
        "ReCreateStopped: web-2 is not re-created: it needs the update strategy RollingUpdate",
    ),
    ("paused", |web| web.set.paused = true, "", "Paused: "),
    (
        "the last step was denied: the retry is not due",
        |web| web.recreate.denied = Some(("failed to delete data-web-2: no".to_owned(), 1001)),
        "ClaimRolloutStalled",
        "ReCreateStopped: web-2 is not re-created: failed to delete data-web-2: no",
    ),
    (
        "the last step was denied: the retry is due",
        |web| web.recreate.denied = Some(("failed to delete data-web-2: no".to_owned(), 1000)),
        "mark data-web-2",
        "",
    ),
    (
        "the eviction was not asked for",
        |web| web.recreate.eviction = None,
        "ask eviction of web-2",
        "",
    ),
    (
        "the eviction was asked for another Pod",
        |web| web.recreate.eviction = Some(("web-1-uid".to_owned(), EvictionAnswer::Allowed)),
        "ask eviction of web-2",
        "",
    ),
    (
        "a PodDisruptionBudget allows no eviction",
        |web| {
            let answer = EvictionAnswer::NotNow("429 violates the budget".to_owned());
            web.recreate.eviction = Some(("web-2-uid".to_owned(), answer));
        },
        "",
        "RollingOut: 0 of 3 replicas are ready; web-2 waits to be re-created: no eviction now: 429 violates the budget",
    ),
    (
        "the right to evict is missing",
        |web| {
            let answer = EvictionAnswer::Denied("cannot create pods/eviction".to_owned());
            web.recreate.eviction = Some(("web-2-uid".to_owned(), answer));
        },
        "ClaimRolloutStalled",
        "ReCreateStopped: web-2 is not re-created: failed to evict Pod web-2: cannot create pods/eviction",
    ),
    (
        "the only replica",
        |web| web.set.replicas = 1,
        "ClaimRolloutStalled",
        "ReCreateStopped: web-0 is not re-created: this is the only replica, and its data would be lost: set the \
         annotation claim-rollout.io/recreate-snapshot",
    ),
];

#[test]
fn recreate_with_an_obstacle_deletes_nothing() {
    check_rows(reclassed, OBSTACLES);
}

/// A VolumeSnapshot of `data-web-2` is asked for, and this is the answer.
fn snapshot(web: &mut Snapshot, answer: Option<VolumeSnapshotAnswer>) {
    web.set.recreate_snapshot = Some("fast".to_owned());
    let name = |number| format!("data-web-2-uid-{}-{number}", web.label());
    let next = answer.as_ref().map(|_| (name(2), VolumeSnapshotAnswer::Absent));
    let answer = answer.map(|answer| (name(1), answer));
    web.recreate.volume_snapshots.extend(answer.into_iter().chain(next));
}

fn found() -> VolumeSnapshot {
    VolumeSnapshot {
        claim: "data-web-2".to_owned(),
        class: Some("fast".to_owned()),
        taken: Some(951),
        ..VolumeSnapshot::default()
    }
}

/// The answer about the VolumeSnapshot, all actions, and a part of the message.
type SnapshotRow = (
    &'static str,
    Option<fn() -> VolumeSnapshotAnswer>,
    &'static str,
    &'static str,
);

fn changed(change: impl FnOnce(&mut VolumeSnapshot)) -> VolumeSnapshotAnswer {
    let mut snapshot = found();
    change(&mut snapshot);
    VolumeSnapshotAnswer::Found(snapshot)
}

const SNAPSHOTS: &[SnapshotRow] = &[
    ("not asked", None, "ask data-web-2-uid-", ""),
    (
        "absent",
        Some(|| VolumeSnapshotAnswer::Absent),
        "snapshot data-web-2",
        "",
    ),
    (
        "not ready",
        Some(|| changed(|_| {})),
        "",
        "-1, which is not ready, and was taken 49 seconds ago",
    ),
    (
        "not ready, and not taken",
        Some(|| changed(|one| one.taken = None)),
        "",
        "-1, which is not ready",
    ),
    (
        "ready, and its time is not known",
        Some(|| changed(|one| (one.is_ready, one.taken) = (true, None))),
        "",
        "-1, whose status.creationTime is not known",
    ),
    (
        "taken when the staging was seen: another one",
        Some(|| changed(|one| (one.is_ready, one.taken) = (true, Some(950)))),
        "snapshot data-web-2",
        "",
    ),
    (
        "of another class: another one",
        Some(|| changed(|one| (one.is_ready, one.class) = (true, Some("slow".to_owned())))),
        "snapshot data-web-2",
        "",
    ),
    (
        "of another class, and failed: another one",
        Some(|| changed(|one| (one.error, one.class) = (Some("no".to_owned()), None))),
        "snapshot data-web-2",
        "",
    ),
    (
        "taken a little later than now: the clocks differ",
        Some(|| changed(|one| (one.is_ready, one.taken) = (true, Some(1300)))),
        "mark data-web-2",
        "",
    ),
    (
        "taken in the future",
        Some(|| changed(|one| (one.is_ready, one.taken) = (true, Some(1301)))),
        "ClaimRolloutStalled",
        " will be taken in 301 seconds: compare the clocks of the storage and the controller",
    ),
    (
        "ready",
        Some(|| changed(|one| one.is_ready = true)),
        "mark data-web-2",
        "",
    ),
    (
        "an error",
        Some(|| changed(|one| one.error = Some("no space".to_owned()))),
        "ClaimRolloutStalled",
        " has an error: no space",
    ),
    (
        "an error of before",
        Some(|| changed(|one| (one.is_ready, one.error) = (true, Some("no space".to_owned())))),
        "mark data-web-2",
        "",
    ),
    (
        "of another PVC",
        Some(|| changed(|one| (one.is_ready, one.claim) = (true, "data-web-1".to_owned()))),
        "ClaimRolloutStalled",
        " is of another PVC",
    ),
    (
        "being deleted: another one",
        Some(|| changed(|one| (one.is_ready, one.terminating) = (true, true))),
        "snapshot data-web-2",
        "",
    ),
    (
        "no right",
        Some(|| VolumeSnapshotAnswer::Unreadable("forbidden".to_owned())),
        "ClaimRolloutStalled",
        " cannot be read: forbidden",
    ),
];

#[test]
fn recreate_with_a_snapshot_deletes_only_when_it_is_ready() {
    for (row, answer, actions, end) in SNAPSHOTS {
        let mut web = reclassed();
        snapshot(&mut web, answer.map(|answer| answer()));
        let (found, ready) = seen(&web);
        assert!(
            found.starts_with(actions) && found.is_empty() == actions.is_empty(),
            "{row}: {found}"
        );
        let reason = if *actions == "ClaimRolloutStalled" {
            "ReCreateStopped: data-web-2 is not deleted: VolumeSnapshot data-web-2-uid-"
        } else {
            "RollingOut: "
        };
        assert!(ready.starts_with(reason) && ready.ends_with(end), "{row}: {ready}");
    }
}

/// A snapshot counts for five minutes. After that another one is made, but not without end.
#[test]
fn snapshot_that_is_old_is_followed_by_another() {
    let mut web = reclassed();
    web.set.recreate_snapshot = Some("fast".to_owned());
    web.set.progress_deadline = ProgressDeadline(1_000_000);
    let name = |web: &Snapshot, number| format!("data-web-2-uid-{}-{number}", web.label());
    let ready = |taken| VolumeSnapshot {
        is_ready: true,
        taken: Some(taken),
        ..found()
    };
    for number in 1..=5 {
        web.now += 1000;
        let (taken, next) = (web.now, name(&web, number));
        assert_eq!(seen(&web).0, format!("ask {next}"));
        let answers = &mut web.recreate.volume_snapshots;
        answers.insert(next.clone(), VolumeSnapshotAnswer::Absent);
        let [Action::TakeSnapshot(take)] = &plan(&web).actions[..] else {
            panic!("expected a snapshot, but found {:?}", seen(&web));
        };
        assert_eq!((&take.name, &*take.class), (&next, "fast"));
        // A slow one is waited for, and none is made beside it.
        let slow = VolumeSnapshotAnswer::Found(VolumeSnapshot { taken: None, ..found() });
        web.recreate.volume_snapshots.insert(next.clone(), slow);
        let after = name(&web, number + 1);
        web.recreate
            .volume_snapshots
            .insert(after.clone(), VolumeSnapshotAnswer::Absent);
        web.now += 1000;
        assert_eq!(seen(&web).0, "", "{number}");
        web.recreate.volume_snapshots.remove(&after);
        let answer = VolumeSnapshotAnswer::Found(ready(taken));
        web.recreate.volume_snapshots.insert(next, answer);
        for (age, expected) in [(0, "mark data-web-2"), (300, "mark data-web-2")] {
            web.now = taken + age;
            assert_eq!(seen(&web).0, expected, "{number}: {age} seconds");
        }
        web.now = taken + 301;
    }
    let (found, ready) = seen(&web);
    assert_eq!(found, "ClaimRolloutStalled");
    assert!(
        ready.contains("-5 is 301 seconds old, and so are 5 in all, of which none may be older than 5 minutes"),
        "{ready}"
    );
    // The user deletes them.
    web.recreate
        .volume_snapshots
        .insert(name(&web, 1), VolumeSnapshotAnswer::Absent);
    assert_eq!(seen(&web).0, "snapshot data-web-2");
}

/// The age of the snapshot is in the Event of the deletion.
#[test]
fn deletion_names_the_age_of_its_snapshot() {
    let mut web = reclassed();
    let is_ready = true;
    snapshot(
        &mut web,
        Some(VolumeSnapshotAnswer::Found(VolumeSnapshot { is_ready, ..found() })),
    );
    let label = web.label();
    web.claim("data-web-2").recreated_for = Some(label.to_string());
    let [Action::DeleteClaim(delete)] = &plan(&web).actions[..] else {
        panic!("expected a deletion, but found {:?}", seen(&web));
    };
    let expected = format!("VolumeSnapshot data-web-2-uid-{label}-1 is 49 seconds old");
    assert_eq!(delete.snapshot, Some(expected));
}

#[test]
fn only_replica_with_a_ready_snapshot_is_re_created() {
    let mut web = reclassed();
    (web.set.replicas, web.set.first_ordinal) = (1, 2);
    let is_ready = true;
    snapshot(
        &mut web,
        Some(VolumeSnapshotAnswer::Found(VolumeSnapshot { is_ready, ..found() })),
    );
    assert_eq!(seen(&web).0, "mark data-web-2");
}

#[test]
fn recreate_that_waits_is_decided_again() {
    let mut web = reclassed();
    web.recreate.eviction = Some(("web-2-uid".to_owned(), EvictionAnswer::NotNow("429".to_owned())));
    assert_eq!(plan(&web).requeue_after, Some(15));
    let mut web = reclassed();
    web.set.min_ready_seconds = 30;
    web.pods.get_mut("web-1").expect("a Pod").ready_since = Some(990);
    assert_eq!(plan(&web).requeue_after, Some(20));
}
