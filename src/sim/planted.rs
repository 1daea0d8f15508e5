//! Known bugs of this kind of software, planted at the border of the decision, to see that each is found.
//!
//! Nothing of this is in the decision or in the controller: what is bent is what the model shows to the decision, what
//! comes out of it, and what is sent.

use super::api::{Apply, Write};
use super::controller::Instance;
use super::mind::Decision;
use super::objects::{Claim, ORDINALS, Owner, Record, Resize, SLOTS, Share, Want, place, slot};
use super::seen::{Refused, SEEN, Seen};
use crate::rollout::invariants::Rule;

macro_rules! planted {
    ($($name:ident: $repeats:literal, $rules:expr;)+) => {
        /// A known bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Planted { $(#[doc = $repeats] $name,)+ }

        impl Planted {
            /// Every one.
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)+];

            /// What it does, and where it was seen first.
            pub(crate) const fn repeats(self) -> &'static str {
                match self { $(Self::$name => $repeats,)+ }
            }

            /// The guarantees that it may break first.
            pub(crate) const fn breaks(self) -> &'static [Rule] {
                match self { $(Self::$name => &$rules,)+ }
            }
        }
    };
}

planted! {
    NoteBeforeGrowth: "rabbitmq/cluster-operator#782: notes that the size is done, then grows; believes the note after a crash", [Rule::L1];
    NoUid: "an apply without uid makes a claim that was deleted anew, and empty (F12, F13)", [Rule::S3];
    ComparesSpelling: "percona-xtradb-cluster-operator#1826: a claim whose size is not written like the template's is written again", [Rule::S8];
    NoVersion: "K8SPSMDB-433, zookeeper-operator#314: decides from an older view, and nothing stops the write", [Rule::S9, Rule::S1, Rule::S8, Rule::S5, Rule::S10];
    IgnoresTerminating: "kubernetes#74374: a claim that is being deleted is taken for one that is there", [Rule::S10];
    Unobserved: "cassandra-operator#398, #402: acts on events alone; what came while nobody looked is lost", [Rule::L1, Rule::L5];
    OlderViewIsReady: "ready is judged from an older view than the write: the capacity that was is enough for the request that was", [Rule::S6, Rule::S7];
    OwnerByName: "kruise: ownership by name; what another owns or mounts is written", [Rule::S5];
    RecordOfAnotherSet: "kruise: the mark of a set that was deleted counts for the next one of its name", [Rule::S9];
    MissingIsAnError: "casskop#370: a Pod that is not there is an error, for ever", [Rule::L1];
    OneStopsAll: "kubernetes#136812: what is stuck stops all the others", [Rule::L5];
    WaitsForPods: "cass-operator#860: waits for Pods to be Ready that cannot be, because their disks are full", [Rule::L1];
    WaitsForCapacity: "solr-operator#712, cloudnative-pg#7997: waits for a capacity that only the next mount would bring", [Rule::L1];
    HotLoop: "milvus-operator#516: a refused expansion is tried again at once, for ever", [Rule::S13];
    SaysAgain: "milvus-operator#516: and is reported each time", [Rule::S13];
    ShrinksToTemplate: "formancehq/ledger#1634: the template's size is written whatever the claim has", [Rule::S1, Rule::L1];
    GrowsBeyond: "the size is rounded up beyond what was asked for", [Rule::S1];
    LowestFirst: "the lowest ordinal first", [Rule::S6];
    AllAtOnce: "every claim at once, whatever is in motion", [Rule::S6];
    DeletesOrphans: "K8SSAND-559, K8SPSMDB-433: claims without a Pod are taken for left over, and deleted", [Rule::S4];
    FifthField: "prometheus-operator#5067: more fields than the four are written", [Rule::S2];
    DropsClass: "an apply that leaves the attributes class out takes it away", [Rule::S2, Rule::L1];
    ConflictIsFinal: "percona-server-mongodb-operator#2220: a conflict is taken for the last word", [Rule::L1];
    RecordsAgain: "prometheus-operator#4519: what is there already is written again, in each look", [Rule::S12];
    UnreadyWaits: "ours, once: a claim waits for a Pod that Kubernetes replaces when the Pod of this claim, whose disk is full, is Ready", [Rule::L1];
    UnboundStopsAll: "ours, once: with Parallel a claim that has no volume stops all the others", [Rule::L5];
    ClockSetBack: "ours, once: what was refused waits until a clock that was set back is where it was", [Rule::L1];
    RefusalOfOne: "ours, once: of two controllers the one that was refused reports it where nothing is to be written any more", [Rule::L1];
}

