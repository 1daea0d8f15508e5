//! All writes in a namespace, from the audit log: their number, and the order in which they were stored.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::fields::condition;
use crate::world::Entry;
use crate::world::installation::USER;

/// Every write in a namespace since its creation.
#[derive(Debug)]
pub(crate) struct Written {
    /// In the order of the answers.
    pub(crate) all: Vec<Entry>,
    /// The index of the first write that counts.
    begun: usize,
}

/// The number of our successful writes of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// The names of the PVCs, in this order.
    pub(crate) claims: Vec<String>,
    /// Writes of `ready`, which make the StatefulSet controller ask for a Pod again.
    pub(crate) nudges: usize,
    /// Writes of the staged change.
    pub(crate) changes: usize,
    /// Creations of the ClaimRollout, and writes of its `spec`.
    pub(crate) targets: usize,
    /// Writes of its status.
    pub(crate) statuses: usize,
}

impl Written {
    pub(crate) fn new(all: Vec<Entry>, begun: usize) -> Self {
        Self { all, begun }
    }

    /// Our successful writes since the mark.
    pub(crate) fn ours(&self) -> impl Iterator<Item = &Entry> {
        let since = self.all.get(self.begun..).unwrap_or_default();
        since.iter().filter(|entry| entry.user == USER && entry.succeeded())
    }

    /// Our writes to PVCs since the mark that the API server denied, except those that lost a race.
    pub(crate) fn refused(&self) -> Vec<String> {
        let since = self.all.get(self.begun..).unwrap_or_default();
        let refused = since.iter().filter(|entry| {
            entry.user == USER && entry.resource == "persistentvolumeclaims" && entry.code >= 400 && entry.code != 409
        });
        refused.map(|entry| entry.name.clone()).collect()
    }

    /// The Pods that we evicted.
    pub(crate) fn evictions(&self) -> Vec<String> {
        let evicted = self.ours().filter(|entry| entry.subresource == "eviction");
        evicted.map(|entry| entry.name.clone()).collect()
    }

    /// The number of writes of each kind, without those that stored nothing.
    pub(crate) fn count(&self) -> Count {
        let mut count = Count::default();
        let mut stored = BTreeSet::new();
        for entry in self.ours() {
            if entry.version > 0 && !stored.insert(entry.version) {
                continue;
            }
            match (entry.resource.as_str(), entry.subresource.as_str()) {
                ("persistentvolumeclaims", "") => count.claims.push(entry.name.clone()),
                ("claimrollouts", "") => count.targets += 1,
                ("claimrollouts", "status") => count.statuses += 1,
                ("statefulsets", "") => *of_set(&mut count, &entry.request.value()) += 1,
                _ => {}
            }
        }
        count
    }

    /// Checks that the writes are those of one rollout: these PVCs in this order, at most this many nudges (none if
    /// Kubernetes asks for the Pod first), one staged change, and status writes in proportion to the replicas, which
    /// are printed.
    pub(crate) fn is_a_rollout(&self, claims: &[&str], nudges: usize) -> anyhow::Result<()> {
        self.is_a_rollout_by(1, claims, nudges)
    }

    /// The same, by this number of controllers at once: each may write the target into the ClaimRollout.
    pub(crate) fn is_a_rollout_by(&self, controllers: usize, claims: &[&str], nudges: usize) -> anyhow::Result<()> {
        let count = self.count();
        let expected = Count {
            claims: claims.iter().map(|&name| name.to_owned()).collect(),
            nudges: count.nudges,
            changes: 1,
            targets: count.targets.clamp(1, controllers),
            statuses: count.statuses,
        };
        ensure!(count == expected, "expected {expected:?}, but found {count:?}");
        ensure!(
            count.nudges <= nudges,
            "expected at most {nudges} nudges, but found {count:?}"
        );
        let most = 4 + 4 * claims.len() + 2 * nudges;
        ensure!(
            count.statuses <= most,
            "expected at most {most} writes of the status, but found {count:?}"
        );
        ensure!(count.statuses > 0, "expected a status, but found {count:?}");
        let evicted = self.evictions();
        ensure!(evicted.is_empty(), "expected no eviction, but found {evicted:?}");
        let deleted: Vec<_> = self.ours().filter(|entry| deletes_data(entry)).collect();
        ensure!(deleted.is_empty(), "expected no deletion, but found {deleted:?}");
        let namespace = self.all.first().map_or("", |entry| &entry.namespace);
        println!("{namespace}: {count:?}");
        Ok(())
    }

    /// Every stored state of objects of this kind and name, in the order of storage.
    pub(crate) fn states(&self, resource: &str, name: &str) -> BTreeMap<u64, &Entry> {
        let about = |entry: &&Entry| entry.resource == resource && entry.name == name;
        let stored = self.all.iter().filter(about).filter(|entry| entry.succeeded());
        stored
            .filter(|entry| entry.version > 0)
            .map(|entry| (entry.version, entry))
            .collect()
    }

