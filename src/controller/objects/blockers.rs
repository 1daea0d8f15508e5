//! Blockers: a quota, a LimitRange or a StorageClass because of which the API server denies an apply to a PVC. The
//! message of the denial contains the kind of the blocker and the requested amount.
//!
//! A VolumeAttributesClass is no blocker: the API server accepts any name, and the resizer checks it.

use std::collections::{BTreeMap, HashMap};

use k8s_openapi::api::core::v1::{LimitRange, ResourceQuota};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};
use serde::Deserialize;

use crate::claims::limits::SizeLimits;
use crate::claims::quota;
use crate::controller::read::metadata;
use crate::replace::world::CountQuota;
use crate::templates::Quantity;

/// The resource of a quota that counts StatefulSets.
const SETS: &str = "count/statefulsets.apps";

/// Part of the message about an expansion that the storage class does not allow (plugin PersistentVolumeClaimResize).
const NO_EXPANSION: &str = "must support resize";

/// Part of the message about a quota (plugin ResourceQuota). The name of the quota follows.
const EXCEEDED: &str = "exceeded quota: ";

/// Part of the message about a LimitRange (plugin LimitRanger), after `maximum` or `minimum`.
const OUT_OF_LIMITS: &str = "storage usage per PersistentVolumeClaim is ";

