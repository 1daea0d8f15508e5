//! The StatefulSet is replaced by one with the desired templates. All scenarios run side by side in one cluster, each in
//! its own namespace; `SCENARIO=complete cargo test -p e2e-tests --test e2e replacing` runs those with `complete` in their names.

mod complete;
mod trial;

use crate::cluster::Options;
use crate::environment::Environment;
use crate::policy_host::documents;
use crate::runner::{Report, scenarios};

scenarios![Environment;
    complete::complete_set_is_replaced_and_nothing_else_changes,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replacement_keeps_pods_pvcs_and_acknowledged_writes() -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = Environment::build(Options::default()).await?;
    for right in documents("replace-sets.yaml")? {
        env.cluster.kubectl(&["apply", "-f", "-"], &right.to_string()).await?;
    }
    report.print("the cluster is up");
    report.run(&env, SCENARIOS).await;
    report.end()?;
    env.stop().await
}
