//! The retention policy of a StatefulSet (KEP-1847): who owns a PVC, who should own it, and what deletes it.
//!
//! The StatefulSet controller writes the owner references, and the garbage collector acts on them; claim-rollout writes
//! none. So these functions model what those two do. They follow `isClaimOwnerUpToDate` and
//! `updateClaimOwnerRefForSetAndPod`; `retention_tests/references.rs` compares them with upstream results.

use super::owner::Owner;

/// A value of the retention policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetentionType {
    /// Keep the PVCs.
    #[default]
    Retain,
    /// Delete the PVCs.
    Delete,
}

/// `spec.persistentVolumeClaimRetentionPolicy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// The policy for the deletion of the StatefulSet.
    pub when_deleted: RetentionType,
    /// The policy for replicas that a scale-down removes.
    pub when_scaled: RetentionType,
}

/// What is known of a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodUid<'a> {
    /// The Pod exists and has this uid.
    Is(&'a str),
    /// The Pod does not exist.
    NoPod,
    /// Nobody has checked: assume that the Pod exists, and that a reference with its name is to it.
    NotAsked,
}

/// Whether the StatefulSet includes the replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordinal {
    /// The ordinal is in the range of the StatefulSet.
    InRange,
    /// The ordinal is beyond the range: the replica is being removed, or was removed.
    ScaledDown,
}

/// A PVC, with the input of the retention policy.
#[derive(Clone, Copy, Debug)]
pub struct Ownership<'a> {
    /// The owner references of the PVC.
    pub owners: &'a [Owner],
    /// The retention policy.
    pub policy: RetentionPolicy,
    /// The name of the StatefulSet.
    pub set_name: &'a str,
    /// The uid of the StatefulSet.
    pub set_uid: &'a str,
    /// The name of the Pod of the replica: `<set>-<ordinal>`.
    pub pod: &'a str,
    /// The uid of that Pod, if it exists.
    pub pod_uid: PodUid<'a>,
    /// Whether the StatefulSet includes the replica.
    pub ordinal: Ordinal,
}

/// An event that may delete a PVC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A scale-down removes the replica.
    ScaleDown,
    /// The StatefulSet is deleted with its Pods (background or foreground).
    DeleteSet,
    /// The StatefulSet is deleted, and its dependents are orphaned.
    OrphanSet,
}

/// What an event does to a PVC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The PVC is kept.
    Stays,
    /// The outcome depends on whether the StatefulSet controller corrects the owner references before the event.
    MayGo,
    /// The PVC is deleted.
    Goes,
    /// The PVC is being deleted already: none of its owners exists.
    IsGoing,
}

/// Who must own a PVC; never both (KEP-1847).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RightfulOwner {
    Nobody,
    Set,
    Pod,
}

/// What an owner reference points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Referent {
    Set,
    Pod,
    /// A StatefulSet or Pod with the same name and another uid: it does not exist.
    Missing,
    /// Any other object.
    Another,
}

