//! OpenKruise beside claim-rollout: kruise-manager itself runs against the cluster, with its webhooks.

mod beside;
mod judged;
mod manager;
mod protected;

use crate::cluster::{Cluster, Options};
use crate::environment::Environment;
use crate::installation::Installation;
use crate::policy_host::{Shipped, documents};
use crate::runner::{Report, scenarios};
use manager::Manager;

scenarios![Environment;
    beside::each_grows_its_own_pvcs_and_no_pod_restarts,
    beside::each_replaces_its_own_pods_after_their_pvcs,
    protected::protected_set_is_refused_until_the_label_is_gone,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn openkruise_and_claim_rollout_leave_each_other_alone() -> anyhow::Result<()> {
    let mut report = Report::new();
    let cluster = Cluster::start(Options::default()).await?;
    let mut kruise = Manager::start(&cluster, false).await?;
    report.print("kruise-manager runs");

    let settings = Shipped::sets()?.spec["settings"].clone();
    let installation = Installation::but_in(&[judged::ALONE], &cluster, settings).await?;
    let env = Environment {
        client: cluster.client().await?,
        cluster,
        installation,
    };
    for right in documents("replace-sets.yaml")? {
        env.cluster.done(&["apply", "-f", "-"], &right.to_string()).await?;
    }
    judged::prepare(&env).await?;
    report
        .run_one("judged::without_the_gate", judged::all(&env, false))
        .await;
    kruise.restart(&env.cluster, true).await?;
    report.print("kruise-manager runs with the gate");
    report.run_one("judged::with_the_gate", judged::all(&env, true)).await;
    report.run(&env, SCENARIOS).await;
    report.end()?;
    drop(kruise);
    env.stop().await
}
