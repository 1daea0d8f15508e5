//! What a controller sees, as one question to decision two: with uids and versions renamed, and times no finer than they
//! matter, so that the same question is put once.

use super::api::Cause;
use super::controller::memory::Memory;
use super::objects::{
    Age, Claim, Lot, ORDINALS, Owner, Pod, Report, SLOTS, Set, SetStatus, Share, Uid, Version, place,
};
use super::watch::Views;
use super::world::OLDEST;

/// The set that is seen.
pub(crate) const SEEN: Uid = 1;
/// Another set.
pub(crate) const OTHER: Uid = 2;
/// The version of whatever is seen.
pub(crate) const VERSION: Version = 1;
/// The time.
pub(crate) const NOW: u64 = 1_000_000;
/// When the wish was first seen.
pub(crate) const WISHED: u64 = NOW - 1000;

/// What a controller sees, with uids and versions renamed, and times no finer than they matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Seen {
    pub(crate) set: Set,
    pub(crate) claims: [Option<Claim>; SLOTS],
    pub(crate) pods: [Option<Pod>; ORDINALS],
    pub(crate) strangers: u16,
    pub(crate) sibling: bool,
    pub(crate) refusals: [Option<Refused>; SLOTS],
    pub(crate) previous: Option<u32>,
    pub(crate) recover: bool,
    /// What the quota leaves, if there is one.
    pub(crate) room: Option<u8>,
}

/// A refusal that is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Refused {
    pub(crate) cause: Cause,
    pub(crate) attempts: u8,
    pub(crate) age: Age,
    /// The claim is as it was.
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

/// What is seen, renamed.
pub(crate) fn project(
    set: &Set,
    claims: &[Option<Claim>; SLOTS],
    views: &Views,
    memory: &Memory,
    report: Option<Report>,
    recover: bool,
) -> Seen {
    let mut seen = Seen {
        set: *set,
        claims: [None; SLOTS],
        pods: [None; ORDINALS],
        strangers: views.strangers,
        sibling: views.sibling,
        refusals: [None; SLOTS],
        previous: report.filter(|report| report.set == set.uid).map(|report| report.says),
        recover,
        room: views.room,
    };
    (seen.set.uid, seen.set.version) = (SEEN, VERSION);
    seen.set.spec.withdraw = None;
    seen.set.status = SetStatus {
        observed: set.status.observed,
        update: set.status.update,
        ..SetStatus::default()
    };
    if let Some(change) = &mut seen.set.spec.staged {
        change.uid = renamed(change.uid, set);
    }
    seen.see_pods(set, views, report);
    seen.see_claims(set, claims, views, memory);
    seen
}

/// A uid of a set, renamed.
fn renamed(uid: Uid, set: &Set) -> Uid {
    match uid {
        0 => 0,
        uid if uid == set.uid => SEEN,
        _ => OTHER,
    }
}

impl Seen {
    fn see_pods(&mut self, set: &Set, views: &Views, report: Option<Report>) {
        let longest = set.min_ready();
        let target = set.staged_change().map(|change| change.target);
        let desired = report
            .filter(|report| report.set == set.uid && report.target == target)
            .map_or(0, |report| report.started);
        for (ordinal, pod) in views.pods.iter().enumerate() {
            self.pods[ordinal] = pod.map(|pod| Pod {
                uid: pod_uid(ordinal),
                version: VERSION,
                set: renamed(pod.set, set),
                // One that is on its way out is not Ready, however that is seen.
                ready: pod.ready.filter(|_| !pod.terminating).map(|age| age.min(longest)),
                full: 0,
                lot: Lot::Runs,
                age: Age::from(pod.age > desired || pod.age == OLDEST),
                ..pod
            });
        }
    }

    fn see_claims(&mut self, set: &Set, claims: &[Option<Claim>; SLOTS], views: &Views, memory: &Memory) {
        let target = set.staged_change().map(|change| change.target);
        for (slot, claim) in claims.iter().enumerate() {
            let ordinal = place(slot).1;
            let Some(claim) = claim.filter(|_| ordinal < usize::from(set.spec.replicas)) else {
                continue;
            };
            let owner = match claim.owner {
                Owner::Set(uid) => Owner::Set(renamed(uid, set)),
                Owner::Pod(uid) if views.pods[ordinal].is_some_and(|pod| pod.uid == uid) => {
                    Owner::Pod(pod_uid(ordinal))
                }
                Owner::Pod(_) => Owner::Pod(OTHER),
                other => other,
            };
            self.claims[slot] = Some(Claim {
                uid: claim_uid(slot),
                version: VERSION,
                owner,
                // That others own it as well makes no difference, nor who owns the label.
                our_class: match claim.our_class {
                    Share::Shared => Share::Alone,
                    Share::Nobodys => Share::None,
                    share => share,
                },
                our_tier: Share::None,
                ..claim
            });
            let refusal = memory.refusals[slot].filter(|refusal| refusal.uid == claim.uid);
            let refusal = refusal.filter(|refusal| Some(refusal.revision) == target);
            self.refusals[slot] = refusal.map(|refusal| Refused {
                cause: refusal.cause,
                attempts: refusal.attempts,
                age: refusal.age.min(301),
                same: refusal.version == claim.version,
            });
        }
    }
}
