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
    use std::sync::{Arc, Mutex, PoisonError};

    use axum::http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use serde_json::json;

    use super::{annotate, patch};
    use crate::cli::withdraw::DryRun;

    /// As kubectl does: the others may be those that matter.
    #[tokio::test]
    async fn set_that_is_not_found_keeps_no_other_from_a_pause() {
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let noted = Arc::clone(&asked);
        let server = move |request: Request<Body>| {
            let name = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
            let mut response = Response::new(Body::from(json!({"metadata": {"name": name}}).to_string().into_bytes()));
            if name == "none" {
                let status = json!({"kind": "Status", "status": "Failure", "code": 404, "message": "not found"});
                response = Response::new(Body::from(status.to_string().into_bytes()));
                *response.status_mut() = axum::http::StatusCode::NOT_FOUND;
            }
            noted.lock().unwrap_or_else(PoisonError::into_inner).push(name);
            std::future::ready(Ok::<_, kube::Error>(response))
        };
        let client = Client::new(tower::service_fn(server), "shop");
        let names = ["web", "none", "db"].map(str::to_owned);
        let error = annotate(&client, "shop", &names, DryRun::None, true)
            .await
            .expect_err("not found");
        assert_eq!(crate::cli::process::in_words(&error), "not found");
        let asked = std::mem::take(&mut *asked.lock().unwrap_or_else(PoisonError::into_inner));
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
