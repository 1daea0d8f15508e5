//! Canonical states. Two states are equal if they differ only in the names of uids, and in versions that keep their
//! order for each object.

use std::sync::Arc;

use super::controller::memory::InstanceMemory;
use super::controller::{Instance, NextReconcile};
use super::objects::{
    Age, ClaimOwner, ClaimsBySlot, ORDINALS, PodObject, PodsByOrdinal, SLOTS, SetObject, StagedAnnotation, Uid, Version,
};
use super::watch::Views;
use super::world::SimWorld;
use super::write::Write;

/// Everything with a resourceVersion: claims by slot, Pods by ordinal, the set, the report.
const OBJECTS: usize = SLOTS + ORDINALS + 2;
const SET: usize = SLOTS + ORDINALS;
const REPORT: usize = SET + 1;

type EachUid<'e> = &'e mut dyn FnMut(&mut Uid);
type EachVersion<'e> = &'e mut dyn FnMut(usize, &mut Version);

/// The state with uids numbered in the order of first use, and versions replaced by their rank for each object.
pub(crate) fn canonical(world: &SimWorld) -> SimWorld {
    let mut world = world.clone();
    (world.api.last_uid, world.api.last_version) = (0, 0);
    let mut uids: Vec<Uid> = vec![0];
    world.uids(&mut |uid| {
        let place = uids.iter().position(|known| known == uid).unwrap_or_else(|| {
            uids.push(*uid);
            uids.len() - 1
        });
        *uid = Uid::try_from(place).unwrap_or(Uid::MAX);
    });
    let mut versions: Vec<(u8, Version)> = Vec::with_capacity(64);
    let object = |place: usize| u8::try_from(place).unwrap_or(u8::MAX);
    world.versions(&mut |place, version| versions.push((object(place), *version)));
    versions.sort_unstable();
    versions.dedup();
    let mut first = [0; OBJECTS];
    for (rank, (place, _)) in versions.iter().enumerate().rev() {
        first[usize::from(*place)] = rank;
    }
    world.versions(&mut |place, version| {
        let rank = versions.binary_search(&(object(place), *version)).unwrap_or(0);
        *version = Version::try_from(rank + 1 - first[place]).unwrap_or(Version::MAX);
    });
    world
}

/// Drops what does not matter in a small scope: times, except of Pods that are Ready and not yet available, and
/// numbers of failures. A controller may reconcile at any time.
pub(crate) fn simplify(world: &mut SimWorld) {
    let longest = world.api.set.map_or(0, |set| set.min_ready());
    stop_clocks(&mut world.api.set, &mut world.api.pods, longest);
    if let Some(backoff) = &mut world.api.backoff {
        backoff.age = 0;
    }
    for instance in world.instances.iter_mut().filter(|instance| instance.alive) {
        instance.requeue = NextReconcile::Now;
        stop_clocks(&mut instance.views.set, &mut instance.views.pods, longest);
        if let Some(reconcile) = &mut instance.reconcile {
            Arc::make_mut(reconcile).set.since_staged = 0;
        }
        let has_denials = instance.memory.denials.iter().any(Option::is_some) || instance.memory.undone.is_some();
        let has_failures = instance.memory.failures > 0 || instance.memory.unanswered.iter().any(|count| *count > 0);
        if has_failures || has_denials {
            let memory = Arc::make_mut(&mut instance.memory);
            if let Some(undone) = &mut memory.undone {
                (undone.attempts, undone.age) = (1, if undone.age >= 1 { 301 } else { 0 });
            }
            (memory.failures, memory.unanswered) = (0, [0; SLOTS + 1]);
            for denial in memory.denials.iter_mut().flatten() {
                denial.attempts = 1;
                denial.age = if denial.age >= 1 { 301 } else { 0 };
            }
        }
    }
}

/// Makes all Pods as old as the staged change, and Ready for at most `longest`.
fn stop_clocks(set: &mut Option<SetObject>, pods: &mut PodsByOrdinal, longest: Age) {
    if let Some(set) = set {
        set.since_staged = 0;
    }
    let stopped = |pod: &PodObject| (0, pod.ready.map(|age| age.clamp(0, longest)));
    if pods.iter().flatten().any(|pod| (pod.age, pod.ready) != stopped(pod)) {
        for pod in Arc::make_mut(pods).iter_mut().flatten() {
            (pod.age, pod.ready) = stopped(pod);
        }
    }
}

impl SimWorld {
    fn uids(&mut self, each: EachUid<'_>) {
        set_uids(self.api.set.as_mut(), each);
        claim_uids(&mut self.api.claims, each);
        pod_uids(&mut self.api.pods, each);
        if let Some(report) = &mut self.api.report {
            each(&mut report.set);
        }
        staged_uids(self.copied.as_mut(), each);
        for instance in self.instances.iter_mut().filter(|instance| instance.alive) {
            instance.uids(each);
        }
        if let Some(past) = &mut self.past {
            view_uids(Arc::make_mut(past), each);
        }
    }

    fn versions(&mut self, each: EachVersion<'_>) {
        let api = &mut self.api;
        if let Some(set) = &mut api.set {
            each(SET, &mut set.version);
        }
        claim_versions(&mut api.claims, each);
        pod_versions(&mut api.pods, each);
        if let Some(report) = &mut api.report {
            each(REPORT, &mut report.version);
        }
        for instance in self.instances.iter_mut().filter(|instance| instance.alive) {
            instance.versions(each);
        }
        if let Some(past) = &mut self.past {
            view_versions(Arc::make_mut(past), each);
        }
    }
}

