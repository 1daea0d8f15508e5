//! OpenKruise beside claim-rollout: kruise-manager itself runs against the cluster, with its webhooks.

mod beside;
mod grown;
mod judged;
mod manager;
mod protected;

use crate::world::installation::manifest_applied;
use crate::world::runner::{Report, scenarios};
use crate::world::{Cluster, Options, World};
use manager::KruiseManager;
use protected::Protected;

scenarios![World;
    judged::updates_with_the_gate,
    beside::each_updates_its_own_pvcs_and_pods,
];

scenarios![GROWN: World;
    grown::pvcs_grow_and_no_pod_restarts,
    grown::pods_are_left_to_openkruise,
    grown::set_that_openkruise_rolls_out_is_stalled,
    grown::who_may_not_patch_pvcs_is_denied_by_policy_and_guard,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn openkruise_and_claim_rollout_leave_each_other_alone() -> anyhow::Result<()> {
    let mut report = Report::new();
    let cluster = Cluster::start(Options::default()).await?;
    let mut kruise = KruiseManager::start(&cluster, false).await?;
    report.print("kruise-manager runs");

    let env = World::on(cluster)
        .shipped_policy()
        .but_in(&[judged::ALONE, grown::GUARDED])
        .rights(&["replace-sets.yaml"])
        .build()
        .await?;
    let (protected, ()) = futures::try_join!(Protected::prepare(&env), judged::prepare(&env))?;
    let updates = judged::updates(&env, false);
    report.run_one("judged::updates_without_the_gate", updates).await;
    manifest_applied(&env.cluster, "openkruise.yaml").await?;
    report.run(&env, GROWN).await;
    kruise.kill()?;
    kruise.restart(&env.cluster, true).await?;
    report.print("kruise-manager runs with the gate");
    report.run(&env, SCENARIOS).await;
    let scenario = protected.replaced_only_with_kruise_manager_and_no_label(&env, &mut kruise);
    report
        .run_one("protected::replaced_only_with_kruise_manager_and_no_label", scenario)
        .await;
    report.end()?;
    drop(kruise);
    env.stop().await
}
