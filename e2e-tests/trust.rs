//! Guarantee S18 on a real API server: who may change StatefulSets and their status, but no PVC, changes no PVC through
//! us: with the policy alone, with the guard alone, and with both.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use claim_rollout::templates::{ClaimTemplate, Phase, Record, UpdatePolicy};
use serde_json::{Value, json};

use crate::cluster::{Cluster, Options, Output, eventually};
use crate::installation::Installation;
use crate::scenarios::scene::{STAGED, plain_manifest, text};

const PATIENCE: Duration = Duration::from_secs(120);

/// Who judges requests in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judges {
    Policy,
    Guard,
    Both,
}

const JUDGES: [Judges; 3] = [Judges::Policy, Judges::Guard, Judges::Both];

const OWNED: &str = r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"UID","controller":true}]}}"#;
const IN_PLACE: &str = r#"{"metadata":{"annotations":{"claim-rollout.io/update-policy":"InPlace"}}}"#;
const FREE_AND_IN_PLACE: &str =
    r#"{"metadata":{"ownerReferences":null,"annotations":{"claim-rollout.io/update-policy":"InPlace"}}}"#;
const FREE: &str = r#"{"metadata":{"ownerReferences":null}}"#;
const FORGED: &str = r#"{"metadata":{"annotations":{"claim-rollout.io/staged":FORGED}}}"#;
const FORGED_IN_PLACE: &str =
    r#"{"metadata":{"annotations":{"claim-rollout.io/staged":FORGED,"claim-rollout.io/update-policy":"InPlace"}}}"#;

/// A StatefulSet, and the patches that bob tries on it, each of the object or of its status.
type Attempt = (&'static str, &'static [(&'static str, &'static str)]);

const ATTEMPTS: [Attempt; 7] = [
    ("forged-by-status", &[("status", FORGED_IN_PLACE)]),
    ("switched-by-status", &[("status", IN_PLACE)]),
    ("forged", &[("", FORGED), ("", FORGED_IN_PLACE)]),
    ("switched", &[("", IN_PLACE)]),
    ("owned-then-free", &[("", OWNED), ("", FREE_AND_IN_PLACE)]),
    ("owned-switched-then-free", &[("", OWNED), ("", IN_PLACE), ("", FREE)]),
    (
        "owned-forged-then-free",
        &[("", OWNED), ("status", FORGED_IN_PLACE), ("", FREE)],
    ),
];

/// The StatefulSet that alice, who may patch PVCs, has rolled out.
const ALLOWED: &str = "allowed";

/// A namespace, and the users in it.
struct Ground<'a> {
    cluster: &'a Cluster,
    namespace: String,
    judges: Judges,
    alice: PathBuf,
    bob: PathBuf,
}

fn namespace_of(judges: Judges) -> String {
    format!("trust-{judges:?}").to_lowercase()
}

