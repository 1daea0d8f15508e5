//! The API server of the model: what is stored, and what it answers to us.
//!
//! The answers are those of a real API server 1.37, as written down in the tests that ask one.

use std::sync::Arc;

use super::objects::{
    Age, Claim, Claims, ORDINALS, Owner, Pod, Pods, Report, SLOTS, Set, Share, StagedChange, Target, Uid, Version,
    place,
};

/// What is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Api {
    pub(crate) set: Option<Set>,
    pub(crate) claims: Claims,
    pub(crate) pods: Pods,
    pub(crate) report: Option<Report>,
    /// Claims that a Pod of somebody else mounts, by slot.
    pub(crate) strangers: u16,
    /// A set `a-web` with a template `data`, whose claims would have the names of our second template's.
    pub(crate) sibling: bool,
    /// The Gi that all claims together may ask for.
    pub(crate) quota: u8,
    /// The StorageClass says `allowVolumeExpansion`.
    pub(crate) expandable: bool,
    /// The policy is registered, the gate with it.
    pub(crate) policy: bool,
    /// The StatefulSet controller knows `maxUnavailable`, as it does by default since 1.37.
    pub(crate) max_unavailable: bool,
    /// What a webhook makes of an apply on a claim.
    pub(crate) meddles: Meddles,
    /// Claims that are what it made of an apply, by slot, and that nobody has changed since.
    pub(crate) put_back: u16,
    /// A deletion of the StatefulSet controller was denied: it waits until its set or a Pod changes, or for a long time.
    pub(crate) asleep: Option<Asleep>,
    pub(crate) last_uid: Uid,
    pub(crate) last_version: Version,
}

/// What a webhook, or a feature that is off, makes of an apply on a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Meddles {
    /// Nothing.
    #[default]
    No,
    /// It takes our label away.
    Label,
    /// It puts the size back.
    Size,
    /// It puts the attributes class back.
    Class,
}

/// The StatefulSet controller waits, because it was not let delete a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Asleep {
    /// The Pod.
    pub(crate) ordinal: u8,
    /// For how long it has waited.
    pub(crate) age: Age,
}

/// The longest pause of the StatefulSet controller after an error.
const LONGEST_PAUSE: Age = 1000;

/// A write of ours, with what it was decided for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Write {
    Apply(Apply),
    StagedChange {
        uid: Option<Uid>,
        version: Option<Version>,
        /// Nothing where it goes.
        change: Option<StagedChange>,
    },
    Ready {
        uid: Option<Uid>,
        version: Option<Version>,
        ready: Option<(Target, u8)>,
    },
    Report {
        set: Uid,
        says: u32,
        target: Option<Target>,
    },
    /// Of a planted bug, as is the next one.
    Partition {
        uid: Option<Uid>,
        version: Option<Version>,
        to: u8,
    },
    Delete {
        slot: u8,
    },
}

/// A server-side apply on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Apply {
    pub(crate) slot: u8,
    pub(crate) uid: Option<Uid>,
    pub(crate) version: Option<Version>,
    pub(crate) size: u8,
    pub(crate) class: u8,
    pub(crate) tier: u8,
    pub(crate) revision: Target,
    /// Fields besides those of the template, in number.
    pub(crate) others: u8,
    /// The growth that it takes back, if it does.
    pub(crate) taken_back: bool,
}

impl Apply {
    /// True iff the claim that came back has all that was asked for.
    pub(crate) fn is_in(&self, claim: &Claim) -> bool {
        let size = if self.taken_back {
            claim.request == self.size
        } else {
            claim.request >= self.size
        };
        let class = self.class == 0 || claim.class == self.class;
        let tier = self.tier == 0 || claim.tier == self.tier;
        claim.revision == Some(self.revision) && size && class && tier
    }
}

/// What the API server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// It was done, even if nothing had to be.
    Done,
    /// 409
    Conflict,
    /// 404, or the uid is another.
    Gone,
    /// 403 and 422, with a cause.
    Refused(Cause),
    /// No answer, or one that says nothing: 5xx, 429, a reset.
    Unsure,
}

/// Why a write is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// A quota has no room.
    Quota,
    /// The StorageClass does not let volumes grow.
    NotExpandable,
    /// The field cannot change, or not before the claim is bound.
    Immutable,
    /// Not more than the claim has.
    Shrink,
    /// An attributes class cannot be taken away from a volume that has one.
    Class,
    /// There is no partition with `OnDelete`.
    Strategy,
    /// A webhook.
    Webhook,
    /// It was done, and others changed what was asked for.
    Changed,
}

impl Api {
    /// Nothing is stored yet.
    pub(crate) fn new() -> Self {
        Self {
            set: None,
            claims: Arc::new([None; SLOTS]),
            pods: Arc::new([None; ORDINALS]),
            report: None,
            strangers: 0,
            sibling: false,
            quota: u8::MAX,
            expandable: true,
            policy: true,
            max_unavailable: false,
            meddles: Meddles::No,
            put_back: 0,
            asleep: None,
            last_uid: 0,
            last_version: 0,
        }
    }

