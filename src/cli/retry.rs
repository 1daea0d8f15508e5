//! `claim-rollout retry`: asks the controller to try failed writes again now.

use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use kube::api::{Api, Patch};
use kube::runtime::wait::await_condition;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::cluster::{self, ClusterArguments, objects};
use super::completion::sets;
use super::output::{now, print};
use super::process::{for_each, program};
use super::withdraw::{DryRun, parameters};
use crate::api::{ReadyReason, ReplacementPhase};
use crate::controller::crd::{ClaimRollout, ClaimRolloutStatus, ReplacementStatus};
use crate::gate::ClaimState;
use crate::templates::keys;

/// How long a controller may take: as long as a few writes that get no answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Let the controller try failed writes again now
///
/// A write that was denied is tried again after a pause, which doubles up to five minutes. This command ends the pause,
/// for example after the webhook that denied the write was repaired. It ends when the controller has tried again and
/// reported, and prints what is reported. `claim-rollout wait` waits for the rollout.
///
/// It annotates the ClaimRollout, so it needs the right to patch claimrollouts.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Names of StatefulSets
    #[arg(required = true, add = sets())]
    names: Vec<String>,
}

pub(crate) async fn run(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<()> {
    let (client, namespace) = cluster.connect().await?;
    for_each(&arguments.names, async |name| retry(&client, &namespace, name).await).await
}

async fn retry(client: &Client, namespace: &str, name: &str) -> anyhow::Result<()> {
    let rollouts: Api<ClaimRollout> = Api::namespaced(client.clone(), namespace);
    let nothing = |why: &str| print(&format!("statefulset.apps/{name}: nothing to try again: {why}\n"));
    let Some(rollout) = rollouts.get_opt(name).await? else {
        return nothing(&unreported(client, namespace, name).await?);
    };
    let waiting = match outlook(rollout.status.as_ref().unwrap_or(&ClaimRolloutStatus::default())) {
        RetryOutlook::Retries(waiting) => waiting,
        RetryOutlook::Nothing(why) => return nothing(&why),
    };
    let request = Patch::Merge(request(&rollout, &now().to_string()));
    rollouts.patch(name, &parameters(DryRun::None), &request).await?;
    let reported = match timeout(PATIENCE, await_condition(rollouts, name, is_answered)).await {
        Ok(reported) => reported.context("failed to watch the ClaimRollout")?,
        Err(_) => bail!(
            "StatefulSet {name}: no controller has answered the request within {} seconds; one that starts later does: \
             `{} doctor` checks the installation",
            PATIENCE.as_secs(),
            program()
        ),
    };
    let lines: String = waiting.iter().map(|line| format!("  before: {line}\n")).collect();
    let status = reported.and_then(|rollout| rollout.status).unwrap_or_default();
    let now = status.condition("Ready").map_or("", |ready| &*ready.reason);
    print(&format!(
        "statefulset.apps/{name}: the controller has tried again, and reports {now}\n{lines}"
    ))
}

/// Why there is nothing to try again for a set that no controller has reported about.
///
/// # Errors
/// If there is no such set, or something is staged, so that a controller should have reported.
async fn unreported(client: &Client, namespace: &str, name: &str) -> anyhow::Result<String> {
    let set = objects(client, Some(namespace), &cluster::sets()).get(name).await?;
    if !set.annotations().contains_key(keys::STAGED) {
        return Ok("nothing is staged".to_owned());
    }
    bail!(
        "no controller has reported about StatefulSet {name}: `{} doctor` checks the installation",
        program()
    )
}

/// The request is answered by its removal.
fn is_answered(rollout: Option<&ClaimRollout>) -> bool {
    rollout.is_none_or(|rollout| !rollout.annotations().contains_key(keys::RETRY))
}

fn request(rollout: &ClaimRollout, value: &str) -> Value {
    json!({"metadata": {"uid": rollout.uid(), "annotations": {keys::RETRY: value}}})
}

/// What a request would do.
#[derive(Debug, PartialEq, Eq)]
enum RetryOutlook {
    /// The controller tries again what these lines name.
    Retries(Vec<String>),
    /// No write waits for a pause to end, for this reason.
    Nothing(String),
}

fn outlook(status: &ClaimRolloutStatus) -> RetryOutlook {
    let replacement = status.replacement.as_ref();
    let phase = replacement.and_then(|replacement| ReplacementPhase::read(&replacement.phase));
    if let Some(begun) = replacement.filter(|_| phase.is_some_and(ReplacementPhase::has_begun)) {
        let why = with_reason(
            "it is being replaced, and each step is tried again within a minute",
            begun,
        );
        return RetryOutlook::Nothing(why);
    }
    let refused = replacement.filter(|_| phase == Some(ReplacementPhase::Refused));
    let refused = refused.map(|refused| with_reason("not replaced", refused));
    let denied = status
        .claims
        .iter()
        .filter(|claim| claim.state == ClaimState::Refused.as_str());
    let denied = denied.map(|claim| format!("PVC {}: {}: {}", claim.name, claim.reason, claim.message));
    let mut waiting: Vec<String> = denied.chain(refused).collect();
    let Some(ready) = status.condition("Ready") else {
        return RetryOutlook::Nothing("nothing is reported yet".to_owned());
    };
    let why = format!("{}: {}", ready.reason, ready.message);
    match ReadyReason::read(&ready.reason) {
        // Nothing begins, whatever is asked for.
        Some(ReadyReason::Paused) => return RetryOutlook::Nothing(why),
        Some(reason) if waiting.is_empty() && pauses(reason) => waiting.push(why.clone()),
        _ => {}
    }
    if waiting.is_empty() {
        RetryOutlook::Nothing(why)
    } else {
        RetryOutlook::Retries(waiting)
    }
}

fn with_reason(text: &str, replacement: &ReplacementStatus) -> String {
    let parts = [&replacement.reason, &replacement.message];
    let parts = parts.into_iter().flatten().map(|part| format!(": {part}"));
    text.to_owned() + &parts.collect::<String>()
}

/// True iff a write may wait for a pause to end although no PVC is `Refused`.
const fn pauses(reason: ReadyReason) -> bool {
    matches!(
        reason,
        ReadyReason::RollingOut
            | ReadyReason::ClaimRefused
            | ReadyReason::WouldExceedQuota
            | ReadyReason::ProgressDeadlineExceeded
            | ReadyReason::WriteUndone
            | ReadyReason::WriteRefused
    )
}

#[cfg(test)]
mod tests {
    use kube::Client;
    use serde_json::{Value, json};

    use super::{RetryOutlook, outlook, unreported};
    use crate::controller::fixtures::serving;

    /// An API server with these annotations on its only StatefulSet, `web`.
    fn server(annotations: &Value) -> Client {
        let web = json!({"metadata": {"name": "web", "annotations": annotations}});
        let missing = json!({"kind": "Status", "status": "Failure", "code": 404, "message": "not found"});
        serving(move |request| {
            let is_web = request.path.ends_with("/statefulsets/web");
            Some(if is_web {
                (200, web.clone())
            } else {
                (404, missing.clone())
            })
        })
    }

    #[tokio::test]
    async fn set_without_a_report_has_nothing_staged_or_no_controller() {
        for (annotations, name, expected) in [
            (json!({}), "web", Ok("nothing is staged")),
            (
                json!({"claim-rollout.io/staged": "{}"}),
                "web",
                Err("no controller has reported about StatefulSet web: `claim-rollout doctor` checks the installation"),
            ),
            (json!({}), "wbe", Err("not found")),
        ] {
            let found = unreported(&server(&annotations), "shop", name).await;
            let found = found.map_err(|error| crate::cli::process::in_words(&error));
            assert_eq!(
                found.as_deref().map_err(|error| &**error),
                expected,
                "{name} {annotations}"
            );
        }
    }

    const SINCE: &str = "2026-11-23T14:00:00Z";

    fn found(ready: &str, state: &str, replacement: Option<&str>) -> String {
        let claim = json!({
            "name": "data-web-2", "ordinal": 2, "state": state, "reason": "Forbidden", "message": "no", "since": SINCE,
        });
        let replacement = replacement.map(
            |phase| json!({"phase": phase, "step": null, "reason": "PodNotReady", "message": "web-1", "since": SINCE}),
        );
        let condition = json!({
            "type": "Ready", "status": "False", "reason": ready, "message": "why", "lastTransitionTime": SINCE,
        });
        let conditions = if ready.is_empty() {
            json!([])
        } else {
            json!([condition])
        };
        let claims = if state.is_empty() { json!([]) } else { json!([claim]) };
        let status: Value = json!({"claims": claims, "conditions": conditions, "replacement": replacement});
        match outlook(&serde_json::from_value(status).expect("a status")) {
            RetryOutlook::Retries(lines) => lines.join("; "),
            RetryOutlook::Nothing(why) => format!("nothing: {why}"),
        }
    }

    #[test]
    fn outlook_names_the_writes_that_wait() {
        let pvc = "PVC data-web-2: Forbidden: no";
        for (ready, state, replacement, expected) in [
            ("ClaimRefused", "Refused", None, pvc),
            ("Partitioned", "Refused", None, pvc),
            ("WouldExceedQuota", "Pending", None, "WouldExceedQuota: why"),
            ("RollingOut", "Pending", None, "RollingOut: why"),
            ("WriteUndone", "", None, "WriteUndone: why"),
            ("Paused", "Refused", None, "nothing: Paused: why"),
            ("ClaimInfeasible", "Infeasible", None, "nothing: ClaimInfeasible: why"),
            ("Complete", "", None, "nothing: Complete: why"),
            ("Complete", "", Some("Replaced"), "nothing: Complete: why"),
            ("Complete", "", Some("Refused"), "not replaced: PodNotReady: web-1"),
            (
                "Complete",
                "",
                Some("InProgress"),
                "nothing: it is being replaced, and each step is tried again within a minute: PodNotReady: web-1",
            ),
            ("", "", None, "nothing: nothing is reported yet"),
        ] {
            let what = format!("{ready} {state} {replacement:?}");
            assert_eq!(found(ready, state, replacement), expected, "{what}");
        }
    }
}
