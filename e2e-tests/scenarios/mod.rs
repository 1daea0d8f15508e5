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
mod scene;

use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use anyhow::ensure;
use claim_rollout::webhook::Running;
use futures::FutureExt as _;
use futures::StreamExt as _;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use serde_json::json;

use crate::cluster::{Cluster, Driver, Options};
use crate::installation::Installation;
use gate::Gates;
use scene::Stage;

/// What can be told of a scenario: its name, and how it goes.
type Scenario = (
    &'static str,
    for<'a> fn(&'a Stage) -> LocalBoxFuture<'a, anyhow::Result<()>>,
);

/// The list of scenarios.
macro_rules! scenarios {
    ($($file:ident :: $name:ident),* $(,)?) => {
        const SCENARIOS: &[Scenario] = &[$((
            concat!(stringify!($file), "::", stringify!($name)),
            |stage| $file::$name(stage).boxed_local(),
        )),*];
    };
}

scenarios![
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

/// What came of the scenarios, as a text.
#[derive(Default)]
struct Report(String);

impl Report {
    /// Says what came of one at once, and remembers a failure.
    fn add(&mut self, begun: Instant, name: &str, result: std::thread::Result<anyhow::Result<()>>) -> std::fmt::Result {
        let seconds = begun.elapsed().as_secs_f64();
        match result {
            Ok(Ok(())) => println!("{seconds:6.1} s  ok      {name}"),
            Ok(Err(error)) => writeln!(self.0, "{seconds:6.1} s  FAILED  {name}: {error:#}\n")?,
            Err(_) => writeln!(self.0, "{seconds:6.1} s  FAILED  {name}: it panicked, see above\n")?,
        }
        Ok(())
    }
}

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
    let begun = Instant::now();
    let (stage, served) = build().await?;
    println!("{:6.1} s  the cluster is up", begun.elapsed().as_secs_f64());

    let only = std::env::var("SCENARIO").unwrap_or_default();
    let mut report = Report::default();
    let chosen = SCENARIOS.iter().filter(|(name, _)| name.contains(&only));
    let mut running: FuturesUnordered<_> = chosen
        .map(|(name, scenario)| {
            let play = AssertUnwindSafe(scenario(&stage)).catch_unwind();
            async move { (*name, play.await) }
        })
        .collect();
    while let Some((name, result)) = running.next().await {
        report.add(begun, name, result)?;
    }
    drop(running);
    // Alone and last: it takes the policy away from all of them.
    let Stage {
        cluster,
        installation,
        client,
        ..
    } = stage;
    let name = "policy_down::without_the_policy_unrelated_updates_pass_and_template_changes_are_refused";
    if name.contains(&only) {
        let play = policy_down::without_the_policy_unrelated_updates_pass(&cluster, installation, &client);
        report.add(begun, name, AssertUnwindSafe(play).catch_unwind().await)?;
    }
    served.stop().await?;
    let Report(failures) = report;
    ensure!(failures.is_empty(), "\n{failures}");
    cluster.stop();
    Ok(())
}
