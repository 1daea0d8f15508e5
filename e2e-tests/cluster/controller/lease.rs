//! Two controllers and one Lease.

use anyhow::{Context as _, ensure};

use crate::world::installation::{Controller, NAMESPACE};
use crate::world::namespace::TestNamespace;
use crate::world::web::Web;
use crate::world::{World, until};

const LEASE: &str = "claim-rollout-controller";

pub(crate) fn leads(controller: &Controller) -> anyhow::Result<bool> {
    let (code, metrics) = controller.get("/metrics")?;
    ensure!(code == 200, "{code}: {metrics}");
    Ok(metrics.lines().any(|line| line == "claim_rollout_leader 1"))
}

/// Waits until this controller leads.
pub(crate) async fn until_it_leads(controller: &Controller) -> anyhow::Result<()> {
    let leading = until("a controller to lead", async || leads(controller), |leads| *leads).await;
    leading.with_context(|| controller.log()).map(drop)
}

pub(crate) async fn grow(ns: &TestNamespace<'_>, size: &str) -> anyhow::Result<()> {
    ns.target(&Web::replicas(1).size(size)).await?;
    ns.until_complete(1, size).await
}

pub(super) async fn one_of_two_leads_and_the_other_takes_over(env: &World) -> anyhow::Result<()> {
    let ns = env.namespace("lease").await?;
    let elected = [
        "--namespace",
        "lease",
        "--leader-elect",
        "--system-namespace",
        NAMESPACE,
    ];
    let start = async || env.controllers.start(&elected).await;
    let mut first = start().await?;
    until_it_leads(&first).await?;
    // A waiting controller is ready too: it can take over.
    let second = start().await?;
    ensure!(!leads(&second)?, "two lead");
    ensure!(!second.log().contains("the first lists"), "{}", second.log());
    ns.target(&Web::replicas(1)).await?;
    ns.until_ready(1).await?;
    grow(&ns, "2Gi").await?;
    ensure!(!second.log().contains("apply PVC"), "{}", second.log());

    // A terminated controller releases the Lease.
    let status = first.terminate().await?;
    ensure!(status.success(), "{status}: {}", first.log());
    ensure!(first.log().contains("released the Lease"), "{}", first.log());
    until_it_leads(&second).await?;
    grow(&ns, "3Gi").await?;

    // A controller that loses the Lease keeps running and waits for its turn.
    let taken = r#"{"spec":{"holderIdentity":"somebody","leaseDurationSeconds":3}}"#;
    let patch = format!("patch lease {LEASE} --namespace {NAMESPACE} --type=merge --patch {taken}");
    env.cluster.typed(&patch).await?;
    let has_stepped_down = |log: &String| log.contains("lost leader election; stopping writes");
    until(
        "the controller to step down",
        async || Ok(second.log()),
        has_stepped_down,
    )
    .await?;
    ensure!(
        second.get("/readyz")?.0 == 200 && second.get("/healthz")?.0 == 200,
        "{}",
        second.log()
    );
    until_it_leads(&second).await?;
    grow(&ns, "4Gi").await
}
