//! What a retention policy makes of a claim (KEP-1847): who owns it, who ought to own it, and what deletes it.
//!
//! The StatefulSet controller writes the owner references and the garbage collector acts on them; nothing here is ever
//! written by us. So these functions have to say what those two do, not what they should. They follow
//! `isClaimOwnerUpToDate` and `updateClaimOwnerRefForSetAndPod`, and `retention_tests.rs` holds their own answers.

use super::claim::Owner;

/// A value of the retention policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    /// The claims stay.
    #[default]
    Retain,
    /// The claims go.
    Delete,
}

/// `spec.persistentVolumeClaimRetentionPolicy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// What becomes of the claims when the set is deleted.
    pub when_deleted: Retention,
    /// What becomes of the claims of a replica that a scale-down removes.
    pub when_scaled: Retention,
}

/// The set that a claim belongs to by its name.
#[derive(Clone, Copy, Debug)]
pub struct Set<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its uid.
    pub uid: &'a str,
}

/// The Pod of the claim's replica.
#[derive(Clone, Copy, Debug)]
pub struct Pod<'a> {
    /// Its name: `<set>-<ordinal>`.
    pub name: &'a str,
    /// Whether it is there.
    pub uid: PodUid<'a>,
}

/// What is known of a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodUid<'a> {
    /// It exists and has this uid.
    Is(&'a str),
    /// It does not exist.
    NoPod,
    /// Nobody asked: a reference to its name is taken to be to it, and it is taken to exist.
    NotAsked,
}

/// Whether the replica is one that the set asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordinal {
    /// The ordinal is in the set's range.
    InRange,
    /// It is beyond: the replica is on its way out, or long gone.
    ScaledDown,
}

/// A claim as the retention policy sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ownership<'a> {
    /// The claim's owner references.
    pub owners: &'a [Owner],
    /// The set's policy.
    pub policy: RetentionPolicy,
    /// The set.
    pub set: Set<'a>,
    /// The replica's Pod.
    pub pod: Pod<'a>,
    /// Where the replica stands.
    pub ordinal: Ordinal,
}

/// How a claim's owner references stand to what the policy asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// They are what it asks for.
    AsAsked,
    /// They are not; the StatefulSet controller will correct them.
    Outdated,
    /// A set or Pod of the same name and another uid is among them: hands off.
    Stale,
    /// Another controller owns the claim: the policy is ignored.
    Foreign,
    /// There is no Pod, and the StatefulSet controller looks at claims of Pods only.
    Unattended,
}

/// Something that may delete a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A scale-down that removes the claim's replica.
    ScaleDown,
    /// The set is deleted, and its Pods with it (background or foreground).
    DeleteSet,
    /// The set is deleted and its dependents are orphaned.
    OrphanSet,
}

/// What becomes of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Stays,
    /// It depends on whether the StatefulSet controller corrects the owner references before it happens.
    MayGo,
    /// It is deleted.
    Goes,
    /// It is being deleted whatever happens: all of its owners are gone.
    IsGoing,
}

/// Who must own a claim; never both (KEP-1847).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Nobody,
    Set,
    Pod,
}

/// Whom a reference leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Referent {
    Set,
    Pod,
    /// It had the name of one of the two, and another uid: it is gone.
    Gone,
    /// Somebody else.
    Another,
}

impl RetentionPolicy {
    /// Reads the two values. Absent and empty is Retain; a value that is not known makes both Retain, as upstream has it.
    #[must_use]
    pub fn read(when_deleted: Option<&str>, when_scaled: Option<&str>) -> Self {
        let known = |value: Option<&str>| match value.unwrap_or_default() {
            "" | "Retain" => Some(Retention::Retain),
            "Delete" => Some(Retention::Delete),
            _ => None,
        };
        match (known(when_deleted), known(when_scaled)) {
            (Some(when_deleted), Some(when_scaled)) => Self {
                when_deleted,
                when_scaled,
            },
            _ => Self::default(),
        }
    }

    /// True iff it never deletes a claim.
    #[must_use]
    pub fn retains_all(self) -> bool {
        self == Self::default()
    }

    /// KEP-1847, "Volume delete policy for the StatefulSet created PVCs".
    const fn asks_for(self, ordinal: Ordinal) -> Asked {
        match (self.when_scaled, self.when_deleted, ordinal) {
            (Retention::Delete, _, Ordinal::ScaledDown) => Asked::Pod,
            (Retention::Retain, Retention::Delete, _) | (Retention::Delete, Retention::Delete, Ordinal::InRange) => {
                Asked::Set
            }
            (Retention::Retain, Retention::Retain, _) | (Retention::Delete, Retention::Retain, Ordinal::InRange) => {
                Asked::Nobody
            }
        }
    }
}

