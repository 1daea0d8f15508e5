//! The view of a controller as the snapshot that `plan` reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::controller_view::{
    BEFORE_REPORT, BEFORE_STAGING, ControllerView, FailedWrite, NOW, OTHER, SEEN, STAGED, STARTED, SeenDenial, VERSION,
};
use super::names::{SET, TEMPLATE, TIER, claim_name, class, gi};
use super::objects::{
    ClaimObject, ClaimOwner, ModelTarget, ModifyState, PodHealth, PodObject, ResizeState, SLOTS, SetObject,
    StagedAnnotation, Uid, Want, place,
};
use super::room::quotas;
use super::texts::Texts;
use super::write::DenialCause;
use crate::claims;
use crate::gate::readiness::CHANGED_BY_OTHERS;
use crate::gate::{Idle, PodManagement, SetView, StagedAt};
use crate::json::{Map, Value};
use crate::rollout::milestones::Milestones;
use crate::rollout::snapshot::Trouble;
use crate::rollout::volume_snapshot::ReCreateAnswers;
use crate::rollout::{Budgets, PodView, Refusal, Sibling, Snapshot, snapshot};
use crate::templates::{
    MaxInMotion, ProgressDeadline, Ready, Restart, RevisionLabel, StagedChange, StagedError, Strategy, Sync, keys,
};

fn pod_name(ordinal: usize) -> String {
    format!("{SET}-{ordinal}")
}

fn uid_text(uid: Uid) -> String {
    format!("u{uid}")
}

fn owner(kind: &str, uid: Uid) -> claims::Owner {
    claims::Owner {
        kind: kind.to_owned(),
        name: SET.to_owned(),
        uid: uid_text(uid),
        controller: true,
        ..claims::Owner::default()
    }
}

/// The snapshot of a view.
pub(crate) fn snapshot(texts: &mut Texts, seen: &ControllerView) -> Snapshot {
    let mut snapshot = Snapshot {
        now: NOW,
        settings: seen.settings.shared(),
        halted: seen.undone.and_then(halted),
        write_refused: seen.write_denied.map(|denied| ("denied".to_owned(), retry_at(denied))),
        not_evicted: None,
        recreate: ReCreateAnswers::default(),
        staged_before: Some(STAGED),
        set: set_view(texts, &seen.set),
        claims: BTreeMap::new(),
        pods: BTreeMap::new(),
        siblings: Vec::new(),
        refusals: BTreeMap::new(),
        quotas: quotas(seen.room),
        budgets: Budgets::default(),
        previous: seen.previous.and_then(|content| texts.previous(content)),
        milestones: Milestones::default(),
        claim_events: BTreeMap::new(),
    };
    if seen.sibling {
        snapshot.siblings.push(Sibling {
            set: "a-web".to_owned(),
            templates: vec!["data".to_owned()],
        });
    }
    let staged = seen.set.staged_change().map(|change| change.target);
    let target = staged.unwrap_or(seen.set.spec.live);
    for (slot, claim) in seen.claims.iter().enumerate() {
        // The controller reads only claims that the target names.
        let named = place(slot).0 < target.wants().len();
        let Some(claim) = claim.filter(|_| named) else {
            continue;
        };
        let view = claim_view(texts, slot, &claim);
        if let (Some(denial), Some(target)) = (seen.denials[slot], staged) {
            let denial = denial_of(&denial, texts.names.label(&target));
            snapshot.refusals.insert(view.uid.clone(), denial);
        }
        snapshot.claims.insert(view.name.clone(), view);
    }
    let templates = usize::from(seen.set.spec.live.templates);
    for (ordinal, pod) in seen.pods.iter().enumerate() {
        if let Some(pod) = pod {
            let view = pod_view(ordinal, pod, templates);
            snapshot.pods.insert(view.name.clone(), view);
        }
    }
    for slot in (0..SLOTS).filter(|slot| seen.foreign_mounts & 1 << slot != 0) {
        let name = format!("stranger-{slot}");
        let view = PodView {
            claims: vec![claim_name(slot)],
            controller: Some(owner("StatefulSet", 97)),
            ..pod_view(0, &foreign_pod(), 0)
        };
        snapshot.pods.insert(name.clone(), PodView { name, ..view });
    }
    snapshot
}

