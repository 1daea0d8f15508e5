//! `ReCreate`: which PVCs are deleted, and when a wait is decided again.

use std::sync::Arc;

use super::text;
use super::words::{Word, act, claim, common};
use crate::api::Settings;
use crate::api::settings::{ReCreate, TemplateChanges};
use crate::gate::{Idle, StagedAt};
use crate::json;
use crate::rollout::fixtures::{gi, rows, template, web};
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
fn adds_logs(web: &mut Snapshot) {
    set(web, |settings| settings.template_changes = TemplateChanges::Allow);
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

/// Checks rows of this world: why, a change, all actions, and a part of the message.
pub(super) fn check_rows(world: fn() -> Snapshot, table: &str, word: Word) {
    let mut wrong = Vec::new();
    for [row, change, actions, message] in rows(table) {
        let mut web = world();
        act(&mut web, change, word);
        let (found, ready) = seen(&web);
        if found != actions || !ready.contains(message) {
            wrong.push(format!(
                "{row}: expected {actions:?} and {message:?}, but found {found:?} and {ready:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Changes the settings.
fn set(web: &mut Snapshot, change: fn(&mut Settings)) {
    change(Arc::make_mut(&mut web.settings));
}

/// The words of all tables of `ReCreate`.
pub(super) fn of_recreate(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match (word, numbers) {
        ("NewPVCs", []) => set(web, |settings| settings.immutable_fields = Frozen::ForNewClaims),
        ("adds logs", []) => adds_logs(web),
        ("live unread", []) => web.recreate.live = None,
        ("may evict", [ordinal]) => {
            web.recreate.eviction = Some((format!("web-{ordinal}-uid"), EvictionAnswer::Allowed));
        }
        ("no answer", []) => web.recreate.eviction = None,
        ("created", [ordinal, time]) => claim(web, *ordinal).created = (*time).into(),
        ("created anew", ordinals) => ordinals.iter().for_each(|ordinal| created_anew(web, *ordinal)),
        _ => match word.rsplit_once(' ') {
            Some(("live", class)) => web.set.live = vec![of_class(class, &format!("{}Gi", numbers[0]))],
            Some(("staged", class)) => web.stage(vec![of_class(class, &format!("{}Gi", numbers[0]))]),
            Some(("spec", class)) => {
                for ordinal in numbers {
                    claim(web, *ordinal).spec = Arc::new(of_class(class, "1Gi").spec);
                }
            }
            _ => common(web, word, numbers),
        },
    }
}

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match (word, numbers) {
        // A smaller size than 2Gi, which were asked for before.
        ("recovering", []) => {
            set(web, |settings| settings.shrink = Shrink::Recover);
            web.set.live = vec![of_class("fast", "2Gi")];
            web.stage(vec![of_class("fast", "1536Mi")]);
            for ordinal in 0..3 {
                web.applied(&format!("data-web-{ordinal}")).size_is_ours = true;
                let claim = claim(web, ordinal);
                claim.labels.insert(keys::REVISION.to_owned(), "older".to_owned());
                claim.spec = Arc::new(of_class("fast", "2Gi").spec);
            }
        }
        ("labelled before", []) => {
            let earlier = format!("{}.bcdfg", web.target());
            claim(web, 2).labels.insert(keys::REVISION.to_owned(), earlier);
        }
        ("no staged-at", []) => web.set.staged_at = StagedAt::Absent,
        ("unreadable staged-at", []) => web.set.staged_at = StagedAt::Unreadable,
        ("live unreadable", []) => web.recreate.live = Some(Err("503".to_owned())),
        ("ReCreate denied", []) => set(web, |settings| settings.recreate = ReCreate::Denied),
        ("halted", []) => web.halted = Some(Idle::ReCreate),
        ("access modes", []) => {
            let modes = |modes: &str| json::read(modes).expect("a list");
            let mut wanted = of_class("slow", "2Gi");
            let (one, other) = (
                r#"["ReadWriteOnce","ReadOnlyMany"]"#,
                r#"["ReadOnlyMany","ReadWriteOnce"]"#,
            );
            wanted.spec.insert("accessModes".to_owned(), modes(one));
            web.stage(vec![wanted.clone()]);
            wanted.spec.insert("accessModes".to_owned(), modes(other));
            web.set.live = vec![wanted.clone()];
            web.set.live[0].storage = Some(gi(1));
            for claim in web.claims.values_mut() {
                claim.spec = Arc::new(wanted.spec.clone());
            }
        }
        _ => of_recreate(web, word, numbers),
    }
}

const DUE: &str = "
    another storage class | | mark data-web-2 | RollingOut:
    a smaller size | live fast 2, spec fast 0 1 2, request 0 2, request 1 2, request 2 2 | mark data-web-2 \
        | RollingOut:
    a smaller size, which an expansion that was not reached is taken back to | recovering | apply data-web-2 1536Mi \
        | RollingOut:
    a larger PVC, but the template does not get smaller | spec fast 2, request 2 9, capacity 2 9 \
        | apply data-web-2 9Gi |
    a higher replica is updated in place first, although a lower Pod is not Ready | spec fast 2, unready 0 \
        | apply data-web-2 1Gi |
    only a larger size: it grows in place | live slow 1, staged slow 2 | apply data-web-2 2Gi |
    updated at this staging before the policy was ReCreate: it has its label | applied 2 | FailedToPatchPVC \
        | ClaimRefused: data-web-2: has spec.storageClassName \"slow\" instead of \"fast\" although it was updated \
            for this change
    updated at an earlier staging of the same templates | labelled before | mark data-web-2 | RollingOut:
    created a second before the staging was seen | created 2 949 | mark data-web-2 | RollingOut:
    created in the second in which the staging was seen: kept | created 2 950 | FailedToPatchPVC \
        | ClaimRefused: data-web-2: was created with spec.storageClassName \"slow\" instead of \"fast\" after the \
            change was staged
    created after the staging was seen, and the report was deleted: kept | created 2 960, nothing reported, now 2000 \
        | ClaimsStaged, FailedToPatchPVC | ClaimRefused: data-web-2: was created with
    nobody has written when the staging was seen: that comes before anything else | no staged-at | staged-at 1000 \
        | RollingOut: 0 of 3 replicas are ready; waiting for the annotation claim-rollout.io/staged-at
    the same, and the rollout is paused | no staged-at, paused | staged-at 1000 | Paused:
    the same, and the write was denied: the retry is not due | no staged-at, write denied 1001 | ClaimRolloutStalled \
        | WriteRefused: Failed to update the StatefulSet: no
    the same, and a Pod is to be evicted for its file system | staged slow 2, pends 2 940, no staged-at, write denied 1001 \
        | ClaimRolloutStalled | WriteRefused:
    the same, and the retry is due | no staged-at, write denied 1000 | staged-at 1000, ClaimRolloutStalled \
        | WriteRefused: Failed to update the StatefulSet: no
    the same, and a PVC could grow in place | no staged-at, live slow 1, staged slow 2 | staged-at 1000 |
    the time of the staging is no time | unreadable staged-at | ClaimRolloutStalled \
        | ReCreateStopped: web-2 is not re-created: the annotation claim-rollout.io/staged-at is no time
    a PVC differed in a field that the change does not concern: not deleted | live slow 1, staged slow 2, spec other 2 \
        | FailedToPatchPVC \
        | ClaimRefused: data-web-2: the template has spec.storageClassName \"slow\", but the PVC has \"other\"
    the order of access modes is no difference | access modes | apply data-web-2 2Gi |
    a watch may be late: the Pods and PVCs are read | live unread | ask live | RollingOut:
    the Pods and PVCs cannot be read | live unreadable | | waiting for the Pods and PVCs, which cannot be read: 503
    the one that was created anew has grown since: done | created anew 2, live slow 2, request 2 5, may evict 1 \
        | mark data-web-1 | RollingOut:
    created anew without the policy: it would be again | created anew 2, unlabelled 2, spec slow 2, may evict 1 \
        | FailedToPatchPVC \
        | ClaimRefused: data-web-2: was created with spec.storageClassName \"slow\" instead of \"fast\" after the \
            change was staged
    created anew, and a webhook has changed it | created anew 2, spec other 2 | FailedToPatchPVC \
        | ClaimRefused: data-web-2: was created with spec.storageClassName \"other\" instead of \"fast\"
    below the partition: left alone | created anew 2 1, partition 1 | | Partitioned:
    under OnClaimDelete nothing is deleted | NewPVCs, OnClaimDelete | ClaimsStaged |
    the settings do not allow it | NewPVCs, ReCreate denied | ClaimRolloutStalled \
        | ReCreateNotEnabled: The update policy is ReCreate, which is off:
    the controller runs without it | halted | ClaimRolloutStalled \
        | ReCreateNotEnabled: The update policy is ReCreate, which is off: it needs the setting allowReCreate: true, and
";

#[test]
fn recreate_deletes_only_what_in_place_cannot_reach() {
    check_rows(reclassed, DUE, word);
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
