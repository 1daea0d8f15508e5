//! What a user sees of claim-rollout on a real cluster, one file per subject. All stand side by side in one cluster, each
//! in a namespace of its own with a controller of its own; `SCENARIO=grow cargo test --test e2e scenarios` runs those
//! with `grow` in their names.

mod bad_input;
mod beside;
mod deleted;
mod gate;
mod grow;
mod killed;
mod lockstep;
mod policy_down;
mod refused;
mod repeated;
mod rights;
pub(crate) mod scene;

use claim_rollout::webhook::Running;
use serde_json::json;

use crate::cluster::{Cluster, Driver, Options};
use crate::installation::Installation;
use crate::play::{Report, scenarios};
use gate::Gates;
use scene::Stage;

scenarios![Stage;
    grow::three_claims_grow_highest_ordinal_first_and_no_pod_restarts,
    grow::a_second_wish_in_the_middle_of_the_first_is_the_one_that_is_reached,
    refused::what_cannot_change_is_refused_with_its_path,
    repeated::the_same_manifest_again_writes_nothing,
    beside::scale_and_label_during_a_rollout_keep_the_record_and_a_new_replica_follows,
    lockstep::image_and_size_in_one_apply_go_claim_before_pod_replica_by_replica,
    killed::a_controller_killed_after_any_write_is_followed_by_one_that_ends_the_rollout,
    deleted::a_claim_that_is_deleted_between_read_and_write_is_never_made_by_us,
    deleted::an_apply_with_the_uid_of_another_claim_is_refused_by_the_api_server,
    rights::who_may_not_change_claims_may_not_change_templates,
    bad_input::whatever_is_posted_is_answered_and_the_next_request_is_served,
];

/// Long enough that something can happen during a rollout.
const EXPANSION_MILLIS: u64 = 400;

/// A cluster with everything that the scenarios share.
async fn build() -> anyhow::Result<(Stage, Running)> {
    let driver = Driver {
        expand_delay_millis: EXPANSION_MILLIS,
        ..Driver::default()
    };
    let options = Options {
        driver,
        ..Options::default()
    };
    let cluster = Cluster::start(options).await?;
    let installation = Installation::new(&cluster, json!({})).await?;
    let client = cluster.client().await?;
    let gates = Gates::default();
    let served = gates.install(&cluster).await?;
    let stage = Stage {
        cluster,
        installation,
        client,
        gates,
    };
    Ok((stage, served))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_users_do_to_sets_goes_as_they_are_told() -> anyhow::Result<()> {
    let mut report = Report::new();
    let (stage, served) = build().await?;
    report.say("the cluster is up");
    report.play(&stage, SCENARIOS).await;
    // Alone and last: it takes the policy away from all of them.
    let Stage {
        cluster,
        installation,
        client,
        ..
    } = stage;
    let name = "policy_down::without_the_policy_unrelated_updates_pass_and_template_changes_are_refused";
    let play = policy_down::without_the_policy_unrelated_updates_pass(&cluster, installation, &client);
    report.play_one(name, play).await;
    served.stop().await?;
    report.end()?;
    cluster.stop();
    Ok(())
}
