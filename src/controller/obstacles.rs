//! What may have a PVC refused: a quota, a LimitRange, a storage class. The message of a refusal says which of them it was, and
//! what was requested.
//!
//! A VolumeAttributesClass is not among them: the API server takes any name, and the resizer does the rest.

use std::collections::{BTreeMap, HashMap};

use k8s_openapi::api::core::v1::{LimitRange, ResourceQuota};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};
use serde::Deserialize;

use crate::claims::quota;
use crate::templates::Quantity;

/// What the API server says of a growth that the storage class does not allow (PersistentVolumeClaimResize).
const NO_EXPANSION: &str = "must support resize";

/// What it says of a quota (ResourceQuota); its name follows.
const EXCEEDED: &str = "exceeded quota: ";

/// What it says of a LimitRange (LimitRanger), after `maximum` or `minimum`.
const OUT_OF_LIMITS: &str = "storage usage per PersistentVolumeClaim is ";

/// A ResourceQuota.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "ResourceQuota")]
pub(super) struct Quota {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: QuotaSpec,
    #[serde(default)]
    status: QuotaStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct QuotaSpec {
    scopes: Option<Vec<String>>,
    scope_selector: Option<serde::de::IgnoredAny>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct QuotaStatus {
    hard: BTreeMap<String, String>,
    used: BTreeMap<String, String>,
}

/// A StorageClass.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "StorageClass")]
pub(super) struct Class {
    metadata: ObjectMeta,
    #[serde(default, rename = "allowVolumeExpansion")]
    allow_volume_expansion: Option<bool>,
}

/// A LimitRange.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "LimitRange")]
pub(super) struct Limits {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: LimitsSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct LimitsSpec {
    limits: Vec<Limit>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Limit {
    #[serde(rename = "type")]
    of: String,
    min: BTreeMap<String, String>,
    max: BTreeMap<String, String>,
}

/// What may stand in the way of an apply.
pub(super) trait Obstacle: Sized {
    /// True iff the words of a refusal are those of an obstacle of this kind.
    fn is_named_in(refusal: &str) -> bool;

    /// True iff something may pass now that did not before. `None`: it was not there, or is there no more.
    fn gave_way(before: Option<&Self>, after: Option<&Self>) -> bool;

    /// True iff what was refused with these words, in this namespace and for a PVC of this class, passes now.
    fn lets_pass(known: &Known<Self>, namespace: &str, refusal: &str, class: Option<&str>) -> bool;
}

/// The obstacles of one kind, by namespace and name.
pub(super) type Known<K> = HashMap<(String, String), K>;

fn key(object: &impl ResourceExt) -> (String, String) {
    (object.namespace().unwrap_or_default(), object.name_any())
}

impl Obstacle for Quota {
    fn is_named_in(refusal: &str) -> bool {
        refusal.contains(EXCEEDED)
    }

    /// Where there is more room for claims: a limit was raised or dropped, or less is used.
    fn gave_way(before: Option<&Self>, after: Option<&Self>) -> bool {
        let Some(before) = before else { return false };
        let Some(after) = after else { return true };
        let mut limits = before.status.hard.iter().filter(|(key, _)| concerns_claims(key));
        limits.any(|(key, limit)| {
            let used = |quota: &Self| amount(quota.status.used.get(key));
            let raised = match after.status.hard.get(key) {
                None => true,
                now => amount(now) > amount(Some(limit)),
            };
            raised || used(after) < used(before)
        })
    }

    fn lets_pass(known: &Known<Self>, namespace: &str, refusal: &str, _: Option<&str>) -> bool {
        let rest = refusal.split_once(EXCEEDED).map(|(_, rest)| rest);
        let name = rest.and_then(|rest| rest.split_once(',')).map(|(name, _)| name);
        name.is_some_and(|name| {
            let quota = known.get(&(namespace.to_owned(), name.to_owned()));
            quota.is_none_or(|quota| quota.has_room_for(refusal))
        })
    }
}

/// True iff claims use up this resource of a quota. Pods use up the ephemeral storage of nodes.
fn concerns_claims(resource: &str) -> bool {
    let is_storage = resource.ends_with("requests.storage");
    is_storage || resource.ends_with("persistentvolumeclaims")
}

impl Quota {
    /// Its resources, as the decision reads them; none where it has scopes (see [`quota::Quota`]), or nobody has counted yet.
    pub(super) fn resources(&self) -> Vec<quota::Quota> {
        let is_scoped = self.spec.scopes.as_ref().is_some_and(|scopes| !scopes.is_empty());
        if is_scoped || self.spec.scope_selector.is_some() {
            return Vec::new();
        }
        let resources = self.status.hard.iter().filter_map(|(resource, hard)| {
            Some(quota::Quota {
                name: self.name_any(),
                resource: resource.clone(),
                hard: hard.parse().ok()?,
                used: amount(self.status.used.get(resource)),
            })
        });
        resources.collect()
    }

    /// True iff what a refusal by this quota says was requested fits into it now.
    fn has_room_for(&self, refusal: &str) -> bool {
        let requested = refusal.split_once("requested: ").map_or("", |(_, requested)| requested);
        let requested = requested.split(", used:").next().unwrap_or_default();
        let whole = |text: &str| text.parse::<Quantity>().map_or(0, |amount| amount.whole());
        let of = |amounts: &BTreeMap<String, String>, resource| amounts.get(resource).map(|text| whole(text));
        let mut requested = requested.split(',').filter_map(|part| part.trim().split_once('='));
        requested.all(|(resource, more)| {
            let used = of(&self.status.used, resource).unwrap_or(0);
            of(&self.status.hard, resource).is_none_or(|hard| used.saturating_add(whole(more)) <= hard)
        })
    }
}

/// No amount is none.
fn amount(text: Option<&String>) -> Quantity {
    text.and_then(|text| text.parse().ok())
        .unwrap_or_else(|| Quantity::from_bytes(0))
}

impl Obstacle for Limits {
    fn is_named_in(refusal: &str) -> bool {
        refusal.contains(OUT_OF_LIMITS)
    }

    /// Where a PVC may ask for more, or for less.
    fn gave_way(before: Option<&Self>, after: Option<&Self>) -> bool {
        let Some((most, least)) = before.map(Self::bounds) else {
            return false;
        };
        let (most_now, least_now) = after.map(Self::bounds).unwrap_or_default();
        let is_higher = most.is_some_and(|most| most_now.is_none_or(|now| now > most));
        is_higher || least.is_some_and(|least| least_now.is_none_or(|now| now < least))
    }

    /// The words name no LimitRange: all of the namespace are asked.
    fn lets_pass(known: &Known<Self>, namespace: &str, refusal: &str, _: Option<&str>) -> bool {
        let Some(request) = refused_request(refusal) else {
            return false;
        };
        let mut here = known.iter().filter(|((of, _), _)| of == namespace);
        here.all(|(_, limits)| {
            let (most, least) = limits.bounds();
            most.is_none_or(|most| request <= most) && least.is_none_or(|least| request >= least)
        })
    }
}

impl Limits {
    /// The most and the least that a PVC may ask for.
    fn bounds(&self) -> (Option<Quantity>, Option<Quantity>) {
        let of_claims = || {
            self.spec
                .limits
                .iter()
                .filter(|limit| limit.of == "PersistentVolumeClaim")
        };
        let storage = |amounts: &BTreeMap<String, String>| amounts.get("storage")?.parse().ok();
        let most = of_claims().filter_map(|limit| storage(&limit.max)).min();
        (most, of_claims().filter_map(|limit| storage(&limit.min)).max())
    }
}

/// What a PVC asked for that a LimitRange denied.
fn refused_request(refusal: &str) -> Option<Quantity> {
    let (_, rest) = refusal.split_once(OUT_OF_LIMITS)?;
    let (_, request) = rest.split_once("but request is ")?;
    let end = request.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
    request[..end.unwrap_or(request.len())].parse().ok()
}

impl Obstacle for Class {
    fn is_named_in(refusal: &str) -> bool {
        refusal.contains(NO_EXPANSION)
    }

    fn gave_way(before: Option<&Self>, after: Option<&Self>) -> bool {
        let expands = |class: Option<&Self>| class.is_some_and(Self::expands);
        expands(after) && !expands(before)
    }

    fn lets_pass(known: &Known<Self>, _: &str, refusal: &str, class: Option<&str>) -> bool {
        let class = class.filter(|_| Self::is_named_in(refusal));
        let class = class.and_then(|name| known.get(&(String::new(), name.to_owned())));
        class.is_some_and(Self::expands)
    }
}

impl Class {
    fn expands(&self) -> bool {
        self.allow_volume_expansion == Some(true)
    }
}

/// The obstacles of one kind, as they were seen last.
#[derive(Debug)]
pub(super) struct Seen<K> {
    known: Known<K>,
    /// What a list that is being read has shown so far.
    listed: Known<K>,
    /// The first list has been read.
    complete: bool,
}

impl<K> Default for Seen<K> {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            listed: HashMap::new(),
            complete: false,
        }
    }
}

impl<K: Obstacle + ResourceExt> Seen<K> {
    /// Takes note of an event; true iff one of them gave way. The first list only says how things are.
    pub(super) fn note(&mut self, event: Event<K>) -> bool {
        match event {
            Event::Init => {
                self.listed.clear();
                false
            }
            Event::InitApply(object) => {
                self.listed.insert(key(&object), object);
                false
            }
            Event::InitDone => {
                let before = std::mem::replace(&mut self.known, std::mem::take(&mut self.listed));
                let first = !std::mem::replace(&mut self.complete, true);
                let names = before.keys().chain(self.known.keys());
                let mut pairs = names.map(|name| (before.get(name), self.known.get(name)));
                !first && pairs.any(|(before, after)| K::gave_way(before, after))
            }
            Event::Apply(object) => {
                let before = self.known.get(&key(&object));
                let gave_way = K::gave_way(before, Some(&object));
                self.known.insert(key(&object), object);
                gave_way
            }
            Event::Delete(object) => {
                let before = self.known.remove(&key(&object));
                K::gave_way(before.as_ref(), None)
            }
        }
    }

    /// True iff what was refused with these words passes now, as far as that can be seen.
    pub(super) fn lets_pass(&self, namespace: &str, refusal: &str, class: Option<&str>) -> bool {
        self.complete && K::lets_pass(&self.known, namespace, refusal, class)
    }
}

#[cfg(test)]
#[path = "obstacles_tests.rs"]
mod tests;
