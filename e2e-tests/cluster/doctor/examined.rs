//! The installation under test. Scenarios plant a fault, check the finding, and fix it.

use std::fmt::Display;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::world::installation::{NAMESPACE, binary};
use crate::world::shell::typed;
use crate::world::web::Web;
use crate::world::{Options, Output, World, until};

/// The webhook configuration of StatefulSets and PVCs, as kubectl names it.
pub(super) const CONFIGURATION: &str = "mutatingwebhookconfiguration/claim-rollout-webhook";
/// The namespace that the controller manages.
pub(super) const KEPT: &str = "kept";
/// The namespace that the controller does not manage and the policy is not called for, so that faults stay.
pub(super) const FAULTS: &str = "faults";
/// The first line of the doctor.
const INSTALLED: &str = "claim-rollout is installed in namespace claim-rollout: found ";

/// An installation without Kubewarden. The controller leads.
pub(super) struct Examined {
    pub(super) world: World,
}

/// A finding: its severity and its object.
pub(super) type Expected<'a> = (&'a str, &'a str);

/// The StatefulSet `web` of one replica in [`FAULTS`], with a label and an annotation in its template.
pub(super) fn faulty(size: &str) -> Web {
    let metadata = json!({"labels": {"tier": "gold"}, "annotations": {"example.com/note": "kept"}});
    Web::replicas(1).size(size).template(&json!({"metadata": metadata}))
}

