//! The commands of `claim-rollout` against a real cluster: their output is compared with what happens. All scenarios
//! run side by side in one cluster; `SCENARIO=plans cargo test --test e2e commands` runs those with `plans` in their
//! names.

mod documented;
mod files;
mod going_back;
mod plans;
mod shown;
mod watching;

use serde_json::Value;

use crate::cluster::{Options, Output};
use crate::installation::binary;
use crate::play::{Report, scenarios};
use crate::scenarios::scene::{Scene, manifest};
use crate::stage::Stage;

scenarios![Stage;
    documented::the_document_shows_what_the_commands_print,
    plans::what_is_planned_is_what_happens,
    plans::with_a_new_image_each_pod_is_replaced_after_its_claim_as_planned,
    plans::a_quota_that_is_too_small_is_named_in_the_words_that_the_controller_uses_then,
    plans::a_limit_range_is_named_in_the_words_that_the_api_server_uses_then,
    plans::who_may_not_change_claims_reads_so_before_trying,
    files::a_plan_from_files_is_the_plan_from_the_cluster,
    files::what_cannot_be_planned_exits_with_2,
    going_back::a_withdrawal_in_the_middle_names_what_stays,
    going_back::history_shows_each_wish_and_undo_goes_back_to_it,
    watching::status_shows_claims_and_the_pods_that_wait_for_them_until_all_is_done,
    watching::several_sets_are_shown_and_one_that_is_not_there_is_an_error,
    shown::the_document_shows_what_drift_and_watch_print,
    shown::document_shows_what_review_prints,
    going_back::a_smaller_wish_is_refused_and_explained,
];

/// Creates a namespace with a controller and a StatefulSet of three replicas of 1Gi, all Ready.
async fn scene<'a>(stage: &'a Stage, namespace: &str) -> anyhow::Result<Scene<'a>> {
    let scene = stage.scene(namespace).await?;
    scene.done(&["apply", "-f", "-"], &manifest(3, "1Gi")).await?;
    scene.until_ready(3).await?;
    Ok(scene)
}

/// `claim-rollout` in this namespace, as the administrator.
pub(crate) async fn run(scene: &Scene<'_>, arguments: &[&str], input: &str) -> anyhow::Result<Output> {
    let arguments = [arguments, &["--namespace", &scene.namespace]].concat();
    scene
        .cluster
        .run(&binary()?.to_string_lossy(), &arguments, &[], input)
        .await
}

/// The items of a document that a command printed as JSON.
fn items(output: &Output) -> anyhow::Result<Vec<Value>> {
    let mut document: Value = serde_json::from_str(&output.stdout)?;
    Ok(serde_json::from_value(document["items"].take())?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_commands_tell_the_truth() -> anyhow::Result<()> {
    let mut report = Report::new();
    let stage = Stage::build(Options::expanding_in(300)).await?;
    report.say("the cluster is up");
    report.play(&stage, SCENARIOS).await;
    report.end()?;
    stage.strike().await
}
