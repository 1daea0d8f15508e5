//! claim-rollout in a cluster of the tests, as `deploy/` installs it: the same definitions, account and rights, the
//! shipped policy, the built controller. What stands for a real installation's parts is the policy host, and that the
//! controller runs beside the cluster instead of in it.

#![allow(dead_code, reason = "the tests use some of it, the playground the rest")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::cluster::{Cluster, POLICY_SERVER, Process, Usage, eventually};
use crate::policy_host::{KubeApi, Module, PolicyHost, Registration, Runtime, Shipped, deployed};

/// The namespace of the controller, and its ServiceAccount there.
pub(crate) const NAMESPACE: &str = "claim-rollout";
pub(crate) const ACCOUNT: &str = "claim-rollout-controller";
/// What makes a controller lead by its Lease where it runs beside the cluster; in a Pod it does so by itself.
pub(crate) const AS_IN_A_POD: [&str; 3] = ["--leader-elect", "--lease-namespace", NAMESPACE];
/// The user name that the API server knows the controller by.
pub(crate) const USER: &str = "system:serviceaccount:claim-rollout:claim-rollout-controller";
/// What of `deploy/` does not need a container runtime or Kubewarden.
const MANIFESTS: [&str; 4] = [
    "namespace.yaml",
    "crd.yaml",
    "controller/rbac.yaml",
    "policy-server-rbac.yaml",
];
/// The guard.
const GUARD: [&str; 3] = ["guard/staged.yaml", "guard/replacing.yaml", "guard/controller.yaml"];
/// How long the controller may take to start or to stop, on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// claim-rollout installed in a cluster.
pub(crate) struct Installation {
    host: PolicyHost,
    module: Module,
    /// That of sets is the last.
    registrations: [Registration; 3],
    client: kube::Client,
    controllers: Controllers,
}

/// What `deploy/` holds, applied, and as many controllers as one likes.
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

impl Installation {
    /// Applies what `deploy/` holds, starts the policy (for sets, claims and Pods) with these settings, and waits until the API server calls it. No
    /// controller runs yet.
    pub(crate) async fn new(cluster: &Cluster, settings: Value) -> anyhow::Result<Self> {
        Self::but_in(&[], cluster, settings).await
    }

    /// The same, but the policy is not called for these namespaces.
    pub(crate) async fn but_in(namespaces: &[&str], cluster: &Cluster, settings: Value) -> anyhow::Result<Self> {
        let module = Runtime::patient()?.load_policy()?;
        let controllers = Controllers::install(cluster).await?;
        let client = cluster.client().await?;
        let shipped = [Shipped::claims()?, Shipped::pods()?, Shipped::sets()?];
        let mut policies = Vec::new();
        for policy in &shipped {
            let mut policy = policy.policy(&module)?;
            policy.settings = settings.clone();
            policies.push(policy);
        }
        let host = PolicyHost::start(policies, Arc::new(api_of_policy_server(cluster).await?)).await?;
        let registrations = shipped.map(|policy| policy.registration().but_in(namespaces));
        // The API server learns of them in this order: when it calls the last, it calls the first.
        for registration in &registrations {
            host.register(&client, registration).await?;
        }
        host.until_called(&client, &registrations[2]).await?;
        Ok(Self {
            host,
            module,
            registrations,
            client,
            controllers,
        })
    }

    /// See [`Controllers::start`].
    pub(crate) async fn start_controller(&self, extra: &[&str]) -> anyhow::Result<Controller> {
        self.controllers.start(extra).await
    }

    /// See [`Controllers::start_with`].
    pub(crate) async fn start_controller_with(&self, kubeconfig: &Path, extra: &[&str]) -> anyhow::Result<Controller> {
        self.controllers.start_with(kubeconfig, extra).await
    }

    /// How many requests about sets the policy has been asked about.
    pub(crate) fn requests(&self) -> u64 {
        self.host.requests(self.registrations[2].policy())
    }

    /// The policy itself.
    pub(crate) fn module(&self) -> &Module {
        &self.module
    }

    /// Where the API server reaches the policy: the address, the certificate that it trusts, and the path.
    pub(crate) fn webhook(&self) -> anyhow::Result<(SocketAddr, String, String)> {
        let url = self.host.url(self.registrations[2].policy());
        let url = url.strip_prefix("https://").context("a URL")?;
        let (address, path) = url.split_once('/').context("a path")?;
        Ok((address.parse()?, self.host.certificate().to_owned(), format!("/{path}")))
    }

    /// Ends the policy, but leaves it registered: the API server calls it in vain.
    pub(crate) async fn lose_policy(self) -> anyhow::Result<()> {
        self.host.stop().await
    }

    /// Takes the policy out of the cluster's way, and ends it.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        for registration in &self.registrations {
            self.host.unregister(&self.client, registration).await?;
        }
        self.host.stop().await
    }
}

impl Controllers {
    /// Applies what `deploy/` holds but the policies. No controller runs yet.
    pub(crate) async fn install(cluster: &Cluster) -> anyhow::Result<Self> {
        for file in GUARD {
            manifest_applied(cluster, file).await?;
        }
        Self::without_the_guard(cluster).await
    }