/// Nothing is done until it is time to retry a write that somebody undid.
fn halted(undone: FailedWrite) -> Option<Idle> {
    let retry_at = retry_at(undone);
    (retry_at > NOW).then(|| Idle::WriteUndone {
        what: "the annotation".to_owned(),
        retry_at,
    })
}

/// When a write to the set is retried.
fn retry_at(failed: FailedWrite) -> u64 {
    let last = i64::try_from(NOW).unwrap_or(0) - i64::from(failed.age);
    snapshot::retry_at(failed.attempts.into(), u64::try_from(last).unwrap_or(0), NOW)
}

fn denial_of(denial: &SeenDenial, label: RevisionLabel) -> Refusal {
    let last = i64::try_from(NOW).unwrap_or(0) - i64::from(denial.age);
    Refusal {
        label,
        resource_version: if denial.same { VERSION } else { 0 }.to_string(),
        cause: match denial.cause {
            DenialCause::Changed => CHANGED_BY_OTHERS.to_owned(),
            cause => format!("{cause:?}"),
        },
        message: format!("because of {:?}", denial.cause),
        attempts: denial.attempts.into(),
        last: u64::try_from(last).unwrap_or(0),
    }
}

const fn foreign_pod() -> PodObject {
    PodObject {
        uid: 99,
        version: VERSION,
        set: 0,
        image: 0,
        ready: Some(0),
        terminating: false,
        full: 0,
        age: 1,
        health: PodHealth::Running,
    }
}

fn staged_change(texts: &mut Texts, change: &StagedAnnotation) -> StagedChange {
    StagedChange {
        by: "alice".to_owned(),
        manager: "kubectl".to_owned(),
        phase: change.phase(),
        replicas: change.replicas.into(),
        staging: texts.names.label(&change.target).staging,
        templates: texts.names.templates(&change.target),
        uid: uid_text(SEEN),
        update_policy: change.policy,
    }
}

fn set_view(texts: &mut Texts, set: &SetObject) -> SetView {
    let spec = &set.spec;
    SetView {
        namespace: "default".to_owned(),
        name: SET.to_owned(),
        uid: uid_text(set.uid),
        resource_version: set.version.to_string(),
        generation: 1,
        terminating: set.terminating,
        controller: set.owned.then(|| owner("Operator", OTHER)),
        replicas: spec.replicas.into(),
        first_ordinal: 0,
        match_labels: Map::from_unsorted(vec![("app".to_owned(), SET.to_owned())]).unwrap_or_default(),
        live: texts.names.templates(&spec.live),
        staged_at: StagedAt::Absent,
        templates_can_change: false,
        not_supported: None,
        staged: set.staged_change().map(|change| staged_change(texts, change)),
        unreadable: set.unreadable().map(|change| {
            if change.newer {
                StagedError::Version
            } else {
                StagedError::Uid
            }
        }),
        update_policy: spec.policy,
        replace_set: None,
        paused: spec.paused,
        partition: spec.partition.into(),
        is_held: false,
        ready: spec.ready.map(|(target, ordinal)| Ready {
            revision: texts.names.revision(&target),
            ordinal: ordinal.into(),
        }),
        sync: if spec.asynchronous { Sync::Async } else { Sync::LockStep },
        progress_deadline: ProgressDeadline::default(),
        restart: Restart::Never,
        recreate_snapshot: None,
        max_in_motion: Some(MaxInMotion(spec.in_motion.into())),
        min_ready_seconds: spec.min_ready.into(),
        status_is_current: set.status.observed,
        strategy: if spec.on_delete {
            Strategy::OnDelete
        } else {
            Strategy::RollingUpdate
        },
        pod_management: if spec.parallel {
            PodManagement::Parallel
        } else {
            PodManagement::OrderedReady
        },
        max_unavailable: set.max_unavailable,
        update_revision: format!("{SET}-{}", set.status.update),
    }
}

