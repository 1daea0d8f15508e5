//! A rollout over a faulty network: its start, and the invariants at its end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use super::asked::Asked;
use super::proxy::Proxy;
use super::script::{Rule, Script};
use super::wire::Wire;
use crate::world::installation::{ACCOUNT, Controller, NAMESPACE};
use crate::world::namespace::{TestNamespace, condition};
use crate::world::web::Web;
use crate::world::{Cluster, World, eventually, until};

/// The PVCs of the StatefulSet, in the order of the rollout.
const CLAIMS: [&str; 3] = ["data-web-2", "data-web-1", "data-web-0"];
/// The most log lines per second of a controller, on average.
const TALKATIVE: f64 = 20.0;

/// Everything between one controller and the API server.
pub(super) struct Network {
    pub(super) script: Arc<Script>,
    pub(super) wire: Wire,
    /// The kubeconfig of the controller at this end.
    pub(super) kubeconfig: PathBuf,
    _proxy: Proxy,
}

impl Network {
    /// A network without faults. The audit log shows this name as the user agent.
    pub(super) async fn start(cluster: &Cluster, name: &str) -> anyhow::Result<Self> {
        let script = Arc::new(Script::new());
        let proxy = Proxy::start(cluster, name, Arc::clone(&script))?;
        let wire = Wire::lay(proxy.address())?;
        let kubeconfig = cluster.kubeconfig_through(wire.address().port(), NAMESPACE, ACCOUNT);
        Ok(Self {
            script,
            kubeconfig: kubeconfig.await?,
            wire,
            _proxy: proxy,
        })
    }

    /// Removes all faults.
    pub(super) fn repair(&self) {
        self.script.clear();
        self.wire.mend();
    }
}

/// Without the checks of admission: the rows have no rules for their reads, so the faults of other reads would hit
/// them.
pub(super) const ASKS_NO_MORE: &str = "--allow-without-policy";

/// A namespace with a StatefulSet of three replicas, and a controller at the far end of a network.
pub(super) struct Trial<'a> {
    pub(super) ns: TestNamespace<'a>,
    pub(super) network: Network,
    /// Previous writes do not count.
    mark: usize,
    begun: Instant,
}

impl<'a> Trial<'a> {
    /// A new trial before its rollout.
    pub(super) async fn begin(env: &'a World, namespace: &str) -> anyhow::Result<Self> {
        Self::begin_with(env, namespace, &[]).await
    }

    /// The same with further arguments for the controller.
    pub(super) async fn begin_with(env: &'a World, namespace: &str, extra: &[&str]) -> anyhow::Result<Self> {
        let mut ns = env.namespace(namespace).await?;
        // After a lost answer, the controller may report the same again.
        ns.excepts(|but| but.reported_twice = true);
        if !extra.is_empty() {
            may_hold_a_lease(&ns).await?;
        }
        let network = Network::start(&env.cluster, "network-first").await?;
        let begun = Instant::now();
        let arguments = [&["--namespace", namespace, ASKS_NO_MORE], extra].concat();
        let controller = env.controllers.start_with(&network.kubeconfig, &arguments);
        ns.controller = Some(controller.await?);
        ns.target(&Web::replicas(3)).await?;
        ns.settled().await?;
        let mark = ns.mark().await?;
        Ok(Self {
            ns,
            network,
            mark,
            begun,
        })
    }

    /// The user changes size and image in one apply.
    pub(super) async fn roll_out(&self) -> anyhow::Result<()> {
        self.ns.target(&Web::replicas(3).size("2Gi").image("2")).await.map(drop)
    }

    /// Waits until the controller has sent this many requests of this kind since its start.
    pub(super) async fn until_asked(&self, asked: Asked, count: usize) -> anyhow::Result<()> {
        let what = format!("{count} requests: {asked:?}");
        self.until_script(&what, |script| script.count(asked) >= count).await
    }

    /// Waits until the script has seen what it is to see.
    async fn until_script(&self, what: &str, has_seen: impl Fn(&Script) -> bool) -> anyhow::Result<()> {
        let waited = until(what, async || Ok(has_seen(&self.network.script)), |seen| *seen).await;
        waited.with_context(|| self.ns.log()).map(drop)
    }

