//! The Prometheus operator, with the definitions and the rights that its own project ships.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::trial::{self, QUIET};
use crate::cluster::{Cluster, Entry, Process};
use crate::engines;
use crate::environment::Environment;

/// The namespace of its account. The audit log has all writes of accounts in this namespace.
const NAMESPACE: &str = "monitoring";
/// The user name of the operator.
pub(super) const USER: &str = "system:serviceaccount:monitoring:prometheus-operator";

/// A running Prometheus operator for all namespaces; dropping it kills it.
pub(super) struct Operator {
    program: PathBuf,
    kubeconfig: PathBuf,
    process: Process,
}

impl Operator {
    /// Installs the operator, and starts it.
    pub(super) async fn start(cluster: &Cluster) -> anyhow::Result<Self> {
        let built = engines::build("prometheus-operator").await?;
        let program = built.join("operator");
        let path = |file: &str| anyhow::Ok(built.join(file).to_str().context("a path in UTF-8")?.to_owned());
        let account = format!("--serviceaccount={NAMESPACE}:prometheus-operator");
        let role = "--clusterrole=prometheus-operator";
        for arguments in [
            &["create", "namespace", NAMESPACE][..],
            &["create", "serviceaccount", "prometheus-operator", "-n", NAMESPACE],
            &["create", "-f", &path("crds")?],
            &["create", "-f", &path("cluster-role.yaml")?],
            &["create", "clusterrolebinding", "prometheus-operator", role, &account],
            &["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"],
        ] {
            cluster.done(arguments, "").await?;
        }
        let kubeconfig = cluster.kubeconfig_of(NAMESPACE, "prometheus-operator").await?;
        let process = run(&program, &kubeconfig, cluster.folder())?;
        Ok(Self {
            program,
            kubeconfig,
            process,
        })
    }

    /// A new process reconciles every Prometheus, as after an upgrade of the operator. It writes no StatefulSet.
    pub(super) async fn restarts_and_writes_no_set(&mut self, env: &Environment) -> anyhow::Result<()> {
        self.process.kill()?;
        let before = trial::writes(&env.cluster).await?.len();
        self.process = run(&self.program, &self.kubeconfig, env.cluster.folder())?;
        let all = trial::at_rest(&env.cluster, QUIET, |_| true).await?;
        let after = &all[before..];
        println!("a new process: {}", trial::kinds(after));
        let has_seen = |entry: &Entry| entry.resource == "prometheuses";
        ensure!(after.iter().any(has_seen), "it reconciles nothing");
        ensure!(trial::of_sets(after).is_empty(), "{:?}", trial::of_sets(after));
        Ok(())
    }
}

/// Starts the operator with the flags of its shipped Deployment. It reads its kubeconfig from the environment only.
fn run(program: &Path, kubeconfig: &Path, folder: &Path) -> anyhow::Result<Process> {
    let arguments = [
        format!("KUBECONFIG={}", kubeconfig.display()),
        program.display().to_string(),
        "--disable-unmanaged-prometheus-configuration=true".to_owned(),
        "--watch-referenced-objects-in-all-namespaces=true".to_owned(),
        "--web.listen-address=127.0.0.1:0".to_owned(),
        "--log-level=debug".to_owned(),
    ];
    Process::start("prometheus-operator", Path::new("env"), &arguments, folder)
}