/// A ResourceQuota.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "ResourceQuota")]
pub(crate) struct SlimQuota {
    #[serde(deserialize_with = "metadata::without_managers")]
    metadata: ObjectMeta,
    #[serde(default)]
    spec: QuotaSpec,
    #[serde(default)]
    status: QuotaStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct QuotaSpec {
    hard: BTreeMap<String, String>,
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
pub(crate) struct SlimStorageClass {
    #[serde(deserialize_with = "metadata::without_managers")]
    metadata: ObjectMeta,
    #[serde(default, rename = "allowVolumeExpansion")]
    allow_volume_expansion: Option<bool>,
}

/// A LimitRange.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "LimitRange")]
pub(crate) struct SlimLimitRange {
    #[serde(deserialize_with = "metadata::without_managers")]
    metadata: ObjectMeta,
    #[serde(default)]
    spec: LimitsSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct LimitsSpec {
    limits: Vec<LimitRangeItem>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct LimitRangeItem {
    #[serde(rename = "type")]
    of: String,
    min: BTreeMap<String, String>,
    max: BTreeMap<String, String>,
}

/// A kind of object that can block an apply.
pub(crate) trait Blocker: Sized {
    /// True iff the message of a denial names a blocker of this kind.
    fn is_named_in(message: &str) -> bool;

    /// True iff an apply may pass after this change that did not pass before. `None`: the object did not or does not
    /// exist.
    fn gave_way(before: Option<&Self>, after: Option<&Self>) -> bool;

    /// True iff an apply that was denied with this message passes now, in this namespace and for a PVC of this class.
    fn lets_pass(known: &KnownBlockers<Self>, namespace: &str, message: &str, class: Option<&str>) -> bool;
}

/// The blockers of one kind, by namespace and name.
pub(crate) type KnownBlockers<K> = HashMap<(String, String), K>;

fn key(object: &impl ResourceExt) -> (String, String) {
    (object.namespace().unwrap_or_default(), object.name_any())
}

impl Blocker for SlimQuota {
    fn is_named_in(message: &str) -> bool {
        message.contains(EXCEEDED)
    }

    /// True iff there is more room for PVCs: a limit was raised or removed, or less is used.
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

    fn lets_pass(known: &KnownBlockers<Self>, namespace: &str, message: &str, _: Option<&str>) -> bool {
        let rest = message.split_once(EXCEEDED).map(|(_, rest)| rest);
        let name = rest.and_then(|rest| rest.split_once(',')).map(|(name, _)| name);
        name.is_some_and(|name| {
            let quota = known.get(&(namespace.to_owned(), name.to_owned()));
            quota.is_none_or(|quota| quota.has_room_for(message))
        })
    }
}

/// True iff PVCs use this resource of a quota. Ephemeral storage is used by Pods.
fn concerns_claims(resource: &str) -> bool {
    let is_storage = resource.ends_with("requests.storage");
    is_storage || resource.ends_with("persistentvolumeclaims")
}

impl SlimQuota {
    /// The resources of the quota as the decision reads them.
    ///
    /// # Errors
    /// Why they are not known: the quota has scopes (see [`quota::Quota`]), or no status yet.
    pub(crate) fn resources(&self) -> Result<Vec<quota::Quota>, &'static str> {
        let is_scoped = self.spec.scopes.as_ref().is_some_and(|scopes| !scopes.is_empty());
        if is_scoped || self.spec.scope_selector.is_some() {
            return Err("has scopes");
        }
        if self.status.hard.is_empty() {
            return Err("has no status");
        }
        let resources = self.status.hard.iter().filter_map(|(resource, hard)| {
            Some(quota::Quota {
                name: self.name_any(),
                resource: resource.clone(),
                hard: hard.parse().ok()?,
                used: amount(self.status.used.get(resource)),
            })
        });
        Ok(resources.collect())
    }

    /// How many StatefulSets the quota allows, and how many there are; none if it does not count them.
    pub(crate) fn sets(&self) -> Option<CountQuota> {
        // Before it is counted for the first time, it has no status.
        let of_status = Some(&self.status.hard).filter(|hard| !hard.is_empty());
        let hard = of_status.unwrap_or(&self.spec.hard).get(SETS)?;
        let used = self.status.used.get(SETS).and_then(|used| used.parse().ok());
        Some(CountQuota {
            name: self.name_any(),
            hard: hard.parse().ok()?,
            used: used.unwrap_or(0),
        })
    }

    /// True iff the request in the message of a denial by this quota fits now.
    fn has_room_for(&self, message: &str) -> bool {
        let requested = message.split_once("requested: ").map_or("", |(_, requested)| requested);
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

/// Parses an amount; zero without one.
fn amount(text: Option<&String>) -> Quantity {
    text.and_then(|text| text.parse().ok())
        .unwrap_or_else(|| Quantity::from_bytes(0))
}

impl Blocker for SlimLimitRange {
    fn is_named_in(message: &str) -> bool {
        message.contains(OUT_OF_LIMITS)
    }

    /// True iff the maximum was raised or the minimum was lowered.
    fn gave_way(before: Option<&Self>, after: Option<&Self>) -> bool {
        let Some(SizeLimits { max, min }) = before.map(Self::limits) else {
            return false;
        };
        let now = after.map(Self::limits).unwrap_or_default();
        let is_higher = max.is_some_and(|max| now.max.is_none_or(|now| now > max));
        is_higher || min.is_some_and(|min| now.min.is_none_or(|now| now < min))
    }

    /// The message does not name the LimitRange, so all of the namespace are checked.
    fn lets_pass(known: &KnownBlockers<Self>, namespace: &str, message: &str, _: Option<&str>) -> bool {
        let Some(request) = denied_request(message) else {
            return false;
        };
        let mut here = known.iter().filter(|((of, _), _)| of == namespace);
        here.all(|(_, range)| range.limits().denial(request).is_none())
    }
}

impl SlimLimitRange {
    /// The sizes that a PVC may request.
    pub(crate) fn limits(&self) -> SizeLimits {
        let of_claims = || {
            self.spec
                .limits
                .iter()
                .filter(|limit| limit.of == "PersistentVolumeClaim")
        };
        let storage = |amounts: &BTreeMap<String, String>| amounts.get("storage")?.parse().ok();
        SizeLimits {
            max: of_claims().filter_map(|limit| storage(&limit.max)).min(),
            min: of_claims().filter_map(|limit| storage(&limit.min)).max(),
        }
    }
}

/// The request of a PVC in the message of a denial by a LimitRange.
fn denied_request(message: &str) -> Option<Quantity> {
    let (_, rest) = message.split_once(OUT_OF_LIMITS)?;
    let (_, request) = rest.split_once("but request is ")?;
    let end = request.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
    request[..end.unwrap_or(request.len())].parse().ok()
}

impl Blocker for SlimStorageClass {
    fn is_named_in(message: &str) -> bool {
        message.contains(NO_EXPANSION)
    }

    fn gave_way(before: Option<&Self>, after: Option<&Self>) -> bool {
        let expands = |class: Option<&Self>| class.is_some_and(Self::expands);
        expands(after) && !expands(before)
    }

    fn lets_pass(known: &KnownBlockers<Self>, _: &str, message: &str, class: Option<&str>) -> bool {
        let class = class.filter(|_| Self::is_named_in(message));
        let class = class.and_then(|name| known.get(&(String::new(), name.to_owned())));
        class.is_some_and(Self::expands)
    }
}

impl SlimStorageClass {
    fn expands(&self) -> bool {
        self.allow_volume_expansion == Some(true)
    }
}

/// The blockers of one kind as the watch last showed them.
#[derive(Debug)]
pub(crate) struct SeenBlockers<K> {
    known: KnownBlockers<K>,
    /// The objects of an incomplete list.
    listed: KnownBlockers<K>,
    /// True once the first list is complete.
    complete: bool,
}

impl<K> Default for SeenBlockers<K> {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            listed: HashMap::new(),
            complete: false,
        }
    }
}

impl<K: Blocker + ResourceExt> SeenBlockers<K> {
    /// Handles an event of the watch. True iff a blocker gave way; the first list only sets the initial state.
    pub(crate) fn note(&mut self, event: Event<K>) -> bool {
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

    /// True iff an apply that was denied with this message passes now, as far as is known.
    pub(crate) fn lets_pass(&self, namespace: &str, message: &str, class: Option<&str>) -> bool {
        self.complete && K::lets_pass(&self.known, namespace, message, class)
    }
}

#[cfg(test)]
#[path = "blockers_tests.rs"]
mod tests;
