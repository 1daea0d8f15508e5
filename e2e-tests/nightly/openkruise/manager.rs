//! kruise-manager, with the definitions, the rights and the webhooks that its own project ships.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::world::engines;
use crate::world::namespace::PATIENCE;
use crate::world::web::Web;
use crate::world::{Cluster, Process, eventually};

/// The user name of kruise-manager.
pub(super) const USER: &str = "system:serviceaccount:kruise-system:kruise-manager";
/// PVCs follow their Pods.
pub(super) const ROLLING: &str = "OnPodRollingUpdate";
/// PVCs get the new templates when they are made anew: the default.
pub(super) const DELETING: &str = "OnDelete";
const NAMESPACE: &str = "kruise-system";

/// A running kruise-manager; dropping it kills it.
pub(super) struct KruiseManager {
    program: PathBuf,
    kubeconfig: PathBuf,
    port: u16,
    process: Process,
}

impl KruiseManager {
    /// Installs and starts it, and waits until the API server calls its webhooks.
    pub(super) async fn start(cluster: &Cluster, resizes: bool) -> anyhow::Result<Self> {
        let built = engines::build("openkruise").await?;
        let config = built.join("config");
        let config = config.to_str().context("a path in UTF-8")?;
        cluster.done(&["apply", "--server-side", "-k", config], "").await?;
        cluster
            .typed("wait --for=condition=Established --timeout=60s crd --all")
            .await?;
        let program = built.join("kruise");
        let kubeconfig = cluster.kubeconfig_of(NAMESPACE, "kruise-manager").await?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let process = run(&program, &kubeconfig, port, resizes, cluster.folder())?;
        let mut manager = Self {
            program,
            kubeconfig,
            port,
            process,
        };
        manager.until_called(cluster).await?;
        Ok(manager)
    }

    /// Kills it. Its webhooks stay registered.
    pub(super) fn kill(&mut self) -> anyhow::Result<()> {
        self.process.kill()?;
        Ok(())
    }

    /// A new process, with or without the feature gate for larger PVCs.
    pub(super) async fn restart(&mut self, cluster: &Cluster, resizes: bool) -> anyhow::Result<()> {
        self.process = run(&self.program, &self.kubeconfig, self.port, resizes, cluster.folder())?;
        self.until_called(cluster).await
    }

    /// Its webhooks deny every request until it has registered its address.
    async fn until_called(&mut self, cluster: &Cluster) -> anyhow::Result<()> {
        let probe = advanced("probe", ROLLING, 0, "1Gi");
        let mut last = String::new();
        let called = eventually("the webhooks of kruise-manager", PATIENCE, async || {
            if let Some(status) = self.process.status()? {
                bail!("kruise-manager ended ({status}):\n{}", self.process.last_lines());
            }
            let created = cluster
                .kubectl(&["create", "-f", "-", "--dry-run=server"], &probe.to_string())
                .await?;
            last = created.stderr;
            Ok(created.success.then_some(()))
        });
        called.await.context(last)
    }
}

/// The manifest of an Advanced StatefulSet. Its Pods have its name as label.
pub(super) fn advanced(name: &str, strategy: &str, replicas: u32, size: &str) -> Web {
    let web = Web::replicas(replicas).size(size).plain().named(name);
    let strategy = json!({"volumeClaimUpdateStrategy": {"type": strategy}});
    web.with(&json!({"apiVersion": "apps.kruise.io/v1beta1", "spec": strategy}))
}

/// Starts it beside the cluster. It issues its own certificate, for this host and port.
fn run(program: &Path, kubeconfig: &Path, port: u16, resizes: bool, folder: &Path) -> anyhow::Result<Process> {
    let arguments = [
        format!("KUBECONFIG={}", kubeconfig.display()),
        "WEBHOOK_HOST=localhost".to_owned(),
        format!("WEBHOOK_PORT={port}"),
        format!("WEBHOOK_CERT_DIR={}", folder.join("kruise-certificates").display()),
        program.display().to_string(),
        format!("--feature-gates=ResourcesDeletionProtection=true,StatefulSetAutoResizePVCGate={resizes}"),
        "--enable-leader-election=false".to_owned(),
        "--enable-pprof=false".to_owned(),
        "--health-probe-addr=0".to_owned(),
        "--metrics-addr=0".to_owned(),
        format!("--protection-log-path={}", folder.display()),
        "--logtostderr=true".to_owned(),
        "--v=4".to_owned(),
    ];
    Process::start("kruise-manager", Path::new("env"), &arguments, folder)
}
