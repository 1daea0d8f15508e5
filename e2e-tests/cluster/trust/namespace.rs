//! A namespace with the users of the test.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use claim_rollout::templates::{ClaimTemplate, Phase, StagedChange, Staging, UpdatePolicy};
use serde_json::Value;

use crate::world::namespace::text;
use crate::world::{Cluster, Output};

/// The judges of requests in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judges {
    Policy,
    Guard,
    Both,
}

/// A namespace, and the users in it.
pub(super) struct TestedNamespace<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) namespace: String,
    pub(super) judges: Judges,
    /// The policy stages nothing: `mode: ValidateOnly`.
    pub(super) validates_only: bool,
    pub(super) alice: PathBuf,
    pub(super) bob: PathBuf,
    pub(super) controller: PathBuf,
}

impl TestedNamespace<'_> {
    pub(super) async fn kubectl(&self, user: Option<&Path>, arguments: &[&str], input: &str) -> anyhow::Result<Output> {
        let admin = self.cluster.kubeconfig();
        let kubeconfig = user.unwrap_or(&admin).to_str().context("a path in UTF-8")?;
        let whose = ["-n", &self.namespace, "--kubeconfig", kubeconfig];
        self.cluster.kubectl(&[arguments, &whose].concat(), input).await
    }

    pub(super) async fn done(&self, user: Option<&Path>, arguments: &[&str], input: &str) -> anyhow::Result<Output> {
        let output = self.kubectl(user, arguments, input).await?;
        ensure!(output.success, "kubectl {}: {}", arguments.join(" "), output.stderr);
        Ok(output)
    }

    pub(super) async fn get(&self, what: &str) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(
            &self.done(None, &["get", what, "-o", "json"], "").await?.stdout,
        )?)
    }

    /// A staged change of the first template of the StatefulSet, as the policy would write it.
    pub(super) async fn staged_change(
        &self,
        set: &str,
        policy: UpdatePolicy,
        path: &str,
        value: &str,
    ) -> anyhow::Result<String> {
        let set = self.get(&format!("statefulset/{set}")).await?;
        let mut templates = set["spec"]["volumeClaimTemplates"].clone();
        let place = path.split('/').fold(&mut templates[0], |place, name| &mut place[name]);
        *place = value.into();
        let change = StagedChange {
            by: "alice".to_owned(),
            manager: "kubectl-client-side-apply".to_owned(),
            phase: Phase::RollingOut,
            replicas: 0,
            staging: Staging::read("xz245").expect("a staging"),
            templates: ClaimTemplate::list_from_value(templates)?,
            uid: text(&set["metadata"]["uid"]),
            update_policy: policy,
        };
        Ok(change.write()?)
    }
}
