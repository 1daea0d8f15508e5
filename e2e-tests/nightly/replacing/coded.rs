//! Somebody's webhook lets dry runs pass and denies the CREATE with 404, then with 410, as every validator does that
//! returns the error of a failed GET: the StatefulSet comes back when it is allowed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

use anyhow::{Context as _, ensure};
use claim_rollout::webhook::{Engine, Evaluation, Identity, Limits, Running, serve};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::replacing::kept::Before;
use crate::cluster::replacing::trial::{hold, journals, prepare, release, replaced, until_replaced};
use crate::world::namespace::{PATIENCE, TestNamespace, text};
use crate::world::web::Web;
use crate::world::{World, base64, eventually};

const MESSAGE: &str = "configmaps \"quota\" not found";

/// The code with which CREATE is denied, 0 for none, and how often it was.
#[derive(Default)]
struct Coded {
    code: AtomicU16,
    denied: AtomicUsize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    name: String,
}

impl Engine for Coded {
    fn evaluate<'a>(&'a self, request: &'a RawValue, _: Instant) -> Evaluation<'a> {
        let request: Request = serde_json::from_str(request.get()).unwrap_or(Request {
            dry_run: false,
            name: String::new(),
        });
        let code = self.code.load(Ordering::SeqCst);
        let is_denied = code != 0 && (!request.dry_run || request.name == "probe");
        self.denied
            .fetch_add(usize::from(is_denied && request.name != "probe"), Ordering::SeqCst);
        let answer = if is_denied {
            json!({"accepted": false, "code": code, "message": MESSAGE})
        } else {
            json!({"accepted": true})
        };
        Box::pin(async move { Ok(answer.to_string().into_bytes()) })
    }
}

/// Registers the webhook for CREATE of StatefulSets in the namespace, and waits until the API server calls it.
async fn register(ns: &TestNamespace<'_>, coded: &Arc<Coded>) -> anyhow::Result<Running> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    let identity = Identity {
        certificates: made.cert.pem(),
        key: made.signing_key.serialize_pem(),
    };
    let engine: Arc<dyn Engine> = Arc::<Coded>::clone(coded);
    let engines = [("code".to_owned(), engine)].into();
    let running = serve(([127, 0, 0, 1], 0).into(), &identity, engines, Limits::default())?;
    let registration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": format!("code-{}", ns.namespace)},
        "webhooks": [{
            "name": "code.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {
                "url": format!("https://{}/validate/code", running.address()),
                "caBundle": base64(&identity.certificates),
            },
            "failurePolicy": "Fail",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns.namespace}},
            "rules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": ["statefulsets"]}],
        }],
    });
    ns.target(&registration).await?;
    let probe = Web::replicas(0).plain().named("probe");
    let called = eventually("the API server to call the webhook", PATIENCE, async || {
        let output = ns.kubectl(&["create", "-f", "-", "--dry-run=server"], &probe).await?;
        Ok(output.stderr.contains(MESSAGE).then_some(()))
    });
    called.await?;
    Ok(running)
}

/// Waits until it has denied so many more, and checks that the journal is kept.
async fn until_denied(ns: &TestNamespace<'_>, coded: &Coded, code: u16, times: usize) -> anyhow::Result<()> {
    coded.code.store(code, Ordering::SeqCst);
    let before = coded.denied.load(Ordering::SeqCst);
    let denied = eventually("the CREATE to be denied", PATIENCE, async || {
        Ok((coded.denied.load(Ordering::SeqCst) >= before + times).then_some(()))
    });
    denied.await.with_context(|| ns.log())?;
    let journals = journals(ns).await?;
    ensure!(
        journals.len() == 1 && journals[0]["stage"] == "Releasing",
        "{code}: {journals:#?}"
    );
    let get = ["get", "statefulset", "web", "--ignore-not-found", "-o=name"];
    ensure!(ns.done(&get, "").await?.stdout.is_empty(), "{code}: it exists");
    Ok(())
}

pub(super) async fn set_whose_create_is_denied_with_404_comes_back(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "coded", 2).await?;
    hold(&ns).await?;
    ns.target(&replaced(2, "2Gi")).await?;
    ns.until_complete(2, "2Gi").await?;
    let coded = Arc::new(Coded::default());
    coded.code.store(404, Ordering::SeqCst);
    let _running = register(&ns, &coded).await?;
    let before = Before::with(&ns, release(&ns).await?).await?;
    until_denied(&ns, &coded, 404, 3).await?;
    until_denied(&ns, &coded, 410, 3).await?;

    // Whoever is called at night sees who denies it.
    let is_reported = |rollout: &Value| {
        let found = &rollout["status"]["replacement"];
        found["phase"] == "Stalled" && text(&found["message"]).contains(MESSAGE)
    };
    ns.until_reported("the denial", is_reported).await?;
    let (_, metrics) = ns.controller.as_ref().context("a controller")?.get("/metrics")?;
    ensure!(metrics.contains("claim_rollout_absent_sets 1\n"), "{metrics}");

    coded.code.store(0, Ordering::SeqCst);
    until_replaced(&ns, &before.set, "2Gi").await?;
    before.keeps_pods_and_claims(&ns).await?;
    let left: Vec<Value> = journals(&ns).await?;
    ensure!(left.is_empty(), "{left:#?}");
    ns.done(&["delete", "validatingwebhookconfiguration", "code-coded"], "")
        .await
        .map(drop)
}
