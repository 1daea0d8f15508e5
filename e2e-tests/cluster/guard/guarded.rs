//! A cluster with the guard and without the policy, and the objects of the table.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::table::{IN_FORCE, Row, Who};
use crate::world::installation::{ACCOUNT, NAMESPACE, USER};
use crate::world::web::Web;
use crate::world::{Options, Output, World, until};

/// The namespace of the objects.
pub(super) const GUARDED: &str = "guarded";
/// The number of annotations of `large`.
const MANY: usize = 10_000;
/// The smallest number of finalizers, and of owners, that the guard does not iterate over.
const TOO_MANY: usize = 101;

/// The world, its users and their objects.
pub(super) struct Guarded {
    pub(super) world: World,
    controller: PathBuf,
    alice: PathBuf,
    bob: PathBuf,
    mallory: PathBuf,
    /// The uid of the ConfigMap.
    uid: String,
}

/// The rights of the users on StatefulSets and PVCs: more than `deploy/` gives to the controller, which is USER, so that
/// only the guard denies.
const RIGHTS: [&str; 8] = [
    "clusterrole sets --verb=* --resource=statefulsets.apps,statefulsets.apps/status,statefulsets.apps/scale",
    "clusterrole change-sets --verb=get,update,patch \
     --resource=statefulsets.apps,statefulsets.apps/status,statefulsets.apps/scale",
    "clusterrole patch-claims --verb=patch --resource=persistentvolumeclaims",
    "clusterrole claims --verb=* --resource=persistentvolumeclaims,persistentvolumeclaims/status",
    "clusterrolebinding sets --clusterrole=sets --user=alice --user=bob --user=USER",
    "clusterrolebinding change-sets --clusterrole=change-sets --user=mallory",
    "clusterrolebinding patch-claims --clusterrole=patch-claims --user=alice --user=mallory",
    "clusterrolebinding claims --clusterrole=claims --user=USER",
];

/// A StatefulSet without replicas and templates.
fn set(metadata: &Value) -> Value {
    let web = Web::replicas(0).plain().spec(&json!({"volumeClaimTemplates": null}));
    let mut set = web.container(&json!({"volumeMounts": null})).value();
    set["metadata"] = metadata.clone();
    set
}

/// A PVC that the controller has marked to delete it.
fn marked() -> Value {
    let mut claim = claim("marked", "absent");
    claim["metadata"]["annotations"] = json!({"claim-rollout.io/recreated-for": "1"});
    claim
}

fn claim(name: &str, class: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "labels": {"claim-rollout.io/revision": "1"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": class, "resources": {"requests": {"storage": "1Gi"}},
        },
    })
}

