//! The order of replicas (KEP-4650): one after the other, first its claims and then its Pod; or as many at a time as
//! `claim-rollout.io/max-in-motion` permits.
//!
//! A replica whose Pod is not Ready comes first, because a full disk may be the reason (KEP-0661); then the highest
//! ordinal. Kubernetes replaces the Pods, and the gate keeps each Pod until its claims are ready. The order only waits
//! for it.

use super::action::{Action, SetReady, SetStaged};
use super::assessment::At;
use super::replica;
use super::replica::Replica;
use super::snapshot::{PodView, Snapshot};
use crate::gate::{PodManagement, SetView, Target};
use crate::templates::{Phase, Ready, Strategy, Sync};

/// How far the rollout has come in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Order<'a> {
    /// The replicas that were reached: their claims may be written.
    pub reached: Vec<&'a Replica<'a>>,
    /// What the next replica waits for; `None` if there is no next replica, or no order.
    pub waits_for: Option<WaitsFor<'a>>,
}

/// What the next replica waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WaitsFor<'a> {
    /// The claims of this replica.
    Claims(&'a Replica<'a>),
    /// The Pod of this replica.
    Pod(&'a Replica<'a>),
}

impl<'a> Order<'a> {
    /// Computes the order; `replicas` are sorted by ordinal, highest first, and those that were scaled away come last.
    #[must_use]
    pub fn of(snapshot: &Snapshot, replicas: &'a [Replica<'a>]) -> Self {
        let set = &snapshot.set;
        let free = || replicas.iter().filter(|replica| replica.restraint.is_none());
        let mut order = Self {
            reached: Vec::new(),
            waits_for: None,
        };
        // With OnDelete a human chooses the order.
        if set.strategy == Strategy::OnDelete {
            order.reached.extend(free());
            return order;
        }
        let most = usize::try_from(set.max_in_motion.unwrap_or_default().0).unwrap_or(usize::MAX);
        let mut waiting = 0;
        // Replicas in motion are finished first, so that no more than `most` are in motion at a time.
        let begun = free().filter(|replica| replica.is_in_motion());
        // What is deleted is deleted in order, because every other Pod has to be Ready.
        let comes_first =
            |replica: &&Replica<'_>| replica.is_unready() && !replica.is_deleted_next() && !replica.scaled_away;
        let unready = free().filter(|replica| comes_first(replica) && !replica.is_in_motion());
        // With Parallel, a denied write stops no other, but the storage may still work for an earlier staging.
        let counts = |replica: &Replica<'_>| !replica.lets_pass(set) || replica.is_in_motion();
        for replica in begun.chain(unready) {
            order.reached.push(replica);
            if !counts(replica) {
                continue;
            }
            order.waits_for = order.waits_for.or(Some(WaitsFor::Claims(replica)));
            waiting += 1;
            // Its Pod may wait for another Pod that is not Ready: with OrderedReady, a Pod that has ended is not
            // created again before those below it.
            let waits_for_another = replica.is_unready() && replica.waits_for_its_pod(set);
            if !waits_for_another && (waiting >= most || stops(set, replica)) {
                return order;
            }
        }
        if waiting >= most || order.reached.iter().any(|replica| stops(set, replica)) {
            return order;
        }
        let mut pods_follow = follows(set, replicas);
        for replica in free() {
            let is_reached = replica.is_in_motion() || comes_first(&replica);
            if !is_reached {
                order.reached.push(replica);
            }
            if let Some(waits_for) = turn(snapshot, replica, pods_follow) {
                order.waits_for = order.waits_for.or(Some(waits_for));
                let is_counted = is_reached && counts(replica);
                waiting += usize::from(!is_counted);
                if waiting >= most || stops(set, replica) {
                    break;
                }
            }
            // Kubernetes replaces this Pod first, and the gate keeps it. So no Pod below it is replaced, and the order
            // waits for none.
            let is_kept = replica.is_stuck() && !replica.lets_pod_go();
            pods_follow &= !(is_kept && is_on_its_way(snapshot, replica));
        }
        order
    }
}

/// True iff no other replica may start while this one is stuck, however many may be in motion.
fn stops(set: &SetView, replica: &Replica<'_>) -> bool {
    replica.is_stuck() && !replica.lets_pass(set)
}

