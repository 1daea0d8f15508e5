//! `status`.

use anyhow::ensure;

use super::{Environment, items, prepare, run};
use crate::scenarios::namespace::manifest;

pub(super) async fn status_shows_claims_and_waiting_pods_until_complete(env: &Environment) -> anyhow::Result<()> {
    let ns = prepare(env, "watched").await?;
    let new = manifest(3, "2Gi").replace("example/main:1", "example/main:2");
    ns.done(&["apply", "-f", "-"], &new).await?;
    let output = run(&ns, &["watch", "web"], "").await?;
    ensure!(output.code == Some(0) && output.stderr.is_empty(), "{output:?}");
    let lines: Vec<&str> = output.stdout.lines().collect();
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
            "expected {expected:#?} in this order, but found\n{}",
            output.stdout
        );
    }
    let last = lines.last().copied().unwrap_or_default();
    ensure!(last.ends_with(" 3/3 replicas, Complete"), "{}", output.stdout);
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
