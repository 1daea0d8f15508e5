//! ResourceQuotas and LimitRanges, applied to the growth of a PVC as in the API server.

use serde_json::Value;

use crate::claims::limits::SizeLimits;
use crate::claims::quota::{self, Growth, Quota};
use crate::controller::objects::conversion;
use crate::templates::Quantity;

/// The quotas and limits of a namespace, and their use.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ceilings {
    quotas: Vec<Quota>,
    limits: Vec<SizeLimits>,
    /// The quotas that could not be checked, and why.
    pub(crate) unchecked: Vec<String>,
}

impl Ceilings {
    /// Reads ResourceQuotas and LimitRanges.
    pub(crate) fn read<'a>(quotas: impl Iterator<Item = &'a Value>, limits: impl Iterator<Item = &'a Value>) -> Self {
        let mut ceilings = Self::default();
        for quota in quotas {
            if let Some(why) = conversion::unknown_quota(quota) {
                let name = quota["metadata"]["name"].as_str().unwrap_or_default();
                ceilings.unchecked.push(format!("ResourceQuota {name} {why}"));
            }
            ceilings.quotas.extend(conversion::quota(quota).unwrap_or_default());
        }
        ceilings
            .limits
            .extend(limits.filter_map(|limit| conversion::limits(limit).ok()));
        ceilings
    }

    /// The error of a LimitRange for a claim of this size, with the message of the API server.
    pub(crate) fn limit(&self, to: Quantity) -> Option<String> {
        self.limits.iter().find_map(|limits| limits.denial(to))
    }

    /// Counts a growth.
    ///
    /// # Errors
    /// If a quota is too small, with the message of the API server; nothing is counted then.
    pub(crate) fn charge(&mut self, growth: &Growth<'_>) -> Result<(), String> {
        quota::charge(&mut self.quotas, growth)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Ceilings, Growth};
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
        ceilings.charge(&Growth { class, from, to })
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
        let limits = json!({"metadata": {"name": "l"}, "spec": {"limits": [
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
