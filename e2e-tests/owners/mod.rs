//! StatefulSets of operators: the Prometheus operator itself runs against the cluster, and its volumes grow. All
//! scenarios run side by side in one cluster, each in its own namespace.

mod operator;
mod skipped;
mod staged;
mod trial;

use serde_json::{Value, json};

use crate::cluster::{Cluster, Options};
use crate::environment::Environment;
use crate::policy_host::{Shipped, documents};
use crate::runner::{Report, scenarios};
use operator::Operator;

/// The owner that the setting `stageOwnedBy` names.
const OWNER: &str = "monitoring.coreos.com/Prometheus";

scenarios![Environment;
    staged::annotated_set_is_replaced_and_restarts_no_pod,
    staged::growth_restarts_no_pod_and_the_operator_rests,
    staged::growth_without_the_right_is_denied,
    staged::set_created_by_the_operator_is_as_good,
    staged::set_is_replaced_and_restarts_no_pod,
    staged::smaller_size_is_denied_and_deletes_nothing,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn storage_of_a_prometheus_grows() -> anyhow::Result<()> {
    let mut report = Report::new();
    let cluster = Cluster::start(Options::default()).await?;
    let mut operator = Operator::start(&cluster).await?;
    report.print("the operator runs");

    let env = Environment::on(cluster, shipped()?).await?;
    for right in documents("replace-sets.yaml")? {
        env.cluster.kubectl(&["apply", "-f", "-"], &right.to_string()).await?;
    }
    let scenario = skipped::growth_restarts_all_pods_and_pvcs_stay(&env);
    report
        .run_one("skipped::growth_restarts_all_pods_and_pvcs_stay", scenario)
        .await;

    let mut settings = shipped()?;
    settings["stageOwnedBy"] = json!([OWNER]);
    let env = env.reinstalled(settings).await?;
    report.print("stageOwnedBy is set");
    report.run(&env, SCENARIOS).await;

    let scenario = operator.restarts_and_writes_no_set(&env);
    report.run_one("operator::restarts_and_writes_no_set", scenario).await;
    report.end()?;
    drop(operator);
    env.stop().await
}

/// The settings of `deploy/`, where `ownedSets` is `Skip`.
fn shipped() -> anyhow::Result<Value> {
    Ok(Shipped::sets()?.spec["settings"].clone())
}
