//! `status`.

use std::path::Path;

use anyhow::ensure;

use super::{prepare, run};
use crate::world::installation::binary;
use crate::world::namespace::{PATIENCE, TestNamespace};
use crate::world::web::Web;
use crate::world::{Background, World};

/// `status web --watch` in the background, with a kubeconfig.
pub(super) fn watch(ns: &TestNamespace<'_>, kubeconfig: &Path) -> anyhow::Result<Background> {
    let name = format!("watch-{}", ns.namespace);
    let arguments = ["status", "web", "--watch", "--namespace", &ns.namespace];
    ns.cluster
        .begin(&name, &binary()?.to_string_lossy(), &arguments, kubeconfig)
}

pub(super) async fn status_shows_claims_and_waiting_pods_until_complete(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "watched").await?;
    // While the rollout is paused, the old Pods wait, so that the command sees them.
    ensure!(run(&ns, &["pause", "web"], "").await?.success, "paused");
    let new = Web::replicas(3).size("2Gi").image("2");
    ns.target(&new).await?;
    let watching = watch(&ns, &ns.cluster.kubeconfig())?;
    watching
        .until_printed("watched/web web-0: Pod waiting", PATIENCE)
        .await?;
    ensure!(run(&ns, &["resume", "web"], "").await?.success, "resumed");
    let (ended, log) = watching.until_ended(PATIENCE).await?;
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