    pub(crate) fn uid(&mut self) -> Uid {
        self.last_uid += 1;
        self.last_uid
    }

    pub(crate) fn version(&mut self) -> Version {
        self.last_version += 1;
        self.last_version
    }

    /// Changes a claim, if the change is one.
    pub(crate) fn edit_claim(&mut self, slot: usize, edit: impl FnOnce(&mut Claim)) -> bool {
        let Some(before) = self.claims[slot] else {
            return false;
        };
        let mut after = before;
        edit(&mut after);
        if after == before {
            return false;
        }
        after.version = self.version();
        self.put_back &= !(1 << slot);
        Arc::make_mut(&mut self.claims)[slot] = Some(after);
        true
    }

    /// Changes a Pod, if the change is one.
    pub(crate) fn edit_pod(&mut self, ordinal: usize, edit: impl FnOnce(&mut Pod)) -> bool {
        let Some(before) = self.pods[ordinal] else {
            return false;
        };
        let mut after = before;
        edit(&mut after);
        if after == before {
            return false;
        }
        after.version = self.version();
        self.asleep = None;
        Arc::make_mut(&mut self.pods)[ordinal] = Some(after);
        true
    }

    /// Changes the set, if the change is one. A change of the spec is one that the status has not observed.
    pub(crate) fn edit_set(&mut self, edit: impl FnOnce(&mut Set)) -> bool {
        let Some(before) = self.set else {
            return false;
        };
        let mut after = before;
        edit(&mut after);
        if after == before {
            return false;
        }
        if generation(&after) != generation(&before) {
            after.status.observed = false;
        }
        after.version = self.version();
        self.asleep = None;
        self.set = Some(after);
        true
    }

    /// Kubernetes 1.37.
    pub(crate) fn upgrade(&mut self) {
        self.max_unavailable = true;
        self.edit_set(|set| set.max_unavailable = true);
    }

    /// There is no set any more.
    pub(crate) fn drop_set(&mut self) {
        (self.set, self.asleep) = (None, None);
    }

    /// Time goes by for the StatefulSet controller.
    pub(crate) fn sleep_on(&mut self, seconds: Age) {
        self.asleep = self.asleep.and_then(|asleep| {
            let age = asleep.age.saturating_add(seconds);
            (age < LONGEST_PAUSE).then_some(Asleep { age, ..asleep })
        });
    }

    pub(crate) fn put_claim(&mut self, slot: usize, claim: Option<Claim>) {
        Arc::make_mut(&mut self.claims)[slot] = claim;
    }

    pub(crate) fn put_pod(&mut self, ordinal: usize, pod: Option<Pod>) {
        self.asleep = None;
        Arc::make_mut(&mut self.pods)[ordinal] = pod;
    }

    /// Deletes a claim: at once, or when no Pod uses it any more.
    pub(crate) fn delete_claim(&mut self, slot: usize) -> bool {
        let mounted = self.pods[place(slot).1].is_some() || self.strangers & 1 << slot != 0;
        if mounted {
            return self.edit_claim(slot, |claim| claim.terminating = true);
        }
        let there = self.claims[slot].is_some();
        self.put_claim(slot, None);
        there
    }

    /// What all claims together ask for.
    fn asked(&self) -> u32 {
        let claims = self.claims.iter().flatten();
        claims.map(|claim| u32::from(claim.request.max(claim.capacity))).sum()
    }

    /// What the quota leaves, if there is one.
    pub(crate) fn room(&self) -> Option<u8> {
        let left = u32::from(self.quota).saturating_sub(self.asked());
        (self.quota != u8::MAX).then(|| u8::try_from(left).unwrap_or(u8::MAX))
    }

    /// True iff the quota has room for so many Gi in place of so many.
    pub(crate) fn has_room(&self, before: u8, after: u8) -> bool {
        after <= before || self.asked() - u32::from(before) + u32::from(after) <= u32::from(self.quota)
    }

    /// Answers a write of ours.
    pub(crate) fn answer(&mut self, write: &Write) -> Answer {
        match *write {
            Write::Apply(apply) => self.apply(&apply),
            Write::StagedChange { uid, version, change } => self.patch_set(uid, version, |set| {
                (set.spec.staged, set.spec.ready) = (change, None);
            }),
            Write::Ready { uid, version, ready } => self.patch_set(uid, version, |set| set.spec.ready = ready),
            Write::Report { set, says, target } => {
                let before = self.report.filter(|report| report.set == set);
                if before.is_none_or(|report| report.says != says) {
                    let version = self.version();
                    let before = before.filter(|report| report.target == target);
                    let started = before.map_or(0, |report| report.started);
                    self.report = Some(Report {
                        version,
                        set,
                        says,
                        target,
                        started,
                    });
                }
                Answer::Done
            }
            Write::Partition { uid, version, to } => self.patch_set(uid, version, |set| set.spec.partition = to),
            Write::Delete { slot } => {
                self.delete_claim(slot.into());
                Answer::Done
            }
        }
    }

