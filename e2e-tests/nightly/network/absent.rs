//! The controller while the API server is away.

use anyhow::{Context as _, ensure};
use serde_json::json;

use crate::cluster::controller::lease::{grow, leads, until_it_leads};
use crate::world::installation::NAMESPACE;
use crate::world::namespace::PATIENCE;
use crate::world::web::Web;
use crate::world::{Options, World, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn absent_api_server_is_waited_for() -> anyhow::Result<()> {
    let env = World::with(Options::default()).policy(json!({})).build().await?;
    let ns = env.namespace("away").await?;
    let elected = ["--namespace", "away", "--leader-elect", "--system-namespace", NAMESPACE];
    let mut controller = env.controllers.start(&elected).await?;
    until_it_leads(&controller).await?;
    ns.target(&Web::replicas(1)).await?;
    ns.until_ready(1).await?;

    env.cluster.halt("kube-apiserver");
    // The holder of the Lease is unknown by then, so the controller starts nothing.
    let stepped_down = eventually("the controller to step down", PATIENCE, async || {
        ensure!(controller.get("/readyz")?.0 == 200, "{}", controller.log());
        Ok((!leads(&controller)?).then_some(()))
    });
    stepped_down.await.with_context(|| controller.log())?;
    let (_, metrics) = controller.get("/metrics")?;
    let unanswered = "claim_rollout_request_failures_total{cause=\"unanswered\"} ";
    let failed = metrics.lines().find_map(|line| line.strip_prefix(unanswered));
    ensure!(failed.is_some_and(|count| count != "0"), "{metrics}");

    env.cluster.resume("kube-apiserver")?;
    env.cluster.wait_for_api_server().await?;
    until_it_leads(&controller).await?;
    grow(&ns, "2Gi").await?;
    ensure!(controller.get("/readyz")?.0 == 200, "{}", controller.log());
    let status = controller.terminate().await?;
    ensure!(status.success(), "{status}: {}", controller.log());
    env.stop().await
}
