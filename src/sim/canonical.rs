//! Canonical states. Two states are equal if they differ only in the names of uids, and in versions that keep their
//! order for each object.

use std::sync::Arc;

use super::clock::{CLOCK, age};
use super::controller::memory::{ClaimKey, InstanceMemory, OfModel};
use super::controller::{Instance, NextReconcile};
use super::objects::{
    Age, ClaimOwner, ClaimsBySlot, ORDINALS, PodObject, PodsByOrdinal, ReportObject, SLOTS, SetObject,
    StagedAnnotation, Uid, Version,
};
use super::watch::Views;
use super::world::SimWorld;
use super::write::Write;
use crate::rollout::machine::{SetMemory, WATCH_LAG, WrittenObject};

/// Everything with a resourceVersion: claims by slot, Pods by ordinal, the set, the report.
const OBJECTS: usize = SLOTS + ORDINALS + 2;
const SET: usize = SLOTS + ORDINALS;
const REPORT: usize = SET + 1;

/// When a settled set is checked again, in a small scope.
const CHECKED: u64 = CLOCK + 3600;

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
        let shown = instance.views.set.map(|set| set.version);
        stop_memory(&mut instance.memory, shown);
    }
}

/// Drops the times of a memory, but for whether a pause is over. Writes that are overtaken may be so at any time. A
/// completion that was written matters while the watch shows the version of the set before it, which is `shown`.
fn stop_memory(memory: &mut Arc<InstanceMemory>, shown: Option<Version>) {
    let ends = |(version, at): (Version, u64)| {
        let is_shown = Some(version) == shown && at + WATCH_LAG > CLOCK;
        is_shown.then_some((version, CLOCK))
    };
    let known = &memory.known;
    let is_timeless = known.denials.is_empty()
        && known.applies.is_empty()
        && known.overtaken.is_empty()
        && known.unanswered.is_empty()
        && (known.failures, memory.failed) == (0, 0)
        && known.quotas.is_none()
        && [&known.undone, &known.write_denied].iter().all(|fault| fault.is_none())
        && known.ended.is_none_or(|ended| ends(ended) == Some(ended))
        && known.settled.is_none_or(|settled| settled.due == CHECKED);
    if is_timeless {
        return;
    }
    let memory = Arc::make_mut(memory);
    memory.failed = 0;
    let known = &mut memory.known;
    // They may be read again at any time.
    known.quotas = None;
    let stopped = |last: u64| if age(last) >= 1 { CLOCK - 301 } else { CLOCK };
    for fault in [&mut known.undone, &mut known.write_denied].into_iter().flatten() {
        (fault.attempts, fault.last) = (1, stopped(fault.last));
    }
    for denial in known.denials.values_mut() {
        (denial.attempts, denial.last) = (1, stopped(denial.last));
    }
    if let Some(settled) = &mut known.settled {
        settled.due = CHECKED;
    }
    (known.failures, known.ended) = (0, known.ended.and_then(ends));
    known.applies.clear();
    known.overtaken.clear();
    known.unanswered.clear();
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
        report_uids(self.api.report.as_mut(), each);
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
        memory_uids(&mut memory.known, each);
        if let Some(reconcile) = &mut self.reconcile {
            let reconcile = Arc::make_mut(reconcile);
            set_uids(Some(&mut reconcile.set), each);
            for write in reconcile.queue.iter_mut().chain([&mut reconcile.sending]).flatten() {
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
        memory_versions(&mut memory.known, each);
        if let Some(reconcile) = &mut self.reconcile {
            let reconcile = Arc::make_mut(reconcile);
            each(SET, &mut reconcile.set.version);
            for write in reconcile.queue.iter_mut().chain([&mut reconcile.sending]).flatten() {
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

fn memory_uids(known: &mut SetMemory<OfModel>, each: EachUid<'_>) {
    let mut renamed = |mut key: ClaimKey| {
        each(&mut key.uid);
        key
    };
    let object = |renamed: &mut dyn FnMut(ClaimKey) -> ClaimKey, object| match object {
        WrittenObject::Claim(key) => WrittenObject::Claim(renamed(key)),
        other => other,
    };
    let written = std::mem::take(&mut known.written);
    known.written = written
        .into_iter()
        .map(|(key, mut claim)| {
            let key = renamed(key);
            claim.claim.uid = key.uid;
            (key, claim)
        })
        .collect();
    let denials = std::mem::take(&mut known.denials);
    known.denials = denials
        .into_iter()
        .map(|(key, denial)| (renamed(key), denial))
        .collect();
    let applies = std::mem::take(&mut known.applies);
    known.applies = applies.into_iter().map(|(key, apply)| (renamed(key), apply)).collect();
    let overtaken = std::mem::take(&mut known.overtaken);
    known.overtaken = overtaken
        .into_iter()
        .map(|(key, write)| (object(&mut renamed, key), write))
        .collect();
    let unanswered = std::mem::take(&mut known.unanswered);
    known.unanswered = unanswered
        .into_iter()
        .map(|(key, count)| (object(&mut renamed, key), count))
        .collect();
    set_uids(known.settled.as_mut().map(|settled| &mut settled.basis.0), each);
    report_uids(known.rollout.as_mut(), each);
    known.shown.iter_mut().for_each(each);
}

fn memory_versions(known: &mut SetMemory<OfModel>, each: EachVersion<'_>) {
    for (key, claim) in &mut known.written {
        each(key.slot.into(), &mut claim.claim.version);
    }
    for (key, denial) in &mut known.denials {
        each(key.slot.into(), &mut denial.resource_version);
    }
    for (key, apply) in &mut known.applies {
        each(key.slot.into(), &mut apply.resource_version);
    }
    for (object, (write, _)) in &mut known.overtaken {
        let place = match object {
            WrittenObject::Claim(key) => key.slot.into(),
            _ => SET,
        };
        each(place, &mut write.version);
    }
    if let Some((version, _)) = &mut known.ended {
        each(SET, version);
    }
    if let Some(settled) = &mut known.settled {
        each(SET, &mut settled.basis.0.version);
        each(REPORT, &mut settled.basis.1);
    }
    if let Some(report) = &mut known.rollout {
        each(REPORT, &mut report.version);
    }
}

fn view_uids(views: &mut Views, each: EachUid<'_>) {
    set_uids(views.set.as_mut(), each);
    claim_uids(&mut views.claims, each);
    pod_uids(&mut views.pods, each);
    report_uids(views.report.as_mut(), each);
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

fn report_uids(report: Option<&mut ReportObject>, each: EachUid<'_>) {
    if let Some(report) = report {
        each(&mut report.uid);
        each(&mut report.set);
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
