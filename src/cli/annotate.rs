//! `claim-rollout pause` and `resume`: the annotation of a StatefulSet that people change most often.

use clap::Args;
use kube::Client;
use kube::api::Patch;
use serde_json::{Value, json};

use super::cluster::{self, ClusterArguments, objects};
use super::completion::sets;
use super::output::print;
use super::process::for_each;
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
    annotate(&client, &namespace, &arguments.names, arguments.dry_run, pauses).await
}

async fn annotate(
    client: &Client,
    namespace: &str,
    names: &[String],
    dry_run: DryRun,
    pauses: bool,
) -> anyhow::Result<()> {
    let sets = objects(client, Some(namespace), &cluster::sets());
    let (patch, done) = (Patch::Merge(patch(pauses)), if pauses { "paused" } else { "resumed" });
    for_each(names, async |name| {
        sets.patch(name, &parameters(dry_run), &patch).await?;
        print(&format!("statefulset.apps/{name} {done}{}\n", remark(dry_run)))
    })
    .await
}

/// Sets the annotation, or removes it.
fn patch(pauses: bool) -> Value {
    json!({"metadata": {"annotations": {keys::PAUSED: pauses.then_some("true")}}})
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{annotate, patch};
    use crate::cli::withdraw::DryRun;
    use crate::controller::fixtures::recording;

    /// As kubectl does: the others may be those that matter.
    #[tokio::test]
    async fn set_that_is_not_found_keeps_no_other_from_a_pause() {
        let (client, received) = recording(|request| {
            let status = json!({"kind": "Status", "status": "Failure", "code": 404, "message": "not found"});
            let is_none = request.path.ends_with("/none");
            Some(if is_none {
                (404, status)
            } else {
                (200, json!({"metadata": {"name": "web"}}))
            })
        });
        let names = ["web", "none", "db"].map(str::to_owned);
        let error = annotate(&client, "shop", &names, DryRun::None, true)
            .await
            .expect_err("not found");
        assert_eq!(crate::cli::process::in_words(&error), "not found");
        let asked = received.take();
        let asked: Vec<&str> = asked
            .iter()
            .filter_map(|request| request.path.rsplit('/').next())
            .collect();
        assert_eq!(asked, ["web", "none", "db"]);
    }

    #[test]
    fn patch_changes_one_annotation() {
        for (pauses, value) in [(true, json!("true")), (false, json!(null))] {
            let expected = json!({"metadata": {"annotations": {"claim-rollout.io/paused": value}}});
            assert_eq!(patch(pauses), expected, "{pauses}");
        }
    }
}
