//! Two controllers, and a leader that loses its Lease by the network: it stops writing before the next controller
//! starts.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::time::sleep;

use super::asked::Asked::{Claim, Lease};
use super::script::Fault::{Answer, Late, Unheard};
use super::script::{Fault, Rule};
use super::trial::{ASKS_NO_MORE, Network, Trial};
use crate::cluster::controller::lease::{leads, until_it_leads};
use crate::world::installation::{Controller, USER};
use crate::world::{Entry, World, until};

/// A leader that cannot renew its Lease may go on for this long.
const DEADLINE: Duration = Duration::from_secs(10);
/// The next leader starts after this time.
const DURATION: Duration = Duration::from_secs(15);

/// Two controllers; the first leads and has a faulty network.
struct Pair<'a> {
    trial: Trial<'a>,
    second: Controller,
    _network: Network,
}

impl<'a> Pair<'a> {
    async fn begin(env: &'a World, namespace: &str) -> anyhow::Result<Self> {
        let elected = ["--leader-elect", "--system-namespace", namespace];
        let trial = Trial::begin_with(env, namespace, &elected).await?;
        let network = Network::start(&env.cluster, "network-second").await?;
        let arguments = [&["--namespace", namespace, ASKS_NO_MORE], &elected[..]].concat();
        let second = env.controllers.start_with(&network.kubeconfig, &arguments).await?;
        ensure!(
            leads(trial.controller()?)? && !leads(&second)?,
            "expected the first one to lead"
        );
        Ok(Self {
            trial,
            second,
            _network: network,
        })
    }

    /// Waits until the second controller leads, and the first one knows that it does not.
    async fn until_first_steps_down(&self) -> anyhow::Result<()> {
        let followed = until_it_leads(&self.second);
        followed
            .await
            .with_context(|| format!("{}\n{}", self.trial.ns.log(), self.second.log()))?;
        let first_leads = async || leads(self.trial.controller()?);
        let stepped_down = until("the first one to step down", first_leads, |leads| !leads).await;
        stepped_down.with_context(|| self.trial.ns.log()).map(drop)
    }

    fn first(&mut self) -> anyhow::Result<&mut Controller> {
        self.trial.ns.controller.as_mut().context("a controller")
    }

    /// Checks the end: the first controller wrote nothing after the second one started.
    async fn ends(self) -> anyhow::Result<()> {
        self.trial.until_done().await?;
        self.trial.network.repair();
        // Long enough for delayed requests of the first controller to arrive.
        sleep(Duration::from_secs(2)).await;
        let context = || format!("{}\n{}", self.trial.ns.log(), self.second.log());
        self.trial.ends().await.with_context(context)?;
        let mut entries = self.trial.ns.cluster.audit().await?;
        entries.retain(|entry| {
            entry.user == USER && entry.namespace == self.trial.ns.namespace && entry.resource != "leases"
        });
        let by = |name: &'static str| move |entry: &Entry| entry.user_agent == name;
        let last = entries.iter().rposition(by("network-first")).context("the first")?;
        let begins = entries.iter().position(by("network-second")).context("the second")?;
        ensure!(
            last < begins,
            "{:?} after {:?}\n{}",
            entries[last],
            entries[begins],
            context()
        );
        println!(
            "{}: {begins} writes, and then {}",
            self.trial.ns.namespace,
            entries.len() - begins
        );
        Ok(())
    }
}

pub(super) async fn leader_without_renewal_ends_before_its_successor_starts(env: &World) -> anyhow::Result<()> {
    let pair = Pair::begin(env, "network-lease-refused").await?;
    // Three PVCs, one after the other: the rollout takes longer than the Lease.
    let slow = DEADLINE / 2;
    pair.trial
        .inject(Rule::always(Claim, Late(u64::try_from(slow.as_millis())?)));
    pair.trial.roll_out().await?;
    pair.trial.until_asked(Claim, 1).await?;
    pair.trial.inject(Rule::always(Lease, Answer(503, 0)));
    pair.until_first_steps_down().await?;
    pair.ends().await
}

pub(super) async fn disconnected_leader_is_succeeded_and_its_writes_are_lost(env: &World) -> anyhow::Result<()> {
    let pair = Pair::begin(env, "network-lease-alone").await?;
    pair.trial.roll_out().await?;
    pair.trial.until_asked(Claim, 2).await?;
    pair.trial.network.wire.hold();
    pair.until_first_steps_down().await?;
    pair.trial.network.wire.forget();
    pair.ends().await
}

/// A write in progress when the Lease is lost does not arrive while another controller leads.
pub(super) async fn late_write_is_given_up_with_the_lease(env: &World) -> anyhow::Result<()> {
    let pair = Pair::begin(env, "network-lease-late").await?;
    let late = DURATION - Duration::from_secs(1);
    pair.trial
        .inject(Rule::always(Claim, Late(u64::try_from(late.as_millis())?)));
    pair.trial.roll_out().await?;
    pair.trial.until_asked(Claim, 1).await?;
    pair.trial.inject(Rule::always(Lease, Unheard));
    pair.until_first_steps_down().await?;
    pair.ends().await
}

/// The stopped leader continues with the answer to its last write, and with the writes that it planned next.
pub(super) async fn stopped_leader_writes_nothing_when_continued(env: &World) -> anyhow::Result<()> {
    let mut pair = Pair::begin(env, "network-lease-halted").await?;
    pair.trial.inject(Rule {
        after: 1,
        times: 1,
        ..Rule::always(Claim, Fault::Slow(1500, 1501))
    });
    pair.trial.roll_out().await?;
    pair.trial.until_asked(Claim, 2).await?;
    pair.first()?.halt()?;
    until_it_leads(&pair.second).await?;
    pair.trial.until_done().await?;
    pair.first()?.resume()?;
    pair.ends().await
}

/// One missing answer is no reason to give up a Lease that can be renewed.
pub(super) async fn leader_with_unanswered_renewal_retries_and_continues(env: &World) -> anyhow::Result<()> {
    let trial = Trial::begin_with(
        env,
        "network-lease-kept",
        &["--leader-elect", "--system-namespace", "network-lease-kept"],
    )
    .await?;
    trial.inject(Rule {
        times: 1,
        ..Rule::always(Lease, Fault::ReplyUnheard)
    });
    trial.roll_out().await?;
    trial.until_injected(1).await?;
    sleep(DURATION).await;
    trial.recovers(DEADLINE).await?;
    ensure!(
        !trial.ns.log().contains("lost leader election; stopping writes"),
        "{}",
        trial.ns.log()
    );
    Ok(())
}