impl Ownership<'_> {
    /// How the owner references stand to what the policy asks for.
    #[must_use]
    pub fn standing(&self) -> Standing {
        if self.has_stale_owner() {
            Standing::Stale
        } else if self.pod.uid == PodUid::NoPod {
            Standing::Unattended
        } else if self.has_another_controller() {
            // What the set or the Pod left there is scrubbed, and then the claim is the other's.
            if self.is_owned_by_set() || self.is_owned_by_pod() {
                Standing::Outdated
            } else {
                Standing::Foreign
            }
        } else if self.has_owner_of_the_first_beta() || !self.is_owned_as(self.policy.asks_for(self.ordinal)) {
            Standing::Outdated
        } else {
            Standing::AsAsked
        }
    }

    /// True iff the StatefulSet controller will not write the owner references.
    #[must_use]
    pub fn is_up_to_date(&self) -> bool {
        self.standing() != Standing::Outdated
    }

    /// True iff the set is an owner of the claim, controller or not.
    ///
    /// Only while this is false for all of its claims can a set be deleted without a race: the garbage collector may see
    /// the deletion before it has seen a reference that was written just now.
    #[must_use]
    pub fn is_owned_by_set(&self) -> bool {
        self.owners.iter().any(|owner| self.referent(owner) == Referent::Set)
    }

    /// What becomes of the claim if this happens. [`Event::ScaleDown`] is about a replica that is removed by it, whatever
    /// [`Ownership::ordinal`] says now.
    ///
    /// The garbage collector deletes what has owners of which none exists any more. Owners that are neither the set nor
    /// the Pod are taken to exist, because a reference to one that does not is removed as long as another owner is there.
    #[must_use]
    pub fn fate(&self, event: Event) -> Fate {
        if self.loses_all_owners(None) {
            return Fate::IsGoing;
        }
        let now = self.loses_all_owners(Some(event));
        // The StatefulSet controller corrects the references before it removes a replica; a deletion of the set may come
        // before or after it has done so.
        match (event, now, self.loses_all_asked_owners(event)) {
            (_, true, true) | (Event::ScaleDown, _, true) => Fate::Goes,
            (_, true, false) | (_, false, true) => Fate::MayGo,
            (_, false, false) => Fate::Stays,
        }
    }

    /// True iff the references as they are lead to nobody any more, when this has happened.
    fn loses_all_owners(&self, event: Option<Event>) -> bool {
        let mut lost = false;
        for owner in self.owners {
            match (self.referent(owner), event) {
                (Referent::Gone, _)
                | (Referent::Set, Some(Event::DeleteSet))
                | (Referent::Pod, Some(Event::DeleteSet | Event::ScaleDown)) => lost = true,
                // The reference itself is taken away.
                (Referent::Set, Some(Event::OrphanSet)) => {}
                (Referent::Another, _)
                | (Referent::Set, None | Some(Event::ScaleDown))
                | (Referent::Pod, None | Some(Event::OrphanSet)) => return false,
            }
        }
        lost
    }

    /// The same for the references as the StatefulSet controller would make them first.
    fn loses_all_asked_owners(&self, event: Event) -> bool {
        let ordinal = match event {
            Event::ScaleDown => Ordinal::ScaledDown,
            Event::DeleteSet | Event::OrphanSet => self.ordinal,
        };
        let then = Self { ordinal, ..*self };
        if then.is_up_to_date() {
            return then.loses_all_owners(Some(event));
        }
        if self
            .owners
            .iter()
            .any(|owner| self.referent(owner) == Referent::Another)
        {
            return false;
        }
        matches!(
            (self.policy.asks_for(ordinal), event),
            (Asked::Set, Event::DeleteSet) | (Asked::Pod, Event::DeleteSet | Event::ScaleDown)
        )
    }

    fn referent(&self, owner: &Owner) -> Referent {
        let is_pod = match self.pod.uid {
            PodUid::Is(uid) => owner.uid == uid,
            PodUid::NoPod => false,
            PodUid::NotAsked => self.names_pod(owner),
        };
        if owner.uid == self.set.uid {
            Referent::Set
        } else if is_pod {
            Referent::Pod
        } else if self.names_set(owner) || self.names_pod(owner) {
            Referent::Gone
        } else {
            Referent::Another
        }
    }

    fn names_set(&self, owner: &Owner) -> bool {
        owner.api_version == "apps/v1" && owner.kind == "StatefulSet" && owner.name == self.set.name
    }

    fn names_pod(&self, owner: &Owner) -> bool {
        owner.api_version == "v1" && owner.kind == "Pod" && owner.name == self.pod.name
    }

    fn is_owned_by_pod(&self) -> bool {
        self.owners.iter().any(|owner| self.referent(owner) == Referent::Pod)
    }

    fn is_owned_as(&self, asked: Asked) -> bool {
        self.is_owned_by_set() == (asked == Asked::Set) && self.is_owned_by_pod() == (asked == Asked::Pod)
    }

    /// `hasStaleOwnerRef` of both: the first reference with the name counts.
    fn has_stale_owner(&self) -> bool {
        let set = self.owners.iter().find(|owner| self.names_set(owner));
        let pod = self.owners.iter().find(|owner| self.names_pod(owner));
        set.is_some_and(|owner| owner.uid != self.set.uid)
            || pod.is_some_and(|owner| match self.pod.uid {
                PodUid::Is(uid) => owner.uid != uid,
                PodUid::NoPod => true,
                PodUid::NotAsked => false,
            })
    }

    /// `hasUnexpectedController`: where claims are never deleted, anybody may manage them.
    fn has_another_controller(&self) -> bool {
        !self.policy.retains_all()
            && self.owners.iter().any(|owner| {
                if self.names_set(owner) {
                    owner.uid != self.set.uid
                } else if self.names_pod(owner) {
                    self.referent(owner) != Referent::Pod
                } else {
                    owner.controller
                }
            })
    }

    /// `hasNonControllerOwner`: before 1.31 the references were written without `controller: true`.
    fn has_owner_of_the_first_beta(&self) -> bool {
        self.owners
            .iter()
            .any(|owner| !owner.controller && matches!(self.referent(owner), Referent::Set | Referent::Pod))
    }
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