/// True iff Pods are being replaced and each waits for its claims. They may be if the status does not include the last
/// change of the set.
fn follows(set: &SetView, replicas: &[Replica<'_>]) -> bool {
    let mut free = replica::in_range(replicas)
        .iter()
        .filter(|replica| replica.restraint.is_none());
    let changes = !set.status_is_current || free.any(|replica| replica.pod_at == At::Outdated);
    changes && set.replaces_pods() && set.sync == Sync::LockStep && set.strategy == Strategy::RollingUpdate
}

/// What the replica below this one waits for.
fn turn<'a>(snapshot: &Snapshot, replica: &'a Replica<'a>, pods_follow: bool) -> Option<WaitsFor<'a>> {
    if pods_follow && !replica.scaled_away && is_on_its_way(snapshot, replica) {
        if replica.lets_pod_go() {
            return Some(WaitsFor::Pod(replica));
        }
        let is_passed = replica.is_stuck() && replica.lets_pass(&snapshot.set);
        return (!is_passed).then_some(WaitsFor::Claims(replica));
    }
    (!replica.lets_pass(&snapshot.set)).then_some(WaitsFor::Claims(replica))
}

/// True iff the Pod is still to be replaced, or was replaced and is not available yet. A status from before the last
/// change of the set may name an older update revision.
fn is_on_its_way(snapshot: &Snapshot, replica: &Replica<'_>) -> bool {
    let set = &snapshot.set;
    let is_available = |pod: &PodView| pod.is_available(snapshot.now, set.min_ready_seconds);
    let is_over = set.status_is_current && replica.pod_at == At::Updated && replica.pod.is_some_and(is_available);
    !is_over
}

/// The write to the set that is due: its completion or its end, or the replica that has become ready. Whether it was
/// denied makes no difference.
#[must_use]
pub fn set_write(snapshot: &Snapshot, target: &Target<'_>, all: &[Replica<'_>], is_busy: bool) -> Option<Action> {
    let (set, replicas) = (&snapshot.set, replica::in_range(all));
    let all_done = all.iter().all(Replica::is_done);
    let is_reached = all_done && !set.paused && set.reaches_all() && !is_busy;
    match (target.change.phase == Phase::Complete, is_reached) {
        (false, true) => Some(Action::SetStaged(SetStaged::complete(set, target.change))),
        (false, false) => ready(snapshot, target, replicas).map(Action::SetReady),
        // A replica came back, and its PVC is outdated.
        (true, _) if !set.templates_can_change && replicas.iter().any(Replica::is_behind) => {
            Some(Action::SetStaged(SetStaged::taken_back(set, target.change)))
        }
        // The live templates are the desired ones.
        (true, _) => (all_done && target.is_to_be_removed(set)).then(|| Action::SetStaged(SetStaged::none(set))),
    }
}

/// The write that makes the StatefulSet controller retry the deletion of a Pod whose claims have become ready. That
/// deletion was denied, and the controller would back off for up to a quarter of an hour. `None` if no Pod waited.
///
/// If the replica has to wait again, the annotation is removed, so that the replica can be named once more.
#[must_use]
pub fn ready(snapshot: &Snapshot, target: &Target<'_>, replicas: &[Replica<'_>]) -> Option<SetReady> {
    let set = &snapshot.set;
    if set.paused || set.sync == Sync::Async || !set.replaces_pods() {
        return None;
    }
    // If the status does not include the last change of the set, it is unknown which Pod is to be replaced.
    let is_known = set.status_is_current;
    let waits = |replica: &&Replica<'_>| replica.restraint.is_none() && (replica.pod_at == At::Outdated || !is_known);
    let waiting = || replicas.iter().filter(waits);
    let open = match set.strategy {
        Strategy::OnDelete => None,
        Strategy::Recreate => {
            let all = waiting().next().is_some() && replicas.iter().all(Replica::lets_pod_go);
            all.then_some(set.first_ordinal)
        }
        Strategy::RollingUpdate => {
            // Kubernetes retries one Pod, and replaces no other before it.
            let is_available = |pod: &PodView| pod.is_available(snapshot.now, set.min_ready_seconds);
            let is_asked_first = |replica: &&Replica<'_>| !replica.pod.is_some_and(is_available);
            let any_order = set.pod_management == PodManagement::Parallel && set.max_unavailable;
            let first = waiting().find(|replica| any_order && is_asked_first(replica));
            let asked = first.or_else(|| waiting().next());
            asked
                .filter(|replica| replica.has_become_ready())
                .map(|replica| replica.ordinal)
        }
    };
    let revision = &target.label.revision;
    let named = set.ready.as_ref().filter(|named| named.revision == *revision);
    let named = named.map(|named| named.ordinal);
    let waits_again = |ordinal: u32| {
        let of_ordinal = |replica: &&Replica<'_>| replica.ordinal == ordinal && waits(replica);
        let all = set.strategy == Strategy::Recreate;
        let mut named = replicas.iter().filter(|replica| all || of_ordinal(replica));
        named.any(|replica| !replica.lets_pod_go())
    };
    let ready = match (open, named) {
        (Some(ordinal), _) if is_known && named != Some(ordinal) => Some(Ready {
            revision: revision.clone(),
            ordinal,
        }),
        (_, Some(named)) if waits_again(named) => None,
        _ => return None,
    };
    Some(SetReady {
        set: set.version(),
        ready,
    })
}
