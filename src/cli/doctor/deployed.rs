//! How claim-rollout was installed, the command that restores a part of it, and the Deployments of Kubewarden.

use kube::api::DynamicObject;
use serde_json::Value;

use super::finding::{Fix, chart_value};
use super::rights::{Account, OURS, PolicyServer};
use crate::cli::settings_in_use::is_our_policy;

/// What the Deployments of a cluster show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deployed {
    /// The release of Helm; none if the installation was not made by Helm.
    pub(crate) release: Option<HelmRelease>,
    pub(crate) controller: Option<OwnDeployment>,
    /// The controller updates PVCs of OpenKruise's StatefulSets: it runs with `--openkruise`.
    pub(crate) openkruise: bool,
    /// That of the built-in webhook.
    pub(crate) webhook: Option<OwnDeployment>,
    /// That of Kubewarden's controller.
    pub(crate) kubewarden: Option<KubewardenDeployment>,
    pub(crate) policy_servers: Vec<PolicyServer>,
}

/// A Deployment of claim-rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnDeployment {
    pub(crate) name: String,
    /// The name of its ServiceAccount.
    pub(crate) account: String,
}

/// The Deployment of Kubewarden's controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KubewardenDeployment {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The tag of its image.
    pub(crate) version: String,
}

/// A release of our chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HelmRelease {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The version of the chart.
    pub(crate) version: String,
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
            let chart = label("helm.sh/chart").unwrap_or_default();
            let is_ours = label("app.kubernetes.io/name") == Some(OURS) || chart.starts_with("claim-rollout-");
            if is_ours && namespace == home {
                found.release = found.release.or_else(|| release(deployment));
                let account = pod["serviceAccountName"].as_str().unwrap_or("default").to_owned();
                let own = OwnDeployment { name, account };
                match label("app.kubernetes.io/component") {
                    Some("controller") => {
                        found.controller = Some(own);
                        let arguments = pod["containers"][0]["args"].as_array();
                        found.openkruise = arguments.is_some_and(|all| all.iter().any(|it| it == "--openkruise"));
                    }
                    Some("webhook") => found.webhook = Some(own),
                    _ => {}
                }
            } else if let Some(server) = name.strip_prefix("policy-server-") {
                let account = pod["serviceAccountName"].as_str().unwrap_or("default");
                found.policy_servers.push(PolicyServer {
                    name: server.to_owned(),
                    namespace,
                    account: account.to_owned(),
                });
            } else if image.contains("kubewarden-controller") || image.contains("kubewarden/adm-controller") {
                let version = image.rsplit_once(':').map_or("", |(_, tag)| tag).to_owned();
                found.kubewarden = Some(KubewardenDeployment {
                    namespace,
                    name,
                    version,
                });
            }
        }
        found
    }

    /// The fix for this installation: Helm restores what it has installed.
    pub(super) fn fix(&self, fix: Fix) -> String {
        let command = match (fix.manifest, &self.release) {
            (Some(manifest), Some(release)) => release.restore(manifest),
            _ => fix.command,
        };
        command + &fix.then
    }

    const fn of(&self, account: Account) -> Option<&OwnDeployment> {
        match account {
            Account::Webhook => self.webhook.as_ref(),
            _ => self.controller.as_ref(),
        }
    }

    /// The name of the ServiceAccount that the Pods of this account use; that of the manifests without a Deployment.
    pub(crate) fn account(&self, account: Account) -> &str {
        self.of(account).map_or(account.name(), |own| &own.account)
    }

    /// What the names of all objects begin with: `fullnameOverride` of the chart changes it.
    pub(crate) fn fullname(&self) -> &str {
        let controller = self
            .controller
            .as_ref()
            .and_then(|own| own.name.strip_suffix("-controller"));
        let webhook = || self.webhook.as_ref()?.name.strip_suffix("-webhook");
        controller.or_else(webhook).unwrap_or(OURS)
    }

    /// The command that restarts the Pods of this account; that for the manifests without a Deployment.
    pub(super) fn restart(&self, account: Account, home: &str) -> String {
        let name = self.of(account).map_or(account.name(), |own| &own.name);
        format!("kubectl rollout restart -n {home} deployment/{name}")
    }

    /// The user name of this account, in an installation in this namespace.
    pub(crate) fn user(&self, account: Account, home: &str) -> String {
        format!("system:serviceaccount:{home}:{}", self.account(account))
    }
}

