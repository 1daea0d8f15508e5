//! A running `claim-rollout webhook`, and webhook configurations that lead the API server to it.

use std::net::{SocketAddr, TcpListener};

use anyhow::{Context as _, bail, ensure};
use claim_rollout::webhook::SecretPath;
use claim_rollout::webhook::path::of_policy;
use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};

use crate::world::installation::{NAMESPACE, binary, settings_of};
use crate::world::policy_host::documents;
use crate::world::web::Web;
use crate::world::{Cluster, PATIENCE, Process, Signal, eventually};

/// The ServiceAccount of the webhook; also the name of its Secret and of its webhook configurations.
pub(crate) const ACCOUNT: &str = "claim-rollout-webhook";

/// One replica; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Server {
    process: Process,
    address: SocketAddr,
}

impl Server {
    /// Leads the API server to a new replica, starts it, and waits until the API server calls it.
    pub(crate) async fn start(cluster: &Cluster) -> anyhow::Result<Self> {
        let address = free()?;
        lead_to(cluster, address).await?;
        let server = Self::serve(cluster, address).await?;
        until_asked(cluster).await?;
        Ok(server)
    }

    /// Starts a replica that the API server does not call yet.
    pub(crate) async fn begin(cluster: &Cluster) -> anyhow::Result<Self> {
        Self::serve(cluster, free()?).await
    }

    /// Starts a replica as its ServiceAccount.
    async fn serve(cluster: &Cluster, address: SocketAddr) -> anyhow::Result<Self> {
        let kubeconfig = cluster.kubeconfig_of(NAMESPACE, ACCOUNT).await?;
        let kubeconfig = kubeconfig.to_str().context("a path in UTF-8")?;
        let address_text = address.to_string();
        let arguments = [
            "webhook",
            "--kubeconfig",
            kubeconfig,
            "--namespace",
            NAMESPACE,
            "--host",
            "127.0.0.1",
        ];
        let mut arguments = [&arguments[..], &["--address", &address_text]].concat();
        let settings = settings_of(cluster).await?;
        if let Some(settings) = &settings {
            arguments.extend(["--settings", settings.to_str().context("a path in UTF-8")?]);
        }
        let arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
        let name = format!("webhook-{}", address.port());
        let mut process = Process::start(&name, &binary()?, &arguments, cluster.folder())?;
        let serving = eventually("the webhook to serve", PATIENCE, async || {
            if let Some(status) = process.status()? {
                bail!("the webhook ended ({status}):\n{}", process.last_lines());
            }
            Ok(process.log().contains("serving the policy").then_some(()))
        });
        serving.await?;
        Ok(Self { process, address })
    }

    /// Replaces the Service in the existing configurations by the address of this replica, and waits until the API
    /// server calls it.
    pub(crate) async fn stand_for_the_service(&self, cluster: &Cluster) -> anyhow::Result<()> {
        let kind = "mutatingwebhookconfiguration";
        let configuration: Value = cluster.read(&format!("get {kind} {ACCOUNT} -o json")).await?;
        let mut operations = Vec::new();
        for (place, webhook) in configuration["webhooks"].as_array().into_iter().flatten().enumerate() {
            let client = format!("/webhooks/{place}/clientConfig");
            let path = webhook["clientConfig"]["service"]["path"].as_str().context("a path")?;
            let url = format!("https://{}{path}", self.address);
            operations.push(json!({"op": "remove", "path": format!("{client}/service")}));
            operations.push(json!({"op": "add", "path": format!("{client}/url"), "value": url}));
        }
        let operations = Value::from(operations).to_string();
        let patched = cluster
            .kubectl(&["patch", kind, ACCOUNT, "--type=json", "-p", &operations], "")
            .await?;
        ensure!(patched.success, "{}", patched.stderr);
        until_asked(cluster).await
    }

    /// The address that the replica listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of certificates that the replica has made.
    pub(crate) fn made(&self) -> usize {
        self.process.log().matches("created a certificate").count()
    }

    /// Sends SIGTERM and waits for the end, as the kubelet does.
    pub(crate) async fn terminate(mut self) -> anyhow::Result<()> {
        self.process.signal(Signal::TERM)?;
        let ended = eventually("the webhook to end", PATIENCE, async || Ok(self.process.status()?));
        let status = ended.await?;
        ensure!(status.success(), "{status}: {}", self.process.log());
        Ok(())
    }
}

/// A free port. The kernel hands out other ports first, so nobody takes this one in between.
fn free() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Applies the webhook configurations of `deploy/webhook`, with an address in place of the Service and with the path
/// from the Secret, if there is one. Other fields that the webhook wrote stay.
pub(crate) async fn lead_to(cluster: &Cluster, address: SocketAddr) -> anyhow::Result<()> {
    let secret = secret(cluster).await?;
    for file in ["webhook/configuration.yaml", "webhook/retention.yaml"] {
        for mut configuration in documents(file)? {
            for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
                let name = webhook["name"].as_str().context("a name")?;
                let policy = name.split('.').next().unwrap_or_default();
                let path = of_policy(policy, secret.as_ref());
                webhook["clientConfig"] = json!({"url": format!("https://{address}{path}")});
                // As shipped it would be shorter than an answer of a busy machine.
                webhook["timeoutSeconds"] = 30.into();
            }
            // The webhook has written the same field.
            let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
            let applied = cluster.done(&apply, &configuration.to_string()).await;
            applied.context(file)?;
        }
    }
    Ok(())
}

/// The secret path that the replicas share, if one of them has made it.
pub(crate) async fn secret(cluster: &Cluster) -> anyhow::Result<Option<SecretPath>> {
    let secret: Secret = cluster
        .read(&format!("get secret {ACCOUNT} -n {NAMESPACE} -o json"))
        .await?;
    let path = secret.data.unwrap_or_default().remove("path");
    let path = path.map(|bytes| anyhow::Ok(SecretPath::read(std::str::from_utf8(&bytes.0)?)?));
    path.transpose()
}

/// Waits until the API server calls the webhook and gets an answer.
pub(crate) async fn until_asked(cluster: &Cluster) -> anyhow::Result<()> {
    let probe = Web::replicas(0)
        .named("probe")
        .annotated("sync", "Sometimes")
        .to_string();
    let mut last = String::new();
    let asked = eventually("the API server to ask the webhook", PATIENCE, async || {
        let create = ["create", "--dry-run=server", "-f", "-"];
        last = cluster.kubectl(&create, &probe).await?.stderr;
        Ok(last.contains("denied the request: ").then_some(()))
    });
    asked.await.with_context(|| last.clone())
}