impl Examined {
    /// An installation without Kubewarden and without faults, and a StatefulSet in each namespace.
    pub(super) async fn build() -> anyhow::Result<Self> {
        let world = World::with(Options::default()).webhook().build().await?;
        let mut env = Self { world };
        env.lead().await?;
        let but = json!({"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [FAULTS]},
        ]});
        let path = "/webhooks/0/namespaceSelector";
        env.edit(
            CONFIGURATION,
            &json!([{"op": "add", "path": path, "value": but}]).to_string(),
        )
        .await?;
        for (namespace, manifest) in [(KEPT, Web::replicas(2)), (FAULTS, faulty("1Gi"))] {
            env.typed(&format!("create namespace {namespace}")).await?;
            env.done(&["apply", "-n", namespace, "-f", "-"], &manifest).await?;
        }
        env.until_no_drift(&["-n", FAULTS]).await?;
        env.until_no_drift(&["-n", KEPT]).await?;
        env.until_no_drift(&["-A"]).await?;
        env.until_healthy().await?;
        Ok(env)
    }

    /// Starts a controller, which takes the Lease.
    pub(super) async fn lead(&mut self) -> anyhow::Result<()> {
        let arguments = ["--leader-elect", "--system-namespace", NAMESPACE, "--namespace", KEPT];
        self.world.controller = Some(self.world.controllers.start(&arguments).await?);
        Ok(())
    }

    /// Runs kubectl, which must succeed.
    pub(super) async fn done(&self, arguments: &[&str], input: &(impl Display + ?Sized)) -> anyhow::Result<Output> {
        self.world.cluster.done(arguments, &input.to_string()).await
    }

    /// Runs kubectl in [`FAULTS`], which must succeed.
    pub(super) async fn faults(&self, arguments: &[&str], input: &(impl Display + ?Sized)) -> anyhow::Result<Output> {
        self.done(&[&["-n", FAULTS], arguments].concat(), input).await
    }

    /// Runs a command line of kubectl, which must succeed.
    pub(super) async fn typed(&self, line: &str) -> anyhow::Result<Output> {
        self.world.cluster.typed(line).await
    }

    /// Applies a JSON patch to an object.
    pub(super) async fn edit(&self, object: &str, operations: &str) -> anyhow::Result<()> {
        self.typed(&format!("patch {object} --type=json -p '{operations}'"))
            .await
            .map(drop)
    }

    /// The manifest of an object, to restore it later.
    pub(super) async fn saved(&self, object: &str) -> anyhow::Result<String> {
        let output = self.typed(&format!("get {object} -o json")).await?;
        let mut saved: Value = serde_json::from_str(&output.stdout)?;
        let metadata = saved["metadata"].as_object_mut().context("metadata")?;
        for key in [
            "resourceVersion",
            "uid",
            "creationTimestamp",
            "generation",
            "managedFields",
        ] {
            metadata.remove(key);
        }
        Ok(saved.to_string())
    }

    /// Recreates the StatefulSet in [`FAULTS`] with other templates. Its Pod and its PVC stay.
    pub(super) async fn recreate(&self, namespace: &str, manifest: &Web) -> anyhow::Result<()> {
        self.typed(&format!("delete -n {namespace} statefulset/web --cascade=orphan"))
            .await?;
        let apply = ["apply", "-n", namespace, "-f", "-"];
        self.done(&apply, manifest).await.map(drop)
    }

    /// Runs a command of a user in the folder of the project, with its files in place of those that are released.
    async fn as_shown(&self, line: &str) -> anyhow::Result<()> {
        let chart: Value = serde_saphyr::from_str(&crate::world::document::text("charts/claim-rollout/Chart.yaml")?)?;
        let version = chart["version"].as_str().context("a version")?;
        let file = format!("https://raw.githubusercontent.com/claim-rollout/claim-rollout/v{version}/");
        let folder = "https://github.com/claim-rollout/claim-rollout/";
        let line = &line
            .replace(&file, "")
            .replace(folder, "")
            .replace(&format!("?ref=v{version}"), "");
        let output = typed(&self.world.cluster, crate::world::repository::root(), line).await?;
        ensure!(output.success, "{line}: {output:?}");
        Ok(())
    }

    /// Runs `claim-rollout` as the administrator.
    pub(super) async fn run(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        self.world
            .cluster
            .run(&binary()?.to_string_lossy(), arguments, &[], "")
            .await
    }

    /// The exit code of a command, and the items that it prints.
    pub(super) async fn printed(&self, arguments: &[&str]) -> anyhow::Result<(Option<i32>, Vec<Value>)> {
        let output = self.run(arguments).await?;
        let document: Value = serde_json::from_str(&output.stdout).with_context(|| format!("{output:?}"))?;
        Ok((output.code, document["items"].as_array().cloned().unwrap_or_default()))
    }

    /// Waits until the doctor has no finding.
    pub(super) async fn until_healthy(&self) -> anyhow::Result<()> {
        let is_silent = |output: &Output| {
            let lines: Vec<&str> = output.stderr.lines().collect();
            let quiet = matches!(&lines[..], [first, last]
                if first.starts_with(INSTALLED) && last.ends_with(": nothing is wrong"));
            quiet && output.stdout.is_empty() && output.code == Some(0)
        };
        until(
            "the doctor to be silent",
            async || self.run(&["doctor"]).await,
            is_silent,
        )
        .await
        .map(drop)
    }

    /// Waits until the doctor has exactly this finding, and returns its fix.
    pub(super) async fn diagnosed(&self, expected: Expected<'_>) -> anyhow::Result<String> {
        let (severity, subject) = expected;
        let code = if severity == "Error" { 1 } else { 0 };
        let ask = async || self.printed(&["doctor", "-o", "json"]).await;
        let is_it = |(found, items): &(Option<i32>, Vec<Value>)| {
            let only = items.len() == 1 && items[0]["severity"] == severity && items[0]["subject"] == subject;
            only && *found == Some(code)
        };
        let (_, items) = until(&format!("{severity} of {subject}"), ask, is_it).await?;
        items[0]["fix"].as_str().map(str::to_owned).context("a fix")
    }

    /// Waits for the finding, runs its fix (the command up to the first comma), and waits until the doctor has no
    /// finding.
    pub(super) async fn fixed(&self, expected: Expected<'_>) -> anyhow::Result<()> {
        let fix = self.diagnosed(expected).await?;
        self.as_shown(fix.split(", ").next().unwrap_or_default()).await?;
        self.until_healthy().await.with_context(|| fix)
    }

    /// Waits until `drift` has no row.
    pub(super) async fn until_no_drift(&self, which: &[&str]) -> anyhow::Result<()> {
        let arguments = [&["drift", "--exit-code"], which].concat();
        let is_silent = |output: &Output| {
            let one_line = output.stderr.lines().count() == 1 && output.stderr.ends_with(": nothing differs\n");
            one_line && output.stdout.is_empty() && output.code == Some(0)
        };
        until("drift to be silent", async || self.run(&arguments).await, is_silent)
            .await
            .map(drop)
    }
}