    /// Injects a fault from now on.
    pub(super) fn inject(&self, rule: Rule) {
        self.network.script.add(rule);
    }

    /// Waits until this many requests had a fault.
    pub(super) async fn until_injected(&self, times: u32) -> anyhow::Result<()> {
        let what = format!("{times} faults");
        self.until_script(&what, |script| script.injected() >= times).await
    }

    pub(super) fn controller(&self) -> anyhow::Result<&Controller> {
        self.ns.controller.as_ref().context("a controller")
    }

    /// Whatever the network does, the controller is never in a state that needs a restart.
    pub(super) fn is_well(&self) -> anyhow::Result<()> {
        for path in ["/healthz", "/readyz", "/metrics"] {
            let (code, body) = self.controller()?.get(path)?;
            ensure!(code == 200, "{path} answers {code}: {body}\n{}", self.ns.log());
        }
        Ok(())
    }

    /// Removes all faults and checks the end: the controller continues within this time. Returns how long the rest of
    /// the rollout took.
    pub(super) async fn recovers(&self, within: Duration) -> anyhow::Result<Duration> {
        self.is_well()?;
        let before = self.moves();
        let repaired = Instant::now();
        self.network.repair();
        let went_on = eventually("the controller to go on", within, async || {
            Ok((self.moves() > before || self.is_done().await?).then_some(()))
        });
        went_on.await.with_context(|| self.ns.log())?;
        let went_on = repaired.elapsed();
        self.until_done().await?;
        let done = repaired.elapsed();
        let namespace = &self.ns.namespace;
        println!("{namespace}: went on after {went_on:.1?}, done after {done:.1?}");
        self.ends().await?;
        Ok(done)
    }

    /// The number of writes that the controller has sent.
    fn moves(&self) -> usize {
        let moves = [
            Asked::Claim,
            Asked::Ready,
            Asked::StagedChange,
            Asked::Target,
            Asked::Status,
        ];
        moves.map(|asked| self.network.script.count(asked)).iter().sum()
    }

    async fn is_done(&self) -> anyhow::Result<bool> {
        Ok(self.ns.staged_change().await?["phase"] == "Complete"
            && condition(&self.ns.rollout().await?, "Ready") == "True")
    }

    /// Waits until the rollout is complete.
    pub(super) async fn until_done(&self) -> anyhow::Result<()> {
        self.ns.until_complete(3, "2Gi").await?;
        self.ns.settled().await.map(drop)
    }

    /// Waits for the end, and checks it.
    pub(super) async fn ends(&self) -> anyhow::Result<()> {
        self.until_done().await?;
        self.keeps_invariants().await?;
        self.is_well()?;
        let log = self.ns.log();
        ensure!(!log.contains("panicked"), "{log}");
        let lines = f64::from(u32::try_from(log.lines().count())?) / self.begun.elapsed().as_secs_f64();
        ensure!(lines < TALKATIVE, "{lines} lines a second:\n{log}");
        let starts = log
            .lines()
            .filter(|line| line.contains("health endpoints address="))
            .count();
        ensure!(starts == 1, "the controller was started {starts} times");
        Ok(())
    }

    /// Checks that each write of a rollout happened once and in order, and that every invariant holds.
    async fn keeps_invariants(&self) -> anyhow::Result<()> {
        let written = self.ns.writes_since(self.mark).await?;
        written.pods_follow_their_claims("web", &["data"], &[2, 1, 0])?;
        written.is_a_rollout(&CLAIMS, 3).with_context(|| self.ns.log())
    }
}

/// Gives the controllers the right to use a Lease in this namespace.
async fn may_hold_a_lease(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    let verbs = "--verb=get,create,update --resource=leases.coordination.k8s.io";
    ns.typed(&format!("create role lease {verbs}")).await?;
    let account = format!("--serviceaccount={NAMESPACE}:{ACCOUNT}");
    ns.typed(&format!("create rolebinding lease --role=lease {account}"))
        .await?;
    Ok(())
}
