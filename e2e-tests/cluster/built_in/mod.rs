//! `claim-rollout webhook` as `deploy/webhook` installs it: the same policy without Kubewarden, called by the API
//! server.

mod certificates;
mod manifests;
mod requests;

use crate::cluster::rights::granted_rights_are_the_used_rights;
use crate::world::runner::{Report, scenarios};
use crate::world::webhook::ACCOUNT;
use crate::world::{Options, World};

scenarios![World;
    requests::grown_set_grows_its_claims_with_a_warning,
    requests::disallowed_change_is_denied_with_a_reason,
    requests::user_without_claim_rights_is_denied,
    requests::new_claim_gets_the_staged_size,
    requests::pod_is_replaced_when_its_claim_is_ready,
    requests::pod_with_deep_managed_fields_leaves_the_gate,
    requests::scale_down_names_the_deleted_claims,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_kubewarden_api_server_calls_the_webhook() -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = World::with(Options::default()).webhook().build().await?;
    report.print("the cluster is up");
    report.run(&env, SCENARIOS).await;
    report
        .run_one(
            "certificates::second_replica_shares_and_renews_the_certificate",
            certificates::second_replica_shares_and_renews_the_certificate(&env),
        )
        .await;
    report
        .run_one(
            "rights::rights_of_deploy_are_the_used_ones",
            granted_rights_are_the_used_rights(&env.cluster, &["webhook/rbac.yaml"], ACCOUNT, &[]),
        )
        .await;
    report.end()?;
    env.stop().await
}
