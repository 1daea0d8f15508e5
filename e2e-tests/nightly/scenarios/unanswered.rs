//! The webhook of another project for one PVC is down, so the API server answers every write of that PVC with 500.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::world::installation::USER;
use crate::world::namespace::{PATIENCE, TestNamespace, condition};
use crate::world::web::Web;
use crate::world::{World, eventually};

/// The most time until the PVC is reported.
const REPORTED: Duration = Duration::from_secs(90);
/// The longest pause before a retry after so many failures.
const RETRIED: Duration = Duration::from_secs(70);

/// Nothing listens at this address. The check of the policy is a dry run, and passes.
fn down(namespace: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace},
        "webhooks": [{
            "name": format!("{namespace}.scenarios.test"),
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "matchConditions": [
                {"name": "one", "expression": "request.name == 'data-web-2'"},
                {"name": "real", "expression": "!(has(request.dryRun) && request.dryRun)"},
            ],
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"],
                "resources": ["persistentvolumeclaims"],
            }],
        }],
    })
}

/// The PVCs that the controller has written, or failed to write, in order.
async fn attempts(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<(String, u16)>> {
    let writes = ns.writes_of(USER).await?;
    let claims = writes.iter().filter(|entry| entry.resource == "persistentvolumeclaims");
    Ok(claims.map(|entry| (entry.name.clone(), entry.code)).collect())
}

/// True iff the ClaimRollout reports two PVCs as done, and the other one in this state.
fn reports(rollout: &Value, state: &str) -> bool {
    let claims = &rollout["status"]["claims"];
    let is_reported = claims[0]["name"] == "data-web-2" && claims[0]["state"] == state;
    is_reported && claims[1].is_null() && rollout["status"]["readyReplicas"] == 2
}

/// All PVCs but one are done, and that one is reported. With `beside`, none waits for it.
async fn goes_on(env: &World, namespace: &str, beside: bool) -> anyhow::Result<()> {
    let of = |size: &str| Web::replicas(3).size(size).parallel();
    let ns = env.with_web(namespace, &of("1Gi")).await?;
    ns.target(&down(namespace).to_string()).await?;
    let mut probes = 0;
    let called = eventually("the API server to call the webhook", PATIENCE, async || {
        probes += 1;
        let probe = format!("probe={probes}");
        let output = ns
            .kubectl(&["label", "pvc", "data-web-2", &probe, "--overwrite"], "")
            .await?;
        Ok(output.stderr.contains("failed calling webhook").then_some(()))
    });
    called.await?;
    let before = attempts(&ns).await?.len();
    let most = if beside { "3" } else { "1" };
    ns.target(&of("2Gi").annotated("max-in-motion", most)).await?;
    let reported = eventually("the PVC to be reported and the others done", REPORTED, async || {
        let rollout = ns.rollout().await?;
        let is_unanswered = rollout["status"]["claims"][0]["reason"] == "NotAnswered";
        let all = reports(&rollout, "Refused") && is_unanswered && condition(&rollout, "Stalled") == "True";
        Ok(all.then_some(()))
    });
    reported.await.with_context(|| ns.log())?;
    ns.until_event("FailedToPatchPVC").await?;
    let found = attempts(&ns).await?.split_off(before);
    let failing = ("data-web-2", 500);
    let expected = if beside {
        vec![failing, ("data-web-1", 200), ("data-web-0", 200)]
    } else {
        vec![failing; 6]
    };
    let first = found.iter().map(|(claim, code)| (claim.as_str(), *code));
    ensure!(
        first.take(expected.len()).eq(expected.iter().copied()),
        "expected {expected:?} first, but found {found:?}"
    );
    // The progress of the others is reported before the PVC counts as failed.
    let written = ns.writes_since(0).await?;
    let states = written.states("claimrollouts", "web");
    let mut states = states.values().map(|entry| entry.response.value());
    ensure!(
        states.any(|rollout| reports(&rollout, "Pending")) == beside,
        "{:#}",
        ns.rollout().await?
    );
    ns.done(&["delete", "validatingwebhookconfiguration", namespace], "")
        .await?;
    let done = eventually("the rollout to end", RETRIED + REPORTED, async || {
        Ok((ns.staged_change().await?["phase"] == "Complete").then_some(()))
    });
    done.await.with_context(|| ns.log())?;
    ns.until_complete(3, "2Gi").await
}

/// One after the other, until the PVC counts as failed; and side by side, where no PVC waits for the failing one.
pub(super) async fn one_pvc_never_answered_is_reported_and_others_grow(env: &World) -> anyhow::Result<()> {
    let one = goes_on(env, "unanswered", false);
    let three = goes_on(env, "unanswered-beside", true);
    futures::future::try_join(one, three).await.map(drop)
}
