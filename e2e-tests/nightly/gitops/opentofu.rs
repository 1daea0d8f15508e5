//! OpenTofu with the providers that take a manifest: their own programs, without a registry.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::paths::differences;
use crate::world::namespace::{STAGED, TestNamespace};
use crate::world::{Output, engines};

/// A resource of a provider.
pub(crate) struct Resource {
    /// Where a registry has its provider, such as `hashicorp/kubernetes`.
    provider: &'static str,
    name: &'static str,
    /// Its arguments besides the manifest, in JSON.
    arguments: &'static str,
    /// The field manager of its requests.
    pub(super) manager: &'static str,
}

pub(super) const MANIFEST: Resource = Resource {
    provider: "hashicorp/kubernetes",
    name: "kubernetes_manifest",
    arguments: "{}",
    manager: "Terraform",
};
pub(super) const COMPUTED: Resource = Resource {
    arguments: r#"{"computed_fields": ["metadata.annotations", "metadata.labels", "spec.volumeClaimTemplates"]}"#,
    ..MANIFEST
};
pub(super) const TYPED: Resource = Resource {
    name: "kubernetes_stateful_set_v1",
    arguments: r#"{"wait_for_rollout": false}"#,
    ..MANIFEST
};
/// `kubectl_manifest` as it is without arguments.
pub(super) const WAITING: Resource = Resource {
    provider: "alekc/kubectl",
    name: "kubectl_manifest",
    arguments: "{}",
    manager: "",
};
pub(super) const KUBECTL: Resource = Resource {
    arguments: r#"{"wait_for_rollout": false}"#,
    ..WAITING
};
pub(super) const KUBECTL_SERVER_SIDE: Resource = Resource {
    arguments: r#"{"wait_for_rollout": false, "server_side_apply": true}"#,
    manager: "kubectl",
    ..WAITING
};

/// What a plan changes: attributes of the resource, and paths in the object that the provider plans.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) changes: BTreeSet<String>,
    /// `["no-op"]`, `["update"]` or, for a replacement, `["delete", "create"]`.
    pub(super) actions: Value,
}

impl Resource {
    /// Whether the provider sends a server-side apply.
    pub(super) fn is_server_side(&self) -> bool {
        self.name == "kubernetes_manifest" || self.arguments.contains("server_side_apply")
    }

    /// The resource with this manifest.
    fn in_configuration(&self, kubeconfig: &Path, manifest: &Value) -> anyhow::Result<Value> {
        let (_, provider) = self.provider.split_once('/').context("a provider")?;
        let mut arguments: Value = serde_json::from_str(self.arguments)?;
        match self.name {
            "kubectl_manifest" => arguments["yaml_body"] = manifest.to_string().into(),
            "kubernetes_manifest" => arguments["manifest"] = manifest.clone(),
            _ => typed(&mut arguments, manifest),
        }
        Ok(json!({
            "terraform": {"required_providers": {provider: {"source": self.provider}}},
            "provider": {provider: {"config_path": kubeconfig}},
            "resource": {self.name: {"web": arguments}},
        }))
    }

    /// Writes the configuration into the folder of the namespace, which keeps the state, and runs a command there.
    async fn tofu(&self, ns: &TestNamespace<'_>, manifest: &Value, arguments: &[&str]) -> anyhow::Result<Output> {
        let programs = engines::build("opentofu").await?;
        let folder = ns.cluster.folder().join(format!("tofu-{}", ns.namespace));
        std::fs::create_dir_all(&folder)?;
        let mut manifest = manifest.clone();
        manifest["metadata"]["namespace"] = ns.namespace.clone().into();
        let configuration = self.in_configuration(&ns.cluster.kubeconfig(), &manifest)?;
        std::fs::write(folder.join("main.tf.json"), configuration.to_string())?;
        let settings = folder.join("tofurc");
        let overrides = format!("{:?} = {programs:?}", self.provider);
        std::fs::write(
            &settings,
            format!("provider_installation {{\n dev_overrides {{\n {overrides}\n }}\n}}\n"),
        )?;
        let folder = format!("-chdir={}", folder.display());
        let arguments = [&[&*folder], arguments].concat();
        let environment = [
            ("TF_CLI_CONFIG_FILE", &*settings.to_string_lossy()),
            ("TF_IN_AUTOMATION", "1"),
        ];
        let tofu = programs.join("tofu");
        ns.cluster
            .run(&tofu.to_string_lossy(), &arguments, &environment, "")
            .await
    }

    /// `tofu apply`.
    pub(super) async fn apply(&self, ns: &TestNamespace<'_>, manifest: &Value) -> anyhow::Result<Output> {
        let arguments = ["apply", "-auto-approve", "-input=false", "-no-color"];
        self.tofu(ns, manifest, &arguments).await
    }

