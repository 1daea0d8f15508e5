//! From what is seen in the model to what the decision reads.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use super::api::Cause;
use super::mind::Mind;
use super::names::{SET, TEMPLATE, TIER, class, gi};
use super::objects::{Claim, Lot, Modify, Owner, Pod, Resize, SLOTS, Set, Target, Uid, Want, place};
use super::seen::{NOW, OTHER, Refused, SEEN, Seen, VERSION, WISHED};
use crate::api::Settings;
use crate::claims;
use crate::claims::quota::Quota;
use crate::json::{Map, Value};
use crate::rollout::snapshot::{self, PodManagement, Strategy, Trouble};
use crate::rollout::{Budgets, PodView, Quotas, Refusal, SetView, Sibling, Snapshot};
use crate::templates::rules::Shrink;
use crate::templates::{MaxInMotion, ProgressDeadline, Ready, Restart, Revision, StagedChange, Sync, keys};

/// The settings without and with `shrink: Recover`. There are millions of snapshots.
static SETTINGS: LazyLock<[Arc<Settings>; 2]> = LazyLock::new(|| {
    [Shrink::Deny, Shrink::Recover].map(|shrink| {
        Arc::new(Settings {
            shrink,
            ..Settings::default()
        })
    })
});

/// The name of the claim in a slot.
pub(crate) fn claim_name(slot: usize) -> String {
    let (template, ordinal) = place(slot);
    format!("{}-{SET}-{ordinal}", TEMPLATE[template])
}

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