impl HelmRelease {
    /// The command that restores the part in this manifest. Helm 4 applies it on the server, where a field that somebody
    /// else has changed is a conflict (https://helm.sh/docs/helm/helm_upgrade, `--force-conflicts`).
    fn restore(&self, manifest: &str) -> String {
        let Self {
            namespace,
            name,
            version,
        } = self;
        let value = chart_value(manifest).map(|value| format!(" --set {value}=true"));
        let value = value.unwrap_or_default();
        format!(
            "helm upgrade {name} oci://ghcr.io/claim-rollout/charts/claim-rollout --version {version} -n {namespace} \
             --reuse-values{value} (if it reports a conflict, with --force-conflicts)"
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

/// The names of our policy objects in monitor mode, in which Kubewarden enforces nothing.
pub(super) fn monitored(policies: &[DynamicObject]) -> Vec<String> {
    let ours = policies.iter().filter(|policy| is_our_policy(&policy.data["spec"]));
    let monitored = ours.filter(|policy| policy.data["spec"]["mode"] == "monitor");
    monitored.filter_map(|policy| policy.metadata.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Account, Deployed, Fix, HelmRelease, KubewardenDeployment, PolicyServer, monitored, servers_of_ours};

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
        let kubewarden = KubewardenDeployment {
            namespace: "kw".to_owned(),
            name: "admission-controller".to_owned(),
            version: "v1.37.2".to_owned(),
        };
        assert_eq!(found.kubewarden, Some(kubewarden));
        let server = PolicyServer {
            name: "default".to_owned(),
            namespace: "kw".to_owned(),
            account: "ps".to_owned(),
        };
        assert_eq!(found.policy_servers, [server]);
    }

    #[test]
    fn fix_of_a_part_is_for_the_installation() {
        let upgrade =
            "helm upgrade cr oci://ghcr.io/claim-rollout/charts/claim-rollout --version 0.1.0 -n ops --reuse-values";
        let apply = "kubectl apply --server-side --force-conflicts";
        let version = concat!("v", env!("CARGO_PKG_VERSION"));
        let places = "https://raw.githubusercontent.com/claim-rollout/claim-rollout";
        let file = |file: &str| format!("{apply} -f {places}/{version}/deploy/{file}");
        let guard = format!("-k 'https://github.com/claim-rollout/claim-rollout/deploy/guard?ref={version}'");
        let of = Fix::restore;
        let checked = of("deploy/policy.yaml").then(", and check");
        let another = of("deploy/replace-sets.yaml").by("another way");
        let conflict = " (if it reports a conflict, with --force-conflicts)";
        // The fix, and what it is without Helm; with Helm, the value, and what follows.
        for (fix, by_hand, [value, then]) in [
            (of("deploy/policy.yaml"), file("policy.yaml"), ["", ""]),
            (checked, file("policy.yaml, and check"), ["", ", and check"]),
            (
                of("deploy/guard"),
                format!("{apply} {guard}"),
                [" --set guard.enabled=true", ""],
            ),
            (of("deploy/crd.yaml"), file("crd.yaml"), ["", ""]),
            (
                another,
                "another way".to_owned(),
                [" --set features.replaceSets=true", ""],
            ),
        ] {
            let helm = Deployed {
                release: Some(release()),
                ..Deployed::default()
            };
            assert_eq!(helm.fix(fix.clone()), format!("{upgrade}{value}{conflict}{then}"));
            assert_eq!(Deployed::default().fix(fix), by_hand);
            let same = Fix::from("kubectl annotate");
            assert_eq!(helm.fix(same), "kubectl annotate");
        }
    }

    #[test]
    fn accounts_are_those_that_the_deployments_use() {
        let of = |component: &str, account: Value| {
            let mut deployment = controller("ops");
            deployment["metadata"]["labels"]["app.kubernetes.io/component"] = json!(component);
            let container = json!({"args": ["controller", "--openkruise"]});
            deployment["spec"] =
                json!({"template": {"spec": {"serviceAccountName": account, "containers": [container]}}});
            deployment
        };
        let found = deployed(&json!([of("controller", json!("mine")), of("webhook", json!(null))]));
        assert!(found.openkruise && !deployed(&json!([controller("ops")])).openkruise);
        for (account, expected) in [
            (Account::Controller, "system:serviceaccount:ops:mine"),
            (Account::Replacing, "system:serviceaccount:ops:mine"),
            (Account::Webhook, "system:serviceaccount:ops:default"),
        ] {
            assert_eq!(found.user(account, "ops"), expected);
        }
        let user = Deployed::default().user(Account::Controller, "ops");
        assert_eq!(user, "system:serviceaccount:ops:claim-rollout-controller");
    }

    #[test]
    fn names_begin_as_those_of_the_deployments() {
        let of = |component: &str, name: &str, label: &str| {
            let mut deployment = controller("ops");
            deployment["metadata"]["name"] = json!(name);
            deployment["metadata"]["labels"]["app.kubernetes.io/name"] = json!(label);
            deployment["metadata"]["labels"]["app.kubernetes.io/component"] = json!(component);
            deployment
        };
        for (deployments, expected) in [
            (json!([]), "claim-rollout"),
            (json!([of("controller", "mine", "claim-rollout")]), "claim-rollout"),
            (
                json!([of("controller", "volumes-controller", "claim-rollout")]),
                "volumes",
            ),
            // With `nameOverride`.
            (json!([of("controller", "volumes-controller", "volumes")]), "volumes"),
            (json!([of("webhook", "volumes-webhook", "claim-rollout")]), "volumes"),
        ] {
            assert_eq!(deployed(&deployments).fullname(), expected, "{deployments}");
        }
        let found = deployed(&json!([of("webhook", "volumes-webhook", "claim-rollout")]));
        let restart = "kubectl rollout restart -n ops deployment";
        assert_eq!(
            found.restart(Account::Webhook, "ops"),
            format!("{restart}/volumes-webhook")
        );
        assert_eq!(
            found.restart(Account::Controller, "ops"),
            format!("{restart}/claim-rollout-controller")
        );
    }

    #[test]
    fn policies_in_monitor_mode_are_ours() {
        let policy = |name: &str, module: &str, mode: Value| {
            let spec = json!({"module": module, "mode": mode});
            json!({"metadata": {"name": name}, "spec": spec})
        };
        let ours = "registry://ghcr.io/claim-rollout/policy:v1";
        let policies = json!([
            policy("a", ours, json!("monitor")),
            policy("b", ours, json!("protect")),
            policy("c", ours, json!(null)),
            policy("d", "registry://other", json!("monitor")),
        ]);
        let policies: Vec<_> = serde_json::from_value(policies).expect("policies");
        assert_eq!(monitored(&policies), ["a"]);
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
