//! ResourceQuotas and LimitRanges, applied to the growth of a PVC as in the API server.

use serde_json::Value;

use crate::templates::Quantity;

/// The resource of a quota on all claims.
const STORAGE: &str = "requests.storage";
/// The suffix of the resource of a quota on the claims of one storage class.
const OF_CLASS: &str = ".storageclass.storage.k8s.io/requests.storage";

/// The quotas and limits of a namespace, and their use.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ceilings {
    quotas: Vec<QuotaCeiling>,
    limits: Vec<SizeLimit>,
    /// The quotas that could not be checked, and why.
    pub(crate) unchecked: Vec<String>,
}

/// A resource of a ResourceQuota.
#[derive(Clone, Debug, PartialEq)]
struct QuotaCeiling {
    name: String,
    resource: String,
    hard: Quantity,
    used: Quantity,
}

/// The bounds of a LimitRange for a single claim.
#[derive(Clone, Debug, PartialEq)]
struct SizeLimit {
    min: Option<Quantity>,
    max: Option<Quantity>,
}

/// A growth of one claim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClaimGrowth<'a> {
    /// The storage class of the claim.
    pub(crate) class: Option<&'a str>,
    /// The present size in quotas: the larger one of the request and `status.allocatedResources`.
    pub(crate) from: Quantity,
    /// The new request.
    pub(crate) to: Quantity,
}

impl Ceilings {
    /// Reads ResourceQuotas and LimitRanges.
    pub(crate) fn read<'a>(quotas: impl Iterator<Item = &'a Value>, limits: impl Iterator<Item = &'a Value>) -> Self {
        let mut ceilings = Self::default();
        for quota in quotas {
            ceilings.add_quota(quota);
        }
        ceilings.quotas.sort_by(|a, b| a.name.cmp(&b.name));
        let items = limits.filter_map(|limit| limit["spec"]["limits"].as_array()).flatten();
        let of_claims = items.filter(|item| item["type"] == "PersistentVolumeClaim");
        ceilings.limits.extend(of_claims.map(|item| SizeLimit {
            min: quantity(&item["min"]["storage"]),
            max: quantity(&item["max"]["storage"]),
        }));
        ceilings
    }

    fn add_quota(&mut self, quota: &Value) {
        let name = quota["metadata"]["name"].as_str().unwrap_or_default();
        let scoped = |field: &str| quota["spec"].get(field).is_some_and(|value| !value.is_null());
        let (hard, used) = (&quota["status"]["hard"], &quota["status"]["used"]);
        if scoped("scopes") || scoped("scopeSelector") {
            self.unchecked.push(format!("ResourceQuota {name} has scopes"));
            return;
        }
        let Some(hard) = hard.as_object() else {
            self.unchecked.push(format!("ResourceQuota {name} has no status"));
            return;
        };
        for (resource, value) in hard {
            let counted = resource == STORAGE || resource.ends_with(OF_CLASS);
            if let (true, Some(hard)) = (counted, quantity(value)) {
                self.quotas.push(QuotaCeiling {
                    name: name.to_owned(),
                    resource: resource.clone(),
                    hard,
                    used: quantity(&used[resource.as_str()]).unwrap_or_else(|| Quantity::from_bytes(0)),
                });
            }
        }
    }

    /// The error of a LimitRange for a claim of this size, with the message of the API server.
    pub(crate) fn limit(&self, to: Quantity) -> Option<String> {
        let words = |which, limit: Quantity| {
            format!("{which} storage usage per PersistentVolumeClaim is {limit}, but request is {to}")
        };
        self.limits.iter().find_map(|limit| match limit {
            SizeLimit { max: Some(max), .. } if to > *max => Some(words("maximum", *max)),
            SizeLimit { min: Some(min), .. } if to < *min => Some(words("minimum", *min)),
            _ => None,
        })
    }

    /// Counts a growth.
    ///
    /// # Errors
    /// If a quota is too small, with the message of the API server; nothing is counted then.
    pub(crate) fn charge(&mut self, growth: ClaimGrowth<'_>) -> Result<(), String> {
        let Some(more) = difference(growth.to, growth.from) else {
            return Ok(());
        };
        let of_class = growth.class.map(|class| format!("{class}{OF_CLASS}"));
        let concerned = |quota: &QuotaCeiling| quota.resource == STORAGE || of_class.as_ref() == Some(&quota.resource);
        let exceeded = |quota: &&QuotaCeiling| concerned(quota) && sum(quota.used, more) > quota.hard;
        if let Some(first) = self.quotas.iter().find(exceeded) {
            let mut of_quota: Vec<&QuotaCeiling> = self
                .quotas
                .iter()
                .filter(exceeded)
                .filter(|quota| quota.name == first.name)
                .collect();
            of_quota.sort_by(|a, b| a.resource.cmp(&b.resource));
            let list = |amount: fn(&QuotaCeiling, Quantity) -> Quantity| {
                let each = of_quota
                    .iter()
                    .map(|quota| format!("{}={}", quota.resource, amount(quota, more)));
                each.collect::<Vec<_>>().join(",")
            };
            return Err(format!(
                "exceeded quota: {}, requested: {}, used: {}, limited: {}",
                first.name,
                list(|_, more| more),
                list(|quota, _| quota.used),
                list(|quota, _| quota.hard)
            ));
        }
        for quota in self.quotas.iter_mut().filter(|quota| concerned(quota)) {
            quota.used = sum(quota.used, more);
        }
        Ok(())
    }
}

