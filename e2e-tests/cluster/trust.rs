//! Guarantee S18 on a real API server: users who may change StatefulSets and their status, but no PVC, change no PVC
//! through claim-rollout: with the policy alone, with the guard alone, and with both. A staged change that asks for
//! more than the settings allow reaches no PVC either, whoever wrote it.

mod ceilings;
mod namespace;

use std::path::Path;

use anyhow::{Context as _, ensure};
use claim_rollout::templates::UpdatePolicy;
use serde_json::{Value, json};

use crate::world::installation::{ACCOUNT, NAMESPACE, USER};
use crate::world::manifests::bound_elsewhere;
use crate::world::namespace::{STAGED, text};
use crate::world::web::Web;
use crate::world::{Options, World, until, words};
use namespace::{Judges, TestedNamespace};

const JUDGES: [Judges; 3] = [Judges::Policy, Judges::Guard, Judges::Both];

const OWNED: &str = r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"UID","controller":true}]}}"#;
const IN_PLACE: &str = r#"{"metadata":{"annotations":{"claim-rollout.io/update-policy":"InPlace"}}}"#;
const FREE_AND_IN_PLACE: &str =
    r#"{"metadata":{"ownerReferences":null,"annotations":{"claim-rollout.io/update-policy":"InPlace"}}}"#;
const FREE: &str = r#"{"metadata":{"ownerReferences":null}}"#;
const FORGED: &str = r#"{"metadata":{"annotations":{"claim-rollout.io/staged":FORGED}}}"#;
const FORGED_IN_PLACE: &str =
    r#"{"metadata":{"annotations":{"claim-rollout.io/staged":FORGED,"claim-rollout.io/update-policy":"InPlace"}}}"#;

/// A StatefulSet, and the patches that bob tries on it, each on the object or on its status.
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

/// The attempts that write what only the policy may write.
const FORGERIES: [Attempt; 3] = [ATTEMPTS[0], ATTEMPTS[2], ATTEMPTS[6]];

/// The StatefulSet that alice, who may patch PVCs, rolls out.
const ALLOWED: &str = "allowed";

fn namespace_of(judges: Judges) -> String {
    format!("trust-{judges:?}").to_lowercase()
}

/// The rights of the users. kubectl reads the object that it writes, so the controller, which is USER, may read.
const RIGHTS: [&str; 6] = [
    "role sets --verb=* --resource=statefulsets.apps,statefulsets.apps/status",
    "role claims --verb=get,list,patch --resource=persistentvolumeclaims",
    "role read --verb=get --resource=statefulsets.apps",
    "rolebinding sets --role=sets --user=alice --user=bob",
    "rolebinding claims --role=claims --user=alice",
    "rolebinding read --role=read --user=USER",
];

