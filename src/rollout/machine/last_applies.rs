//! Applies that succeeded, and that somebody undid after the reply: a controller that removes labels which it does not
//! know. Without this, the controller would write again at once, for ever.

use std::collections::BTreeMap;

use super::kinds::{Denials, Kinds};
use crate::api::Seconds;
use crate::rollout::Refusal;
use crate::templates::keys;

/// An apply that stays for this long was not undone: the pauses begin anew.
const STAYS: Seconds = 2 * Refusal::MAX_PAUSE;

/// The last successful apply to a PVC.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LastApply<L, V> {
    pub(crate) label: L,
    /// The resourceVersion in the reply.
    pub(crate) resource_version: V,
    pub(crate) at: Seconds,
    /// How often in a row it was undone.
    pub(crate) undone: u32,
}

/// The last successful apply to each PVC, by uid.
pub(super) type LastApplies<K> = BTreeMap<<K as Kinds>::Uid, LastApply<<K as Kinds>::Label, <K as Kinds>::Version>>;

/// Notes the reply to an apply with this label.
pub(super) fn note<K: Kinds>(applies: &mut LastApplies<K>, label: &K::Label, reply: &K::Claim, now: Seconds) {
    let uid = K::uid(reply);
    let before = applies.remove(&uid).filter(|before| before.label == *label);
    let before = before.filter(|before| now.saturating_sub(before.at) < STAYS);
    let apply = LastApply {
        label: label.clone(),
        resource_version: K::version(reply),
        at: now,
        undone: before.map_or(0, |before| before.undone),
    };
    applies.insert(uid, apply);
}

/// The applies that somebody undid, each as a denial by others. Those that are denied already are left out.
pub(super) fn find_undone<'c, K: Kinds>(
    applies: &mut LastApplies<K>,
    claims: impl Iterator<Item = &'c K::Claim>,
    denials: &Denials<K>,
    now: Seconds,
) -> Denials<K>
where
    K::Claim: 'c,
{
    let mut undone = Denials::<K>::new();
    for claim in claims {
        let (uid, version) = (K::uid(claim), K::version(claim));
        let known = applies.get_mut(&uid);
        let Some(apply) = known.filter(|_| !denials.contains_key(&uid)) else {
            continue;
        };
        let is_late = K::is_older(&version, &apply.resource_version);
        if is_late || version == apply.resource_version || K::has_label(claim, &apply.label) {
            continue;
        }
        apply.undone = apply.undone.saturating_add(1);
        let denial = Refusal {
            label: apply.label.clone(),
            resource_version: version,
            cause: K::changed_by_others(),
            message: format!("somebody removed the label {} after the reply", keys::REVISION),
            attempts: apply.undone,
            last: now,
        };
        undone.insert(uid, denial);
    }
    undone
}

#[cfg(test)]
#[path = "last_applies_tests.rs"]
mod tests;
