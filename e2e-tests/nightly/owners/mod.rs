//! StatefulSets of operators: the Prometheus operator and the RabbitMQ cluster operator themselves run against the
//! cluster, and their volumes grow. All scenarios run side by side in one cluster, each in its own namespace.

mod known;
mod operator;
mod prometheus;
mod rabbitmq;
mod recreated;
mod skipped;
mod staged;
mod trial;
mod written;

use serde_json::{Value, json};

use crate::world::policy_host::Shipped;
use crate::world::runner::{Report, scenarios};
use crate::world::{Cluster, Options, World};
use operator::Operator;
use prometheus::PROMETHEUS;
use rabbitmq::RABBITMQ;

scenarios![SKIPPED: World;
    recreated::growth_after_a_restart_restarts_pods,
    recreated::growth_beside_another_set,
    recreated::size_of_grown_pvcs_fails_with_422,
    skipped::growth_restarts_all_pods_and_pvcs_stay,
];

scenarios![World;
    recreated::named_and_annotated_operator_grows_its_volumes,
    recreated::staged_change_waits_for_owned_pvcs,
    staged::annotated_set_is_replaced_and_restarts_no_pod,
    staged::growth_restarts_no_pod_and_the_operator_rests,
    staged::growth_without_the_right_is_denied,
    staged::set_created_by_the_operator_is_as_good,
    staged::smaller_size_is_denied_and_deletes_nothing,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn storage_of_operators_grows() -> anyhow::Result<()> {
    let mut report = Report::new();
    let cluster = Cluster::start(Options::default()).await?;
    let mut prometheus = Operator::start(&cluster, &PROMETHEUS).await?;
    let rabbitmq = Operator::start(&cluster, &RABBITMQ).await?;
    report.print("the operators run");

    let env = World::on(cluster)
        .shipped_policy()
        .rights(&["replace-sets.yaml"])
        .build()
        .await?;
    report.run(&env, SKIPPED).await;

    let mut settings = shipped()?;
    settings["stageOwnedBy"] = json!([PROMETHEUS.owner(), RABBITMQ.owner()]);
    let env = env.reinstalled(&settings).await?;
    report.print("stageOwnedBy is set");
    report.run(&env, SCENARIOS).await;

    let scenario = prometheus.restarts_and_writes_no_set(&env);
    report.run_one("operator::restarts_and_writes_no_set", scenario).await;
    report.end()?;
    drop((prometheus, rabbitmq));
    env.stop().await
}

/// The settings of `deploy/`, where `ownedSets` is `Skip`.
fn shipped() -> anyhow::Result<Value> {
    Ok(Shipped::sets()?.spec["settings"].clone())
}
