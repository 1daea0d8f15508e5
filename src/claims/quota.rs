//! Whether all PVCs that are to grow fit into the ResourceQuotas of their namespace together.
//!
//! A ResourceQuota counts the requested storage (`requests.storage`) of all PVCs, or of those of one storage class
//! (kubernetes/kubernetes, `pkg/quota/v1/evaluator/core/persistent_volume_claims.go`).

use std::fmt;

use super::claim::Claim;
use crate::templates::Quantity;

/// The resource of all PVCs.
const STORAGE: &str = "requests.storage";

/// The suffix of the resource of one storage class; the prefix is the class.
const OF_CLASS: &str = ".storageclass.storage.k8s.io/requests.storage";

/// One resource in the status of a ResourceQuota.
///
/// ResourceQuotas with a scope are left out. PVCs match only the scope `VolumeAttributesClass` (the function
/// `pvcMatchesScopeFunc` of that file), and which PVCs match it depends on the change itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The name of the ResourceQuota.
    pub name: String,
    /// The resource, such as `requests.storage`.
    pub resource: String,
    /// `status.hard`
    pub hard: Quantity,
    /// `status.used`
    pub used: Quantity,
}

/// A PVC that is to request more storage.
#[derive(Clone, Copy, Debug)]
pub struct Growth<'a> {
    /// The storage class of the PVC.
    pub class: Option<&'a str>,
    /// What the quota counts now.
    pub from: Quantity,
    /// The new request.
    pub to: Quantity,
}

impl<'a> Growth<'a> {
    /// The growth of a PVC that is to request this size; `None` if a quota counts the PVC with that size already.
    ///
    /// A quota counts the larger one of the request and `status.allocatedResources` (the function `getStorageUsage` of
    /// that file; the gate `RecoverVolumeExpansionFailure` is on since Kubernetes 1.32). After a request was lowered,
    /// that is the size that the driver was asked for before, until the driver begins the smaller one.
    #[must_use]
    pub fn of(claim: &'a Claim, to: Quantity) -> Option<Self> {
        let from = claim.request.max(claim.allocated.unwrap_or(claim.request));
        (to > from).then(|| Self {
            class: claim.storage_class_name(),
            from,
            to,
        })
    }
}

/// A ResourceQuota that would be exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    quota: String,
    /// The storage class of the resource; `None` for all classes.
    class: Option<String>,
    claims: usize,
    need: Quantity,
    left: Quantity,
    hard: Quantity,
}

impl Quota {
    /// The storage class that the resource counts, `Some(None)` for all classes, or `None` if it counts no storage of
    /// PVCs.
    fn counts(&self) -> Option<Option<&str>> {
        if self.resource == STORAGE {
            return Some(None);
        }
        self.resource.strip_suffix(OF_CLASS).map(Some)
    }

    /// What the resource counts of a growth; `None` if it counts nothing.
    fn counted(&self, growth: &Growth<'_>) -> Option<i128> {
        let class = self.counts()?;
        let more = growth.to.whole() - growth.from.whole();
        (more > 0 && (class.is_none() || growth.class == class)).then_some(more)
    }

    /// What is left; negative if more is used than allowed.
    fn left(&self) -> i128 {
        self.hard.whole() - self.used.whole()
    }

    /// The excess of these growths.
    fn exceeded(&self, growths: &[Growth<'_>]) -> Option<Excess> {
        let grows: Vec<i128> = growths.iter().filter_map(|growth| self.counted(growth)).collect();
        let (need, left) = (grows.iter().sum::<i128>(), self.left());
        (need > 0 && need > left).then(|| Excess {
            quota: self.name.clone(),
            class: self.counts().flatten().map(str::to_owned),
            claims: grows.len(),
            need: bytes(need),
            left: bytes(left),
            hard: self.hard,
        })
    }
}

/// The first ResourceQuota by name that would be exceeded.
#[must_use]
pub fn exceeded(quotas: &[Quota], growths: &[Growth<'_>]) -> Option<Excess> {
    let excesses = quotas.iter().filter_map(|quota| quota.exceeded(growths));
    excesses.min_by(|a, b| (&a.quota, &a.class).cmp(&(&b.quota, &b.class)))
}

/// Counts a growth as used.
///
/// # Errors
/// If a quota is too small, with the message of the API server; nothing is counted then.
pub fn charge(quotas: &mut [Quota], growth: &Growth<'_>) -> Result<(), String> {
    let exceeds = |quota: &&Quota| quota.counted(growth).is_some_and(|more| more > quota.left());
    if let Some(first) = quotas.iter().filter(exceeds).map(|quota| &quota.name).min() {
        let mut of_quota: Vec<&Quota> = quotas
            .iter()
            .filter(exceeds)
            .filter(|quota| quota.name == *first)
            .collect();
        of_quota.sort_by(|a, b| a.resource.cmp(&b.resource));
        let list = |amount: fn(&Quota, &Growth<'_>) -> Quantity| {
            let each = of_quota
                .iter()
                .map(|quota| format!("{}={}", quota.resource, amount(quota, growth)));
            each.collect::<Vec<_>>().join(",")
        };
        return Err(format!(
            "exceeded quota: {first}, requested: {}, used: {}, limited: {}",
            list(|quota, growth| bytes(quota.counted(growth).unwrap_or(0))),
            list(|quota, _| quota.used),
            list(|quota, _| quota.hard)
        ));
    }
    for quota in quotas {
        if let Some(more) = quota.counted(growth) {
            quota.used = bytes(quota.used.whole() + more);
        }
    }
    Ok(())
}

/// An amount in bytes; zero if it is negative, because more is used than allowed.
fn bytes(amount: i128) -> Quantity {
    Quantity::from_bytes(u64::try_from(amount.max(0)).unwrap_or(u64::MAX))
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            quota,
            need,
            left,
            hard,
            ..
        } = self;
        match self.claims {
            1 => write!(f, "the PVC that would grow needs {need} more")?,
            claims => write!(f, "the {claims} PVCs that would grow need {need} more")?,
        }
        write!(f, ", and ResourceQuota {quota} has {left} left of {hard}")?;
        if let Some(class) = &self.class {
            write!(f, " for storage class {class}")?;
        }
        f.write_str(": raise it, make room, or stage a smaller size; nothing is written before all of them fit")
    }
}

/// The ResourceQuotas of the namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Quotas {
    /// The controller may not read them. It leaves the check to the API server.
    #[default]
    Unchecked,
    /// The controller has to read them before the first write.
    Unread,
    /// The resources of all ResourceQuotas.
    Known(Vec<Quota>),
}

#[cfg(test)]
#[path = "quota_tests.rs"]
mod tests;