impl Instance {
    fn uids(&mut self, each: EachUid<'_>) {
        view_uids(&mut self.views, each);
        let memory = Arc::make_mut(&mut self.memory);
        each(&mut memory.of);
        set_uids(memory.settled.as_mut().map(|(set, _)| set), each);
        memory
            .written
            .iter_mut()
            .flatten()
            .for_each(|claim| each(&mut claim.uid));
        memory
            .denials
            .iter_mut()
            .flatten()
            .for_each(|denial| each(&mut denial.uid));
        if let Some(reconcile) = &mut self.reconcile {
            let reconcile = Arc::make_mut(reconcile);
            set_uids(Some(&mut reconcile.set), each);
            for write in reconcile.queue.iter_mut().flatten() {
                match write {
                    Write::Apply(apply) => apply.uid.iter_mut().for_each(&mut *each),
                    Write::StagedChange { uid, change, .. } => {
                        uid.iter_mut().for_each(&mut *each);
                        change.iter_mut().for_each(|change| each(&mut change.uid));
                    }
                    Write::Ready { uid, .. } | Write::Partition { uid, .. } => uid.iter_mut().for_each(&mut *each),
                    Write::Report { set, .. } => each(set),
                    Write::Delete { .. } => {}
                }
            }
        }
    }

    fn versions(&mut self, each: EachVersion<'_>) {
        view_versions(&mut self.views, each);
        let memory = Arc::make_mut(&mut self.memory);
        memory_versions(memory, each);
        if let Some(reconcile) = &mut self.reconcile {
            let reconcile = Arc::make_mut(reconcile);
            each(SET, &mut reconcile.set.version);
            for write in reconcile.queue.iter_mut().flatten() {
                match write {
                    Write::Apply(apply) => {
                        let slot = usize::from(apply.slot);
                        apply.version.iter_mut().for_each(|version| each(slot, version));
                    }
                    Write::StagedChange { version, .. }
                    | Write::Ready { version, .. }
                    | Write::Partition { version, .. } => {
                        version.iter_mut().for_each(|version| each(SET, version));
                    }
                    Write::Report { .. } | Write::Delete { .. } => {}
                }
            }
        }
    }
}

fn memory_versions(memory: &mut InstanceMemory, each: EachVersion<'_>) {
    for (slot, claim) in memory.written.iter_mut().enumerate() {
        claim.iter_mut().for_each(|claim| each(slot, &mut claim.version));
    }
    for (slot, denial) in memory.denials.iter_mut().enumerate() {
        denial.iter_mut().for_each(|denial| each(slot, &mut denial.version));
    }
    if let Some((set, report)) = &mut memory.settled {
        each(SET, &mut set.version);
        each(REPORT, report);
    }
    if let Some(report) = &mut memory.report {
        each(REPORT, &mut report.version);
    }
}

fn view_uids(views: &mut Views, each: EachUid<'_>) {
    set_uids(views.set.as_mut(), each);
    claim_uids(&mut views.claims, each);
    pod_uids(&mut views.pods, each);
    if let Some(report) = &mut views.report {
        each(&mut report.set);
    }
}

fn view_versions(views: &mut Views, each: EachVersion<'_>) {
    if let Some(set) = &mut views.set {
        each(SET, &mut set.version);
    }
    claim_versions(&mut views.claims, each);
    pod_versions(&mut views.pods, each);
    if let Some(report) = &mut views.report {
        each(REPORT, &mut report.version);
    }
}

fn set_uids(set: Option<&mut SetObject>, each: EachUid<'_>) {
    if let Some(set) = set {
        each(&mut set.uid);
        staged_uids(set.spec.staged.as_mut(), each);
    }
}

fn staged_uids(change: Option<&mut StagedAnnotation>, each: EachUid<'_>) {
    if let Some(change) = change {
        each(&mut change.uid);
    }
}

fn claim_uids(claims: &mut ClaimsBySlot, each: EachUid<'_>) {
    for claim in Arc::make_mut(claims).iter_mut().flatten() {
        each(&mut claim.uid);
        if let ClaimOwner::Set(uid) | ClaimOwner::Pod(uid) = &mut claim.owner {
            each(uid);
        }
    }
}

fn claim_versions(claims: &mut ClaimsBySlot, each: EachVersion<'_>) {
    for (slot, claim) in Arc::make_mut(claims).iter_mut().enumerate() {
        claim.iter_mut().for_each(|claim| each(slot, &mut claim.version));
    }
}

fn pod_uids(pods: &mut PodsByOrdinal, each: EachUid<'_>) {
    for pod in Arc::make_mut(pods).iter_mut().flatten() {
        each(&mut pod.uid);
        each(&mut pod.set);
    }
}

fn pod_versions(pods: &mut PodsByOrdinal, each: EachVersion<'_>) {
    for (ordinal, pod) in Arc::make_mut(pods).iter_mut().enumerate() {
        pod.iter_mut().for_each(|pod| each(SLOTS + ordinal, &mut pod.version));
    }
}
