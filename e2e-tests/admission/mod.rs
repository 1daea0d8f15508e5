//! What the API server makes of requests of users and controllers, with the policy behind its webhooks. One file per
//! behaviour.
//! All scenarios run side by side in one cluster. Each has its own namespaces and its own policy-server, so that a
//! scenario can count the requests. `SCENARIO=verbs cargo test --test e2e admission` runs those with `verbs` in their
//! names.

mod gate;
mod going_back;
mod helm;
mod helm_denied;
mod invisible;
mod new_claims;
mod obstacles;
mod other_verbs;
mod retention;
mod rights;
mod served;
mod shapes;
mod unrelated;
mod verbs;

use crate::cluster::{Cluster, Options};
use crate::installation::Controllers;
use crate::play::{Report, scenarios};
use crate::policy_host::{Module, Runtime};
use crate::scenarios::scene::Scene;

/// What the scenarios share.
pub(crate) struct Stage {
    cluster: Cluster,
    client: kube::Client,
    module: Module,
    controllers: Controllers,
}

impl Stage {
    async fn new() -> anyhow::Result<Self> {
        let cluster = Cluster::start(Options::default()).await?;
        let client = cluster.client().await?;
        let module = Runtime::patient()?.load_policy()?;
        let controllers = Controllers::install(&cluster).await?;
        Ok(Self {
            cluster,
            client,
            module,
            controllers,
        })
    }

    /// Creates a namespace.
    async fn scene(&self, namespace: &str) -> anyhow::Result<Scene<'_>> {
        Scene::new(&self.cluster, &self.client, namespace).await
    }

    /// Creates namespaces.
    async fn scenes(&self, namespaces: &[&str]) -> anyhow::Result<Vec<Scene<'_>>> {
        futures::future::try_join_all(namespaces.iter().map(|namespace| self.scene(namespace))).await
    }
}

scenarios![Stage;
    new_claims::after_a_staged_growth_a_new_replica_gets_its_claim_as_wished_at_once,
    new_claims::without_the_policy_for_claims_a_claim_is_born_small_and_brought_to_the_wish,
    new_claims::a_claim_that_two_sets_could_have_is_left_as_it_is_born,
    gate::an_image_and_a_size_in_one_apply_keep_every_pod_until_the_user_lets_them_go,
    gate::where_pods_need_not_wait_they_go_at_once,
    retention::whoever_scales_down_or_deletes_reads_which_claims_go_and_they_do,
    retention::an_orphaned_set_leaves_its_claims_and_nobody_is_warned,
    retention::a_policy_that_changes_during_a_scale_down_concerns_the_replicas_that_are_going,
    retention::where_they_are_to_be_kept_the_request_is_refused,
    going_back::an_apply_that_goes_back_withdraws_whatever_else_it_changes_and_an_update_by_its_manager_does_not,
    helm::an_upgrade_is_staged_and_its_pods_wait_and_a_rollback_takes_it_back,
    helm::helm_3_sends_a_growth_again_and_again_and_a_rollback_only_where_something_else_differs,
    helm::the_version_of_a_chart_in_a_template_is_ignored_where_that_is_set,
    helm_denied::an_upgrade_that_is_denied_keeps_the_set_however_it_is_forced,
    invisible::nothing_differs_from_a_cluster_without_the_policy_while_no_template_changes,
    obstacles::a_claim_that_would_not_follow_is_named_in_a_warning_or_the_wish_is_refused,
    obstacles::a_claim_that_somebody_else_controls_is_named,
    obstacles::a_quota_is_no_matter_of_admission_and_the_rollout_goes_on_when_it_is_raised,
    other_verbs::scale_restart_and_delete_go_through_in_silence_and_leave_what_is_staged,
    rights::who_may_not_change_claims_may_not_switch_to_in_place_either_but_may_withdraw,
    unrelated::only_template_changes_and_staged_sets_miss_the_policy_when_it_is_away,
    verbs::every_verb_stages_a_growth_keeps_it_beside_other_edits_and_tells_the_truth_in_a_dry_run,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_api_server_and_the_policy_do_what_users_mean() -> anyhow::Result<()> {
    let mut report = Report::new();
    let stage = Stage::new().await?;
    report.say("the cluster is up");
    report.play(&stage, SCENARIOS).await;
    report.end()?;
    stage.cluster.stop();
    Ok(())
}
