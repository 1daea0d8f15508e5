//! How claim-rollout was installed, the command that restores a part of it, and the Deployments of Kubewarden.

use kube::api::DynamicObject;
use serde_json::Value;

use crate::cli::settings_in_use::is_our_policy;

/// The commands with this beginning need the manifests, and conflict with Helm.
const APPLY: &str = "kubectl apply --server-side --force-conflicts -";

/// Values of the chart that install a manifest which is not installed by default.
const VALUES: [(&str, &str); 2] = [
    ("deploy/guard", " --set guard.enabled=true"),
    ("deploy/replace-sets.yaml", " --set controller.replaceSets=true"),
];

/// What the Deployments of a cluster show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deployed {
    /// The release of Helm; none if the installation was not made by Helm.
    pub(crate) release: Option<HelmRelease>,
    /// Namespace and name of the Deployment of Kubewarden's controller.
    pub(crate) kubewarden: Option<(String, String)>,
    pub(crate) policy_servers: Vec<PolicyServer>,
}

/// A release of our chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HelmRelease {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The version of the chart.
    pub(crate) version: String,
}

/// A policy-server of Kubewarden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyServer {
    /// The name of its PolicyServer.
    pub(crate) name: String,
    pub(crate) namespace: String,
    /// The name of its ServiceAccount.
    pub(crate) account: String,
}

impl Deployed {
    /// Reads the Deployments of a cluster. The release is that of the installation in `home`.
    pub(super) fn read(deployments: &[DynamicObject], home: &str) -> Self {
        let mut found = Self::default();
        for deployment in deployments {
            let name = deployment.metadata.name.clone().unwrap_or_default();
            let namespace = deployment.metadata.namespace.clone().unwrap_or_default();
            let label = |key: &str| deployment.metadata.labels.as_ref()?.get(key).map(String::as_str);
            let pod = &deployment.data["spec"]["template"]["spec"];
            let image = pod["containers"][0]["image"].as_str().unwrap_or_default();
            if label("app.kubernetes.io/name") == Some("claim-rollout") && namespace == home {
                found.release = found.release.or_else(|| release(deployment));
            } else if let Some(server) = name.strip_prefix("policy-server-") {
                let account = pod["serviceAccountName"].as_str().unwrap_or("default");
                found.policy_servers.push(PolicyServer {
                    name: server.to_owned(),
                    namespace,
                    account: account.to_owned(),
                });
            } else if image.contains("kubewarden-controller") || image.contains("kubewarden/adm-controller") {
                found.kubewarden = Some((namespace, name));
            }
        }
        found
    }

    /// The fix for this installation: Helm restores what it has installed.
    pub(super) fn fix(&self, fix: String) -> String {
        let Some(release) = &self.release else {
            return fix;
        };
        let Some((before, manifest)) = fix.split_once(APPLY) else {
            return fix;
        };
        // `f FILE` or `k FOLDER`, and what may follow it.
        let (file, after) = match manifest[2..].find([' ', ',']) {
            Some(end) => manifest[2..].split_at(end),
            None => (&manifest[2..], ""),
        };
        // The other way for an installation by the chart.
        let after = after.split(", or controller.").next().unwrap_or_default();
        let mut values = VALUES.into_iter().filter(|(prefix, _)| file.starts_with(prefix));
        let value = values.next().map_or("", |(_, value)| value);
        let HelmRelease {
            namespace,
            name,
            version,
        } = release;
        format!(
            "{before}helm upgrade {name} oci://ghcr.io/claim-rollout/charts/claim-rollout --version {version} -n \
             {namespace} --reuse-values{value}{after}"
        )
    }
}

/// The release that Helm writes on its objects.
fn release(deployment: &DynamicObject) -> Option<HelmRelease> {
    let annotation = |key: &str| deployment.metadata.annotations.as_ref()?.get(key).cloned();
    let chart = deployment.metadata.labels.as_ref()?.get("helm.sh/chart")?;
    Some(HelmRelease {
        namespace: annotation("meta.helm.sh/release-namespace")?,
        name: annotation("meta.helm.sh/release-name")?,
        version: chart.strip_prefix("claim-rollout-").unwrap_or(chart).to_owned(),
    })
}

