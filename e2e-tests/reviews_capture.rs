//! Sends the requests in `reviews/` to a real API server, and stores the reviews that it sends to the policy, each whole
//! or as the difference from the same entry as before:
//!
//! ```text
//! cargo run -p e2e-tests --example playground -- capture && UPDATE_EXPECTED=1 cargo test -p e2e-tests reviews
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::world::policy_host::{KubeApi, PolicyHost, Shipped, shared_policy};
use crate::world::reviews_stored::Stored;
use crate::world::{Cluster, Options, STATEFULSET_CONTROLLER, eventually, words};

/// The manifest of a StatefulSet `web` with two templates.
const MANIFEST: &str = include_str!("reviews/capture/web.yaml");
const CONTROLLER: [&str; 2] = [
    "--as=system:serviceaccount:claim-rollout:claim-rollout-controller",
    "--as-group=system:masters",
];

/// The most time that the API server takes to learn of a registration.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request: the name of its review, the arguments of kubectl, and its input.
struct Sent {
    sentence: &'static str,
    arguments: Vec<String>,
    input: String,
}

fn sent(sentence: &'static str, line: &str, input: &str) -> Sent {
    let arguments = words(line).into_iter().map(str::to_owned);
    Sent {
        sentence,
        arguments: arguments.collect(),
        input: input.to_owned(),
    }
}

/// A dry-run patch of `web`: operations, or a merge patch.
fn patch(sentence: &'static str, patch: &Value) -> Sent {
    let kind = if patch.is_array() { "json" } else { "merge" };
    let line = format!("patch statefulset web --type={kind} -p '{patch}' --dry-run=server");
    sent(sentence, &line, "")
}

/// A dry-run change of the first template of `web`.
fn template(sentence: &'static str, path: &str, value: &Value) -> Sent {
    let path = format!("/spec/volumeClaimTemplates/0/{path}");
    patch(sentence, &json!([{"op": "add", "path": path, "value": value}]))
}

impl Sent {
    fn by(mut self, who: &[&str]) -> Self {
        self.arguments.extend(who.iter().map(|&flag| flag.to_owned()));
        self
    }
}

struct Capture {
    cluster: Cluster,
    host: PolicyHost,
    /// By sentence.
    reviews: Mutex<BTreeMap<String, Value>>,
}

impl Capture {
    /// Runs kubectl, and keeps the review of the request to this policy object.
    async fn record(&self, policy: &str, sent: &Sent) -> anyhow::Result<()> {
        let sentence = sent.sentence;
        let before = self.host.requests(policy);
        let arguments: Vec<&str> = sent.arguments.iter().map(String::as_str).collect();
        let output = self
            .cluster
            .kubectl(&[&arguments[..], &["-n", "shop"]].concat(), &sent.input)
            .await?;
        ensure!(
            self.host.requests(policy) > before,
            "{sentence}: expected the policy to be asked: {output:?}"
        );
        let request: Value = serde_json::from_str(self.host.last_request(policy).context("a request")?.get())?;
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
        let mut reviews = self.reviews.lock().unwrap_or_else(PoisonError::into_inner);
        reviews.insert(sentence.to_owned(), review);
        Ok(())
    }

    /// Dry-run deletions of Pods.
    async fn deletions(&self) -> anyhow::Result<()> {
        let ready = "wait --for=condition=Ready --timeout=60s -n shop pod/web-2";
        self.cluster.typed(ready).await?;
        let delete = "delete pod web-2 --wait=false --dry-run=server";
        let policy = "pods";
        let called = eventually("the API server to call the policy for Pods", PATIENCE, async || {
            self.cluster.kubectl(&words(&format!("{delete} -n shop")), "").await?;
            Ok((self.host.requests(policy) > 0).then_some(()))
        });
        called.await?;
        self.record(policy, &sent("a user deletes a Pod", delete, "")).await?;
        for sentence in [
            "a Pod is replaced whose claims are ready",
            "a Pod is replaced whose claims are not ready",
        ] {
            let replace = sent(sentence, delete, "").by(&["--as", STATEFULSET_CONTROLLER]);
            self.record(policy, &replace).await?;
        }
        Ok(())
    }
}

fn creations() -> Vec<Sent> {
    let create = "create --dry-run=server -f -";
    let with = |annotation: &str| {
        MANIFEST.replace(
            "claim-rollout.io/update-policy: InPlace",
            &format!("claim-rollout.io/{annotation}"),
        )
    };
    let ours = with(
        "staged: \"{}\"\n    claim-rollout.io/phase: Complete\n    claim-rollout.io/ready: x.0\n    claim-rollout.io/withdraw: abc",
    );
    let unknown = with("update-policy: Sometimes");
    vec![
        sent("a set is created with an update policy", create, MANIFEST),
        sent("a set is created with an unknown update policy", create, &unknown),
        sent("a set is created with what only the policy may write", create, &ours),
        sent("a set is created", "apply -f -", MANIFEST),
    ]
}

const STORAGE: &str = "spec/resources/requests/storage";

