//! What every StatefulSet must have in common with one that saw no upgrade.

use anyhow::{Context as _, ensure};

use super::Outage;
use super::sets::{Fleet, Member, Pods};
use crate::cluster::replacing::trial::uids;
use crate::world::installation::USER;
use crate::world::{Entry, kinds};

impl Fleet<'_> {
    /// Each Pod was replaced as often as its target asks for, each PVC was written once, and all of them are the same.
    pub(super) async fn is_as_without_an_upgrade(&self, outage: &Outage) -> anyhow::Result<()> {
        let all = self.env.cluster.audit().await?;
        for member in &self.members {
            let checked = member.is_as_without_an_upgrade(&all, outage).await;
            checked.context(member.case.namespace)?;
        }
        self.nothing_was_deleted().await
    }

    /// No PVC was deleted, by whomever.
    pub(super) async fn nothing_was_deleted(&self) -> anyhow::Result<()> {
        let all = self.env.cluster.audit().await?;
        let is_claim = |entry: &&Entry| entry.resource == "persistentvolumeclaims" && entry.succeeded();
        let deleted: Vec<_> = all
            .iter()
            .filter(is_claim)
            .filter(|entry| entry.verb.starts_with("delete"))
            .collect();
        ensure!(deleted.is_empty(), "PVCs were deleted: {deleted:?}");
        Ok(())
    }
}

impl Member<'_> {
    async fn is_as_without_an_upgrade(&self, all: &[Entry], outage: &Outage) -> anyhow::Result<()> {
        let mut written = self.ns.writes().await?.split_off(self.mark);
        written.retain(Entry::succeeded);
        let claims = self.ns.claims().await?;
        ensure!(uids(&claims) == uids(&self.claims), "PVCs are others");
        self.pods_are_as_expected(&written).await?;
        let ours: Vec<Entry> = written.iter().filter(|entry| entry.user == USER).cloned().collect();
        let replaced = self.is_replaced();
        println!(
            "          {}: {}",
            self.case.namespace,
            kinds(&ours, |entry| entry.kind())
        );
        if !self.grows() {
            let ours: Vec<_> = ours.iter().filter(|entry| entry.resource != "events").collect();
            ensure!(ours.is_empty(), "{ours:?}");
            return Ok(());
        }
        let grown: Vec<&str> = names(&ours, "patch", "persistentvolumeclaims");
        ensure!(grown == self.case.claims(), "PVCs were written: {grown:?}");
        for verb in ["delete", "create"] {
            // A deletion is tried before, by a body with `dryRun`.
            let tried = |entry: &&Entry| verb == "delete" && entry.request.value()["dryRun"].is_array();
            let done: Vec<Entry> = ours.iter().filter(|entry| !tried(entry)).cloned().collect();
            let sets = names(&done, verb, "statefulsets");
            ensure!(sets.len() == usize::from(replaced), "{verb}: {sets:?}");
        }
        if !replaced {
            let expected = self.case.claims();
            let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
            let written = self.ns.writes_since(self.mark).await?;
            let nudges = if self.case.pods == Pods::Change {
                expected.len()
            } else {
                0
            };
            written.is_a_rollout(&expected, nudges)?;
            if self.waits_for_claims() {
                let let_go = let_go(all, self.case.namespace, outage)?;
                println!("          let go while the API server stopped: {let_go:?}");
                let waited: Vec<u32> = (0..self.case.replicas)
                    .rev()
                    .filter(|it| !let_go.contains(it))
                    .collect();
                written.pods_follow_their_claims("web", &["data"], &waited)?;
            }
        }
        Ok(())
    }

    /// A Pod is deleted at most once, and only if its image changes.
    async fn pods_are_as_expected(&self, written: &[Entry]) -> anyhow::Result<()> {
        let now = self.ns.pods().await?;
        let mut deleted = names(written, "delete", "pods");
        deleted.sort_unstable();
        let kept = now.iter().zip(&self.pods).filter(|(now, before)| now == before).count();
        let all = self.pods.len();
        match self.case.pods {
            Pods::Stay => ensure!(
                kept == all && now.len() == all && deleted.is_empty(),
                "deleted: {deleted:?}"
            ),
            Pods::Change => {
                let expected: Vec<String> = (0..all).map(|ordinal| format!("web-{ordinal}")).collect();
                // kwok, which stands for the kubelet, deletes the Pod for good.
                deleted.dedup();
                ensure!(
                    deleted == expected && kept == 0 && now.len() == all,
                    "deleted: {deleted:?}"
                );
                let created = names(written, "create", "pods");
                ensure!(created.len() == all, "created: {created:?}");
            }
        }
        Ok(())
    }
}

/// The Pods that were replaced before their PVCs were ready: an API server that stops still answers what it got, and
/// then answers the policy no more, which lets a Pod go that it cannot judge.
fn let_go(all: &[Entry], namespace: &str, outage: &Outage) -> anyhow::Result<Vec<u32>> {
    let of = |entry: &&Entry| {
        entry.namespace == namespace && entry.succeeded() && entry.resource == "pods" && entry.verb == "delete"
    };
    let deleted = all[outage.0.clone()].iter().filter(of);
    let ordinals = deleted.map(|entry| Ok(entry.name.trim_start_matches("web-").parse()?));
    ordinals.collect()
}

/// The names of the objects of these writes.
fn names<'a>(written: &'a [Entry], verb: &str, resource: &str) -> Vec<&'a str> {
    let of = |entry: &&Entry| entry.verb == verb && entry.resource == resource && entry.subresource.is_empty();
    written.iter().filter(of).map(|entry| entry.name.as_str()).collect()
}
