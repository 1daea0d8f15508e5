//! The view of a controller as the key of a question to `plan`: uids and versions are renamed and times are coarse,
//! so that equal questions are asked once.

use super::clock::{CLOCK, age};
use super::controller::memory::InstanceMemory;
use super::objects::{
    Age, ClaimObject, ClaimOwner, ORDINALS, PodHealth, PodObject, ReportObject, SLOTS, SetObject, SetObjectStatus,
    Share, Uid, Version, place,
};
use super::room::QuotaRoom;
use super::settings::ModelSettings;
use super::watch::Views;
use super::write::DenialCause;
use crate::rollout::machine::RetriedWrite;

/// The uid of the set.
pub(crate) const SEEN: Uid = 1;
/// The uid of any other set.
pub(crate) const OTHER: Uid = 2;
/// The version of every object.
pub(crate) const VERSION: Version = 1;
/// The time.
pub(crate) const NOW: u64 = CLOCK;
/// When the change was staged.
pub(crate) const STAGED: u64 = NOW - 2000;
/// When the target was first reported.
pub(crate) const STARTED: u64 = NOW - 1000;
/// The age of Pods that were created before the change was staged, and before the first report.
pub(crate) const BEFORE_STAGING: Age = 2;
/// The age of Pods that were created before the first report only, or while there is no report.
pub(crate) const BEFORE_REPORT: Age = 1;

/// The view of a controller, with renamed uids and versions, and coarse times.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ControllerView {
    pub(crate) set: SetObject,
    pub(crate) claims: [Option<ClaimObject>; SLOTS],
    pub(crate) pods: [Option<PodObject>; ORDINALS],
    pub(crate) foreign_mounts: u16,
    pub(crate) sibling: bool,
    pub(crate) denials: [Option<SeenDenial>; SLOTS],
    /// The last write to the set, if somebody undid it.
    pub(crate) undone: Option<FailedWrite>,
    /// The last write to the set, if it was denied.
    pub(crate) write_denied: Option<FailedWrite>,
    pub(crate) previous: Option<u32>,
    pub(crate) settings: ModelSettings,
    /// The Gi that the quota has left, if there is one, and if it was read.
    pub(crate) room: QuotaRoom,
}

/// A write to the set that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FailedWrite {
    pub(crate) attempts: u8,
    pub(crate) age: Age,
}

impl FailedWrite {
    fn of(fault: &RetriedWrite) -> Self {
        Self {
            attempts: few(fault.attempts),
            age: age(fault.last).min(301),
        }
    }
}

/// More attempts make no difference.
fn few(attempts: u32) -> u8 {
    u8::try_from(attempts.min(12)).unwrap_or(12)
}

/// A denied apply that the controller remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SeenDenial {
    pub(crate) cause: DenialCause,
    pub(crate) attempts: u8,
    pub(crate) age: Age,
    /// The claim has not changed since.
    pub(crate) same: bool,
}

/// The uid of the claim in a slot.
pub(crate) fn claim_uid(slot: usize) -> Uid {
    Uid::try_from(slot + 10).unwrap_or(0)
}

/// The uid of the Pod of an ordinal.
fn pod_uid(ordinal: usize) -> Uid {
    Uid::try_from(ordinal + 50).unwrap_or(0)
}

/// The view, renamed.
pub(crate) fn project(
    set: &SetObject,
    claims: &[Option<ClaimObject>; SLOTS],
    views: &Views,
    memory: &InstanceMemory,
    report: Option<ReportObject>,
    settings: ModelSettings,
) -> ControllerView {
    let mut seen = ControllerView {
        set: *set,
        claims: [None; SLOTS],
        pods: [None; ORDINALS],
        foreign_mounts: views.foreign_mounts,
        sibling: views.sibling,
        denials: [None; SLOTS],
        undone: memory.known.undone.as_ref().map(FailedWrite::of),
        write_denied: memory.known.write_denied.as_ref().map(FailedWrite::of),
        previous: report
            .filter(|report| report.set == set.uid)
            .map(|report| report.content),
        settings,
        room: set.staged_change().and_then(|change| memory.room(&change.target)),
    };
    (seen.set.uid, seen.set.version, seen.set.since_staged) = (SEEN, VERSION, 0);
    seen.set.spec.withdraw = None;
    seen.set.status = SetObjectStatus {
        observed: set.status.observed,
        update: set.status.update,
        ..SetObjectStatus::default()
    };
    if let Some(change) = &mut seen.set.spec.staged {
        change.uid = renamed(change.uid, set);
    }
    seen.see_pods(set, views, report);
    seen.see_claims(set, claims, views, memory);
    seen
}

/// The uid of a set, renamed.
fn renamed(uid: Uid, set: &SetObject) -> Uid {
    match uid {
        0 => 0,
        uid if uid == set.uid => SEEN,
        _ => OTHER,
    }
}

impl ControllerView {
    fn see_pods(&mut self, set: &SetObject, views: &Views, report: Option<ReportObject>) {
        let longest = set.min_ready();
        let target = set.staged_change().map(|change| change.target);
        let reported = report
            .filter(|report| report.set == set.uid && report.target == target)
            .map_or(0, |report| report.started);
        for (ordinal, pod) in views.pods.iter().enumerate() {
            self.pods[ordinal] = pod.map(|pod| PodObject {
                uid: pod_uid(ordinal),
                version: VERSION,
                set: renamed(pod.set, set),
                // A terminating Pod is not Ready.
                ready: pod.ready.filter(|_| !pod.terminating).map(|age| age.min(longest)),
                full: 0,
                health: PodHealth::Running,
                age: if pod.age >= reported.max(set.since_staged) {
                    BEFORE_STAGING
                } else {
                    Age::from(pod.age >= reported) * BEFORE_REPORT
                },
                ..pod
            });
        }
    }

    fn see_claims(
        &mut self,
        set: &SetObject,
        claims: &[Option<ClaimObject>; SLOTS],
        views: &Views,
        memory: &InstanceMemory,
    ) {
        let target = set.staged_change().map(|change| change.target);
        for (slot, claim) in claims.iter().enumerate() {
            let ordinal = place(slot).1;
            let Some(claim) = claim.filter(|_| ordinal < usize::from(set.followed())) else {
                continue;
            };
            let owner = match claim.owner {
                ClaimOwner::Set(uid) => ClaimOwner::Set(renamed(uid, set)),
                ClaimOwner::Pod(uid) if views.pods[ordinal].is_some_and(|pod| pod.uid == uid) => {
                    ClaimOwner::Pod(pod_uid(ordinal))
                }
                ClaimOwner::Pod(_) => ClaimOwner::Pod(OTHER),
                other => other,
            };
            self.claims[slot] = Some(ClaimObject {
                uid: claim_uid(slot),
                version: VERSION,
                owner,
                // Other owners of the field, and the owner of the label, make no difference.
                our_class: match claim.our_class {
                    Share::Shared => Share::Alone,
                    Share::Unowned => Share::None,
                    share => share,
                },
                our_tier: Share::None,
                ..claim
            });
            let denial = memory.denial(slot, claim.uid);
            let denial = denial.filter(|denial| Some(denial.label) == target);
            self.denials[slot] = denial.map(|denial| SeenDenial {
                cause: denial.cause,
                attempts: few(denial.attempts),
                age: age(denial.last).min(301),
                same: denial.resource_version == claim.version,
            });
        }
    }
}