    /// `tofu apply`, with the result that it has for this resource.
    pub(super) async fn sync(&self, ns: &TestNamespace<'_>, manifest: &Value) -> anyhow::Result<Value> {
        let staged = async || {
            let sets = ns.all("apps", "v1", "StatefulSet").await?;
            anyhow::Ok(sets.first().map(|set| set["metadata"]["annotations"][STAGED].clone()))
        };
        let before = staged().await?.unwrap_or_default();
        let output = self.apply(ns, manifest).await?;
        let size =
            |set: &Value| set["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"].clone();
        let is_as_planned = size(&ns.set().await?) == size(manifest) && staged().await?.unwrap_or_default() == before;
        let fails = self.plans_the_object() && !is_as_planned;
        let inconsistent = output
            .stderr
            .contains("Provider produced inconsistent result after apply");
        ensure!(output.success != fails && inconsistent == fails, "{output:?}");
        ns.set().await
    }

    /// Whether the provider plans the whole object: an apply fails if the answer differs, and also applies what was read.
    pub(super) fn plans_the_object(&self) -> bool {
        self.name == MANIFEST.name
    }

    /// Whether a plan shows fields of the object, and not a fingerprint of them.
    pub(super) fn shows_fields(&self) -> bool {
        self.name != WAITING.name
    }

    /// `tofu plan`.
    pub(super) async fn plan(&self, ns: &TestNamespace<'_>, manifest: &Value) -> anyhow::Result<Plan> {
        let arguments = ["plan", "-detailed-exitcode", "-input=false", "-no-color", "-out=plan"];
        let planned = self.tofu(ns, manifest, &arguments).await?;
        let shown = self.tofu(ns, manifest, &["show", "-json", "plan"]).await?;
        ensure!(shown.success, "{shown:?}, after {planned:?}");
        let shown: Value = serde_json::from_str(&shown.stdout)?;
        let change = &shown["resource_changes"][0]["change"];
        let plan = Plan {
            changes: changes(change),
            actions: change["actions"].clone(),
        };
        let nothing = plan.actions == json!(["no-op"]);
        let expected = if nothing { 0 } else { 2 };
        ensure!(planned.code == Some(expected), "{planned:?}, with {change:#}");
        ensure!(plan.changes.is_empty() == nothing, "{change:#}");
        Ok(plan)
    }
}

/// The arguments of `kubernetes_stateful_set_v1` for the manifests of these tests.
fn typed(arguments: &mut Value, manifest: &Value) {
    let (metadata, spec) = (&manifest["metadata"], &manifest["spec"]);
    let (pod, claim) = (&spec["template"], &spec["volumeClaimTemplates"][0]);
    let container = &pod["spec"]["containers"][0];
    let mount = &container["volumeMounts"][0];
    arguments["metadata"] = metadata.clone();
    arguments["spec"] = json!({
        "replicas": spec["replicas"], "service_name": spec["serviceName"], "min_ready_seconds": spec["minReadySeconds"],
        "selector": {"match_labels": spec["selector"]["matchLabels"]},
        "template": {"metadata": pod["metadata"], "spec": {
            "termination_grace_period_seconds": pod["spec"]["terminationGracePeriodSeconds"],
            "container": {"name": container["name"], "image": container["image"],
                "volume_mount": {"name": mount["name"], "mount_path": mount["mountPath"]}},
        }},
        "volume_claim_template": {"metadata": claim["metadata"], "spec": {
            "access_modes": claim["spec"]["accessModes"], "storage_class_name": claim["spec"]["storageClassName"],
            "resources": claim["spec"]["resources"],
        }},
    });
}

fn changes(change: &Value) -> BTreeSet<String> {
    let (before, after) = (&change["before"], known(&change["after"], &change["after_unknown"]));
    let mut all = BTreeSet::new();
    for (attribute, after) in after.as_object().into_iter().flatten() {
        match &**attribute {
            _ if before[attribute] == *after => {}
            "object" => all.extend(differences(&before[attribute], after)),
            // The same as `yaml_body`.
            "yaml_body_parsed" => {}
            _ => _ = all.insert(attribute.clone()),
        }
    }
    all
}

/// The planned object, with what is known only after the apply.
fn known(planned: &Value, unknown: &Value) -> Value {
    match (planned, unknown) {
        (_, Value::Bool(true)) => "(known after apply)".into(),
        (Value::Object(planned), Value::Object(unknown)) => {
            let mut result = planned.clone();
            for (key, unknown) in unknown {
                let part = known(planned.get(key).unwrap_or(&Value::Null), unknown);
                result.insert(key.clone(), part);
            }
            Value::Object(result)
        }
        (Value::Array(planned), Value::Array(unknown)) => {
            let item = |(index, item)| known(item, unknown.get(index).unwrap_or(&Value::Null));
            planned.iter().enumerate().map(item).collect()
        }
        _ => planned.clone(),
    }
}
