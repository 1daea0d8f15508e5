//! Helm 4 with charts of one template: server-side, and client-side as Helm 3 does.

use anyhow::{Context as _, ensure};

use crate::world::Output;
use crate::world::namespace::TestNamespace;

/// The flags for server-side apply.
pub(crate) const SERVER_SIDE: &[&str] = &["--server-side=true"];
/// The flags for client-side apply, as Helm 3 does.
pub(crate) const CLIENT_SIDE: &[&str] = &["--server-side=false"];
/// The version of the chart in the repository.
pub(crate) const VERSION: &str = "1.0.0";

/// A StatefulSet `web`. A label of its template holds the version of the chart.
const WEB: &str = include_str!("helm/web.yaml");
const CHART: &str = include_str!("helm/Chart.yaml");
const VALUES: &str = include_str!("helm/values.yaml");

/// A release `web` in a namespace of its own.
pub(crate) struct Release<'a> {
    pub(crate) ns: &'a TestNamespace<'a>,
    /// The flags that choose server-side or client-side apply.
    pub(crate) way: &'static [&'static str],
    /// The template of the chart.
    template: &'a str,
}

impl<'a> Release<'a> {
    /// A release of the StatefulSet `web`.
    pub(crate) fn new(ns: &'a TestNamespace<'a>, way: &'static [&'static str]) -> Self {
        Self::of(WEB, ns, way)
    }

    /// A release of a chart with this template.
    pub(crate) fn of(template: &'a str, ns: &'a TestNamespace<'a>, way: &'static [&'static str]) -> Self {
        Self { ns, way, template }
    }

    /// Runs Helm. Fails if Helm fails.
    pub(crate) async fn helm(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        let output = self.answered(arguments).await?;
        ensure!(output.success, "helm {}: {output:?}", arguments.join(" "));
        Ok(output)
    }

    /// Runs Helm. Returns the output also if Helm fails.
    pub(crate) async fn answered(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        let arguments = [arguments, &["--namespace", &self.ns.namespace]].concat();
        // All revisions are kept, so that a release can go back to its first.
        let environment = [("HELM_MAX_HISTORY", "0")];
        self.ns.cluster.run("helm", &arguments, &environment, "").await
    }

    /// `helm upgrade --install` of this chart version with these values. Fails if Helm fails.
    pub(crate) async fn upgrade(&self, version: &str, values: &str) -> anyhow::Result<Output> {
        let output = self.upgraded(version, values, &[]).await?;
        ensure!(output.success, "{values}: {output:?}");
        Ok(output)
    }

    /// The same with further arguments. Returns the output also if Helm fails.
    pub(crate) async fn upgraded(&self, version: &str, values: &str, further: &[&str]) -> anyhow::Result<Output> {
        let folder = self
            .ns
            .cluster
            .folder()
            .join(format!("chart-{version}-{}", self.ns.namespace));
        for (file, content) in [
            ("Chart.yaml", CHART.replace(VERSION, version)),
            ("values.yaml", VALUES.to_owned()),
            ("templates/all.yaml", self.template.to_owned()),
        ] {
            let path = folder.join(file);
            std::fs::create_dir_all(path.parent().context("a folder")?)?;
            std::fs::write(path, content)?;
        }
        let folder = folder.to_str().context("a path in UTF-8")?;
        let upgrade = ["upgrade", "--install", "web", folder, "--set", values];
        self.answered(&[&upgrade, self.way, further].concat()).await
    }
}

/// Whether a tool prints this warning of the policy.
pub(crate) fn warns(output: &Output, what: &str) -> bool {
    output.stderr.contains(&format!("claim-rollout: {what}"))
}

/// The warnings of the policy that a tool prints, in their order.
pub(crate) fn warnings(output: &Output) -> Vec<&str> {
    let lines = output.stderr.lines();
    lines
        .filter_map(|line| Some(line.split_once("claim-rollout: ")?.1))
        .collect()
}
