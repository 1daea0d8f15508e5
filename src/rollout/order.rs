//! Whose turn it is (KEP-4650): the highest ordinal first, and the next one when this one is ready.

use super::release::{self, Turn};
use super::replica::Replica;
use super::snapshot::{PodManagement, PodView, Seconds, Snapshot, Strategy};

/// Why no claim of a replica is written although it may be behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The user said so.
    Paused,
    /// `updateStrategy: OnDelete`: nobody has deleted its Pod since the wish was first seen.
    OnDelete,
    /// It is below the user's partition.
    Partition,
}

/// What keeps the claims of a replica from being written, if anything does; `wished` is when the wish was first seen.
///
/// With `OnDelete` they are written once the Pod was deleted by hand (KEP-4650): it is gone or going, or was made since.
/// Times are in seconds. One made in the very second in which the wish was first seen counts as older: nobody deletes that
/// fast, but sets are changed in the second in which they were made.
#[must_use]
pub fn gate(snapshot: &Snapshot, wished: Seconds, ordinal: u32, pod: Option<&PodView>) -> Option<Gate> {
    let set = &snapshot.set;
    if set.paused {
        return Some(Gate::Paused);
    }
    match set.strategy {
        Strategy::OnDelete => {
            let stays = pod.is_some_and(|pod| pod.deleted.is_none() && pod.created <= wished);
            stays.then_some(Gate::OnDelete)
        }
        Strategy::RollingUpdate => set.is_below_partition(ordinal).then_some(Gate::Partition),
    }
}

/// How far down the order has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Order<'a> {
    /// The replicas whose turn it is or has been: their claims may be written.
    pub reached: Vec<&'a Replica<'a>>,
    /// What the next one waits for; nothing if there is no next one, or no order.
    pub waits_for: Option<WaitsFor<'a>>,
}

/// What the next replica waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WaitsFor<'a> {
    /// The claims of this one.
    Claims(&'a Replica<'a>),
    /// The Pod of this one.
    Pod(&'a Replica<'a>),
}

impl<'a> Order<'a> {
    /// How far it has come; `replicas` are highest ordinal first.
    #[must_use]
    pub fn of(snapshot: &Snapshot, replicas: &'a [Replica<'a>]) -> Self {
        let set = &snapshot.set;
        let mut order = Self {
            reached: Vec::new(),
            waits_for: None,
        };
        let mut held = set.held;
        let mut free = replicas.iter().filter(|replica| replica.gate.is_none());
        while let Some(replica) = free.next() {
            order.reached.push(replica);
            // With OnDelete it is a human who chooses the order.
            if set.strategy == Strategy::OnDelete {
                continue;
            }
            let lets_pass = replica.lets_pass(set.pod_management);
            match held.map(|driven| release::turn(snapshot, driven, replica)) {
                None if lets_pass => {}
                Some(Turn::Over) => {}
                // No Pod below a stuck claim can be released, because a partition has no gaps: none is waited for.
                Some(Turn::Claims) if lets_pass && replica.is_stuck() => held = None,
                None | Some(Turn::Claims) => {
                    order.waits_for = Some(WaitsFor::Claims(replica));
                    break;
                }
                Some(Turn::Release | Turn::Pod) => {
                    order.waits_for = Some(WaitsFor::Pod(replica));
                    if replica.waits_for_lower_pods(set) {
                        order.reach_what_keeps_a_pod_from_being_replaced(free);
                    }
                    break;
                }
            }
        }
        order
    }

    /// The StatefulSet controller takes a Pod away, and makes it, when every lower one is Ready. One that is not, perhaps
    /// because its disk is full, would wait for the Pod that waits for it, so its claims come first, one replica at a time.
    fn reach_what_keeps_a_pod_from_being_replaced(&mut self, lower: impl Iterator<Item = &'a Replica<'a>>) {
        let unready = lower.filter(|replica| replica.pod.is_some_and(|pod| pod.ready_since.is_none()));
        for replica in unready {
            self.reached.push(replica);
            if !replica.lets_pass(PodManagement::OrderedReady) {
                self.waits_for = Some(WaitsFor::Claims(replica));
                break;
            }
        }
    }
}
