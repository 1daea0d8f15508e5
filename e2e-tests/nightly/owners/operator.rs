//! The operators that the scenarios run, each with the definitions and the rights that its own project ships.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::known::Known;
use super::written::{self, QUIET};
use crate::world::engines;
use crate::world::{Cluster, Entry, Process, World, until};

impl Known {
    /// Creates the namespace, the definitions, the account and its rights.
    async fn install(&self, cluster: &Cluster, built: &Path) -> anyhow::Result<()> {
        let path = |file: &str| anyhow::Ok(built.join(file).to_str().context("a path in UTF-8")?.to_owned());
        let (namespace, subject) = (self.namespace, self.subject());
        let role = format!("--clusterrole={}", self.cluster_role);
        for arguments in [
            &["create", "namespace", namespace][..],
            &["create", "serviceaccount", self.account, "-n", namespace],
            &["create", "-f", &path("crds")?],
            &["create", "-f", &path("cluster-role.yaml")?],
            &["create", "clusterrolebinding", self.account, &role, &subject],
            &["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"],
        ] {
            cluster.done(arguments, "").await?;
        }
        if let Some(patch) = self.less {
            let arguments = ["patch", "clusterrole", self.cluster_role, "--type=json", "-p", patch];
            cluster.done(&arguments, "").await?;
        }
        if let Some(role) = self.role {
            let file = path("role.yaml")?;
            cluster.done(&["create", "-n", namespace, "-f", &file], "").await?;
            let role = format!("--role={role}");
            let arguments = ["create", "rolebinding", self.account, "-n", namespace, &role, &subject];
            cluster.done(&arguments, "").await?;
        }
        Ok(())
    }
}

/// A running operator for all namespaces; dropping it kills it.
pub(super) struct Operator {
    known: &'static Known,
    program: PathBuf,
    kubeconfig: PathBuf,
    process: Process,
}

impl Operator {
    /// Installs the operator, and starts it.
    pub(super) async fn start(cluster: &Cluster, known: &'static Known) -> anyhow::Result<Self> {
        let built = engines::build(known.engine).await?;
        known.install(cluster, &built).await?;
        let program = built.join(known.program);
        let kubeconfig = cluster.kubeconfig_of(known.namespace, known.account).await?;
        let process = run(known, &program, &kubeconfig, cluster.folder())?;
        Ok(Self {
            known,
            program,
            kubeconfig,
            process,
        })
    }

    /// A new process reconciles every object, as after an upgrade of the operator. It writes no StatefulSet.
    pub(super) async fn restarts_and_writes_no_set(&mut self, env: &World) -> anyhow::Result<()> {
        self.process.kill()?;
        let before = written::writes(&env.cluster, self.known).await?.len();
        self.process = run(self.known, &self.program, &self.kubeconfig, env.cluster.folder())?;
        let has_seen = |entry: &Entry| entry.resource == self.known.resource;
        let written = async || written::writes(&env.cluster, self.known).await;
        let begun = |all: &Vec<Entry>| all[before..].iter().any(has_seen);
        until("a new process to reconcile", written, begun).await?;
        let all = written::until_rest(&env.cluster, self.known, QUIET, |_| true).await?;
        let after = &all[before..];
        println!("a new process: {}", written::in_numbers(after));
        ensure!(written::of_sets(after).is_empty(), "{:?}", written::of_sets(after));
        Ok(())
    }
}

/// Starts the operator with the flags of its shipped Deployment. It reads its kubeconfig from the environment only.
fn run(known: &Known, program: &Path, kubeconfig: &Path, folder: &Path) -> anyhow::Result<Process> {
    let first = format!("KUBECONFIG={}", kubeconfig.display());
    let environment = known.environment.iter().map(|it| (*it).to_owned());
    let flags = known.flags.iter().map(|it| (*it).to_owned());
    let arguments: Vec<String> = std::iter::once(first)
        .chain(environment)
        .chain([program.display().to_string()])
        .chain(flags)
        .collect();
    Process::start(known.engine, Path::new("env"), &arguments, folder)
}
