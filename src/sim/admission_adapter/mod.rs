//! The adapter to `admit`: the policy is called with the bytes of a review, and its response is parsed.

pub(super) mod manifests;
mod questions;

use rustc_hash::FxHashMap;

use crate::sim::api::Api;
use crate::sim::invariant_adapter::is_ours;
use crate::sim::names::Names;
use crate::sim::objects::{ClaimObject, ClaimOwner, SetObject, SetObjectSpec, Uid, slot};
use crate::sim::settings::ModelSettings;
use crate::sim::write::DenialCause;

use questions::{DeletionKey, NewClaimKey, UpdateKey, ask_deletion, ask_new_claim, ask_update};

/// The cache is cleared at this size.
const MOST: usize = 50_000;

/// The policy, with a cache of its responses.
#[derive(Debug, Default)]
pub(crate) struct AdmissionAdapter {
    updates: FxHashMap<UpdateKey, Result<SetObjectSpec, DenialCause>>,
    new_claims: FxHashMap<NewClaimKey, ClaimObject>,
    deletions: FxHashMap<DeletionKey, bool>,
}

impl AdmissionAdapter {
    /// The stored spec after an update of the set, or the cause of the denial. With `shrink: Recover` the policy reads
    /// the claims.
    pub(crate) fn update(
        &mut self,
        names: &mut Names,
        before: &SetObject,
        after: SetObjectSpec,
        api: &Api,
    ) -> Result<SetObjectSpec, DenialCause> {
        let mut old = before.spec;
        // A staged change of another set stays one, whatever the uids are.
        for spec in [&mut old] {
            if let Some(change) = &mut spec.staged {
                change.uid = Uid::from(change.uid != before.uid) + 1;
            }
        }
        let mut new = after;
        if let Some(change) = &mut new.staged {
            change.uid = Uid::from(change.uid != before.uid) + 1;
        }
        let sizes = (api.settings == ModelSettings::Recover).then(|| {
            let sizes = |claim: &Option<ClaimObject>| claim.map(|claim| (claim.request, claim.capacity));
            std::array::from_fn(|slot| sizes(&api.claims[slot]))
        });
        let key = (old, new, before.owned, api.settings, sizes);
        let answer = match self.updates.get(&key) {
            Some(answer) => *answer,
            None => {
                let answer = ask_update(names, &key);
                if self.updates.len() >= MOST {
                    self.updates.clear();
                }
                self.updates.insert(key, answer);
                answer
            }
        };
        let mut spec = answer?;
        if let Some(change) = &mut spec.staged {
            change.uid = if change.uid == 1 { before.uid } else { Uid::MAX };
        }
        Ok(spec)
    }

    /// Applies the changes of the policy to a claim that is created.
    pub(crate) fn new_claim(
        &mut self,
        names: &mut Names,
        set: &SetObject,
        at: (usize, usize),
        api: &Api,
        claim: &mut ClaimObject,
    ) {
        let mut spec = set.spec;
        let known = set.staged_change().is_some();
        if let Some(change) = &mut spec.staged {
            change.uid = if known { 1 } else { 2 };
        }
        let asked = ClaimObject {
            uid: 0,
            version: 0,
            ..*claim
        };
        let key = (spec, set.owned, api.settings, at, api.sibling, asked);
        let created = match self.new_claims.get(&key) {
            Some(created) => *created,
            None => {
                let created = ask_new_claim(names, &key);
                if self.new_claims.len() >= MOST {
                    self.new_claims.clear();
                }
                self.new_claims.insert(key, created);
                created
            }
        };
        *claim = ClaimObject {
            uid: claim.uid,
            version: claim.version,
            ..created
        };
    }

    /// Whether the gate denies the deletion of a Pod.
    pub(crate) fn keeps(&mut self, names: &mut Names, api: &Api, ordinal: usize) -> bool {
        let (Some(set), Some(pod)) = (api.set, api.pods[ordinal]) else {
            return false;
        };
        let mut spec = set.spec;
        if let Some(change) = &mut spec.staged {
            change.uid = Uid::from(change.uid != set.uid) + 1;
        }
        let claims = std::array::from_fn(|template| {
            let claim = api.claims[slot(template, ordinal)]?;
            Some(ClaimObject {
                uid: 0,
                version: 0,
                owner: if is_ours(api, slot(template, ordinal)) {
                    ClaimOwner::None
                } else {
                    ClaimOwner::Other
                },
                ..claim
            })
        });
        let key = (spec, set.owned, api.settings, ordinal, pod.health, claims);
        if let Some(answer) = self.deletions.get(&key) {
            return *answer;
        }
        let answer = ask_deletion(names, &key);
        if self.deletions.len() >= MOST {
            self.deletions.clear();
        }
        self.deletions.insert(key, answer);
        answer
    }
}
