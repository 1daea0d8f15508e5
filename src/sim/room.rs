//! The Gi that a quota has left, as the product knows it: nothing was read, there is no quota, or a number.

use super::names::{gi, whole_gi};
use crate::claims::quota::Quota;
use crate::rollout::Quotas;

/// What was read: the Gi that the quota has left, if there is one, and if it was read.
pub(crate) type QuotaRoom = Option<Option<u8>>;

/// The quotas that were read.
pub(crate) fn quotas(room: QuotaRoom) -> Quotas {
    let Some(room) = room else {
        return Quotas::Unread;
    };
    let quota = room.map(|room| Quota {
        name: "storage".to_owned(),
        resource: "requests.storage".to_owned(),
        hard: gi(room),
        used: gi(0),
    });
    Quotas::Known(quota.into_iter().collect())
}

/// The number in quotas that were read.
pub(crate) fn room(quotas: &Quotas) -> QuotaRoom {
    match quotas {
        Quotas::Known(quotas) => Some(quotas.first().map(|quota| whole_gi(&quota.hard))),
        Quotas::Unread | Quotas::Unchecked => None,
    }
}
