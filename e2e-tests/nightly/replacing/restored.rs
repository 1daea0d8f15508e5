//! A backup of the controller's namespace brings the Secret of a journal back: nothing is created or scaled from it.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::cluster::commands::run;
use crate::cluster::replacing::denying::Denial;
use crate::cluster::replacing::kept::{Before, until_reported};
use crate::cluster::replacing::trial::{
    hold, journal_secrets, prepare, release, replaced, start_controller, until_replaced,
};
use crate::world::namespace::{PATIENCE, TestNamespace};
use crate::world::{World, eventually};

/// The Secret of the journal of this namespace, as a backup has it.
async fn backup(ns: &TestNamespace<'_>) -> anyhow::Result<Value> {
    let (mut secret, journal) = journal_secrets(ns).await?.pop().context("a journal")?;
    ensure!(journal["stage"] == "Releasing", "{journal:#}");
    let metadata = &secret["metadata"];
    secret["metadata"] = json!({
        "name": metadata["name"], "namespace": metadata["namespace"], "labels": metadata["labels"],
    });
    Ok(secret)
}

/// Starts another controller, and waits until it has refused the journal.
async fn until_refused(env: &World, ns: &mut TestNamespace<'_>, secret: &Value) -> anyhow::Result<()> {
    ns.controller = None;
    ns.controller = Some(start_controller(env, &ns.namespace).await?);
    let name = secret["metadata"]["name"].as_str().context("a name")?;
    let field = format!("--field-selector=involvedObject.name={name}");
    let refused = eventually("the journal to be refused", PATIENCE, async || {
        let get = ["get", "events", "--namespace=claim-rollout", &field, "-o=json"];
        let events = ns.cluster.kubectl(&get, "").await?.stdout;
        let is_logged = ns.log().contains("refused a journal") && ns.log().contains(name);
        Ok((events.contains("JournalRefused") && is_logged).then_some(()))
    });
    refused.await.with_context(|| ns.log())
}

pub(super) async fn journal_from_a_backup_creates_and_scales_nothing(env: &World) -> anyhow::Result<()> {
    let mut ns = prepare(env, "restored", 3).await?;
    hold(&ns).await?;
    ns.target(&replaced(3, "2Gi")).await?;
    ns.until_complete(3, "2Gi").await?;
    let denial = Denial::of_the_create(&ns).await?;
    let before = Before::with(&ns, release(&ns).await?).await?;
    until_reported(&ns, "Stalled", "StepDenied").await?;
    let secret = backup(&ns).await?;
    denial.end(&ns).await?;
    until_replaced(&ns, &before.set, "2Gi").await?;
    before.keeps_pods_and_claims(&ns).await?;

    // The user scales down, and months later somebody restores the namespace of the controller.
    ns.done(&["scale", "statefulset", "web", "--replicas=1"], "").await?;
    ns.settled().await?;
    let scaled = ns.set().await?;
    ns.cluster.done(&["create", "-f", "-"], &secret.to_string()).await?;
    until_refused(env, &mut ns, &secret).await?;
    let found = ns.set().await?;
    ensure!(found["spec"] == scaled["spec"], "{found:#}, before {scaled:#}");
    let output = run(&ns, &["replace", "web"], "").await?;
    ensure!(
        output.code == Some(1) && output.stderr.contains("JournalRefused"),
        "{output:?}"
    );
    let found = ns.set().await?;
    ensure!(found["spec"] == scaled["spec"], "{found:#}, before {scaled:#}");

    // The user deletes it.
    ns.done(&["delete", "statefulset", "web"], "").await?;
    until_refused(env, &mut ns, &secret).await?;
    let output = run(&ns, &["replace", "web"], "").await?;
    ensure!(
        output.code == Some(1) && output.stderr.contains("JournalRefused"),
        "{output:?}"
    );
    let get = ["get", "statefulset", "web", "--ignore-not-found", "-o=name"];
    let found = ns.done(&get, "").await?.stdout;
    ensure!(found.is_empty(), "it came back: {found}\n{}", ns.log());
    let name = secret["metadata"]["name"].as_str().context("a name")?;
    let delete = ["delete", "secret", name, "--namespace=claim-rollout"];
    ns.cluster.done(&delete, "").await.map(drop)
}
