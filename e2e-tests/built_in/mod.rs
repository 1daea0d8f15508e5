//! `claim-rollout webhook` as `deploy/webhook` installs it: the same policy without Kubewarden, called by the API
//! server.

mod certificates;
mod manifests;
mod requests;
mod server;

use crate::cluster::{Cluster, Options};
use crate::installation::{Controllers, manifest_applied};
use crate::play::{Report, scenarios};
use crate::rights::what_is_given_is_what_is_used;
use crate::scenarios::scene::Scene;
use server::ACCOUNT;
pub(crate) use server::Server;

/// What the scenarios share.
struct Stage {
    cluster: Cluster,
    controllers: Controllers,
    client: kube::Client,
    server: Server,
}

scenarios![Stage;
    requests::a_set_grows_its_claims_and_its_user_reads_so,
    requests::what_is_not_allowed_is_refused_and_says_why,
    requests::who_may_not_change_claims_is_refused,
    requests::a_new_claim_gets_what_is_staged,
    requests::a_pod_is_replaced_when_its_claim_is_ready,
    requests::who_scales_down_reads_which_claims_go,
];

impl Stage {
    async fn build() -> anyhow::Result<Self> {
        let cluster = Cluster::start(Options::default()).await?;
        let controllers = Controllers::install(&cluster).await?;
        manifest_applied(&cluster, "webhook/rbac.yaml").await?;
        Ok(Self {
            server: Server::start(&cluster).await?,
            client: cluster.client().await?,
            controllers,
            cluster,
        })
    }

    /// Creates a namespace with a controller.
    async fn scene(&self, namespace: &str) -> anyhow::Result<Scene<'_>> {
        let mut scene = Scene::new(&self.cluster, &self.client, namespace).await?;
        scene.controller = Some(self.controllers.start(&["--namespace", namespace]).await?);
        Ok(scene)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_kubewarden_the_api_server_asks_the_webhook() -> anyhow::Result<()> {
    let mut report = Report::new();
    let stage = Stage::build().await?;
    report.say("the cluster is up");
    report.play(&stage, SCENARIOS).await;
    report
        .play_one(
            "certificates::another_replica_shares_the_certificate_and_renews_it",
            certificates::another_replica_shares_the_certificate_and_renews_it(&stage),
        )
        .await;
    report
        .play_one(
            "rights::what_deploy_gives_is_what_is_used",
            what_is_given_is_what_is_used(&stage.cluster, "webhook/rbac.yaml", ACCOUNT, &[]),
        )
        .await;
    report.end()?;
    stage.cluster.stop();
    Ok(())
}