    /// The same, but what the API server lets through is for it alone to say.
    pub(crate) async fn without_the_guard(cluster: &Cluster) -> anyhow::Result<Self> {
        apply_manifests(cluster).await?;
        Self::of(cluster).await
    }

    /// The same where something else has installed it.
    pub(crate) async fn of(cluster: &Cluster) -> anyhow::Result<Self> {
        Ok(Self {
            binary: binary()?,
            folder: cluster.folder().to_owned(),
            kubeconfig: cluster.kubeconfig_of(NAMESPACE, ACCOUNT).await?,
            count: AtomicU32::new(0),
        })
    }

    /// Starts a controller with these further arguments, as its ServiceAccount, and returns when `/readyz` says so. Its
    /// log is `controller-<n>.log` in the folder of the cluster. Any number may run at the same time.
    pub(crate) async fn start(&self, extra: &[&str]) -> anyhow::Result<Controller> {
        self.start_with(&self.kubeconfig, extra).await
    }

    /// The same with another kubeconfig.
    pub(crate) async fn start_with(&self, kubeconfig: &Path, extra: &[&str]) -> anyhow::Result<Controller> {
        let name = format!("controller-{}", self.count.fetch_add(1, Ordering::Relaxed) + 1);
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
                bail!("the controller ended ({status}):\n{}", process.last_words());
            }
            let address = logged_address(&process.log());
            Ok(address.filter(|address| get(*address, "/readyz").is_ok_and(|(code, _)| code == 200)))
        });
        let address = ready.await?;
        Ok(Controller { process, address })
    }
}

impl Controller {
    /// Where `/healthz`, `/readyz` and `/metrics` are.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The status code and the body of one of them.
    pub(crate) fn get(&self, path: &str) -> anyhow::Result<(u16, String)> {
        get(self.address, path)
    }

    /// What it has used so far.
    pub(crate) fn usage(&self) -> anyhow::Result<Usage> {
        self.process.usage()
    }

    /// How many sockets it has open: connections, and the one that it listens on.
    pub(crate) fn sockets(&self) -> anyhow::Result<usize> {
        self.process.sockets()
    }

    /// What it logged so far; also after its end.
    pub(crate) fn log(&self) -> String {
        self.process.log()
    }

    /// How it ended, if it did.
    pub(crate) fn status(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.process.status()?)
    }

    /// Kills it, as a node does that loses power, and waits until it is gone.
    pub(crate) fn kill(&mut self) -> anyhow::Result<ExitStatus> {
        Ok(self.process.kill()?)
    }

    /// Halts it where it is, as a node does that has no time for it.
    pub(crate) fn halt(&mut self) -> anyhow::Result<()> {
        Ok(self.process.signal("STOP")?)
    }

    /// Lets it go on.
    pub(crate) fn resume(&mut self) -> anyhow::Result<()> {
        Ok(self.process.signal("CONT")?)
    }

    /// Asks it to end, as the kubelet does, and waits until it has.
    pub(crate) async fn terminate(&mut self) -> anyhow::Result<ExitStatus> {
        self.process.signal("TERM")?;
        eventually("the controller to end", PATIENCE, async || Ok(self.process.status()?)).await
    }
}

/// Answers what a policy asks, with the rights that `deploy/` gives the policy-server.
pub(crate) async fn api_of_policy_server(cluster: &Cluster) -> anyhow::Result<KubeApi> {
    Ok(KubeApi::new(cluster.client_for(POLICY_SERVER, &[]).await?))
}

/// Applies the manifests and waits until the API server serves ClaimRollouts.
async fn apply_manifests(cluster: &Cluster) -> anyhow::Result<()> {
    for file in MANIFESTS {
        manifest_applied(cluster, file).await?;
    }
    let crd = "crd/claimrollouts.claim-rollout.io";
    succeed(cluster, &["wait", "--for=condition=Established", "--timeout=30s", crd]).await
}

/// Applies a file of `deploy/`.
pub(crate) async fn manifest_applied(cluster: &Cluster, file: &str) -> anyhow::Result<()> {
    let path = deployed(file);
    let path = path.to_str().context("a path in UTF-8")?;
    succeed(cluster, &["apply", "--server-side", "-f", path]).await
}

async fn succeed(cluster: &Cluster, arguments: &[&str]) -> anyhow::Result<()> {
    let output = cluster.kubectl(arguments, "").await?;
    ensure!(output.success, "kubectl {}: {}", arguments.join(" "), output.stderr);
    Ok(())
}

/// The built binary. Cargo puts it beside the playground, and one folder above a test.
pub(crate) fn binary() -> anyhow::Result<PathBuf> {
    let this = std::env::current_exe()?;
    let folder = this.parent().context("a folder")?;
    let folder = folder.parent().filter(|_| folder.ends_with("deps")).unwrap_or(folder);
    let path = folder.join("claim-rollout");
    let missing = || {
        format!(
            "expected {}: `cargo build --bin claim-rollout` makes it",
            path.display()
        )
    };
    ensure!(path.exists(), missing());
    Ok(path)
}

/// The address that a controller says it serves its health on.
fn logged_address(log: &str) -> Option<SocketAddr> {
    let (_, rest) = log.split_once("health endpoints address=")?;
    let (address, _) = rest.split_once('\n')?;
    address.trim().parse().ok()
}

/// A GET over HTTP/1.0: the answer ends with the connection.
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
