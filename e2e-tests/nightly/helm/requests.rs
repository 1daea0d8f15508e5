//! Helm 4: releases whose templates grow, repeat, wait and go back. Server-side, and client-side as Helm 3 does.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::again::Unmoved;
use crate::world::helm::{CLIENT_SIDE, Release, VERSION, warns};
use crate::world::namespace::{PATIENCE, STAGED, TestNamespace, are_as_written, staged_change, text};
use crate::world::served::Policies;
use crate::world::{World, eventually};

const PHASE: &str = "claim-rollout.io/phase";

/// The annotations of claim-rollout.
fn ours(set: &Value) -> Value {
    let annotations = set["metadata"]["annotations"].as_object().into_iter().flatten();
    let ours = annotations.filter(|(key, _)| key.starts_with("claim-rollout.io/"));
    ours.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn moved(before: &Value, after: &Value, key: &str) -> bool {
    before["metadata"][key] != after["metadata"][key]
}

/// Whether the staged change and its phase are removed.
fn is_withdrawn(set: &Value) -> bool {
    [STAGED, PHASE, "claim-rollout.io/ready"]
        .iter()
        .all(|key| set["metadata"]["annotations"][key].is_null())
}

/// The template grows. The same upgrade two more times changes nothing.
async fn grows(release: &Release<'_>) -> anyhow::Result<()> {
    let before = release.install().await?;
    let output = release.upgrade(VERSION, "size=2Gi").await?;
    ensure!(
        warns(&output, "staged data 1Gi -> 2Gi; 2 PVCs will be updated in place"),
        "{output:?}"
    );
    let grown = release.ns.set().await?;
    ensure!(grown["spec"] == before["spec"], "{grown:#}");
    ensure!(!moved(&before, &grown, "generation"), "the generation moved");
    let staged = staged_change(&grown)?;
    ensure!(staged["by"] == "admin" && staged["manager"] == "helm", "{staged:#}");
    repeats(release, "size=2Gi").await
}

/// Repeats the upgrade, which changes nothing.
async fn repeats(release: &Release<'_>, values: &str) -> anyhow::Result<()> {
    let mut unmoved = Unmoved::from(release.ns.set().await?)?;
    for _ in 0..3 {
        let output = release.upgrade(VERSION, values).await?;
        ensure!(!warns(&output, ""), "{output:?}");
        unmoved.still(release.ns.set().await?)?;
    }
    Ok(())
}

/// A new image during a rollout: no Pod is replaced before its PVC is ready.
async fn waits(release: &Release<'_>) -> anyhow::Result<()> {
    let (ns, before) = (release.ns, release.ns.set().await?);
    let pods = ns.pods().await?;
    let output = release.upgrade(VERSION, "size=2Gi,image=example/main:2").await?;
    ensure!(!warns(&output, ""), "{output:?}");
    let why = ns.until_denied("web-1").await?;
    ensure!(why.contains("Pod web-1 is replaced when it is ready"), "{why}");
    let set = ns.set().await?;
    ensure!(
        ours(&set) == ours(&before) && ours(&set)[PHASE] == "RollingOut",
        "{set:#}"
    );
    ensure!(
        set["spec"]["updateStrategy"] == before["spec"]["updateStrategy"],
        "{set:#}"
    );
    ensure!(
        set["status"]["updateRevision"] != before["status"]["updateRevision"],
        "{set:#}"
    );
    repeats(release, "size=2Gi,image=example/main:2").await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    Ok(())
}

/// Every Pod has the image of before the rollout, and those that were not next are the same.
///
/// The StatefulSet controller may delete the next Pod once more for the image that was taken back: it acts on what its
/// watch has shown (kubernetes/pkg/controller/statefulset: the set comes from the informer's cache), and the policy has
/// no reason any more to keep that Pod.
async fn runs_as_before(ns: &TestNamespace<'_>, before: &[Value]) -> anyhow::Result<()> {
    eventually("two Pods with the image of before", PATIENCE, async || {
        let pods = ns.all("", "v1", "Pod").await?;
        let mut images = pods.iter().map(|pod| &pod["spec"]["containers"][0]["image"]);
        Ok((pods.len() == 2 && images.all(|image| image == "example/main:1")).then_some(()))
    })
    .await?;
    ensure!(ns.pods().await?[0] == before[0], "web-0 restarted");
    Ok(())
}

pub(super) async fn helm_upgrade_is_staged_pods_wait_and_rollback_withdraws(env: &World) -> anyhow::Result<()> {
    let (ns, scene_of_chart) = (&env.namespace("helm").await?, &env.namespace("helm-chart").await?);
    let _served = Policies::of_sets(&[ns, scene_of_chart])?
        .and_pods()?
        .serve(&env.cluster)
        .await?;
    let way = &["--server-side=auto"];
    let release = Release::new(ns, way);
    grows(&release).await?;
    waits(&release).await?;
    let (pods, claims) = (ns.pods().await?, ns.claims().await?);
    let output = release.helm(&["rollback", "web", "1"]).await?;
    ensure!(warns(&output, "withdrew data 1Gi -> 2Gi"), "{output:?}");
    let installed = ns.settled().await?;
    ensure!(is_withdrawn(&installed), "{installed:#}");
    ensure!(are_as_written(&ns.claims().await?, &claims), "a claim was written");
    runs_as_before(ns, &pods).await?;

    let release = Release::new(scene_of_chart, way);
    let before = release.install().await?;
    let output = release.upgrade("1.0.1", "size=1Gi").await?;
    ensure!(
        warns(
            &output,
            "staged data label helm.sh/chart web-1.0.0 -> web-1.0.1; 2 PVCs"
        ),
        "{output:?}"
    );
    let after = scene_of_chart.set().await?;
    ensure!(
        !staged_change(&after)?.is_null() && after["spec"] == before["spec"],
        "{after:#}"
    );
    Ok(())
}

pub(super) async fn helm_3_repeats_growth_and_rolls_back_only_with_other_changes(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace("helm-client-side").await?;
    let _served = Policies::of_sets(&[ns])?.and_pods()?.serve(&env.cluster).await?;
    let release = Release::new(ns, CLIENT_SIDE);
    grows(&release).await?;
    waits(&release).await?;
    let before = ns.set().await?;
    // The patch of the rollback has only what differs from the live StatefulSet. The live template is the old one, so
    // the patch shows no withdrawal, only the image.
    let output = release.helm(&["rollback", "web", "1"]).await?;
    ensure!(!warns(&output, "withdrew"), "{output:?}");
    let back = ns.set().await?;
    ensure!(
        back["metadata"]["annotations"] == before["metadata"]["annotations"],
        "{back:#}"
    );
    let revision = text(&staged_change(&back)?["revision"]);
    let annotation = format!("claim-rollout.io/withdraw={revision}");
    let output = ns.done(&["annotate", "statefulset", "web", &annotation], "").await?;
    ensure!(warns(&output, "withdrew data 1Gi -> 2Gi"), "{output:?}");
    let after = ns.settled().await?;
    ensure!(is_withdrawn(&after), "{after:#}");
    Ok(())
}

pub(super) async fn chart_version_in_template_is_ignored_if_so_set(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace("helm-ignore").await?;
    let policies = Policies::of_sets(&[ns])?.with("metadataOnlyChanges", &json!("Ignore"));
    let _served = policies.serve(&env.cluster).await?;
    let release = Release::new(ns, &["--server-side=auto"]);
    let before = release.install().await?;
    let output = release.upgrade("1.0.1", "size=1Gi").await?;
    let ignored = "ignored changed labels and annotations of data (setting metadataOnlyChanges: Ignore)";
    ensure!(warns(&output, ignored), "{output:?}");
    let after = ns.set().await?;
    ensure!(
        staged_change(&after)?.is_null() && after["spec"] == before["spec"],
        "{after:#}"
    );
    ensure!(!moved(&before, &after, "generation"), "the generation moved");
    ensure!(after["metadata"]["labels"]["helm.sh/chart"] == "web-1.0.1", "{after:#}");

    let output = release.upgrade("1.0.2", "size=2Gi").await?;
    ensure!(
        warns(&output, ignored) && warns(&output, "staged data 1Gi -> 2Gi; 2 PVCs"),
        "{output:?}"
    );
    let target = staged_change(&ns.set().await?)?["templates"][0].clone();
    ensure!(
        target["metadata"]["labels"]["helm.sh/chart"] == "web-1.0.0",
        "{target:#}"
    );
    Ok(())
}
