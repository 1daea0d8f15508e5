//! Our own policy stops answering while the StatefulSet is absent, and stays away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::ensure;
use claim_rollout::webhook::engine::EngineError;
use claim_rollout::webhook::{Engine, Evaluation, Identity, Limits, serve};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::replacing::trial::{hold, journals, prepare, release, replaced, uids, until_replaced};
use crate::world::installation::USER;
use crate::world::namespace::{PATIENCE, TestNamespace};
use crate::world::policy_host::Shipped;
use crate::world::{World, base64, eventually};

/// A policy that stops answering at the DELETE of the controller.
#[derive(Clone, Default)]
struct Policy {
    is_lost: Arc<AtomicBool>,
    /// Requests with an answer, and without.
    calls: [Arc<AtomicUsize>; 2],
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    operation: String,
    #[serde(default)]
    dry_run: bool,
}

impl Engine for Policy {
    fn evaluate<'a>(&'a self, request: &'a RawValue, _: Instant) -> Evaluation<'a> {
        let Ok(Request { operation, dry_run }) = serde_json::from_str(request.get()) else {
            return Box::pin(async { Err(EngineError::Failed("no request".to_owned())) });
        };
        let is_lost = if operation == "DELETE" {
            self.is_lost.fetch_or(!dry_run, Ordering::SeqCst);
            false
        } else {
            let is_lost = self.is_lost.load(Ordering::SeqCst);
            self.calls[usize::from(is_lost)].fetch_add(1, Ordering::SeqCst);
            is_lost
        };
        Box::pin(async move {
            if is_lost {
                return Err(EngineError::Failed("the policy is lost".to_owned()));
            }
            Ok(br#"{"accepted":true}"#.to_vec())
        })
    }
}

/// Registers the policy as the shipped object is, and, so that it knows when the StatefulSet is deleted, for the DELETE
/// of the controller.
async fn register(ns: &TestNamespace<'_>, url: &str, certificates: &str) -> anyhow::Result<()> {
    let shipped = Shipped::sets()?.spec;
    let here = json!({"matchLabels": {"kubernetes.io/metadata.name": ns.namespace}});
    let webhook = |name: &str, part: Value| {
        let mut webhook = json!({
            "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "NoneOnDryRun", "failurePolicy": "Fail",
            "clientConfig": {"url": url, "caBundle": base64(certificates)}, "namespaceSelector": here,
        });
        for (key, value) in part.as_object().into_iter().flatten() {
            webhook[key] = value.clone();
        }
        webhook
    };
    let policy = webhook(
        "outage.example.com",
        json!({"rules": shipped["rules"], "matchConditions": shipped["matchConditions"]}),
    );
    let of_controller = json!([{"name": "controller", "expression": format!("request.userInfo.username == '{USER}'")}]);
    let deletes = webhook(
        "deletes.example.com",
        json!({"matchConditions": of_controller, "rules": [{"apiGroups": ["apps"], "apiVersions": ["v1"],
            "operations": ["DELETE"], "resources": ["statefulsets"]}]}),
    );
    for (kind, webhook) in [
        ("MutatingWebhookConfiguration", policy),
        ("ValidatingWebhookConfiguration", deletes),
    ] {
        let name = format!("outage-{}", ns.namespace);
        let registration = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": {"name": name}, "webhooks": [webhook]});
        ns.target(&registration).await?;
    }
    Ok(())
}

pub(super) async fn replacement_ends_while_the_policy_does_not_answer(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "outage", 2).await?;
    let (pods, claims) = (ns.pods().await?, ns.claims().await?);
    // Until then, the StatefulSet is not replaced.
    hold(&ns).await?;
    ns.target(&replaced(2, "2Gi")).await?;
    ns.until_complete(2, "2Gi").await?;

    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    let identity = Identity {
        certificates: made.cert.pem(),
        key: made.signing_key.serialize_pem(),
    };
    let policy = Policy::default();
    let engine: Arc<dyn Engine> = Arc::new(policy.clone());
    let engines = [("outage".to_owned(), engine)].into();
    let running = serve(([127, 0, 0, 1], 0).into(), &identity, engines, Limits::default())?;
    let url = format!("https://{}/validate/outage", running.address());
    register(&ns, &url, &identity.certificates).await?;
    let calls = |place: usize| policy.calls[place].load(Ordering::SeqCst);
    let annotate = [
        "annotate",
        "--overwrite",
        "statefulset",
        "web",
        "claim-rollout.io/sync=LockStep",
    ];
    let called = eventually("the API server to call the policy", PATIENCE, async || {
        ns.done(&[&annotate[..], &["--dry-run=server"]].concat(), "").await?;
        Ok((calls(0) > 0).then_some(()))
    });
    called.await?;

    let before = release(&ns).await?;
    until_replaced(&ns, &before, "2Gi").await?;
    ensure!(
        policy.is_lost.load(Ordering::SeqCst),
        "the policy answered all the time"
    );
    ensure!(calls(1) == 0, "the policy was called {} times", calls(1));
    ensure!(ns.pods().await? == pods, "Pods restarted");
    ensure!(uids(&ns.claims().await?) == uids(&claims), "PVCs were created");
    ensure!(journals(&ns).await?.is_empty(), "a journal is left");
    let writes = ns.writes_of(USER).await?;
    let creates = writes
        .iter()
        .filter(|write| write.verb == "create" && write.resource == "statefulsets" && !write.dry_run());
    let codes: Vec<u16> = creates.map(|write| write.code).collect();
    ensure!(codes == [201], "{codes:?}");
    // It is still away: a user's request fails.
    let denied = ns.kubectl(&[&annotate[..], &["--dry-run=server"]].concat(), "").await?;
    ensure!(denied.stderr.contains("the policy is lost"), "{denied:?}");
    for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
        ns.done(&["delete", kind, &format!("outage-{}", ns.namespace)], "")
            .await?;
    }
    Ok(())
}
