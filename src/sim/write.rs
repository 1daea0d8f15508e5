//! The writes of our controller, and what the API server answers to them.

use super::objects::{ClaimObject, ModelTarget, SetObject, Share, StagedAnnotation, Uid, Version};

/// A write of our controller, with the uid and version that it was decided for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Write {
    Apply(Apply),
    StagedChange {
        uid: Option<Uid>,
        version: Option<Version>,
        /// `None` removes it.
        change: Option<StagedAnnotation>,
    },
    Ready {
        uid: Option<Uid>,
        version: Option<Version>,
        ready: Option<(ModelTarget, u8)>,
    },
    Report {
        set: Uid,
        content: u32,
        target: Option<ModelTarget>,
    },
    /// Only planted bugs send this write and the next.
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
    /// Only a planted bug sends one.
    pub(crate) storage_class: u8,
    pub(crate) revision: ModelTarget,
    /// The number of fields besides those of the template.
    pub(crate) others: u8,
    /// The apply takes back a growth.
    pub(crate) taken_back: bool,
}

impl Write {
    /// Whether the set has what a write to its annotations sent.
    pub(crate) fn is_in(&self, set: &SetObject) -> bool {
        match *self {
            Self::StagedChange { change, .. } => set.spec.staged == change,
            Self::Ready { ready, .. } => set.spec.ready == ready,
            _ => true,
        }
    }
}

impl Apply {
    /// The claim after a forced apply. Fields that only we owned and no longer apply are removed.
    pub(crate) fn on(&self, claim: &ClaimObject) -> ClaimObject {
        let mut after = *claim;
        after.our_size = if self.size == claim.request {
            claim.our_size
        } else {
            true
        };
        after.request = self.size;
        (after.class, after.our_class) = shared(claim.class, claim.our_class, self.class);
        (after.tier, after.our_tier) = shared(claim.tier, claim.our_tier, self.tier);
        after.revision = Some(self.revision);
        if self.storage_class != 0 {
            after.storage_class = self.storage_class;
        }
        after
    }

    /// Whether the returned claim has everything that was applied.
    pub(crate) fn is_in(&self, claim: &ClaimObject) -> bool {
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

/// The answer of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApiAnswer {
    /// Executed, perhaps without a change.
    Done,
    /// 409
    Conflict,
    /// 404, or another uid.
    NotFound,
    /// 403 or 422, with a cause.
    Refused(DenialCause),
    /// No answer, or one without information: 5xx, 429, a reset.
    Unsure,
}

/// The cause of a denial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DenialCause {
    /// The quota has no room.
    Quota,
    /// The StorageClass does not allow expansion.
    NotExpandable,
    /// The field is immutable, or is so until the claim is bound.
    Immutable,
    /// The size is not larger than the capacity.
    Shrink,
    /// The attributes class of a volume cannot be removed.
    Class,
    /// `OnDelete` has no partition.
    Strategy,
    /// A webhook.
    Webhook,
    /// Executed, but a webhook changed the result.
    Changed,
    /// There has been no answer for about a minute.
    NotAnswered,
    /// The answer has been for a while that the claim has changed or does not exist, and it has not changed.
    Overtaken,
}

/// A field after a forced apply with or without a value.
fn shared(value: u8, share: Share, applied: u8) -> (u8, Share) {
    match (applied, share) {
        (0, Share::Alone) => (0, Share::None),
        (0, Share::Unowned) => (value, Share::Unowned),
        (0, _) => (value, Share::None),
        (applied, Share::None | Share::Shared) if applied == value => (value, Share::Shared),
        (applied, _) => (applied, Share::Alone),
    }
}