/// What the decision reads.
pub(crate) fn snapshot(mind: &mut Mind, seen: &Seen) -> Snapshot {
    let mut snapshot = Snapshot {
        now: NOW,
        settings: Arc::clone(&SETTINGS[usize::from(seen.recover)]),
        halted: None,
        write_refused: None,
        not_evicted: None,
        staged_at: None,
        set: set_view(mind, &seen.set),
        claims: BTreeMap::new(),
        pods: BTreeMap::new(),
        siblings: Vec::new(),
        refusals: BTreeMap::new(),
        quotas: quotas(seen.room),
        budgets: Budgets::default(),
        previous: seen.previous.and_then(|says| mind.previous(says)),
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
        // Only what the wish names is looked up.
        let named = place(slot).0 < target.wants().len();
        let Some(claim) = claim.filter(|_| named) else {
            continue;
        };
        let view = claim_view(mind, slot, &claim);
        if let (Some(refusal), Some(target)) = (seen.refusals[slot], staged) {
            let refusal = refusal_of(&refusal, mind.names.revision(&target));
            snapshot.refusals.insert(view.uid.clone(), refusal);
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
    for slot in (0..SLOTS).filter(|slot| seen.strangers & 1 << slot != 0) {
        let name = format!("stranger-{slot}");
        let view = PodView {
            claims: vec![claim_name(slot)],
            controller: Some(owner("StatefulSet", 97)),
            ..pod_view(0, &stranger(), 0)
        };
        snapshot.pods.insert(name.clone(), PodView { name, ..view });
    }
    snapshot
}

/// Of a quota only what it leaves is seen.
fn quotas(room: Option<u8>) -> Quotas {
    let quota = room.map(|room| Quota {
        name: "storage".to_owned(),
        resource: "requests.storage".to_owned(),
        hard: gi(room),
        used: gi(0),
    });
    Quotas::Known(quota.into_iter().collect())
}

fn refusal_of(refusal: &Refused, revision: Revision) -> Refusal {
    let last = i64::try_from(NOW).unwrap_or(0) - i64::from(refusal.age);
    Refusal {
        revision,
        resource_version: if refusal.same { VERSION } else { 0 }.to_string(),
        cause: match refusal.cause {
            Cause::Changed => Refusal::CHANGED_BY_OTHERS.to_owned(),
            cause => format!("{cause:?}"),
        },
        message: format!("because of {:?}", refusal.cause),
        attempts: refusal.attempts.into(),
        last: u64::try_from(last).unwrap_or(0),
    }
}

const fn stranger() -> Pod {
    Pod {
        uid: 99,
        version: VERSION,
        set: 0,
        image: 0,
        ready: Some(0),
        terminating: false,
        full: 0,
        age: 1,
        lot: Lot::Runs,
    }
}

fn set_view(mind: &mut Mind, set: &Set) -> SetView {
    let spec = &set.spec;
    let change = set.staged_change().map(|change| StagedChange {
        by: "alice".to_owned(),
        manager: "kubectl".to_owned(),
        phase: change.phase(),
        templates: mind.names.templates(&change.target),
        uid: uid_text(SEEN),
        update_policy: change.policy,
    });
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
        live: mind.names.templates(&spec.live),
        staged: change,
        unreadable: None,
        update_policy: spec.policy,
        paused: spec.paused,
        partition: spec.partition.into(),
        ready: spec.ready.map(|(target, ordinal)| Ready {
            revision: mind.names.revision(&target),
            ordinal: ordinal.into(),
        }),
        sync: if spec.asynchronous { Sync::Async } else { Sync::LockStep },
        progress_deadline: ProgressDeadline::default(),
        restart: Restart::Never,
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

fn claim_view(mind: &mut Mind, slot: usize, claim: &Claim) -> claims::Claim {
    let mut labels = Map::new();
    if claim.selected {
        labels.insert("app".to_owned(), SET.to_owned());
    }
    if claim.tier != 0 {
        labels.insert(TIER.to_owned(), format!("t{}", claim.tier));
    }
    if let Some(target) = &claim.revision {
        labels.insert(keys::REVISION.to_owned(), mind.names.revision(target).to_string());
    }
    claims::Claim {
        name: claim_name(slot),
        uid: uid_text(claim.uid),
        resource_version: claim.version.to_string(),
        labels,
        owners: match claim.owner {
            Owner::Nobody => Vec::new(),
            Owner::Set(uid) => vec![owner("StatefulSet", uid)],
            Owner::Pod(uid) => vec![owner("Pod", uid)],
            Owner::Stranger => vec![owner("Backup", 98)],
        },
        terminating: claim.terminating,
        bound: claim.bound,
        spec: Arc::new(spec_of(mind, slot)),
        request: gi(claim.request),
        capacity: claim.bound.then(|| gi(claim.capacity)),
        size_is_ours: claim.our_size,
        class: class(claim.class),
        class_is_ours: claim.our_class.is_ours(),
        current_class: class(claim.current_class),
        resize: match claim.resize {
            Resize::None => None,
            Resize::Controller => Some(snapshot::Resize::ControllerInProgress),
            Resize::ControllerInfeasible => Some(snapshot::Resize::ControllerInfeasible),
            Resize::Node if claim.errors.node => Some(snapshot::Resize::NodeInProgress),
            Resize::Node => Some(snapshot::Resize::NodePending),
        },
        modify: match claim.modify {
            Modify::None => None,
            Modify::Pending => Some(snapshot::Modify::Pending),
            Modify::InProgress => Some(snapshot::Modify::InProgress),
            Modify::Infeasible => Some(snapshot::Modify::Infeasible),
        },
        resizing: claim.resize == Resize::Controller,
        file_system_resize_pending: (claim.resize == Resize::Node).then(String::new),
        troubles: claim.errors.kinds().map(trouble).collect(),
    }
}

fn trouble(kind: &str) -> Trouble {
    Trouble {
        reason: kind.to_owned(),
        message: "failed to expand pvc with rpc error: code = Internal".to_owned(),
    }
}

/// What a claim holds that cannot change, as the template has it.
fn spec_of(mind: &mut Mind, slot: usize) -> Map<Value> {
    let target = Target::of(&[Want::size(1); 2]);
    mind.names.templates(&target).swap_remove(place(slot).0).spec
}

fn pod_view(ordinal: usize, pod: &Pod, templates: usize) -> PodView {
    let claims = TEMPLATE
        .iter()
        .take(templates)
        .map(|template| format!("{template}-{SET}-{ordinal}"));
    PodView {
        name: pod_name(ordinal),
        uid: uid_text(pod.uid),
        controller: (pod.set != 0).then(|| owner("StatefulSet", pod.set)),
        created: if pod.age > 0 { WISHED - 1 } else { NOW },
        deleted: pod.terminating.then_some(NOW + 30),
        unready: None,
        revision: format!("{SET}-{}", pod.image),
        ready_since: pod.ready.map(|age| NOW - u64::from(age.unsigned_abs())),
        claims: claims.collect(),
    }
}
