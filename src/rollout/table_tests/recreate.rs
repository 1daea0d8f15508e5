//! `ReCreate`: which PVCs are deleted, and when a wait is decided again.

use std::sync::Arc;

use super::{text, unready};
use crate::api::Settings;
use crate::api::settings::{ReCreate, TemplateChanges};
use crate::gate::{Idle, StagedAt};
use crate::json;
use crate::rollout::fixtures::{gi, template, web};
use crate::rollout::snapshot::Snapshot;
use crate::rollout::volume_snapshot::{EvictionAnswer, ReCreateQuestion};
use crate::rollout::{Action, plan};
use crate::templates::rules::{Frozen, Shrink};
use crate::templates::{ClaimTemplate, ReplaceSet, UpdatePolicy, keys};

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
        "the same, and the retry is due",
        |web| {
            web.set.staged_at = StagedAt::Absent;
            web.write_refused = Some(("no".to_owned(), 1000));
        },
        "staged-at 1000, ClaimRolloutStalled",
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
