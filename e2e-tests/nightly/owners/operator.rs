//! The operators that the scenarios run, each with the definitions and the rights that its own project ships.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::trial::{self, QUIET};
use crate::world::engines;
use crate::world::environment::Environment;
use crate::world::namespace::PATIENCE;
use crate::world::{Cluster, Entry, Process, eventually};

/// An operator, and the object `web` from which it makes a StatefulSet.
pub(super) struct Known {
    /// Its folder in `engines/`.
    pub(super) engine: &'static str,
    pub(super) program: &'static str,
    /// Its environment, and its flags.
    pub(super) environment: &'static [&'static str],
    pub(super) flags: &'static [&'static str],
    /// The namespace of its account. The audit log has all writes of accounts in this namespace.
    pub(super) namespace: &'static str,
    pub(super) account: &'static str,
    /// The name of its ClusterRole, and a JSON patch of it.
    pub(super) cluster_role: &'static str,
    pub(super) less: Option<&'static str>,
    /// The name of its Role in its own namespace.
    pub(super) role: Option<&'static str>,
    /// Group, version, kind and resource of its objects.
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    pub(super) resource: &'static str,
    /// The spec with this size.
    pub(super) spec: fn(&str) -> Value,
    /// Whether the operator has nothing left to do for the object.
    pub(super) is_done: fn(&Value) -> bool,
    /// The StatefulSet of the object `web`, and its replicas.
    pub(super) set: &'static str,
    pub(super) replicas: usize,
    /// An annotation that the operator removes from a new StatefulSet after it has run a command in a Pod.
    pub(super) command: Option<&'static str>,
}

impl Known {
    /// The user name of the operator.
    pub(super) fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.account)
    }

    /// The kind as the setting `stageOwnedBy` names it.
    pub(super) fn owner(&self) -> String {
        format!("{}/{}", self.group, self.kind)
    }

    /// The flag of `kubectl create rolebinding`.
    pub(super) fn subject(&self) -> String {
        format!("--serviceaccount={}:{}", self.namespace, self.account)
    }

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
    pub(super) async fn restarts_and_writes_no_set(&mut self, env: &Environment) -> anyhow::Result<()> {
        self.process.kill()?;
        let before = trial::writes(&env.cluster, self.known).await?.len();
        self.process = run(self.known, &self.program, &self.kubeconfig, env.cluster.folder())?;
        let has_seen = |entry: &Entry| entry.resource == self.known.resource;
        let begun = eventually("a new process to reconcile", PATIENCE, async || {
            let all = trial::writes(&env.cluster, self.known).await?;
            Ok(all[before..].iter().any(has_seen).then_some(()))
        });
        begun.await?;
        let all = trial::until_rest(&env.cluster, self.known, QUIET, |_| true).await?;
        let after = &all[before..];
        println!("a new process: {}", trial::in_numbers(after));
        ensure!(trial::of_sets(after).is_empty(), "{:?}", trial::of_sets(after));
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
