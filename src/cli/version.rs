//! `claim-rollout version`: the versions of this program and of what runs in the cluster.

use clap::Args;
use kube::api::ListParams;
use serde::Serialize;
use serde_json::Value;

use super::cluster::{ClusterArguments, kind};
use super::lists::list;
use super::output::print;

/// The label of our Deployments.
const OURS: &str = "app.kubernetes.io/name=claim-rollout";

/// Print the versions of this program and of the Deployments in the cluster
///
/// The version of a Deployment is the tag of its image, or its label app.kubernetes.io/version. The namespace of the
/// installation is that of `--namespace`; all namespaces if omitted.
#[derive(Clone, Debug, Args)]
pub(crate) struct Arguments {
    /// Print only the version of this program; reads no cluster
    #[arg(long)]
    client: bool,
}

/// The version of a Deployment.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct DeployedVersion {
    component: String,
    place: String,
    version: String,
}

pub(crate) async fn run(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<()> {
    print(&format!("Client: {}\n", env!("CARGO_PKG_VERSION")))?;
    if arguments.client {
        return Ok(());
    }
    let (client, _) = cluster.connect().await?;
    let (deployments, ours) = (kind("apps", "v1", "Deployment"), ListParams::default().labels(OURS));
    let listed = list::<Value>(&client, cluster.namespace.as_deref(), &deployments, &ours).await?;
    let found: Vec<DeployedVersion> = listed.named().iter().map(read).collect();
    print(&text(&found))
}

fn read(deployment: &Value) -> DeployedVersion {
    let text = |pointer: &str| deployment.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let component = text("/metadata/labels/app.kubernetes.io~1component");
    let image = text("/spec/template/spec/containers/0/image");
    let (image, digest) = image.split_once('@').unwrap_or((image, ""));
    // The host of a registry may have a port.
    let tag = image.rsplit('/').next().and_then(|name| Some(name.split_once(':')?.1));
    let label = Some(text("/metadata/labels/app.kubernetes.io~1version")).filter(|label| !label.is_empty());
    let version = tag.or(label).or(Some(digest).filter(|digest| !digest.is_empty()));
    let mut initial = component.chars();
    let first = initial.next().map(|first| first.to_ascii_uppercase());
    DeployedVersion {
        component: first.into_iter().chain(initial).collect(),
        place: format!("{}/{}", text("/metadata/namespace"), text("/metadata/name")),
        version: version.unwrap_or("unknown").trim_start_matches('v').to_owned(),
    }
}

fn text(found: &[DeployedVersion]) -> String {
    if found.is_empty() {
        return format!("no Deployment with the label {OURS} found\n");
    }
    let line = |it: &DeployedVersion| format!("{}: {} (deployment/{})\n", it.component, it.version, it.place);
    found.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{read, text};

    #[test]
    fn version_is_that_of_the_tag_or_the_label() {
        for (image, label, expected) in [
            ("ghcr.io/claim-rollout/claim-rollout:v0.1.0", "0.0.9", "0.1.0"),
            ("registry:5000/claim-rollout@sha256:ab", "0.1.0", "0.1.0"),
            ("registry:5000/claim-rollout:0.2.0@sha256:ab", "", "0.2.0"),
            ("registry:5000/claim-rollout@sha256:ab", "", "sha256:ab"),
            ("claim-rollout", "", "unknown"),
        ] {
            let labels = json!({"app.kubernetes.io/component": "controller", "app.kubernetes.io/version": label});
            let found = read(&json!({
                "metadata": {"name": "c", "namespace": "ops", "labels": labels},
                "spec": {"template": {"spec": {"containers": [{"image": image}]}}},
            }));
            assert_eq!(
                text(&[found]),
                format!("Controller: {expected} (deployment/ops/c)\n"),
                "{image} {label}"
            );
        }
    }
}