fn rights(namespace: &str) -> Value {
    let role = |name: &str, user: &str, rules: Value| {
        let metadata = json!({"name": name, "namespace": namespace});
        [
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata, "rules": rules}),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]}),
        ]
    };
    let sets = json!({"apiGroups": ["apps"], "resources": ["statefulsets", "statefulsets/status"], "verbs": ["*"]});
    let claims = json!({"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["get", "list", "patch"]});
    let roles = [
        role("bob", "bob", json!([sets])),
        role("alice", "alice", json!([sets, claims])),
    ];
    json!({"apiVersion": "v1", "kind": "List", "items": roles.concat()})
}

impl Ground<'_> {
    async fn kubectl(&self, user: Option<&PathBuf>, arguments: &[&str], input: &str) -> anyhow::Result<Output> {
        let admin = self.cluster.kubeconfig();
        let kubeconfig = user.unwrap_or(&admin).to_str().context("a path in UTF-8")?;
        let whose = ["-n", &self.namespace, "--kubeconfig", kubeconfig];
        self.cluster.kubectl(&[arguments, &whose].concat(), input).await
    }

    async fn done(&self, user: Option<&PathBuf>, arguments: &[&str], input: &str) -> anyhow::Result<Output> {
        let output = self.kubectl(user, arguments, input).await?;
        ensure!(output.success, "kubectl {}: {}", arguments.join(" "), output.stderr);
        Ok(output)
    }

    async fn get(&self, what: &str) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(
            &self.done(None, &["get", what, "-o", "json"], "").await?.stdout,
        )?)
    }

    /// A staged change for the set, as the policy would write it.
    async fn record(&self, set: &str, size: &str) -> anyhow::Result<String> {
        let set = self.get(&format!("statefulset/{set}")).await?;
        let mut templates = set["spec"]["volumeClaimTemplates"].clone();
        templates[0]["spec"]["resources"]["requests"]["storage"] = size.into();
        let record = Record {
            by: "alice".to_owned(),
            manager: "kubectl-client-side-apply".to_owned(),
            phase: Phase::RollingOut,
            templates: ClaimTemplate::list_from_value(templates)?,
            uid: text(&set["metadata"]["uid"]),
            update_policy: UpdatePolicy::OnClaimDelete,
        };
        Ok(record.write()?)
    }

    /// A StatefulSet for which alice has staged 2Gi, while existing PVCs stay as they are.
    async fn stage(&self, set: &str) -> anyhow::Result<()> {
        let manifest = |size: &str| plain_manifest(1, size).replace("web", set);
        self.done(None, &["apply", "-f", "-"], &manifest("1Gi")).await?;
        let claim = format!("pvc/data-{set}-0");
        let bound = async || {
            let output = self
                .kubectl(None, &["get", &claim, "-o", "jsonpath={.status.phase}"], "")
                .await?;
            Ok((output.stdout == "Bound").then_some(()))
        };
        eventually("the PVC to be bound", PATIENCE, bound).await?;
        if self.judges == Judges::Guard {
            let annotation = format!("{STAGED}={}", self.record(set, "2Gi").await?);
            let annotate = ["annotate", &format!("statefulset/{set}"), &annotation];
            self.done(Some(&self.alice), &annotate, "").await?;
        } else {
            let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
            self.done(Some(&self.alice), &apply, &manifest("2Gi")).await?;
        }
        Ok(())
    }

    /// What bob tries; each may be denied, or taken and put back.
    async fn attempt(&self, (set, patches): &Attempt, owner: &str) -> anyhow::Result<()> {
        let forged = Value::String(self.record(set, "3Gi").await?).to_string();
        for (subresource, patch) in *patches {
            let patch = patch.replace("UID", owner).replace("FORGED", &forged);
            let (set, of) = (format!("statefulset/{set}"), format!("--subresource={subresource}"));
            let mut arguments = vec!["patch", &*set, "--type=merge", "-p", &*patch];
            arguments.extend((!subresource.is_empty()).then_some(&*of));
            let output = self.kubectl(Some(&self.bob), &arguments, "").await?;
            let is_denial = output.stderr.contains("claim-rollout: ") && output.stderr.contains("bob");
            ensure!(output.success || is_denial, "{set} {patch}: {output:?}");
        }
        Ok(())
    }

    /// Everything that was staged, and all PVCs but those that alice rolls out.
    async fn stored(&self) -> anyhow::Result<Vec<Value>> {
        let list = self.get("statefulsets,pvc").await?;
        let items = list["items"].as_array().context("items")?.iter();
        let items = items.filter(|item| !text(&item["metadata"]["name"]).contains(ALLOWED));
        let of = |item: &Value| {
            let metadata = &item["metadata"];
            json!([
                metadata["name"],
                metadata["uid"],
                metadata["labels"],
                metadata["annotations"][STAGED],
                item["spec"]
            ])
        };
        Ok(items.map(of).collect())
    }

    async fn play(&self) -> anyhow::Result<()> {
        let (namespace, rights) = (&*self.namespace, rights(&self.namespace).to_string());
        self.cluster.kubectl(&["create", "namespace", namespace], "").await?;
        self.done(None, &["apply", "-f", "-"], &rights).await?;
        self.done(None, &["create", "configmap", "owner"], "").await?;
        let owner = text(&self.get("configmap/owner").await?["metadata"]["uid"]);
        if self.judges == Judges::Policy {
            let others = json!({"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [namespace]});
            let selector = json!({"spec": {"matchResources": {"namespaceSelector": {"matchExpressions": [others]}}}});
            let binding = "validatingadmissionpolicybinding/claim-rollout-staged";
            self.done(
                None,
                &["patch", binding, "--type=merge", "-p", &selector.to_string()],
                "",
            )
            .await?;
        }
        for set in ATTEMPTS.iter().map(|(set, _)| *set).chain([ALLOWED]) {
            self.stage(set).await.with_context(|| set.to_owned())?;
        }
        let before = self.stored().await?;
        for attempt in &ATTEMPTS {
            self.attempt(attempt, &owner).await?;
        }
        // alice can, and when the controller has done that it has looked at everything before.
        let switch = [
            "patch",
            &format!("statefulset/{ALLOWED}"),
            "--type=merge",
            "-p",
            IN_PLACE,
        ];
        self.done(Some(&self.alice), &switch, "").await?;
        let grown = async || {
            let claim = self.get(&format!("pvc/data-{ALLOWED}-0")).await?;
            Ok((claim["spec"]["resources"]["requests"]["storage"] == "2Gi").then_some(()))
        };
        eventually("what alice may do to be done", PATIENCE, grown).await?;
        let after = self.stored().await?;
        for (before, after) in before.iter().zip(&after) {
            ensure!(before == after, "before: {before:#}\nafter: {after:#}");
        }
        ensure!(before.len() == after.len(), "{after:#?}");
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_patch_pvcs_changes_none_through_us() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let installation = Installation::but_in(&[&namespace_of(Judges::Guard)], &cluster, json!({})).await?;
    let controller = installation.start_controller(&[]).await?;
    for judges in JUDGES {
        let ground = Ground {
            cluster: &cluster,
            namespace: namespace_of(judges),
            judges,
            alice: cluster.kubeconfig_for("alice", &[])?,
            bob: cluster.kubeconfig_for("bob", &[])?,
        };
        ground
            .play()
            .await
            .with_context(|| format!("{judges:?}:\n{}", controller.log()))?;
    }
    drop(controller);
    installation.stop().await?;
    cluster.stop();
    Ok(())
}
