//! The control plane is replaced by that of another minor version in the middle of rollouts, in the order of a real
//! upgrade: first the API server, beside the old controllers; then controller manager and scheduler. Data, certificates
//! and port stay, and so do policy, guard and controller, which nobody restarts. Every rollout ends as without an
//! upgrade. `make upgrade FROM=1.36 K8S=1.37` runs this; it takes minutes.

mod ends;
mod sets;

use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::world::installation::{AS_IN_A_POD, Controller, USER};
use crate::world::namespace::PATIENCE;
use crate::world::{Options, World, at_rest, kinds};
use sets::{Fleet, Step};

/// Who writes nothing for so long is at rest.
const QUIET: Duration = Duration::from_secs(30);

/// The writes in the audit log from the stop of the old API server until the new one was ready.
struct Outage(Range<usize>);

/// The minor versions before and after.
struct Upgrade<'a> {
    env: &'a World,
    to: &'a str,
    begun: Instant,
}

impl Upgrade<'_> {
    fn print(&self, what: &str) {
        println!("{:6.1} s  {what}", self.begun.elapsed().as_secs_f64());
    }

    /// Replaces the API server. Its clients have to connect again. Returns when it did not answer.
    async fn replace_api_server(&self) -> anyhow::Result<Outage> {
        let cluster = &self.env.cluster;
        let since = cluster.audit().await?.len();
        let stopped = Instant::now();
        cluster.terminate("kube-apiserver").await?;
        cluster.resume_as("kube-apiserver", self.to).await?;
        cluster.wait_for_api_server().await?;
        let seconds = stopped.elapsed().as_secs_f64();
        self.print(&format!(
            "the API server is of {}; nobody answered for {seconds:.1} s",
            self.to
        ));
        self.serves(self.to).await?;
        Ok(Outage(since..cluster.audit().await?.len()))
    }

    /// Fails if the API server has another minor version.
    async fn serves(&self, minor: &str) -> anyhow::Result<()> {
        let version = self.env.client.apiserver_version().await?.git_version;
        ensure!(version.starts_with(&format!("v{minor}.")), "{version}, not {minor}");
        Ok(())
    }

    async fn replace(&self, program: &'static str) -> anyhow::Result<()> {
        self.env.cluster.resume_as(program, self.to).await?;
        self.print(&format!("{program} is of {}", self.to));
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs two control planes: make upgrade"]
async fn rollouts_end_through_an_upgrade_of_the_cluster() -> anyhow::Result<()> {
    let from = std::env::var("FROM").context("expected FROM, such as FROM=1.36")?;
    let options = Options::default();
    let to = options.minor.clone();
    ensure!(from != to, "an upgrade from {from} to {to}");
    let from = Options { minor: from, ..options };
    let env = World::with(from.clone())
        .shipped_policy()
        .rights(&["replace-sets.yaml"])
        .build()
        .await?;
    let mut controller = env.controllers.start(&AS_IN_A_POD).await?;
    let through = through(&env, [&from.minor, &to], &controller).await;
    through.with_context(|| controller.log())?;
    let log = controller.log();
    ensure!(controller.status()?.is_none(), "the controller ended:\n{log}");
    ensure!(!log.contains("panicked"), "{log}");
    controller.terminate().await?;
    env.stop().await
}

async fn through(env: &World, [from, to]: [&str; 2], controller: &Controller) -> anyhow::Result<()> {
    let begun = Instant::now();
    let upgrade = Upgrade { env, to, begun };
    upgrade.serves(from).await?;
    let fleet = Fleet::begin(env).await?;
    upgrade.print(&format!("all rollouts are in the middle, on {from}"));

    // The old controllers go on with the new API server.
    let outage = upgrade.replace_api_server().await?;
    fleet.is_in_the_middle(Step::OldControllers).await?;
    fleet.replaces("upgrade-replaced").await?;
    fleet.next_replica(2).await?;
    upgrade.print("one replica and one replacement ended beside the old controllers");

    fleet.is_in_the_middle(Step::NewControllers).await?;
    env.cluster.terminate("kube-controller-manager").await?;
    fleet.begins_to_replace("upgrade-due").await?;
    upgrade.print("one StatefulSet is being replaced, without a controller manager");
    env.cluster.terminate("kube-scheduler").await?;
    upgrade.replace("kube-controller-manager").await?;
    upgrade.replace("kube-scheduler").await?;
    fleet.is_replaced("upgrade-due").await?;
    fleet.next_replica(1).await?;
    fleet.end().await?;
    upgrade.print("all rollouts have ended");

    rests(env, controller).await?;
    fleet.is_as_without_an_upgrade(&outage).await?;
    upgrade.print(&format!("nobody of us has written for {} s", QUIET.as_secs()));

    // Policy and controller are in effect on the new control plane.
    fleet.rolls_out_again().await?;
    rests(env, controller).await?;
    fleet.nothing_was_deleted().await?;
    upgrade.print("another rollout has ended");
    Ok(())
}

/// Waits until the controller writes nothing but its Lease.
async fn rests(env: &World, controller: &Controller) -> anyhow::Result<()> {
    let written = async || {
        let mut written = env.cluster.audit().await?;
        written.retain(|entry| entry.user == USER && entry.resource != "leases");
        Ok(written)
    };
    let written = at_rest("the controller", [QUIET, PATIENCE], written).await;
    let written = written.with_context(|| controller.log())?;
    println!("          our writes so far: {}", kinds(&written, |entry| entry.kind()));
    Ok(())
}
