//! Kubernetes' own tests of StatefulSets, and of volumes that change: all that can pass on this control plane pass
//! without claim-rollout, and with it. `docs/dev/kubernetes-tests.md` lists them, and why the others cannot. `make upstream` runs
//! this; it takes minutes.

mod suite;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::ensure;

use crate::world::by_minor::{TESTS, column};
use crate::world::installation::AS_IN_A_POD;
use crate::world::{Cluster, Options, World};
use suite::{Outcomes, Suite};

/// The cell of a test that passes, with and without claim-rollout. All others contain the reason why it is left out.
const PASSES: &str = "passes";
/// The cell of a test that this version of Kubernetes does not have.
const ABSENT: &str = "not there";

/// The tests of a minor version, with their cells.
fn recorded(minor: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let mut specs = column(TESTS, "Kubernetes' test", minor)?;
    specs.retain(|_, cell| cell != ABSENT);
    Ok(specs)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make upstream"]
async fn tests_of_kubernetes_pass_with_and_without_us() -> anyhow::Result<()> {
    let options = Options::default();
    let recorded = recorded(&options.minor)?;
    let cluster = Cluster::start(options.clone()).await?;
    let suite = Suite::build(&options.minor, &cluster).await?;
    let listed: BTreeSet<_> = recorded.keys().cloned().collect();
    assert_eq!(suite.names(), listed, "the tests of Kubernetes, and those in {TESTS}");
    let passing: BTreeSet<_> = listed.into_iter().filter(|name| recorded[name] == PASSES).collect();
    ensure!(!passing.is_empty(), "{TESTS} has no test that passes");

    let without = suite.run(&passing, &cluster).await?;
    cluster.stop();

    let world = World::with(options).shipped_policy().build().await?;
    let mut controller = world.controllers.start(&AS_IN_A_POD).await?;
    let before = world.policies().all_requests();
    let with = suite.run(&passing, &world.cluster).await?;
    let requests = world.policies().all_requests() - before;
    ensure!(
        controller.status()?.is_none(),
        "the controller ended:\n{}",
        controller.log()
    );

    print(&passing, &without, &with);
    println!("the policies got {requests} requests");
    ensure!(requests > 0, "the policies got no request");
    let (failed, with_us) = (without.failures(&passing), with.failures(&passing));
    ensure!(failed.is_empty(), "without claim-rollout:\n{failed}");
    ensure!(with_us.is_empty(), "with claim-rollout:\n{with_us}");
    controller.terminate().await?;
    world.stop().await
}

/// Prints the table of the results.
fn print(names: &BTreeSet<String>, without: &Outcomes, with: &Outcomes) {
    println!("| test | without | with |\n|---|---|---|");
    for name in names {
        println!("| {name} | {} | {} |", without.cell(name), with.cell(name));
    }
}
