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
use crate::world::{Cluster, Options, eventually};

/// The manifest of a StatefulSet `web` with two templates.
const MANIFEST: &str = include_str!("reviews/capture/web.yaml");
const CONTROLLER: [&str; 2] = [
    "--as=system:serviceaccount:claim-rollout:claim-rollout-controller",
    "--as-group=system:masters",
];

/// The most time that the API server takes to learn of a registration.
const PATIENCE: Duration = Duration::from_secs(60);

struct Capture {
    cluster: Cluster,
    host: PolicyHost,
    /// By sentence.
    reviews: Mutex<BTreeMap<String, Value>>,
}

impl Capture {
    /// Runs kubectl on the StatefulSet, and keeps the review of the request.
    async fn record(&self, sentence: &str, arguments: &[&str], input: &str) -> anyhow::Result<()> {
        self.record_of("sets", sentence, arguments, input).await
    }

    /// The same for another policy object.
    async fn record_of(&self, policy: &str, sentence: &str, arguments: &[&str], input: &str) -> anyhow::Result<()> {
        let before = self.host.requests(policy);
        let output = self
            .cluster
            .kubectl(&[arguments, &["-n", "shop"]].concat(), input)
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

    /// A dry-run patch of `web`.
    async fn try_patch(&self, sentence: &str, kind: &str, patch: &Value, who: &[&str]) -> anyhow::Result<()> {
        let patch = patch.to_string();
        let arguments = ["patch", "statefulset", "web", kind, "-p", &patch, "--dry-run=server"];
        self.record(sentence, &[&arguments, who].concat(), "").await
    }

    /// A dry-run change of the first template of `web`.
    async fn try_template(&self, sentence: &str, path: &str, value: Value) -> anyhow::Result<()> {
        let path = format!("/spec/volumeClaimTemplates/0/{path}");
        let patch = json!([{"op": "add", "path": path, "value": value}]);
        self.try_patch(sentence, "--type=json", &patch, &[]).await
    }

    /// Dry-run deletions of Pods.
    async fn deletions(&self) -> anyhow::Result<()> {
        let ready = [
            "wait",
            "--for=condition=Ready",
            "--timeout=60s",
            "-n",
            "shop",
            "pod/web-2",
        ];
        let output = self.cluster.kubectl(&ready, "").await?;
        ensure!(output.success, "{output:?}");
        let delete = ["delete", "pod", "web-2", "--wait=false", "--dry-run=server"];
        let replace = [
            &delete[..],
            &["--as=system:serviceaccount:kube-system:statefulset-controller"],
        ]
        .concat();
        let policy = "pods";
        let called = eventually("the API server to call the policy for Pods", PATIENCE, async || {
            self.cluster
                .kubectl(&[&delete[..], &["-n", "shop"]].concat(), "")
                .await?;
            Ok((self.host.requests(policy) > 0).then_some(()))
        });
        called.await?;
        self.record_of(policy, "a user deletes a Pod", &delete, "").await?;
        for sentence in [
            "a Pod is replaced whose claims are ready",
            "a Pod is replaced whose claims are not ready",
        ] {
            self.record_of(policy, sentence, &replace, "").await?;
        }
        Ok(())
    }

    async fn creations(&self) -> anyhow::Result<()> {
        let create = ["create", "--dry-run=server", "-f", "-"];
        let with = |annotation: &str| {
            MANIFEST.replace(
                "claim-rollout.io/update-policy: InPlace",
                &format!("claim-rollout.io/{annotation}"),
            )
        };
        self.record("a set is created with an update policy", &create, MANIFEST)
            .await?;
        let odd = with("update-policy: Sometimes");
        self.record("a set is created with an unknown update policy", &create, &odd)
            .await?;
        let odd = with(
            "staged: \"{}\"\n    claim-rollout.io/phase: Complete\n    claim-rollout.io/ready: x.0\n    claim-rollout.io/withdraw: abc",
        );
        self.record("a set is created with what only the policy may write", &create, &odd)
            .await
    }

    async fn before_a_target(&self) -> anyhow::Result<()> {
        let annotate = |key: &str, value: &str| json!({"metadata": {"annotations": {key: value}}});
        let image =
            json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "example/main:2"}]);
        self.try_patch("an image is changed", "--type=json", &image, &[])
            .await?;
        let forged = annotate("claim-rollout.io/staged", "{\"version\":1}");
        self.try_patch("a staged change is forged", "--type=merge", &forged, &[])
            .await?;
        let odd = annotate("claim-rollout.io/sync", "Never");
        self.try_patch("an unknown sync is asked for", "--type=merge", &odd, &[])
            .await?;
        let odd = annotate("claim-rollout.io/paused", "yes");
        self.try_patch("an unknown pause is asked for", "--type=merge", &odd, &[])
            .await?;
        let storage = "spec/resources/requests/storage";
        self.try_template("a template shrinks", storage, json!("512Mi")).await?;
        self.try_template(
            "a template grows as far as the API server can count",
            storage,
            json!("16Ei"),
        )
        .await?;
        self.try_template("the storage class is changed", "spec/storageClassName", json!("other"))
            .await?;
        self.try_template("a template is renamed", "metadata/name", json!("renamed"))
            .await?;
        self.try_template(
            "a label of a template is changed",
            "metadata/labels",
            json!({"tier": "b"}),
        )
        .await?;
        self.try_template(
            "the attributes class is changed",
            "spec/volumeAttributesClassName",
            json!("gold"),
        )
        .await?;
        let long = json!({"example.com/note": "x".repeat(9000)});
        self.try_template("a target is too long for the annotation", "metadata/annotations", long)
            .await
    }

    async fn lists_of_templates(&self) -> anyhow::Result<()> {
        let [data, logs] = [0, 1].map(|index| format!("/spec/volumeClaimTemplates/{index}"));
        let swap = json!([{"op": "move", "from": &logs, "path": &data}]);
        self.try_patch("the templates are only reordered", "--type=json", &swap, &[])
            .await?;
        let add = json!([{"op": "copy", "from": &data, "path": "/spec/volumeClaimTemplates/-"},
            {"op": "replace", "path": "/spec/volumeClaimTemplates/2/metadata/name", "value": "more"}]);
        self.try_patch("a template is added", "--type=json", &add, &[]).await?;
        let remove = json!([{"op": "remove", "path": &logs}]);
        self.try_patch("a template is removed", "--type=json", &remove, &[])
            .await?;
        let all = json!([
            {"op": "replace", "path": format!("{data}/spec/resources/requests/storage"), "value": "1Mi"},
            {"op": "replace", "path": format!("{data}/spec/accessModes/0"), "value": "ReadWriteMany"},
            {"op": "replace", "path": format!("{logs}/metadata/name"), "value": "more"},
        ]);
        self.try_patch("everything is wrong at once", "--type=json", &all, &[])
            .await?;
        let grow =
            json!([{"op": "replace", "path": format!("{data}/spec/resources/requests/storage"), "value": "2Gi"}]);
        let nobody = ["--as=sam", "--as-group=system:masters"];
        self.try_patch("the right of a user is unknown", "--type=json", &grow, &nobody)
            .await?;
        let sam = ["--as=sam", "--as-group=testers"];
        self.try_patch("a user may not patch claims", "--type=json", &grow, &sam)
            .await?;
        let defaults =
            json!([{"op": "remove", "path": "/metadata/annotations/claim-rollout.io~1update-policy"}, &grow[0]]);
        self.try_patch("a template grows on claim delete", "--type=json", &defaults, &[])
            .await
    }

    async fn during_a_rollout(&self) -> anyhow::Result<()> {
        let apply = ["apply", "-f", "-"];
        let grown = MANIFEST.replace("storage: 1Gi", "storage: 3Gi");
        self.record("a template grows", &apply, &grown).await?;
        self.record("the same target comes again", &apply, &grown).await?;
        let spelt = grown.replace("storage: 3Gi", "storage: 3072Mi");
        self.record("the same target comes again in another spelling", &apply, &spelt)
            .await?;
        let other = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--field-manager=helm",
            "--dry-run=server",
            "-f",
            "-",
        ];
        self.record("the same target comes again by server-side apply", &other, &grown)
            .await?;
        let label = ["label", "statefulset", "web", "--overwrite", "team=storage"];
        self.record("a label is changed during a rollout", &label, "").await?;
        let storage = "spec/resources/requests/storage";
        self.try_template("a template grows again during a rollout", storage, json!("4Gi"))
            .await?;
        self.try_template("a target is made smaller during a rollout", storage, json!("2Gi"))
            .await?;
        let drop = json!([{"op": "remove", "path": "/metadata/annotations/claim-rollout.io~1staged"}]);
        self.try_patch("the staged change is dropped", "--type=json", &drop, &[])
            .await?;
        let annotations = json!({"claim-rollout.io/staged": "{}", "claim-rollout.io/withdraw": "abc"});
        let forged = json!({"metadata": {"annotations": annotations}});
        self.try_patch("the staged change is changed by hand", "--type=merge", &forged, &[])
            .await?;
        self.try_patch(
            "the controller writes the staged change",
            "--type=json",
            &drop,
            &CONTROLLER,
        )
        .await
    }
}

/// Lets `sam` write StatefulSets, but no PVCs.
async fn let_sam(cluster: &Cluster) -> anyhow::Result<()> {
    let role = [
        "create",
        "clusterrole",
        "sets",
        "--verb=get,patch",
        "--resource=statefulsets.apps",
    ];
    let binding = [
        "create",
        "clusterrolebinding",
        "sets",
        "--user=sam",
        "--clusterrole=sets",
    ];
    for arguments in [&role[..], &binding, &["create", "namespace", "shop"]] {
        let output = cluster.kubectl(arguments, "").await?;
        ensure!(output.success, "{output:?}");
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
    capture.creations().await?;
    let apply = ["apply", "-f", "-"];
    capture.record("a set is created", &apply, MANIFEST).await?;
    capture.before_a_target().await?;
    capture.lists_of_templates().await?;
    capture.during_a_rollout().await?;
    capture.deletions().await?;
    capture.host.stop().await?;
    capture.cluster.stop();
    let mut stored = Stored::read()?;
    stored.record(&capture.reviews.into_inner().unwrap_or_else(PoisonError::into_inner))?;
    stored.write()
}