impl Planted {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|planted| format!("{planted:?}") == name)
    }

    /// What is seen is bent.
    pub(crate) fn sees(self, seen: &mut Seen) {
        let wish = seen.set.record().map(|record| record.wish);
        let claims = seen.claims.iter_mut().flatten();
        match self {
            Self::ComparesSpelling => {
                let largest = wish.map_or(0, |wish| wish.wants().iter().map(|want| want.size).max().unwrap_or(0));
                claims
                    .filter(|claim| claim.request > largest)
                    .for_each(|claim| claim.revision = None);
            }
            Self::IgnoresTerminating => claims.for_each(|claim| claim.terminating = false),
            Self::OwnerByName => {
                claims.for_each(|claim| (claim.selected, claim.owner) = (true, Owner::Nobody));
                (seen.strangers, seen.neighbour) = (0, false);
            }
            Self::RecordOfAnotherSet => {
                if let Some(record) = &mut seen.set.spec.staged {
                    record.uid = SEEN;
                }
            }
            Self::OneStopsAll => seen.set.spec.parallel = false,
            Self::WaitsForCapacity => {
                claims
                    .filter(|claim| claim.resize == Resize::Node)
                    .for_each(|claim| claim.resize = Resize::Controller);
            }
            Self::HotLoop => seen.refusals = [None::<Refused>; SLOTS],
            Self::SaysAgain => seen.earlier = None,
            Self::DropsClass => claims.for_each(|claim| claim.our_class = Share::None),
            _ => {}
        }
    }

    /// What is decided is bent.
    pub(crate) fn decides(self, seen: &Seen, decision: &mut Decision) {
        let record = seen.set.record().copied();
        match (self, record) {
            (Self::NoteBeforeGrowth, Some(record)) if record.complete => {
                decision.writes.retain(|write| !matches!(write, Write::Apply(_)));
                (decision.settled, decision.wake) = (true, None);
            }
            (Self::NoteBeforeGrowth, Some(record)) if decision.writes.iter().any(is_apply) => {
                let note = Record {
                    complete: true,
                    ..record
                };
                decision.writes.insert(0, write_record(note));
            }
            (Self::Unobserved, _) => decision.wake = None,
            (Self::MissingIsAnError, Some(_)) if self.pods(seen).any(|pod| pod.is_none()) => stop(decision),
            (Self::WaitsForPods, Some(_)) if self.pods(seen).any(|pod| pod != Some(true)) => {
                decision.writes.retain(|write| !is_apply(write));
            }
            (Self::LowestFirst, Some(record)) => lowest_first(seen, &record, decision),
            (Self::AllAtOnce, Some(record)) if decision.writes.iter().any(is_apply) => {
                decision.writes.retain(|write| !is_apply(write));
                decision.writes.extend(due(seen, &record).map(Write::Apply));
            }
            (Self::DeletesOrphans, _) => decision.writes.extend(orphan(seen)),
            (Self::RecordsAgain, Some(record)) if record.complete => decision.writes.push(write_record(record)),
            (_, Some(_)) => self.decides_as_we_did(seen, decision),
            _ => {}
        }
    }

    /// What is decided is bent as our own decision once was, while something is wished.
    fn decides_as_we_did(self, seen: &Seen, decision: &mut Decision) {
        match self {
            Self::UnreadyWaits if !seen.set.spec.parallel => {
                keep_applies(decision, |ordinal| {
                    !above(ordinal).any(|above| is_to_be_replaced(seen, above))
                });
            }
            Self::UnboundStopsAll if seen.set.spec.parallel => {
                let unbound = |slot: usize| seen.claims[slot].is_some_and(|claim| !claim.bound);
                keep_applies(decision, |ordinal| !above(ordinal).any(|above| unbound(slot(0, above))));
            }
            Self::ClockSetBack => {
                let waits = |ordinal| seen.refusals[slot(0, ordinal)].is_some_and(|refused| refused.age < 0);
                keep_applies(decision, |ordinal| !waits(ordinal));
            }
            Self::RefusalOfOne if seen.set.spec.paused && seen.refusals.iter().any(Option::is_some) => {
                decision.says += 1;
            }
            _ => {}
        }
    }

    /// The Pods of the replicas: whether each is Ready, if it is there.
    fn pods(self, seen: &Seen) -> impl Iterator<Item = Option<bool>> + '_ {
        let replicas = usize::from(seen.set.spec.replicas).min(ORDINALS);
        seen.pods[..replicas]
            .iter()
            .map(|pod| pod.map(|pod| pod.ready.is_some()))
    }

    /// What is sent is bent.
    pub(crate) fn sends(self, write: Write) -> Write {
        let Write::Apply(apply) = write else {
            return write;
        };
        let want = apply.revision.wants[place(apply.slot.into()).0];
        Write::Apply(match self {
            Self::NoUid => Apply {
                uid: None,
                version: None,
                ..apply
            },
            Self::NoVersion => Apply { version: None, ..apply },
            Self::ShrinksToTemplate => Apply {
                size: want.size,
                ..apply
            },
            Self::GrowsBeyond => Apply {
                size: apply.size + 1,
                ..apply
            },
            Self::FifthField => Apply { others: 1, ..apply },
            _ => apply,
        })
    }

    /// What is remembered of a reply is bent.
    pub(crate) fn overlay(planted: Option<Self>, instance: &Instance, slot: usize, reply: Claim) -> Claim {
        match (planted, instance.views.claims[slot]) {
            (Some(Self::OlderViewIsReady), Some(seen)) => Claim {
                revision: reply.revision,
                version: reply.version,
                ..seen
            },
            _ => reply,
        }
    }
}

