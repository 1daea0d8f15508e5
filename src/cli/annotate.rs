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

pub(crate) async fn run(cluster: &ClusterArguments, arguments: &Arguments, pauses: bool) -> anyhow::Result<()> {
    let (client, namespace) = cluster.connect().await?;
    let sets = objects(&client, Some(&namespace), &cluster::sets());
    let (patch, done) = (Patch::Merge(patch(pauses)), if pauses { "paused" } else { "resumed" });
    for name in &arguments.names {
        sets.patch(name, &parameters(arguments.dry_run), &patch).await?;
        print(&format!(
            "statefulset.apps/{name} {done}{}\n",
            remark(arguments.dry_run)
        ))?;
    }
    Ok(())
}

/// Sets the annotation, or removes it.
fn patch(pauses: bool) -> Value {
    json!({"metadata": {"annotations": {keys::PAUSED: pauses.then_some("true")}}})
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::patch;

    #[test]
    fn patch_changes_one_annotation() {
        for (pauses, value) in [(true, json!("true")), (false, json!(null))] {
            let expected = json!({"metadata": {"annotations": {"claim-rollout.io/paused": value}}});
            assert_eq!(patch(pauses), expected, "{pauses}");
        }
    }
}
