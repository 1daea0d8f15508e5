//! OpenKruise beside claim-rollout: kruise-manager itself runs against the cluster, with its webhooks.

mod beside;
mod judged;
mod manager;
mod protected;
mod without;

use crate::cluster::{Cluster, Options};
use crate::environment::Environment;
use crate::installation::Installation;
use crate::policy_host::{Shipped, documents};
use crate::runner::{Report, scenarios};
use manager::KruiseManager;

scenarios![Environment;
    judged::creates,
    judged::updates_with_the_gate,
    beside::each_grows_its_own_pvcs_and_no_pod_restarts,
    beside::each_replaces_its_own_pods_after_their_pvcs,
    protected::always_prevents_a_replacement,
    protected::cascading_prevents_a_replacement,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn openkruise_and_claim_rollout_leave_each_other_alone() -> anyhow::Result<()> {
    let mut report = Report::new();
    let cluster = Cluster::start(Options::default()).await?;
    let mut kruise = KruiseManager::start(&cluster, false).await?;
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
    let updates = judged::updates(&env, false);
    report.run_one("judged::updates_without_the_gate", updates).await;
    kruise.kill()?;
    kruise.restart(&env.cluster, true).await?;
    report.print("kruise-manager runs with the gate");
    let unmanaged = without::prepare(&env).await?;
    report.run(&env, SCENARIOS).await;
    let scenario = without::kruise_manager_is_needed_only_for_protected_sets(&env, &mut kruise, unmanaged);
    report
        .run_one("without::kruise_manager_is_needed_only_for_protected_sets", scenario)
        .await;
    report.end()?;
    drop(kruise);
    env.stop().await
}
