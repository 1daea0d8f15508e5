//! The certificate that all replicas of the webhook share.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::world::installation::NAMESPACE;
use crate::world::webhook::{ACCOUNT, Server, lead_to, secret, until_asked};
use crate::world::{Cluster, World};

const TERMS: &str = "claim-rollout.io/certificate-terms";
const BEGIN: &str = "BEGIN CERTIFICATE";

async fn object(cluster: &Cluster, kind: &str) -> anyhow::Result<Value> {
    let get = format!("get {kind} {ACCOUNT} -n {NAMESPACE} -o json");
    cluster.read(&get).await
}

/// The number of certificate authorities in the Secret and in each webhook configuration.
async fn authorities(cluster: &Cluster) -> anyhow::Result<Vec<usize>> {
    let count = |bundle: &Value| -> anyhow::Result<usize> {
        let bytes: k8s_openapi::ByteString = serde_json::from_value(bundle.clone())?;
        Ok(String::from_utf8(bytes.0)?.matches(BEGIN).count())
    };
    let mut counts = vec![count(&object(cluster, "secret").await?["data"]["ca.crt"])?];
    for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
        let configuration = object(cluster, kind).await?;
        for webhook in configuration["webhooks"].as_array().context("webhooks")? {
            counts.push(count(&webhook["clientConfig"]["caBundle"])?);
        }
    }
    Ok(counts)
}

/// A second replica uses the existing certificate. A replica that starts when the certificate is due makes a new one,
/// which is trusted beside the first.
pub(super) async fn second_replica_shares_and_renews_the_certificate(env: &World) -> anyhow::Result<()> {
    let cluster = &env.cluster;
    ensure!(env.webhook().made() == 1, "the first has made one");
    ensure!(authorities(cluster).await? == [1; 5]);
    let path = secret(cluster).await?;
    ensure!(path.is_some(), "no path was made");
    let second = Server::start(cluster).await?;
    ensure!(second.made() == 0, "the second has made one although there was one");
    second.terminate().await?;

    let mut terms: Value = serde_json::from_str(
        object(cluster, "secret").await?["metadata"]["annotations"][TERMS]
            .as_str()
            .context("terms")?,
    )?;
    terms["renewAt"] = "2026-01-01T00:00:00Z".into();
    let aged = format!("{TERMS}={terms}");
    let annotate = ["annotate", "--overwrite", "secret", ACCOUNT, "-n", NAMESPACE, &aged];
    cluster.done(&annotate, "").await?;
    let third = Server::start(cluster).await?;
    ensure!(third.made() == 1, "the third has made none although it was time");
    ensure!(authorities(cluster).await? == [2; 5]);

    // The first replica still shows the old certificate.
    lead_to(cluster, env.webhook().address()).await?;
    until_asked(cluster).await?;
    ensure!(
        authorities(cluster).await? == [2; 5],
        "applying the configurations again changed whom they trust"
    );
    ensure!(secret(cluster).await? == path, "the path changed with the certificate");
    third.terminate().await
}
