//! A rollout behind a policy-server of Kubewarden instead of the policy host of the tests.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use crate::world::namespace::PATIENCE;
use crate::world::policy_host::{Shipped, policy_file};
use crate::world::web::Web;
use crate::world::{Cluster, Options, POLICY_SERVER, Process, World, eventually};

/// A running policy-server with the shipped policy objects.
struct PolicyServer {
    /// Kills it when this is dropped.
    _process: Process,
    address: String,
    certificate: String,
}

/// A port that nobody uses now.
fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// The entry of the policies file that Kubewarden's controller writes for a cluster-wide policy.
fn entry(shipped: &Shipped) -> Value {
    let spec = &shipped.spec;
    json!({
        "module": format!("file://{}", policy_file().display()),
        "policyMode": "protect",
        "allowedToMutate": spec["mutating"],
        "settings": spec["settings"],
        "contextAwareResources": spec["contextAwareResources"],
        "hostCapabilities": ["*"],
    })
}

impl PolicyServer {
    /// Starts it with the rights that `deploy/` gives to it, and returns when it listens.
    async fn start(cluster: &Cluster, policies: &[Shipped]) -> anyhow::Result<Self> {
        let folder = cluster.folder().join("policy-server");
        std::fs::create_dir_all(folder.join(".kube"))?;
        // Its home: there it finds the cluster.
        std::fs::copy(cluster.kubeconfig_for(POLICY_SERVER, &[])?, folder.join(".kube/config"))?;
        let file: serde_json::Map<String, Value> = policies
            .iter()
            .map(|policy| (policy.name.clone(), entry(policy)))
            .collect();
        std::fs::write(folder.join("policies.yml"), serde_json::to_vec_pretty(&file)?)?;
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
        let certificate = made.cert.pem();
        std::fs::write(folder.join("cert.pem"), &certificate)?;
        std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem())?;
        let (port, probes) = (free_port()?, free_port()?);
        let arguments = format!(
            "--addr=127.0.0.1 --port={port} --readiness-probe-port={probes} --policies=policies.yml \
             --policies-download-dir=. --sigstore-cache-dir=. --cert-file=cert.pem --key-file=key.pem"
        );
        let arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        let mut process = Process::start("policy-server", Path::new("policy-server"), &arguments, &folder)?;
        let listening = eventually("policy-server to listen", PATIENCE, async || {
            if let Some(status) = process.status()? {
                bail!("policy-server ended ({status}):\n{}", process.last_lines());
            }
            Ok(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok())
        });
        listening.await?;
        Ok(Self {
            _process: process,
            address: format!("127.0.0.1:{port}"),
            certificate,
        })
    }

    async fn register(&self, client: &kube::Client, policy: &Shipped) -> anyhow::Result<()> {
        let url = format!("https://{}/validate/{}", self.address, policy.name);
        policy.registration().register_at(client, &url, &self.certificate).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs policy-server: make kubewarden"]
async fn set_behind_policy_server_grows_and_completes() -> anyhow::Result<()> {
    let world = World::with(Options::default()).build().await?;
    let policies = [Shipped::claims()?, Shipped::pods()?, Shipped::sets()?];
    let server = PolicyServer::start(&world.cluster, &policies).await?;
    for policy in &policies {
        server.register(&world.client, policy).await?;
    }
    let mut ns = world.namespace("grow").await?;
    let wrong = Web::replicas(0).policy("Sideways");
    let called = eventually("the API server to call policy-server", PATIENCE, async || {
        let tried = ns.kubectl(&["create", "--dry-run=server", "-f", "-"], &wrong).await?;
        Ok(tried
            .stderr
            .contains("expected one of OnClaimDelete, InPlace")
            .then_some(()))
    });
    called.await.context("the policy-server")?;
    ns.controller = Some(world.controllers.start(&["--namespace", "grow"]).await?);

    ns.target(&Web::replicas(3)).await?;
    ns.settled().await?;
    let staged = ns.apply(3, "2Gi").await?;
    ensure!(
        staged
            .stderr
            .contains("staged data 1Gi -> 2Gi; 3 PVCs will be updated in place"),
        "{staged:?}"
    );
    ns.until_complete(3, "2Gi").await?;
    let smaller = ns
        .kubectl(&["apply", "-f", "-"], &Web::replicas(3).size("512Mi"))
        .await?;
    ensure!(
        !smaller.success && smaller.stderr.contains("cannot shrink"),
        "{smaller:?}"
    );
    world.stop().await
}