fn before_a_target() -> Vec<Sent> {
    let noted = |sentence, key: &str, value: &str| {
        let key = format!("claim-rollout.io/{key}");
        patch(sentence, &json!({"metadata": {"annotations": {key: value}}}))
    };
    let image = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "example/main:2"}]);
    let (label, note) = (json!({"tier": "b"}), json!({"example.com/note": "x".repeat(9000)}));
    let most = "a template grows as far as the API server can count";
    let class = "spec/volumeAttributesClassName";
    vec![
        patch("an image is changed", &image),
        noted("a staged change is forged", "staged", "{\"version\":1}"),
        noted("an unknown sync is asked for", "sync", "Never"),
        noted("an unknown pause is asked for", "paused", "yes"),
        template("a template shrinks", STORAGE, &json!("512Mi")),
        template(most, STORAGE, &json!("16Ei")),
        template("the storage class is changed", "spec/storageClassName", &json!("other")),
        template("a template is renamed", "metadata/name", &json!("renamed")),
        template("a label of a template is changed", "metadata/labels", &label),
        template("the attributes class is changed", class, &json!("gold")),
        template("a target is too long for the annotation", "metadata/annotations", &note),
    ]
}

fn lists_of_templates() -> Vec<Sent> {
    let [data, logs] = [0, 1].map(|index| format!("/spec/volumeClaimTemplates/{index}"));
    let swap = json!([{"op": "move", "from": &logs, "path": &data}]);
    let add = json!([{"op": "copy", "from": &data, "path": "/spec/volumeClaimTemplates/-"},
        {"op": "replace", "path": "/spec/volumeClaimTemplates/2/metadata/name", "value": "more"}]);
    let remove = json!([{"op": "remove", "path": &logs}]);
    let all = json!([
        {"op": "replace", "path": format!("{data}/spec/resources/requests/storage"), "value": "1Mi"},
        {"op": "replace", "path": format!("{data}/spec/accessModes/0"), "value": "ReadWriteMany"},
        {"op": "replace", "path": format!("{logs}/metadata/name"), "value": "more"},
    ]);
    let grow = json!([{"op": "replace", "path": format!("{data}/spec/resources/requests/storage"), "value": "2Gi"}]);
    let defaults = json!([{"op": "remove", "path": "/metadata/annotations/claim-rollout.io~1update-policy"}, &grow[0]]);
    vec![
        patch("the templates are only reordered", &swap),
        patch("a template is added", &add),
        patch("a template is removed", &remove),
        patch("everything is wrong at once", &all),
        patch("the right of a user is unknown", &grow).by(&["--as=sam", "--as-group=system:masters"]),
        patch("a user may not patch claims", &grow).by(&["--as=sam", "--as-group=testers"]),
        patch("a template grows on claim delete", &defaults),
    ]
}

fn during_a_rollout() -> Vec<Sent> {
    let apply = "apply -f -";
    let server_side = "apply --server-side --force-conflicts --field-manager=helm --dry-run=server -f -";
    let label = "label statefulset web --overwrite team=storage";
    let grown = MANIFEST.replace("storage: 1Gi", "storage: 3Gi");
    let spelt = grown.replace("storage: 3Gi", "storage: 3072Mi");
    let drop = json!([{"op": "remove", "path": "/metadata/annotations/claim-rollout.io~1staged"}]);
    let annotations = json!({"claim-rollout.io/staged": "{}", "claim-rollout.io/withdraw": "abc"});
    let forged = json!({"metadata": {"annotations": annotations}});
    vec![
        sent("a template grows", apply, &grown),
        sent("the same target comes again", apply, &grown),
        sent("the same target comes again in another spelling", apply, &spelt),
        sent("the same target comes again by server-side apply", server_side, &grown),
        sent("a label is changed during a rollout", label, ""),
        template("a template grows again during a rollout", STORAGE, &json!("4Gi")),
        template("a target is made smaller during a rollout", STORAGE, &json!("2Gi")),
        patch("the staged change is dropped", &drop),
        patch("the staged change is changed by hand", &forged),
        patch("the controller writes the staged change", &drop).by(&CONTROLLER),
    ]
}

/// Lets `sam` write StatefulSets, but no PVCs.
async fn let_sam(cluster: &Cluster) -> anyhow::Result<()> {
    for line in [
        "create clusterrole sets --verb=get,patch --resource=statefulsets.apps",
        "create clusterrolebinding sets --user=sam --clusterrole=sets",
        "create namespace shop",
    ] {
        cluster.typed(line).await?;
    }
    Ok(())
}

/// Writes the captured reviews anew.
pub(crate) async fn run() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let client = cluster.client().await?;
    let_sam(&cluster).await?;
    let module = shared_policy()?;
    // Without its matchConditions, the policy is called for every request that the rules match.
    let named = |mut shipped: Shipped, name: &str| -> anyhow::Result<_> {
        shipped.spec["matchConditions"] = json!([]);
        let mut entry = shipped.policy(&module)?;
        name.clone_into(&mut entry.name);
        let registration = shipped.registration().named(name);
        Ok((entry, registration.in_namespace("shop")))
    };
    let (sets, registration) = named(Shipped::sets()?, "sets")?;
    let (pods, registration_of_pods) = named(Shipped::pods()?, "pods")?;
    let host = PolicyHost::start(vec![sets, pods], Arc::new(KubeApi::new(client.clone()))).await?;
    host.register(&client, &registration).await?;
    host.register(&client, &registration_of_pods).await?;
    host.until_called(&client, &registration, true).await?;
    let capture = Capture {
        cluster,
        host,
        reviews: Mutex::default(),
    };
    for sent in [creations(), before_a_target(), lists_of_templates(), during_a_rollout()]
        .into_iter()
        .flatten()
    {
        capture.record("sets", &sent).await?;
    }
    capture.deletions().await?;
    capture.host.stop().await?;
    capture.cluster.stop();
    let mut stored = Stored::read()?;
    stored.record(&capture.reviews.into_inner().unwrap_or_else(PoisonError::into_inner))?;
    stored.write()
}
