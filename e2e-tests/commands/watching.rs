//! `status`.

use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::{Environment, items, prepare, run};
use crate::cluster::{Process, eventually};
use crate::installation::binary;
use crate::scenarios::namespace::{PATIENCE, TestNamespace, manifest};

/// The time between two looks at what a command has printed.
const LOOK: Duration = Duration::from_millis(50);

/// `watch web` in the background, with a kubeconfig.
pub(super) struct Watching(Process);

impl Watching {
    pub(super) fn start(ns: &TestNamespace<'_>, kubeconfig: &Path) -> anyhow::Result<Self> {
        let kubeconfig = kubeconfig.to_string_lossy();
        let arguments = [
            "watch",
            "web",
            "--namespace",
            &ns.namespace,
            "--kubeconfig",
            &kubeconfig,
        ];
        let arguments = arguments.map(str::to_owned);
        let name = format!("watch-{}", ns.namespace);
        Process::start(&name, &binary()?, &arguments, ns.cluster.folder()).map(Self)
    }

    /// Waits until it has printed this text.
    pub(super) async fn until_printed(&self, text: &str) -> anyhow::Result<()> {
        let printed = eventually("a line of watch", PATIENCE, async || {
            tokio::time::sleep(LOOK).await;
            Ok(self.0.log().contains(text).then_some(()))
        });
        printed.await.with_context(|| format!("{text}\n{}", self.0.log()))
    }

    /// Waits for its end, and returns what it has printed.
    pub(super) async fn until_ended(mut self) -> anyhow::Result<(ExitStatus, String)> {
        let ended = eventually("watch to end", PATIENCE, async || {
            tokio::time::sleep(LOOK).await;
            Ok(self.0.status()?)
        });
        let ended = ended.await?;
        Ok((ended, self.0.log()))
    }
}

pub(super) async fn status_shows_claims_and_waiting_pods_until_complete(env: &Environment) -> anyhow::Result<()> {
    let ns = prepare(env, "watched").await?;
    // While the rollout is paused, the old Pods wait, so that `watch` sees them.
    ensure!(run(&ns, &["pause", "web"], "").await?.success, "paused");
    let new = manifest(3, "2Gi").replace("example/main:1", "example/main:2");
    ns.done(&["apply", "-f", "-"], &new).await?;
    let watching = Watching::start(&ns, &ns.cluster.kubeconfig())?;
    watching.until_printed("watched/web web-0: Pod waiting").await?;
    ensure!(run(&ns, &["resume", "web"], "").await?.success, "resumed");
    let (ended, log) = watching.until_ended().await?;
    let lines: Vec<&str> = log.lines().collect();
    let of_the_set = lines.iter().all(|line| line.starts_with("watched/web"));
    ensure!(ended.code() == Some(0) && of_the_set, "{ended}\n{log}");
    // The highest ordinal first. Changes of PVCs are collected for a moment, changes of Pods are not, so the audit log
    // decides which came first.
    let of_claims = [2, 1, 0].map(|ordinal| format!("watched/web data-web-{ordinal}: 2Gi -> 2Gi Done"));
    let of_pods =
        ["web-2: Pod waiting", "web-2: Pod updated", "web-1: Pod updated"].map(|line| format!("watched/web {line}"));
    for expected in [of_claims, of_pods] {
        let found: Vec<Option<usize>> = expected
            .iter()
            .map(|line| lines.iter().position(|found| found == line))
            .collect();
        ensure!(
            found.iter().all(Option::is_some) && found.is_sorted(),
            "expected {expected:#?} in this order, but found\n{log}"
        );
    }
    let last = lines.last().copied().unwrap_or_default();
    ensure!(last.ends_with(" 3/3 replicas, Complete"), "{log}");
    Ok(())
}

pub(super) async fn status_shows_several_sets_and_fails_for_a_missing_one(env: &Environment) -> anyhow::Result<()> {
    let ns = prepare(env, "several").await?;
    ns.apply(3, "2Gi").await?;
    ns.until_complete(3, "2Gi").await?;
    let other = manifest(1, "1Gi").replace("web", "other");
    ns.done(&["apply", "-f", "-"], &other).await?;
    let names = run(&ns, &["status", "web", "other", "-o", "name"], "").await?;
    ensure!(
        names.stdout == "statefulset.apps/other\nclaimrollout.claim-rollout.io/web\n",
        "{names:?}"
    );
    let all = run(&ns, &["status", "-o", "name"], "").await?;
    ensure!(
        all.stdout == "claimrollout.claim-rollout.io/web\n",
        "only what is rolled out: {all:?}"
    );
    let document = items(&run(&ns, &["status", "web", "-o", "json"], "").await?)?;
    ensure!(
        document[0]["complete"] == true && document[0]["claims"][0]["name"] == "data-web-2",
        "{document:#?}"
    );
    let missing = run(&ns, &["status", "web", "nobody"], "").await?;
    let expected = "error: StatefulSet \"nobody\" not found\n";
    ensure!(
        (missing.code, missing.stderr.as_str()) == (Some(1), expected),
        "{missing:?}"
    );
    Ok(())
}
