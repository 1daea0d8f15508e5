//! `claim-rollout version`: the versions of this program and of what runs in the cluster.

use clap::Args;
use kube::api::ListParams;
use serde_json::Value;

use super::cluster::{ClusterArguments, OURS, kind};
use super::lists::list;
use super::output::print;

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

pub(crate) async fn run(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<()> {
    print(&format!("Client: {}\n", env!("CARGO_PKG_VERSION")))?;
    if arguments.client {
        return Ok(());
    }
    let (client, _) = cluster.connect().await?;
    let (deployments, ours) = (kind("apps", "v1", "Deployment"), ListParams::default().labels(OURS));
    let listed = list::<Value>(&client, cluster.namespace.as_deref(), &deployments, &ours).await?;
    let lines: String = listed.named().iter().map(line).collect();
    if lines.is_empty() {
        return print(&format!("no Deployment with the label {OURS} found\n"));
    }
    print(&lines)
}

/// The component of a Deployment, and its version.
fn line(deployment: &Value) -> String {
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
    let component: String = first.into_iter().chain(initial).collect();
    let version = version.unwrap_or("unknown").trim_start_matches('v');
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    format!("{component}: {version} (deployment/{namespace}/{name})\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::line;

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
            let found = line(&json!({
                "metadata": {"name": "c", "namespace": "ops", "labels": labels},
                "spec": {"template": {"spec": {"containers": [{"image": image}]}}},
            }));
            assert_eq!(
                found,
                format!("Controller: {expected} (deployment/ops/c)\n"),
                "{image} {label}"
            );
        }
    }
}