    /// F15 and F16: a merge patch with the uid and the resourceVersion in it.
    fn patch_set(&mut self, uid: Option<Uid>, version: Option<Version>, edit: impl FnOnce(&mut Set)) -> Answer {
        let Some(set) = self.set else {
            return Answer::Gone;
        };
        if version.is_some_and(|version| version != set.version) {
            return Answer::Conflict;
        }
        if uid.is_some_and(|uid| uid != set.uid) {
            return Answer::Gone;
        }
        self.edit_set(edit);
        Answer::Done
    }

    /// F6 to F15: a forced server-side apply on a claim.
    fn apply(&mut self, apply: &Apply) -> Answer {
        let slot = usize::from(apply.slot);
        let Some(claim) = self.claims[slot] else {
            if apply.uid.is_some() {
                return Answer::Conflict;
            }
            // F12: whoever applies to what is not there makes it.
            let (uid, version) = (self.uid(), self.version());
            let mut claim = Claim::new(
                uid,
                version,
                super::objects::Want {
                    size: apply.size,
                    class: apply.class,
                    tier: apply.tier,
                },
            );
            claim.revision = Some(apply.revision);
            self.put_claim(slot, Some(claim));
            return Answer::Done;
        };
        if apply.version.is_some_and(|version| version != claim.version) {
            return Answer::Conflict;
        }
        if apply.uid.is_some_and(|uid| uid != claim.uid) {
            return Answer::Gone;
        }
        let mut after = applied(&claim, apply);
        match self.meddles {
            Meddles::No => {}
            Meddles::Label => after.revision = None,
            Meddles::Size => after.request = claim.request,
            Meddles::Class => after.class = claim.class,
        }
        if let Err(cause) = self.check(&claim, &after) {
            return Answer::Refused(cause);
        }
        self.edit_claim(slot, |claim| *claim = after);
        if !apply.is_in(&after) {
            self.put_back |= 1 << slot;
        }
        Answer::Done
    }

    /// What validation and admission say to a change of a claim.
    pub(crate) fn check(&self, before: &Claim, after: &Claim) -> Result<(), Cause> {
        let (grows, same_class) = (after.request > before.request, after.class == before.class);
        if !before.bound && (after.request != before.request || !same_class) {
            return Err(Cause::Immutable);
        }
        if after.request < before.request && after.request <= before.capacity {
            return Err(Cause::Shrink);
        }
        if after.class == 0 && before.current_class != 0 && !same_class {
            return Err(Cause::Class);
        }
        if grows && !self.expandable {
            return Err(Cause::NotExpandable);
        }
        if grows && !self.has_room(before.request.max(before.capacity), after.request.max(before.capacity)) {
            return Err(Cause::Quota);
        }
        Ok(())
    }

    /// The owner of a claim is there.
    pub(crate) fn owner_lives(&self, slot: usize) -> bool {
        match self.claims[slot].map(|claim| claim.owner) {
            Some(Owner::Set(uid)) => self.set.is_some_and(|set| set.uid == uid),
            Some(Owner::Pod(uid)) => self.pods[place(slot).1].is_some_and(|pod| pod.uid == uid),
            _ => true,
        }
    }
}

/// What raises the generation.
fn generation(set: &Set) -> (u8, u8, u8, bool, bool) {
    let spec = &set.spec;
    (
        spec.replicas,
        spec.image,
        spec.partition,
        spec.on_delete,
        spec.when_scaled,
    )
}

/// A field after a forced apply of a value, or of none.
fn shared(value: u8, share: Share, applied: u8) -> (u8, Share) {
    match (applied, share) {
        (0, Share::Alone) => (0, Share::None),
        (0, Share::Nobodys) => (value, Share::Nobodys),
        (0, _) => (value, Share::None),
        (applied, Share::None | Share::Shared) if applied == value => (value, Share::Shared),
        (applied, _) => (applied, Share::Alone),
    }
}

/// The claim with our fields applied by force; what was ours and is not in the apply any more goes.
fn applied(claim: &Claim, apply: &Apply) -> Claim {
    let mut after = *claim;
    after.our_size = if apply.size == claim.request {
        claim.our_size
    } else {
        true
    };
    after.request = apply.size;
    (after.class, after.our_class) = shared(claim.class, claim.our_class, apply.class);
    (after.tier, after.our_tier) = shared(claim.tier, claim.our_tier, apply.tier);
    after.revision = Some(apply.revision);
    after
}