fn claim_view(texts: &mut Texts, slot: usize, claim: &ClaimObject) -> claims::Claim {
    let mut labels = Map::new();
    if claim.selected {
        labels.insert("app".to_owned(), SET.to_owned());
    }
    if claim.tier != 0 {
        labels.insert(TIER.to_owned(), format!("t{}", claim.tier));
    }
    if let Some(target) = &claim.revision {
        labels.insert(keys::REVISION.to_owned(), texts.names.label(target).to_string());
    }
    claims::Claim {
        name: claim_name(slot),
        uid: uid_text(claim.uid),
        resource_version: claim.version.to_string(),
        labels,
        owners: match claim.owner {
            ClaimOwner::None => Vec::new(),
            ClaimOwner::Set(uid) => vec![owner("StatefulSet", uid)],
            ClaimOwner::Pod(uid) => vec![owner("Pod", uid)],
            ClaimOwner::Other => vec![owner("Backup", 98)],
        },
        terminating: claim.terminating,
        created: 0,
        deleted: None,
        finalizers: Vec::new(),
        recreated_for: None,
        class_annotation: None,
        bound: claim.bound,
        lost: false,
        spec: Arc::new(spec_of(texts, slot, claim.storage_class)),
        request: gi(claim.request),
        capacity: claim.bound.then(|| gi(claim.capacity)),
        size_is_ours: claim.our_size,
        class: class(claim.class),
        class_is_ours: claim.our_class.is_ours(),
        current_class: class(claim.current_class),
        allocated: (claim.resize_to != 0).then(|| gi(claim.resize_to)),
        modify_class: class(claim.modify_to),
        resize: match claim.resize {
            ResizeState::None => None,
            ResizeState::Controller => Some(snapshot::Resize::ControllerInProgress),
            ResizeState::ControllerInfeasible => Some(snapshot::Resize::ControllerInfeasible),
            ResizeState::Node if claim.errors.node => Some(snapshot::Resize::NodeInProgress),
            ResizeState::Node => Some(snapshot::Resize::NodePending),
        },
        modify: match claim.modify {
            ModifyState::None => None,
            ModifyState::Pending => Some(snapshot::Modify::Pending),
            ModifyState::InProgress => Some(snapshot::Modify::InProgress),
            ModifyState::Infeasible => Some(snapshot::Modify::Infeasible),
        },
        resizing: claim.resize == ResizeState::Controller,
        file_system_resize_pending: (claim.resize == ResizeState::Node).then(String::new),
        troubles: claim.errors.kinds().map(trouble).collect(),
    }
}

fn trouble(kind: &str) -> Trouble {
    Trouble {
        reason: kind.to_owned(),
        message: "failed to expand pvc with rpc error: code = Internal".to_owned(),
    }
}

/// The fields of a claim that cannot change.
fn spec_of(texts: &mut Texts, slot: usize, storage_class: u8) -> Map<Value> {
    let want = Want {
        storage_class,
        ..Want::size(1)
    };
    let target = ModelTarget::of(&[want; 2]);
    texts.names.templates(&target).swap_remove(place(slot).0).spec
}

fn pod_view(ordinal: usize, pod: &PodObject, templates: usize) -> PodView {
    let claims = TEMPLATE
        .iter()
        .take(templates)
        .map(|template| format!("{template}-{SET}-{ordinal}"));
    PodView {
        name: pod_name(ordinal),
        uid: uid_text(pod.uid),
        controller: (pod.set != 0).then(|| owner("StatefulSet", pod.set)),
        created: match pod.age {
            BEFORE_STAGING => STAGED,
            BEFORE_REPORT => STARTED,
            _ => NOW,
        },
        deleted: pod.terminating.then_some(NOW + 30),
        unready: None,
        revision: format!("{SET}-{}", pod.image),
        ready_since: pod.ready.map(|age| NOW - u64::from(age.unsigned_abs())),
        claims: claims.collect(),
        volumes: TEMPLATE.iter().take(templates).map(|name| (*name).to_owned()).collect(),
    }
}
