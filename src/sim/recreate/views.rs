//! What a controller of the model sees, as the input of the decision.

use super::objects::{AnewClaim, AnewObjects, AnewPod, MadeFrom, SnapshotName};
use super::world::AnewWorld;
use crate::claims::{Claim, Owner};
use crate::gate::{PodManagement, SetView, StagedAt};
use crate::json::{Map, Value};
use crate::rollout::{PodView, Snapshot, snapshot_age};
use crate::templates::{
    ClaimTemplate, Phase, Quantity, Revision, RevisionLabel, StagedChange, Staging, UpdatePolicy, keys,
};
use std::sync::Arc;

/// The identities of the stagings.
const STAGINGS: [&str; 3] = ["xz244", "xz245", "xz246"];

fn template(class: &str, size: u64) -> ClaimTemplate {
    let mut spec = Map::new();
    spec.insert("storageClassName".to_owned(), Value::String(class.into()));
    ClaimTemplate {
        name: "data".to_owned(),
        labels: Map::new(),
        annotations: Map::new(),
        storage: Some(Quantity::from_bytes(size << 30)),
        volume_attributes_class_name: None,
        metadata: Map::new(),
        spec,
    }
}

pub(super) fn desired(world: &AnewWorld) -> ClaimTemplate {
    if world.grows {
        template("slow", 2)
    } else {
        template("fast", 1)
    }
}

pub(super) fn staging(number: u8) -> Option<Staging> {
    let text: &str = STAGINGS.get(usize::from(number))?;
    Staging::read(text)
}

/// The label of a staging as text, and back.
pub(super) fn label(revision: &Revision, number: u8) -> String {
    staging(number).map_or_else(String::new, |staging| {
        let revision = revision.clone();
        RevisionLabel { revision, staging }.to_string()
    })
}

pub(super) fn number_of(staging: &Staging) -> Option<u8> {
    let place = STAGINGS.iter().position(|text| *text == staging.as_str())?;
    u8::try_from(place).ok()
}

/// The PVCs and Pods of the snapshot are these.
pub(super) fn read(world: &AnewWorld, objects: &AnewObjects, snapshot: &mut Snapshot) {
    let claims = each(&objects.claims).map(|(index, one)| {
        let claim = claim(world, index, one, &snapshot.set);
        (claim.name.clone(), claim)
    });
    snapshot.claims = claims.collect();
    let pods = each(&objects.pods).map(|(index, pod)| (format!("web-{index}"), pod_view(world, index, pod)));
    snapshot.pods = pods.collect();
}

pub(super) fn set(world: &AnewWorld) -> SetView {
    let change = world.staging.and_then(staging).map(|staging| StagedChange {
        by: "alice".to_owned(),
        replicas: 0,
        manager: "kubectl".to_owned(),
        phase: if world.is_complete {
            Phase::Complete
        } else {
            Phase::RollingOut
        },
        staging,
        templates: vec![desired(world)],
        uid: "set".to_owned(),
        update_policy: UpdatePolicy::ReCreate,
    });
    let labels = Map::from_unsorted(vec![("app".to_owned(), "web".to_owned())]).unwrap_or_default();
    SetView {
        name: "web".to_owned(),
        uid: "set".to_owned(),
        replicas: u32::try_from(world.replicas).unwrap_or_default(),
        match_labels: labels,
        live: vec![template("slow", 1)],
        staged: change,
        staged_at: world.staged_at.map_or(StagedAt::Absent, |at| StagedAt::At(at.into())),
        update_policy: Some(if world.is_on {
            UpdatePolicy::ReCreate
        } else {
            UpdatePolicy::InPlace
        }),
        paused: world.is_paused,
        recreate_snapshot: world.asks_snapshot.map(class_text),
        status_is_current: true,
        update_revision: "web-1".to_owned(),
        pod_management: if world.is_parallel {
            PodManagement::Parallel
        } else {
            PodManagement::OrderedReady
        },
        ..SetView::default()
    }
}

pub(super) fn class_text(class: u8) -> String {
    format!("class-{class}")
}

pub(super) fn claim(world: &AnewWorld, index: usize, claim: &AnewClaim, set: &SetView) -> Claim {
    let revision = Revision::of(&[desired(world)]);
    let template = match claim.from {
        MadeFrom::Old => template("slow", 1),
        MadeFrom::Restored => template("other", 1),
        MadeFrom::Desired(_) => desired(world),
    };
    let mut labels = set.match_labels.clone();
    if let MadeFrom::Desired(staging) = claim.from {
        labels.insert(keys::REVISION.to_owned(), label(&revision, staging));
    }
    let size = template.storage.unwrap_or_default();
    let created = u64::from(claim.created);
    Claim {
        name: format!("data-web-{index}"),
        uid: uid(index, claim.number),
        resource_version: claim.version.to_string(),
        labels,
        owners: claim.is_foreign.then(stranger).into_iter().collect(),
        terminating: claim.is_terminating,
        created,
        // After the Pod that uses it was created.
        deleted: claim.is_terminating.then_some(created + 2),
        recreated_for: claim.mark.map(|staging| label(&revision, staging)),
        spec: Arc::new(template.spec.clone()),
        request: size,
        bound: claim.is_bound,
        capacity: claim.is_bound.then_some(size),
        ..Claim::default()
    }
}

/// The owner of a PVC that somebody has taken over.
fn stranger() -> Owner {
    Owner {
        kind: "Backup".to_owned(),
        name: "b".to_owned(),
        uid: "b-uid".to_owned(),
        controller: true,
        ..Owner::default()
    }
}

/// The uid of a PVC.
pub(super) fn uid(index: usize, number: u8) -> String {
    format!("{index}{number:03}")
}

fn each<T>(all: &[Option<T>]) -> impl Iterator<Item = (usize, &T)> {
    all.iter()
        .enumerate()
        .filter_map(|(index, one)| Some((index, one.as_ref()?)))
}

fn pod_view(world: &AnewWorld, index: usize, pod: &AnewPod) -> PodView {
    let now = u64::from(world.now());
    PodView {
        name: format!("web-{index}"),
        uid: pod.uid.to_string(),
        controller: Some(Owner {
            kind: "StatefulSet".to_owned(),
            name: "web".to_owned(),
            uid: "set".to_owned(),
            controller: true,
            ..Owner::default()
        }),
        created: u64::from(pod.of.1) + 1,
        deleted: pod.is_terminating.then_some(now + 30),
        revision: "web-1".to_owned(),
        ready_since: pod.is_ready.then_some(now - 1),
        unready: None,
        claims: vec![format!("data-web-{index}")],
        volumes: vec!["data".to_owned()],
    }
}

/// The name of a VolumeSnapshot, as the decision makes it.
pub(super) fn snapshot_name(world: &AnewWorld, (index, of, staged, number): SnapshotName) -> Option<String> {
    let claim = Claim {
        uid: uid(index, of),
        ..Claim::default()
    };
    let revision = Revision::of(&[desired(world)]);
    let staging = staging(staged)?;
    let label = RevisionLabel { revision, staging };
    Some(snapshot_age::name(&claim, &label, number.into()))
}

pub(super) fn index_of(name: &str) -> Option<usize> {
    name.rsplit('-').next()?.parse().ok()
}
