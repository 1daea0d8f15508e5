//! `claim-rollout pause` and `resume`: the annotation of a StatefulSet that people change most often.

use clap::Args;
use kube::api::Patch;
use serde_json::{Value, json};

use super::cluster::{self, ClusterArguments, objects};
use super::completion::sets;
use super::output::print;
use super::withdraw::{DryRun, parameters, remark};
use crate::templates::keys;

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
}

impl Annotate {
    /// The value of the annotation; it is removed without one.
    const fn value(self) -> Option<&'static str> {
        match self {
            Self::Pause => Some("true"),
            Self::Resume => None,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Resume => "resumed",
        }
    }

    fn patch(self) -> Value {
        json!({"metadata": {"annotations": {keys::PAUSED: self.value()}}})
    }
}

pub(crate) async fn run(cluster: &ClusterArguments, arguments: &Arguments, what: Annotate) -> anyhow::Result<()> {
    let (client, namespace) = cluster.connect().await?;
    let sets = objects(&client, Some(&namespace), &cluster::sets());
    for name in &arguments.names {
        let patch = Patch::Merge(what.patch());
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
        for (what, value) in [(Annotate::Pause, json!("true")), (Annotate::Resume, json!(null))] {
            let expected = json!({"metadata": {"annotations": {"claim-rollout.io/paused": value}}});
            assert_eq!(what.patch(), expected, "{what:?}");
        }
    }
}