/// The objects that the table names, without the finalizer.
fn objects(uid: &str) -> Value {
    let staged = |policy: &str, phase: &str| {
        json!({
            "claim-rollout.io/staged": "{\"version\":1}", "claim-rollout.io/update-policy": policy,
            "claim-rollout.io/phase": phase,
        })
    };
    let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "controller": true}]);
    let many: Value = (0..MANY).map(|number| (format!("{number:x}"), json!(""))).collect();
    let owners: Value = (0..TOO_MANY)
        .map(|_| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}))
        .collect();
    let finalizers: Vec<String> = (0..TOO_MANY).map(|number| format!("example.com/{number}")).collect();
    let mut canary = set(&json!({"name": "canary"}));
    canary["spec"]["updateStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}});
    canary["spec"]["replicas"] = 2.into();
    let mut left = set(&json!({"name": "left", "annotations": staged("OnClaimDelete", "Staged")}));
    left["metadata"]["annotations"]["claim-rollout.io/replace-set"] = "WhenComplete".into();
    let mut held = set(&json!({"name": "held"}));
    held["spec"]["updateStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1_000_000_000}});
    json!({"apiVersion": "v1", "kind": "List", "items": [
        canary,
        held,
        set(&json!({"name": "plain"})),
        set(&json!({"name": "replacing"})),
        set(&json!({"name": "staged", "annotations": staged("OnClaimDelete", "Staged")})),
        left,
        set(&json!({"name": "rolling", "annotations": staged("InPlace", "RollingOut")})),
        set(&json!({"name": "owned", "annotations": staged("OnClaimDelete", "Staged"), "ownerReferences": owner})),
        set(&json!({"name": "crowded", "annotations": staged("OnClaimDelete", "Staged"), "ownerReferences": owners})),
        set(&json!({"name": "large", "annotations": many, "finalizers": finalizers})),
        claim("data", "expandable"),
        claim("waiting", "absent"),
        marked(),
    ]})
}

/// The ClaimRollouts of StatefulSets that do not exist: their names, and the `status` of their replacements.
const REPLACEMENTS: [(&str, &str); 3] = [
    (
        "absent",
        r#"{"phase":"InProgress","step":"Mark","replicas":3,"since":"2026-01-01T00:00:00Z"}"#,
    ),
    (
        "ended",
        r#"{"phase":"Replaced","replicas":3,"since":"2026-01-01T00:00:00Z"}"#,
    ),
    (
        "foreign",
        r#"{"phase":"Stalled","reason":"ForeignSet","since":"2026-01-01T00:00:00Z"}"#,
    ),
];

fn rollout(name: &str) -> Value {
    let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name, "uid": "1"});
    json!({
        "apiVersion": "claim-rollout.io/v1alpha1", "kind": "ClaimRollout", "metadata": {"name": name},
        "spec": {
            "setRef": set, "revision": "1", "templates": [], "updatePolicy": "InPlace", "sync": "LockStep",
            "replaceSet": "WhenComplete",
        },
    })
}

impl Guarded {
    /// Returns when the guard is in force.
    pub(super) async fn build() -> anyhow::Result<Self> {
        let world = World::with(Options::default()).build().await?;
        let cluster = &world.cluster;
        let mut env = Self {
            controller: cluster.kubeconfig_of(NAMESPACE, ACCOUNT).await?,
            alice: cluster.kubeconfig_for("alice", &[])?,
            bob: cluster.kubeconfig_for("bob", &[])?,
            mallory: cluster.kubeconfig_for("mallory", &[])?,
            uid: String::new(),
            world,
        };
        env.done(&["create", "namespace", GUARDED], "").await?;
        for right in RIGHTS {
            let right = format!("create {}", right.replace("USER", USER));
            env.world.cluster.typed(&right).await?;
        }
        env.done(&["create", "-n", GUARDED, "configmap", "owner"], "").await?;
        let uid = format!("get -n {GUARDED} configmap/owner -o jsonpath={{.metadata.uid}}");
        env.uid = env.world.cluster.typed(&uid).await?.stdout;
        env.report_replacements().await?;
        for (who, typed, expected) in IN_FORCE {
            let ask = async || env.ask(*who, typed, true).await;
            let is_expected =
                |output: &Output| output.success == expected.is_empty() && output.stderr.contains(expected);
            until(&format!("the guard to be in force: {who:?} {typed}"), ask, is_expected).await?;
        }
        env.done(&["create", "-n", GUARDED, "-f", "-"], &objects(&env.uid).to_string())
            .await?;
        let orphaned = format!("annotate -n {GUARDED} statefulset/left claim-rollout.io/staged-");
        env.world.cluster.typed(&orphaned).await?;
        let finalizer =
            r#"patch statefulset/replacing --type=merge -p {"metadata":{"finalizers":["claim-rollout.io/replacing"]}}"#;
        let added = env.ask(Who::Controller, finalizer, false).await?;
        ensure!(added.success, "{added:?}");
        let bound = format!("wait -n {GUARDED} --for=jsonpath={{.status.phase}}=Bound --timeout=60s pvc/data");
        env.world.cluster.typed(&bound).await?;
        Ok(env)
    }