fn quantity(value: &Value) -> Option<Quantity> {
    value.as_str()?.parse().ok()
}

/// The amount by which `to` exceeds `from`; none if it does not.
fn difference(to: Quantity, from: Quantity) -> Option<Quantity> {
    let more = u64::try_from(to.whole() - from.whole()).ok()?;
    (more > 0).then(|| Quantity::from_bytes(more))
}

fn sum(one: Quantity, other: Quantity) -> Quantity {
    u64::try_from(one.whole() + other.whole()).map_or(one, Quantity::from_bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Ceilings, ClaimGrowth};
    use crate::templates::Quantity;

    fn quota(name: &str, hard: &Value, used: &Value) -> Value {
        json!({"metadata": {"name": name}, "spec": {"hard": hard}, "status": {"hard": hard, "used": used}})
    }

    fn ceilings(quotas: &[Value], limits: &[Value]) -> Ceilings {
        Ceilings::read(quotas.iter(), limits.iter())
    }

    fn gi(amount: u64) -> Quantity {
        Quantity::from_bytes(amount << 30)
    }

    fn grow(ceilings: &mut Ceilings, class: Option<&str>, from: u64, to: u64) -> Result<(), String> {
        let (from, to) = (gi(from), gi(to));
        ceilings.charge(ClaimGrowth { class, from, to })
    }

    #[test]
    fn charge_beyond_a_quota_is_the_api_server_error() {
        let mut ceilings = ceilings(
            &[quota(
                "storage",
                &json!({"requests.storage": "5Gi", "pods": "3"}),
                &json!({"requests.storage": "3Gi"}),
            )],
            &[],
        );
        assert_eq!(grow(&mut ceilings, Some("fast"), 1, 2), Ok(()));
        assert_eq!(grow(&mut ceilings, None, 1, 2), Ok(()));
        let words = "exceeded quota: storage, requested: requests.storage=1Gi, used: requests.storage=5Gi, limited: requests.storage=5Gi";
        assert_eq!(grow(&mut ceilings, None, 1, 2), Err(words.to_owned()));
        assert_eq!(grow(&mut ceilings, None, 2, 2), Ok(()), "no growth, no charge");
        assert_eq!(grow(&mut ceilings, None, 2, 1), Ok(()));
    }

    #[test]
    fn charge_of_a_class_quota_counts_only_that_class() {
        let hard = json!({"fast.storageclass.storage.k8s.io/requests.storage": "1Gi"});
        let mut ceilings = ceilings(&[quota("q", &hard, &json!({}))], &[]);
        assert_eq!(grow(&mut ceilings, Some("slow"), 1, 9), Ok(()));
        assert_eq!(grow(&mut ceilings, None, 1, 9), Ok(()));
        assert!(grow(&mut ceilings, Some("fast"), 1, 3).is_err());
        assert_eq!(
            grow(&mut ceilings, Some("fast"), 1, 2),
            Ok(()),
            "the denied growth was not counted"
        );
    }

    #[test]
    fn quota_with_scopes_or_without_status_is_unchecked() {
        let scoped = json!({"metadata": {"name": "s"}, "spec": {"scopes": ["BestEffort"]}});
        let new = json!({"metadata": {"name": "n"}, "spec": {"hard": {"requests.storage": "1"}}});
        let ceilings = ceilings(&[scoped, new], &[]);
        assert_eq!(
            ceilings.unchecked,
            ["ResourceQuota s has scopes", "ResourceQuota n has no status"]
        );
    }

    #[test]
    fn limit_range_bounds_each_claim() {
        let limits = json!({"spec": {"limits": [
            {"type": "Container", "max": {"storage": "1"}},
            {"type": "PersistentVolumeClaim", "min": {"storage": "2Gi"}, "max": {"storage": "5Gi"}},
        ]}});
        let ceilings = ceilings(&[], &[limits]);
        assert_eq!(ceilings.limit(gi(5)), None);
        assert_eq!(
            ceilings.limit(gi(6)).as_deref(),
            Some("maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi")
        );
        assert_eq!(
            ceilings.limit(gi(1)).as_deref(),
            Some("minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi")
        );
    }
}
