//! The policy objects of `deploy/`, and what Kubewarden's controller makes of each: a webhook, and an entry of a
//! policy-server.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::{Module, Policy, Registration};

/// A ClusterAdmissionPolicy.
#[derive(Clone, Debug)]
pub(crate) struct Shipped {
    pub(crate) name: String,
    pub(crate) spec: Value,
}

impl Shipped {
    /// For StatefulSets that are created or updated.
    pub(crate) fn sets() -> anyhow::Result<Self> {
        Self::read("policy.yaml", "claim-rollout")
    }

    /// For PVCs that the StatefulSet controller creates.
    pub(crate) fn claims() -> anyhow::Result<Self> {
        Self::read("policy.yaml", "claim-rollout-claims")
    }

    /// For Pods that the StatefulSet controller deletes.
    pub(crate) fn pods() -> anyhow::Result<Self> {
        Self::read("policy.yaml", "claim-rollout-pods")
    }

    /// For PVCs that a retention policy deletes; optional.
    pub(crate) fn retention() -> anyhow::Result<Self> {
        Self::read("policy-retention.yaml", "claim-rollout-retention")
    }

    fn read(file: &str, name: &str) -> anyhow::Result<Self> {
        let objects = documents(file)?;
        let object = objects.into_iter().find(|object| object["metadata"]["name"] == name);
        let mut object = object.with_context(|| format!("expected {name} in {file}, but found none"))?;
        ensure!(object["kind"] == "ClusterAdmissionPolicy", "{file}: {name}");
        Ok(Self {
            name: name.to_owned(),
            spec: object["spec"].take(),
        })
    }

    /// The same as the chart renders it with `features.openkruise`.
    pub(crate) fn for_openkruise(mut self) -> Self {
        for rule in self.spec["rules"].as_array_mut().into_iter().flatten() {
            if rule["apiGroups"] == json!(["apps.kruise.io"]) {
                rule["operations"] = json!(["CREATE", "UPDATE"]);
            }
        }
        self
    }

    /// The same with these settings, and with their `controllerAccounts` in its matchConditions.
    pub(crate) fn with_settings(mut self, settings: &Value) -> Self {
        let conditions = self.spec["matchConditions"].as_array_mut().into_iter().flatten();
        for condition in conditions.filter(|condition| condition["name"] == "not-by-the-controller") {
            if let accounts @ Value::Array(_) = &settings["controllerAccounts"] {
                condition["expression"] = format!("!(request.userInfo.username in {accounts})").into();
            }
        }
        self.spec["settings"] = settings.clone();
        self
    }

    /// The webhook.
    pub(crate) fn registration(&self) -> Registration {
        Registration::new(&self.name, self.spec.clone())
    }

    /// The entry. A cluster-wide policy is granted every capability, but reads only the kinds that it names.
    pub(crate) fn policy(&self, module: &Module) -> anyhow::Result<Policy> {
        let mut policy = Policy::new(&self.name, module, self.spec["settings"].clone()).granting("*");
        policy.allowed_to_mutate = self.spec["mutating"].as_bool().context("mutating")?;
        for resource in self.spec["contextAwareResources"].as_array().into_iter().flatten() {
            let text = |key: &str| resource[key].as_str().with_context(|| key.to_owned());
            policy = policy.reading(text("apiVersion")?, text("kind")?);
        }
        Ok(policy)
    }
}

/// A file in `deploy/`.
pub(crate) fn deployed(file: &str) -> PathBuf {
    crate::world::repository::root().join("deploy").join(file)
}

/// The objects in a file of `deploy/`.
pub(crate) fn documents(file: &str) -> anyhow::Result<Vec<Value>> {
    let text = std::fs::read_to_string(deployed(file)).with_context(|| file.to_owned())?;
    serde_saphyr::from_multiple(&text).with_context(|| file.to_owned())
}