fn is_apply(write: &Write) -> bool {
    matches!(write, Write::Apply(_))
}

/// Only claims of such ordinals are written.
fn keep_applies(decision: &mut Decision, keep: impl Fn(usize) -> bool) {
    decision
        .writes
        .retain(|write| !matches!(write, Write::Apply(apply) if !keep(place(apply.slot.into()).1)));
}

fn above(ordinal: usize) -> std::ops::Range<usize> {
    ordinal + 1..ORDINALS
}

fn is_to_be_replaced(seen: &Seen, ordinal: usize) -> bool {
    seen.pods[ordinal].is_some_and(|pod| !pod.terminating && pod.image != seen.set.status.update)
}

fn stop(decision: &mut Decision) {
    decision.writes.clear();
    decision.wake = None;
}

fn write_record(record: Record) -> Write {
    Write::Record {
        uid: Some(SEEN),
        version: Some(1),
        record,
    }
}

/// Every apply that the wish still needs.
fn due<'s>(seen: &'s Seen, record: &'s Record) -> impl DoubleEndedIterator<Item = Apply> + 's {
    (0..SLOTS).rev().filter_map(|slot| {
        let claim = seen.claims[slot]?;
        let want: Want = *record.wish.wants().get(place(slot).0)?;
        let free = claim.bound && !claim.terminating && claim.revision != Some(record.wish);
        free.then(|| Apply {
            slot: u8::try_from(slot).unwrap_or(0),
            uid: Some(claim.uid),
            version: Some(1),
            size: want.size.max(claim.request),
            class: want.class,
            tier: want.tier,
            revision: record.wish,
            others: 0,
            taken_back: false,
        })
    })
}

fn lowest_first(seen: &Seen, record: &Record, decision: &mut Decision) {
    if decision.writes.iter().any(is_apply) {
        decision.writes.retain(|write| !is_apply(write));
        let last = due(seen, record).min_by_key(|apply| place(apply.slot.into()).1);
        decision.writes.extend(last.map(Write::Apply));
    }
}

/// A claim whose Pod is not there.
fn orphan(seen: &Seen) -> Option<Write> {
    let slot = (0..SLOTS).find(|slot| {
        seen.pods[place(*slot).1].is_none() && seen.claims[*slot].is_some_and(|claim| !claim.terminating)
    })?;
    Some(Write::Delete {
        slot: u8::try_from(slot).ok()?,
    })
}