    /// The version of our last apply of the PVC.
    pub(crate) fn applied(&self, claim: &str) -> anyhow::Result<u64> {
        let ours = self.ours().filter(|entry| entry.name == claim);
        let applied = ours.filter(|entry| entry.resource == "persistentvolumeclaims");
        let last = applied.map(|entry| entry.version).max();
        last.with_context(|| format!("expected a write of {claim}, but found none"))
    }

    /// The version at which the PVC reached our last apply.
    pub(crate) fn ready(&self, claim: &str) -> anyhow::Result<u64> {
        let applied = self.applied(claim)?;
        let states = self.states("persistentvolumeclaims", claim);
        let ready = states.range(applied..).find(|(_, entry)| {
            let claim = entry.response.value();
            let (spec, status) = (&claim["spec"], &claim["status"]);
            status["capacity"]["storage"] == spec["resources"]["requests"]["storage"]
                && status["currentVolumeAttributesClassName"] == spec["volumeAttributesClassName"]
        });
        ready
            .map(|(version, _)| *version)
            .with_context(|| format!("expected {claim} to become ready, but it did not"))
    }

    /// The versions at which the Pod was deleted and at which its successor was Ready, the first time after `version`.
    pub(crate) fn replaced(&self, pod: &str, version: u64) -> anyhow::Result<(u64, u64)> {
        let states = self.states("pods", pod);
        let mut later = states.range(version..);
        let deleted = later.find(|(_, entry)| entry.verb == "delete");
        let (deleted, old) = deleted.with_context(|| format!("expected {pod} to be deleted, but it was not"))?;
        let ready = later.find(|(_, entry)| entry.uid != old.uid && is_ready(&entry.response.value()));
        let (ready, _) = ready.with_context(|| format!("expected another {pod} to run, but it did not"))?;
        Ok((*deleted, *ready))
    }

    /// Only PVCs change: each is ready before the next one is written.
    pub(crate) fn claims_follow_one_another(&self, claims: &[&str]) -> anyhow::Result<()> {
        let mut steps = Vec::new();
        for claim in claims {
            steps.push((format!("{claim} applied"), self.applied(claim)?));
            steps.push((format!("{claim} ready"), self.ready(claim)?));
        }
        in_order(&steps)
    }

    /// PVCs and Pods change: the PVCs of a replica are ready before its Pod is deleted, and the next Pod is Ready
    /// before the PVCs of the next replica are written.
    pub(crate) fn pods_follow_their_claims(
        &self,
        set: &str,
        templates: &[&str],
        ordinals: &[u32],
    ) -> anyhow::Result<()> {
        let mut steps = Vec::new();
        for ordinal in ordinals {
            let pod = format!("{set}-{ordinal}");
            let (mut applied, mut ready) = (Vec::new(), Vec::new());
            for template in templates {
                let claim = format!("{template}-{pod}");
                applied.push(self.applied(&claim)?);
                ready.push(self.ready(&claim)?);
            }
            let first = applied.into_iter().min().unwrap_or_default();
            let (deleted, runs) = self.replaced(&pod, first)?;
            steps.push((format!("claims of {pod} applied"), first));
            steps.push((
                format!("claims of {pod} ready"),
                ready.into_iter().max().unwrap_or_default(),
            ));
            steps.push((format!("{pod} deleted"), deleted));
            steps.push((format!("{pod} Ready"), runs));
        }
        in_order(&steps)
    }
}

/// True iff it deletes anything but a revision of the history.
fn deletes_data(entry: &Entry) -> bool {
    entry.verb == "delete" && entry.resource != "controllerrevisions"
}

/// Counts a write of ours to a StatefulSet by its kind.
fn of_set<'a>(count: &'a mut Count, body: &Value) -> &'a mut usize {
    let annotations = &body["metadata"]["annotations"];
    if annotations.get("claim-rollout.io/staged").is_some() {
        &mut count.changes
    } else {
        &mut count.nudges
    }
}

fn is_ready(pod: &Value) -> bool {
    condition(pod, "Ready") == "True"
}

/// Steps in order. A PVC that already is at the target is ready when it is applied; all other steps take time.
fn in_order(steps: &[(String, u64)]) -> anyhow::Result<()> {
    let wrong = steps
        .windows(2)
        .find(|pair| !(pair[0].1 < pair[1].1 || pair[0].1 == pair[1].1 && pair[1].0.ends_with(" ready")));
    ensure!(
        wrong.is_none(),
        "expected these in the order of their resourceVersions, but found {steps:#?}"
    );
    Ok(())
}