    async fn report_replacements(&self) -> anyhow::Result<()> {
        for (name, replacement) in REPLACEMENTS {
            self.done(&["create", "-n", GUARDED, "-f", "-"], &rollout(name).to_string())
                .await?;
            let status = format!(r#"{{"status":{{"replacement":{replacement}}}}}"#);
            let patch = ["patch", "-n", GUARDED, "claimrollout", name, "--subresource=status"];
            self.done(&[&patch[..], &["--type=merge", "-p", &status]].concat(), "")
                .await?;
        }
        Ok(())
    }

    /// Runs kubectl as the administrator, which must succeed.
    pub(super) async fn done(&self, arguments: &[&str], input: &str) -> anyhow::Result<Output> {
        self.world.cluster.done(arguments, input).await
    }

    /// Runs the command of a row as its user.
    pub(super) async fn ask(&self, who: Who, typed: &str, dry_run: bool) -> anyhow::Result<Output> {
        let owner = |number: usize| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": number.to_string()});
        let many: Value = (0..TOO_MANY).map(owner).collect();
        let typed = typed.replace("UID", &self.uid).replace("MANY", &many.to_string());
        let (typed, input) = match typed.split_once(" -f - ") {
            Some((verb, object)) => (
                format!("{verb} -f -"),
                created(serde_json::from_str(object)?).to_string(),
            ),
            None => (typed, String::new()),
        };
        let kubeconfig = match who {
            Who::Admin => self.world.cluster.kubeconfig(),
            Who::Alice => self.alice.clone(),
            Who::Bob => self.bob.clone(),
            Who::Mallory => self.mallory.clone(),
            Who::Controller => self.controller.clone(),
        };
        let kubeconfig = kubeconfig.to_str().context("a path in UTF-8")?;
        let mut arguments: Vec<&str> = typed.split(' ').collect();
        arguments.extend(["-n", GUARDED, "--kubeconfig", kubeconfig]);
        arguments.extend(dry_run.then_some("--dry-run=server"));
        self.world.cluster.kubectl(&arguments, &input).await
    }

    /// All objects that users have written.
    pub(super) async fn stored(&self) -> anyhow::Result<Vec<Value>> {
        let get = ["get", "-n", GUARDED, "statefulsets,pvc", "-o", "json"];
        let list: Value = serde_json::from_str(&self.done(&get, "").await?.stdout)?;
        let mut items = list["items"].as_array().cloned().context("items")?;
        for item in &mut items {
            item["status"].take();
            item["metadata"]["resourceVersion"].take();
        }
        Ok(items)
    }

    /// Runs a row: an allowed request only as a dry run, a denied one for real.
    pub(super) async fn run(&self, row: &Row<'_>) -> anyhow::Result<()> {
        let (who, typed, expected) = row;
        let output = self.ask(*who, typed, expected.is_empty()).await?;
        if expected.is_empty() {
            ensure!(output.success, "{who:?} {typed}: {output:?}");
            return Ok(());
        }
        let user = match who {
            Who::Admin => "admin",
            Who::Alice => "alice",
            Who::Bob => "bob",
            Who::Mallory => "mallory",
            Who::Controller => USER,
        };
        let message = format!(" denied request: claim-rollout: user {user} {expected}\n");
        let denied =
            output.stderr.contains(" is forbidden: ValidatingAdmissionPolicy ") && output.stderr.ends_with(&message);
        ensure!(!output.success && denied, "{who:?} {typed}: {output:?}");
        Ok(())
    }
}

/// An object unchanged, or a StatefulSet with this metadata and these replicas.
fn created(object: Value) -> Value {
    if object["kind"].is_string() {
        return object;
    }
    let mut metadata = object;
    let replicas = metadata.as_object_mut().and_then(|fields| fields.remove("replicas"));
    if metadata["name"].is_null() {
        metadata["name"] = json!("new");
    }
    let mut set = set(&metadata);
    if let Some(replicas) = replicas {
        set["spec"]["replicas"] = replicas;
    }
    set
}