/// The names of the PolicyServers that run our policy objects.
pub(super) fn servers_of_ours(policies: &[DynamicObject]) -> Vec<String> {
    let specs = policies.iter().map(|policy| &policy.data["spec"]);
    let ours = specs.filter(|spec| is_our_policy(spec));
    let server = |spec: &Value| spec["policyServer"].as_str().unwrap_or("default").to_owned();
    let mut names: Vec<String> = ours.map(server).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Deployed, HelmRelease, PolicyServer, servers_of_ours};

    fn controller(namespace: &str) -> Value {
        json!({"metadata": {
            "name": "c", "namespace": namespace,
            "labels": {"app.kubernetes.io/name": "claim-rollout", "helm.sh/chart": "claim-rollout-0.1.0"},
            "annotations": {"meta.helm.sh/release-name": "cr", "meta.helm.sh/release-namespace": "ops"},
        }})
    }

    fn deployed(objects: &Value) -> Deployed {
        let objects: Vec<_> = serde_json::from_value(objects.clone()).expect("objects");
        Deployed::read(&objects, "ops")
    }

    fn release() -> HelmRelease {
        HelmRelease {
            namespace: "ops".to_owned(),
            name: "cr".to_owned(),
            version: "0.1.0".to_owned(),
        }
    }

    #[test]
    fn deployments_show_the_release_and_kubewarden() {
        let mut plain = controller("ops");
        plain["metadata"]["annotations"] = json!(null);
        let container =
            |image: &str| json!({"template": {"spec": {"containers": [{"image": image}], "serviceAccountName": "ps"}}});
        let of_kubewarden =
            |name: &str, image: &str| json!({"metadata": {"name": name, "namespace": "kw"}, "spec": container(image)});
        assert_eq!(deployed(&json!([controller("ops")])).release, Some(release()));
        assert_eq!(deployed(&json!([controller("other")])).release, None);
        assert_eq!(deployed(&json!([plain])).release, None);
        let found = deployed(&json!([
            of_kubewarden(
                "admission-controller",
                "ghcr.io/kubewarden/kubewarden-controller:v1.37.2"
            ),
            of_kubewarden("policy-server-default", "ghcr.io/kubewarden/policy-server:v1.37.2"),
        ]));
        assert_eq!(
            found.kubewarden,
            Some(("kw".to_owned(), "admission-controller".to_owned()))
        );
        let server = PolicyServer {
            name: "default".to_owned(),
            namespace: "kw".to_owned(),
            account: "ps".to_owned(),
        };
        assert_eq!(found.policy_servers, [server]);
    }

    #[test]
    fn fix_of_a_release_is_a_command_of_helm() {
        let upgrade =
            "helm upgrade cr oci://ghcr.io/claim-rollout/charts/claim-rollout --version 0.1.0 -n ops --reuse-values";
        let apply = "kubectl apply --server-side --force-conflicts -";
        for (fix, expected) in [
            (format!("{apply}f deploy/policy.yaml"), upgrade.to_owned()),
            (
                format!("{apply}f deploy/policy.yaml, and check that the server behind it runs"),
                format!("{upgrade}, and check that the server behind it runs"),
            ),
            (
                format!("{apply}k deploy/guard"),
                format!("{upgrade} --set guard.enabled=true"),
            ),
            (
                format!("{apply}f deploy/replace-sets.yaml, or controller.replaceSets=true in the chart"),
                format!("{upgrade} --set controller.replaceSets=true"),
            ),
            (
                "kubectl annotate sts web a-".to_owned(),
                "kubectl annotate sts web a-".to_owned(),
            ),
        ] {
            let helm = Deployed {
                release: Some(release()),
                ..Deployed::default()
            };
            assert_eq!(helm.fix(fix.clone()), expected, "{fix}");
            assert_eq!(Deployed::default().fix(fix.clone()), fix);
        }
    }

    #[test]
    fn servers_are_those_of_our_policies() {
        let policies = json!([
            {"metadata": {"name": "a"}, "spec": {"module": "registry://ghcr.io/claim-rollout/policy:v1", "policyServer": "two"}},
            {"metadata": {"name": "b"}, "spec": {"module": "registry://ghcr.io/claim-rollout/policy:v1"}},
            {"metadata": {"name": "c"}, "spec": {"module": "registry://other", "policyServer": "three"}},
        ]);
        let policies: Vec<_> = serde_json::from_value(policies).expect("policies");
        assert_eq!(servers_of_ours(&policies), ["default", "two"]);
    }
}
