//! Objects of the model as a client sees them.

use super::observed::{ObservedClaim, ObservedSet};
use super::{ModifyState, ResizeState};
use crate::sim::api::Api;
use crate::sim::names;
use crate::sim::objects::{ClaimObject, ClaimOwner, SetObject, Version};

pub(super) fn identity(uid: &dyn ToString, version: Version) -> (String, String) {
    (uid.to_string(), version.to_string())
}

pub(super) fn observed_set(set: &SetObject) -> ObservedSet {
    let spec = &set.spec;
    let word = |holds: bool, word: &str| holds.then(|| word.to_owned());
    ObservedSet {
        replicas: spec.replicas.into(),
        image: spec.image.to_string(),
        live: spec.live.to_string(),
        staged: spec.staged.map(|staged| match set.staged_change() {
            Some(change) => format!("{}:{}:{}", change.target, change.phase(), change.policy),
            None => format!("{}:foreign", staged.target),
        }),
        annotations: [
            spec.policy.map(|policy| policy.to_string()),
            word(spec.paused, "true"),
            word(spec.asynchronous, "Async"),
            spec.ready.map(|(target, ordinal)| format!("{target}.{ordinal}")),
            spec.withdraw.map(|target| target.to_string()),
        ],
        partition: (!spec.on_delete).then(|| spec.partition.into()),
        owned: set.owned,
        observed: set.status.observed,
    }
}

pub(super) fn observed_claim(api: &Api, claim: &ClaimObject) -> ObservedClaim {
    let lives = |uid| api.set.is_some_and(|set| set.uid == uid);
    ObservedClaim {
        request: claim.request.to_string(),
        capacity: claim.bound.then(|| claim.capacity.to_string()),
        classes: [names::class(claim.class), names::class(claim.current_class)],
        tier: (claim.tier != 0).then(|| format!("t{}", claim.tier)),
        selected: claim.selected,
        revision: claim.revision.map(|target| target.to_string()),
        owner: match claim.owner {
            ClaimOwner::None => None,
            ClaimOwner::Set(uid) if lives(uid) => Some("set"),
            _ => Some("other"),
        },
        terminating: claim.terminating,
        ours: [claim.our_size, claim.our_class.is_ours(), claim.our_tier.is_ours()],
        resize: match claim.resize {
            ResizeState::None => String::new(),
            resize => format!("{resize:?}"),
        },
        modify: match claim.modify {
            ModifyState::None => String::new(),
            modify => format!("{modify:?}"),
        },
    }
}