impl TestedNamespace<'_> {
    async fn staged_of_size(&self, set: &str, size: &str) -> anyhow::Result<String> {
        self.staged_change(
            set,
            UpdatePolicy::OnClaimDelete,
            "spec/resources/requests/storage",
            size,
        )
        .await
    }

    /// Stages a size: by an apply of alice if the policy stages, else by writing what the policy would write.
    async fn target(&self, set: &str, size: &str) -> anyhow::Result<()> {
        let writer: Option<&Path> = match self.judges {
            Judges::Guard => Some(&self.alice),
            _ if self.validates_only => Some(&self.controller),
            _ => None,
        };
        let Some(writer) = writer else {
            let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
            let manifest = Web::replicas(1).size(size).plain().named(set).to_string();
            return self.done(Some(&self.alice), &apply, &manifest).await.map(drop);
        };
        let annotation = format!("{STAGED}={}", self.staged_of_size(set, size).await?);
        let annotate = ["annotate", "--overwrite", &format!("statefulset/{set}"), &annotation];
        self.done(Some(writer), &annotate, "").await?;
        Ok(())
    }

    /// A StatefulSet for which alice has staged 2Gi, while existing PVCs stay as they are.
    async fn stage(&self, set: &str) -> anyhow::Result<()> {
        let manifest = Web::replicas(1).plain().named(set).to_string();
        self.done(None, &["apply", "-f", "-"], &manifest).await?;
        let claim = format!("pvc/data-{set}-0");
        let is_bound = |claim: &Value| claim["status"]["phase"] == "Bound";
        let read = async || {
            let get = ["get", &claim, "--ignore-not-found", "-o", "json"];
            let found = self.kubectl(None, &get, "").await?.stdout;
            Ok(serde_json::from_str(&found).unwrap_or_default())
        };
        until("the PVC to be bound", read, is_bound).await?;
        self.target(set, "2Gi").await
    }

    /// The attempts of bob. Each may be denied, or accepted and reverted.
    async fn attempt(&self, (set, patches): &Attempt, owner: &str) -> anyhow::Result<()> {
        let forged = Value::String(self.staged_of_size(set, "3Gi").await?).to_string();
        for (subresource, patch) in *patches {
            let patch = patch.replace("UID", owner).replace("FORGED", &forged);
            let (set, of) = (format!("statefulset/{set}"), format!("--subresource={subresource}"));
            let mut arguments = vec!["patch", &*set, "--type=merge", "-p", &*patch];
            arguments.extend((!subresource.is_empty()).then_some(&*of));
            let output = self.kubectl(Some(&self.bob), &arguments, "").await?;
            let why = ["bob", "only claim-rollout may change it"];
            let is_denial =
                output.stderr.contains("claim-rollout: ") && why.iter().any(|why| output.stderr.contains(why));
            ensure!(output.success || is_denial, "{set} {patch}: {output:?}");
        }
        Ok(())
    }

    /// All staged changes, and all PVCs except those that alice rolls out. With the guard alone, she may also write
    /// anything beyond a ceiling.
    async fn stored(&self) -> anyhow::Result<Vec<Value>> {
        let list = self.get("statefulsets,pvc").await?;
        let items = list["items"].as_array().context("items")?.iter();
        let items = items.filter(|item| !text(&item["metadata"]["name"]).contains(ALLOWED));
        let of = |item: &Value| {
            let metadata = &item["metadata"];
            let is_hers = self.judges == Judges::Guard && ceilings::is_beyond(&metadata["name"]);
            let staged = if is_hers {
                &Value::Null
            } else {
                &metadata["annotations"][STAGED]
            };
            json!([
                metadata["name"],
                metadata["uid"],
                metadata["labels"],
                staged,
                item["spec"]
            ])
        };
        Ok(items.map(of).collect())
    }

    /// Creates the namespace, and returns the uid of the owner in it.
    async fn prepare(&self) -> anyhow::Result<String> {
        let namespace = &*self.namespace;
        self.cluster.kubectl(&["create", "namespace", namespace], "").await?;
        for right in RIGHTS {
            let right = right.replace("USER", USER);
            let create = [&["create"], &words(&right)[..]].concat();
            self.done(None, &create, "").await?;
        }
        self.done(None, &["create", "configmap", "owner"], "").await?;
        if self.judges == Judges::Policy {
            let selector = bound_elsewhere(namespace).to_string();
            let binding = "validatingadmissionpolicybinding/claim-rollout-staged";
            self.done(None, &["patch", binding, "--type=merge", "-p", &selector], "")
                .await?;
        }
        Ok(text(&self.get("configmap/owner").await?["metadata"]["uid"]))
    }

    async fn until_size(&self, size: &str) -> anyhow::Result<()> {
        let claim = format!("pvc/data-{ALLOWED}-0");
        let has_grown = |claim: &Value| claim["spec"]["resources"]["requests"]["storage"] == size;
        until(
            "the rollout of alice to complete",
            async || self.get(&claim).await,
            has_grown,
        )
        .await
        .map(drop)
    }

    /// The rollout of alice completes. By then, the controller has reconciled everything before it.
    async fn until_alice_has_rolled_out(&self) -> anyhow::Result<()> {
        let set = format!("statefulset/{ALLOWED}");
        self.done(Some(&self.alice), &["patch", &set, "--type=merge", "-p", IN_PLACE], "")
            .await?;
        self.until_size("2Gi").await?;
        if !self.validates_only {
            self.target(ALLOWED, "3Gi").await?;
            self.until_size("3Gi").await?;
        }
        Ok(())
    }

    async fn run(&self, attempts: &[Attempt]) -> anyhow::Result<()> {
        let owner = self.prepare().await?;
        let beyond = ceilings::BEYOND
            .iter()
            .map(|(set, ..)| *set)
            .filter(|_| !self.validates_only);
        for set in attempts.iter().map(|(set, _)| *set).chain(beyond).chain([ALLOWED]) {
            self.stage(set).await.with_context(|| set.to_owned())?;
        }
        let before = self.stored().await?;
        for attempt in attempts {
            self.attempt(attempt, &owner).await?;
        }
        if !self.validates_only {
            ceilings::stage_beyond_ceilings(self).await?;
        }
        self.until_alice_has_rolled_out().await?;
        let after = self.stored().await?;
        for (before, after) in before.iter().zip(&after) {
            ensure!(before == after, "before: {before:#}\nafter: {after:#}");
        }
        ensure!(before.len() == after.len(), "{after:#?}");
        Ok(())
    }
}

/// Runs the attempts against all judges, with a controller with these settings.
async fn run_attempts(policy: Value, controller: &Value, attempts: &[Attempt]) -> anyhow::Result<()> {
    let validates_only = policy["mode"] == "ValidateOnly";
    let guarded = namespace_of(Judges::Guard);
    let world = World::with(Options::default())
        .policy(policy)
        .but_in(&[&guarded])
        .build()
        .await?;
    let cluster = &world.cluster;
    let settings = cluster.folder().join("settings.json");
    std::fs::write(&settings, controller.to_string())?;
    let settings = settings.to_str().context("a path in UTF-8")?;
    let controller = world.controllers.start(&["--settings", settings]).await?;
    for judges in JUDGES {
        let ns = TestedNamespace {
            cluster,
            namespace: namespace_of(judges),
            judges,
            validates_only,
            alice: cluster.kubeconfig_for("alice", &[])?,
            bob: cluster.kubeconfig_for("bob", &[])?,
            controller: cluster.kubeconfig_of(NAMESPACE, ACCOUNT).await?,
        };
        let result = ns.run(attempts).await;
        result.with_context(|| format!("{judges:?}:\n{}", controller.log()))?;
    }
    drop(controller);
    world.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn user_without_pvc_rights_changes_no_pvc_through_us() -> anyhow::Result<()> {
    run_attempts(ceilings::settings(), &ceilings::settings(), &ATTEMPTS).await
}

/// The state after an uninstall: the controller still rolls out what it finds.
#[tokio::test(flavor = "multi_thread")]
async fn forged_change_without_mutation_changes_no_pvc() -> anyhow::Result<()> {
    run_attempts(json!({"mode": "ValidateOnly"}), &json!({}), &FORGERIES).await
}
