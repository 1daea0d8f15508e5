//! Whether PVCs that are to grow fit into the ResourceQuotas of their namespace, all of them together.
//!
//! A quota counts what a PVC asks for (`requests.storage`), for all PVCs and for those of one storage class
//! (kubernetes/kubernetes, `pkg/quota/v1/evaluator/core/persistent_volume_claims.go`).

use std::fmt;

use crate::templates::Quantity;

/// The resource that every PVC counts for.
const STORAGE: &str = "requests.storage";

/// What follows the name of a storage class in the resource that its PVCs count for.
const OF_CLASS: &str = ".storageclass.storage.k8s.io/requests.storage";

/// One resource of a ResourceQuota, as its status says.
///
/// Of a quota with a scope none is made: PVCs match no other scope than `VolumeAttributesClass` (the function
/// `pvcMatchesScopeFunc` of that file), and which PVCs that one counts depends on the change itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The name of the ResourceQuota.
    pub name: String,
    /// Such as `requests.storage`.
    pub resource: String,
    /// `status.hard`
    pub hard: Quantity,
    /// `status.used`
    pub used: Quantity,
}

/// A PVC that is to ask for more.
#[derive(Clone, Copy, Debug)]
pub struct Growth<'a> {
    /// Its storage class.
    pub class: Option<&'a str>,
    /// What it asks for.
    pub from: Quantity,
    /// What it is to ask for.
    pub to: Quantity,
}

/// What does not fit into a quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    quota: String,
    /// The storage class whose PVCs the quota counts; of all where there is none.
    class: Option<String>,
    claims: usize,
    need: Quantity,
    left: Quantity,
    hard: Quantity,
}

impl Quota {
    /// The class whose PVCs the resource counts, if it counts those of one class; `None` if it counts no storage of PVCs.
    fn counts(&self) -> Option<Option<&str>> {
        if self.resource == STORAGE {
            return Some(None);
        }
        self.resource.strip_suffix(OF_CLASS).map(Some)
    }

    /// What does not fit into it.
    fn exceeded(&self, growths: &[Growth<'_>]) -> Option<Excess> {
        let class = self.counts()?;
        let more = |growth: &Growth<'_>| growth.to.whole() - growth.from.whole();
        let counted = growths.iter().filter(|growth| class.is_none() || growth.class == class);
        let grows: Vec<i128> = counted.map(more).filter(|more| *more > 0).collect();
        let (need, left) = (grows.iter().sum::<i128>(), self.hard.whole() - self.used.whole());
        (need > 0 && need > left).then(|| Excess {
            quota: self.name.clone(),
            class: class.map(str::to_owned),
            claims: grows.len(),
            need: bytes(need),
            left: bytes(left),
            hard: self.hard,
        })
    }
}

/// What does not fit, by the first quota in the order of their names; nothing if all fits.
#[must_use]
pub fn exceeded(quotas: &[Quota], growths: &[Growth<'_>]) -> Option<Excess> {
    let excesses = quotas.iter().filter_map(|quota| quota.exceeded(growths));
    excesses.min_by(|a, b| (&a.quota, &a.class).cmp(&(&b.quota, &b.class)))
}

/// Nothing where more is used than may be.
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

/// What is known of the ResourceQuotas of the namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Quotas {
    /// They cannot be read: they are in nobody's way before the API server says so.
    #[default]
    Unchecked,
    /// They are to be read before the first write.
    Unread,
    /// These, by resource.
    Known(Vec<Quota>),
}

#[cfg(test)]
#[path = "quota_tests.rs"]
mod tests;
