//! claim-rollout installed in a test cluster as `deploy/` installs it: the same definitions, accounts and rights, the
//! shipped policy, the built controller. The policy host stands for a policy-server, and the controller runs beside the
//! cluster instead of in it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::world::policy_host::{KubeApi, deployed};
use crate::world::{Cluster, PATIENCE, POLICY_SERVER, Process, Signal, Usage, eventually};

/// The namespace of the controller, and the name of its ServiceAccount.
pub(crate) const NAMESPACE: &str = "claim-rollout";
pub(crate) const ACCOUNT: &str = "claim-rollout-controller";
/// The flags for a controller beside the cluster that leads by its Lease; in a Pod these are the defaults.
pub(crate) const AS_IN_A_POD: [&str; 3] = ["--leader-elect", "--system-namespace", NAMESPACE];
/// A controller for one namespace keeps its journals where the shipped one does.
pub(crate) const JOURNALS: &str = "--system-namespace=claim-rollout";
/// The user name of the controller.
pub(crate) const USER: &str = "system:serviceaccount:claim-rollout:claim-rollout-controller";
/// The files of `deploy/` that need neither a container runtime nor Kubewarden.
const MANIFESTS: [&str; 4] = [
    "namespace.yaml",
    "crd.yaml",
    "controller/rbac.yaml",
    "policy-server-rbac.yaml",
];
/// The guard.
const GUARD: [&str; 3] = ["guard/staged.yaml", "guard/replacing.yaml", "guard/controller.yaml"];

/// The applied files of `deploy/`, and any number of controllers.
pub(crate) struct Controllers {
    binary: PathBuf,
    folder: PathBuf,
    kubeconfig: PathBuf,
    count: AtomicU32,
}

/// A running `claim-rollout controller`; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Controller {
    process: Process,
    address: SocketAddr,
}

impl Controllers {
    /// Applies the files of `deploy/` without the policies. No controller runs yet.
    pub(crate) async fn install(cluster: &Cluster) -> anyhow::Result<Self> {
        let controllers = Self::without_the_guard(cluster).await?;
        // The guard reads ClaimRollouts.
        for file in GUARD {
            manifest_applied(cluster, file).await?;
        }
        Ok(controllers)
    }

    /// The same without the guard.
    pub(crate) async fn without_the_guard(cluster: &Cluster) -> anyhow::Result<Self> {
        apply_manifests(cluster).await?;
        Self::of(cluster).await
    }

    /// The same for an existing installation.
    pub(crate) async fn of(cluster: &Cluster) -> anyhow::Result<Self> {
        Ok(Self {
            binary: binary()?,
            folder: cluster.folder().to_owned(),
            kubeconfig: cluster.kubeconfig_of(NAMESPACE, ACCOUNT).await?,
            count: AtomicU32::new(0),
        })
    }

    /// Starts a controller with these further arguments, as its ServiceAccount, and returns when `/readyz` reports
    /// success. Its log is `controller-<n>.log` in the folder of the cluster. Any number may run at the same time.
    pub(crate) async fn start(&self, extra: &[&str]) -> anyhow::Result<Controller> {
        self.start_with(&self.kubeconfig, extra).await
    }

    /// The same with the settings in the cluster, as the Deployment of the controller gets them.
    pub(crate) async fn start_configured(&self, cluster: &Cluster, extra: &[&str]) -> anyhow::Result<Controller> {
        let settings = settings_of(cluster).await?.context("a ConfigMap")?;
        let settings = settings.to_str().context("a path in UTF-8")?;
        self.start(&[&["--settings", settings][..], extra].concat()).await
    }

    /// A name that no controller of this cluster has had.
    fn name(&self) -> String {
        loop {
            let name = format!("controller-{}", self.count.fetch_add(1, Ordering::Relaxed) + 1);
            if !self.folder.join(format!("{name}.log")).exists() {
                return name;
            }
        }
    }

    /// The same with another kubeconfig.
    pub(crate) async fn start_with(&self, kubeconfig: &Path, extra: &[&str]) -> anyhow::Result<Controller> {
        let name = self.name();
        let kubeconfig = kubeconfig.to_str().context("a path in UTF-8")?;
        let arguments = [
            &[
                "controller",
                "--kubeconfig",
                kubeconfig,
                "--health-address",
                "127.0.0.1:0",
            ],
            extra,
        ]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
        let mut process = Process::start(&name, &self.binary, &arguments, &self.folder)?;
        let ready = eventually("the controller to be ready", PATIENCE, async || {
            if let Some(status) = process.status()? {
                bail!("the controller ended ({status}):\n{}", process.last_lines());
            }
            let address = logged_address(&process.log());
            Ok(address.filter(|address| get(*address, "/readyz").is_ok_and(|(code, _)| code == 200)))
        });
        let address = ready.await?;
        Ok(Controller { process, address })
    }
}

impl Controller {
    /// The status code and the body of one of these paths.
    pub(crate) fn get(&self, path: &str) -> anyhow::Result<(u16, String)> {
        get(self.address, path)
    }

