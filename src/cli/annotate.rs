//! `claim-rollout pause`, `resume` and `enable`: the annotations of a StatefulSet that people change most often.

use clap::Args;
use serde_json::{Value, json};

use super::cluster::{ClusterArguments, kind, objects};
use super::completion::sets;
use super::output::print;
use super::withdraw::{DryRun, parameters, remark};
use crate::templates::{UpdatePolicy, keys};

/// The StatefulSets to annotate.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Names of StatefulSets
    #[arg(required = true, add = sets())]
    names: Vec<String>,
    /// `none`, or `server` to submit a server-side request without persisting it
    #[arg(long, value_name = "MODE", default_value = "none")]
    dry_run: DryRun,
}

/// What to do with the StatefulSets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Annotate {
    Pause,
    Resume,
    Enable,
}

impl Annotate {
    /// The annotation and its value; it is removed without one.
    const fn annotation(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Pause => (keys::PAUSED, Some("true")),
            Self::Resume => (keys::PAUSED, None),
            Self::Enable => (keys::UPDATE_POLICY, Some(UpdatePolicy::InPlace.as_str())),
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Enable => "enabled: existing PVCs follow its templates",
        }
    }

    fn patch(self) -> Value {
        let (key, value) = self.annotation();
        json!({"metadata": {"annotations": {key: value}}})
    }
}

pub(crate) async fn run(cluster: &ClusterArguments, arguments: &Arguments, what: Annotate) -> anyhow::Result<()> {
    let (client, namespace) = cluster.connect().await?;
    let sets = objects(&client, Some(&namespace), &kind("apps", "v1", "StatefulSet"));
    for name in &arguments.names {
        let patch = kube::api::Patch::Merge(what.patch());
        sets.patch(name, &parameters(arguments.dry_run), &patch).await?;
        print(&format!(
            "statefulset.apps/{name} {}{}\n",
            what.as_str(),
            remark(arguments.dry_run)
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Annotate;

    #[test]
    fn patch_changes_one_annotation() {
        for (what, key, value) in [
            (Annotate::Pause, "claim-rollout.io/paused", json!("true")),
            (Annotate::Resume, "claim-rollout.io/paused", json!(null)),
            (Annotate::Enable, "claim-rollout.io/update-policy", json!("InPlace")),
        ] {
            assert_eq!(
                what.patch(),
                json!({"metadata": {"annotations": {key: value}}}),
                "{what:?}"
            );
        }
    }
}
