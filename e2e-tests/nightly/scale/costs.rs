//! The processor time of each program, so that a slow rollout shows who is busy.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::world::installation::Controller;
use crate::world::{Cluster, Usage};

/// The use of memory and processors of each program until a moment.
pub(super) struct Costs(BTreeMap<String, Usage>);

/// The processor time of each program between two moments, and the memory at the second.
pub(super) struct Spent(BTreeMap<String, (Duration, u64)>);

impl Costs {
    /// The costs of the control plane, of the controller if one runs, and of this test.
    pub(super) fn now(cluster: &Cluster, controller: Option<&Controller>) -> anyhow::Result<Self> {
        let mut costs: BTreeMap<_, _> = cluster.usages()?.into_iter().collect();
        costs.insert("the test".to_owned(), Usage::of(std::process::id())?);
        if let Some(controller) = controller {
            costs.insert("claim-rollout".to_owned(), controller.usage()?);
        }
        Ok(Self(costs))
    }

    /// What was spent since then.
    pub(super) fn since(&self, before: &Self) -> Spent {
        let spent = self.0.iter().map(|(name, now)| {
            let then = before.0.get(name).map(|then| then.cpu).unwrap_or_default();
            (name.clone(), (now.cpu.saturating_sub(then), now.resident_kib / 1024))
        });
        Spent(spent.collect())
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total: Duration = self.0.values().map(|(cpu, _)| *cpu).sum();
        write!(f, "{:.1} s of processor time:", total.as_secs_f64())?;
        for (name, (cpu, mib)) in &self.0 {
            write!(f, " {name} {:.1} s {mib} MB,", cpu.as_secs_f64())?;
        }
        Ok(())
    }
}