    /// The resources used so far.
    pub(crate) fn usage(&self) -> anyhow::Result<Usage> {
        self.process.usage()
    }

    /// The number of open sockets: connections, and the listener.
    pub(crate) fn sockets(&self) -> anyhow::Result<usize> {
        self.process.sockets()
    }

    /// The log so far; also after the end.
    pub(crate) fn log(&self) -> String {
        self.process.log()
    }

    /// The exit status, if the controller has ended.
    pub(crate) fn status(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.process.status()?)
    }

    /// Kills the controller, as a power failure of its node does, and waits for its end.
    pub(crate) fn kill(&mut self) -> anyhow::Result<ExitStatus> {
        Ok(self.process.kill()?)
    }

    /// Stops the process (SIGSTOP), as an overloaded node does.
    pub(crate) fn halt(&mut self) -> anyhow::Result<()> {
        Ok(self.process.signal(Signal::STOP)?)
    }

    /// Continues the process.
    pub(crate) fn resume(&mut self) -> anyhow::Result<()> {
        Ok(self.process.signal(Signal::CONT)?)
    }

    /// Sends SIGTERM, as the kubelet does, and waits for the end.
    pub(crate) async fn terminate(&mut self) -> anyhow::Result<ExitStatus> {
        self.process.signal(Signal::TERM)?;
        eventually("the controller to end", PATIENCE, async || Ok(self.process.status()?)).await
    }
}

/// A file with the settings in the cluster, if they are there.
pub(crate) async fn settings_of(cluster: &Cluster) -> anyhow::Result<Option<PathBuf>> {
    let get = format!("get configmap claim-rollout-settings -n {NAMESPACE} --ignore-not-found -o json");
    let found = cluster.typed(&get).await?;
    if found.stdout.is_empty() {
        return Ok(None);
    }
    let map: Value = serde_json::from_str(&found.stdout)?;
    let file = cluster.folder().join("settings.yaml");
    std::fs::write(&file, map["data"]["settings.yaml"].as_str().context("settings")?)?;
    Ok(Some(file))
}

/// Answers the lookups of a policy with the rights that `deploy/` gives to the policy-server.
pub(crate) async fn api_of_policy_server(cluster: &Cluster) -> anyhow::Result<KubeApi> {
    Ok(KubeApi::new(cluster.client_for(POLICY_SERVER, &[]).await?))
}

/// Applies the manifests and waits until the API server serves ClaimRollouts.
async fn apply_manifests(cluster: &Cluster) -> anyhow::Result<()> {
    for file in MANIFESTS {
        manifest_applied(cluster, file).await?;
    }
    let wait = "wait --for=condition=Established --timeout=120s crd/claimrollouts.claim-rollout.io";
    cluster.typed(wait).await.map(drop)
}

/// Applies a file of `deploy/`.
pub(crate) async fn manifest_applied(cluster: &Cluster, file: &str) -> anyhow::Result<()> {
    let path = deployed(file);
    let path = path.to_str().context("a path in UTF-8")?;
    let applied = cluster.done(&["apply", "--server-side", "-f", path], "").await;
    applied.map(drop)
}

/// The built binary. `CLAIM_ROLLOUT_BINARY` names another one, such as that of a released image.
pub(crate) fn binary() -> anyhow::Result<PathBuf> {
    if let Some(path) = std::env::var_os("CLAIM_ROLLOUT_BINARY") {
        return Ok(path.into());
    }
    let path = built_with(&std::env::current_exe()?).context("a folder")?;
    let missing = || {
        format!(
            "expected {}: `cargo build --bin claim-rollout` makes it",
            path.display()
        )
    };
    ensure!(path.exists(), missing());
    Ok(path)
}

/// The binary that cargo builds for this test or example, both of which are one folder further down.
fn built_with(program: &Path) -> Option<PathBuf> {
    let folder = program.parent()?;
    let is_below = ["deps", "examples"].iter().any(|name| folder.ends_with(name));
    let folder = if is_below { folder.parent()? } else { folder };
    Some(folder.join("claim-rollout"))
}

/// The address in the log on which a controller serves its health.
fn logged_address(log: &str) -> Option<SocketAddr> {
    let (_, rest) = log.split_once("health endpoints address=")?;
    let (address, _) = rest.split_once('\n')?;
    address.trim().parse().ok()
}

/// A GET over HTTP/1.0, whose answer ends with the connection.
fn get(address: SocketAddr, path: &str) -> anyhow::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .context("expected an answer, but found none")?;
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    Ok((
        code.with_context(|| format!("expected a status line, but found {head}"))?,
        body.to_owned(),
    ))
}

#[test]
fn binary_is_found_from_a_test_and_from_the_playground() {
    for program in [
        "t/debug/deps/e2e-1",
        "t/debug/examples/playground",
        "t/debug/playground",
    ] {
        let found = built_with(Path::new(program));
        assert_eq!(found, Some("t/debug/claim-rollout".into()), "{program}");
    }
}