impl RetentionPolicy {
    /// Reads the two values. Absent and empty are `Retain`; an unknown value makes both `Retain`, as upstream does.
    #[must_use]
    pub fn read(when_deleted: Option<&str>, when_scaled: Option<&str>) -> Self {
        let known = |value: Option<&str>| match value.unwrap_or_default() {
            "" | "Retain" => Some(RetentionType::Retain),
            "Delete" => Some(RetentionType::Delete),
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

    /// True iff the policy never deletes a PVC.
    #[must_use]
    pub fn retains_all(self) -> bool {
        self == Self::default()
    }

    /// KEP-1847, "Volume delete policy for the StatefulSet created PVCs".
    const fn asks_for(self, ordinal: Ordinal) -> RightfulOwner {
        match (self.when_scaled, self.when_deleted, ordinal) {
            (RetentionType::Delete, _, Ordinal::ScaledDown) => RightfulOwner::Pod,
            (RetentionType::Retain, RetentionType::Delete, _)
            | (RetentionType::Delete, RetentionType::Delete, Ordinal::InRange) => RightfulOwner::Set,
            (RetentionType::Retain, RetentionType::Retain, _)
            | (RetentionType::Delete, RetentionType::Retain, Ordinal::InRange) => RightfulOwner::Nobody,
        }
    }
}

impl Ownership<'_> {
    /// True iff the StatefulSet controller leaves the owner references as they are.
    #[must_use]
    pub fn is_up_to_date(&self) -> bool {
        // It leaves a reference with the name of the StatefulSet or the Pod and another uid, and corrects only PVCs of Pods.
        if self.has_stale_owner() || self.pod_uid == PodUid::NoPod {
            return true;
        }
        if self.has_another_controller() {
            // It ignores the policy, and removes the references to the StatefulSet and the Pod. Then the PVC belongs to the
            // other controller.
            return !self.is_owned_by_set() && !self.is_owned_by_pod();
        }
        !self.has_owner_of_the_first_beta() && self.is_owned_as(self.policy.asks_for(self.ordinal))
    }

    /// True iff the StatefulSet is an owner of the PVC, controller or not.
    ///
    /// Delete a StatefulSet only if it owns none of its PVCs: the garbage collector may see the deletion before it sees
    /// a reference that was just written.
    #[must_use]
    pub fn is_owned_by_set(&self) -> bool {
        self.owners.iter().any(|owner| self.referent(owner) == Referent::Set)
    }

    /// What the event does to the PVC. [`Event::ScaleDown`] always removes the replica, regardless of
    /// [`Ownership::ordinal`].
    ///
    /// The garbage collector deletes objects with owners of which none exists. Other owners than the StatefulSet and
    /// the Pod are assumed to exist: a reference to a missing owner is removed as long as another owner exists.
    #[must_use]
    pub fn fate(&self, event: Event) -> Fate {
        if self.loses_all_owners(None) {
            return Fate::IsGoing;
        }
        let now = self.loses_all_owners(Some(event));
        // The StatefulSet controller corrects the references before it removes a replica. A deletion of the StatefulSet
        // may come before or after the correction.
        match (event, now, self.loses_all_asked_owners(event)) {
            (_, true, true) | (Event::ScaleDown, _, true) => Fate::Goes,
            (_, true, false) | (_, false, true) => Fate::MayGo,
            (_, false, false) => Fate::Stays,
        }
    }

    /// True iff no owner of the current references exists after the event.
    fn loses_all_owners(&self, event: Option<Event>) -> bool {
        let mut lost = false;
        for owner in self.owners {
            match (self.referent(owner), event) {
                (Referent::Missing, _)
                | (Referent::Set, Some(Event::DeleteSet))
                | (Referent::Pod, Some(Event::DeleteSet | Event::ScaleDown)) => lost = true,
                // The garbage collector removes the reference itself.
                (Referent::Set, Some(Event::OrphanSet)) => {}
                (Referent::Another, _)
                | (Referent::Set, None | Some(Event::ScaleDown))
                | (Referent::Pod, None | Some(Event::OrphanSet)) => return false,
            }
        }
        lost
    }

    /// The same, for the references after a correction by the StatefulSet controller.
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
            (RightfulOwner::Set, Event::DeleteSet) | (RightfulOwner::Pod, Event::DeleteSet | Event::ScaleDown)
        )
    }

    fn referent(&self, owner: &Owner) -> Referent {
        let is_pod = match self.pod_uid {
            PodUid::Is(uid) => owner.uid == uid,
            PodUid::NoPod => false,
            PodUid::NotAsked => self.names_pod(owner),
        };
        if owner.uid == self.set_uid {
            Referent::Set
        } else if is_pod {
            Referent::Pod
        } else if self.names_set(owner) || self.names_pod(owner) {
            Referent::Missing
        } else {
            Referent::Another
        }
    }

    fn names_set(&self, owner: &Owner) -> bool {
        owner.api_version == "apps/v1" && owner.kind == "StatefulSet" && owner.name == self.set_name
    }

    fn names_pod(&self, owner: &Owner) -> bool {
        owner.api_version == "v1" && owner.kind == "Pod" && owner.name == self.pod
    }

    fn is_owned_by_pod(&self) -> bool {
        self.owners.iter().any(|owner| self.referent(owner) == Referent::Pod)
    }

    fn is_owned_as(&self, asked: RightfulOwner) -> bool {
        self.is_owned_by_set() == (asked == RightfulOwner::Set)
            && self.is_owned_by_pod() == (asked == RightfulOwner::Pod)
    }

    /// `hasStaleOwnerRef` of both: the first reference with the name counts.
    fn has_stale_owner(&self) -> bool {
        let set = self.owners.iter().find(|owner| self.names_set(owner));
        let pod = self.owners.iter().find(|owner| self.names_pod(owner));
        set.is_some_and(|owner| owner.uid != self.set_uid)
            || pod.is_some_and(|owner| match self.pod_uid {
                PodUid::Is(uid) => owner.uid != uid,
                PodUid::NoPod => true,
                PodUid::NotAsked => false,
            })
    }

    /// `hasUnexpectedController`: with `Retain`, anybody may own PVCs.
    fn has_another_controller(&self) -> bool {
        !self.policy.retains_all()
            && self.owners.iter().any(|owner| {
                if self.names_set(owner) {
                    owner.uid != self.set_uid
                } else if self.names_pod(owner) {
                    self.referent(owner) != Referent::Pod
                } else {
                    owner.controller
                }
            })
    }

    /// `hasNonControllerOwner`: before Kubernetes 1.31 the references had no `controller: true`.
    fn has_owner_of_the_first_beta(&self) -> bool {
        self.owners
            .iter()
            .any(|owner| !owner.controller && matches!(self.referent(owner), Referent::Set | Referent::Pod))
    }
}

#[cfg(test)]
#[path = "retention_tests/mod.rs"]
mod tests;
