//! What prevents a replacement is reported, and changes nothing. The replacement goes on by itself when the obstacle is
//! removed.

use anyhow::ensure;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::denying::{Denial, MESSAGE};
use super::kept::{Before, until_reported};
use super::trial::{journals, prepare, replaced, until_replaced};
use super::webhook::Webhook;
use crate::world::manifests::bound_elsewhere;
use crate::world::namespace::TestNamespace;
use crate::world::{World, until};

/// A StatefulSet of two replicas that is not replaced.
pub(crate) struct Refused<'a> {
    pub(crate) ns: TestNamespace<'a>,
    before: Option<Before>,
}

impl<'a> Refused<'a> {
    pub(crate) async fn prepare(env: &'a World, namespace: &str) -> anyhow::Result<Self> {
        Ok(Self {
            ns: prepare(env, namespace, 2).await?,
            before: None,
        })
    }

    /// Asks for larger templates, unless that was done before, and waits until the PVCs have followed.
    pub(crate) async fn roll_out(&mut self) -> anyhow::Result<()> {
        self.ns.target(&replaced(2, "2Gi")).await?;
        self.ns.until_complete(2, "2Gi").await?;
        self.ns.settled().await?;
        self.before = Some(Before::of(&self.ns).await?);
        Ok(())
    }

    /// The replacement is refused for this reason with this in the message, and everything is as before.
    pub(crate) async fn for_reason(&self, reason: &str, message: &str) -> anyhow::Result<()> {
        let found = until_reported(&self.ns, "Refused", reason).await?;
        ensure!(found.contains(message), "{reason}: {found}");
        if let Some(before) = &self.before {
            before.keeps_everything(&self.ns).await?;
        }
        Ok(())
    }

    /// The StatefulSet is replaced without anything else that happens.
    pub(crate) async fn until_replaced(self, before: &Value) -> anyhow::Result<()> {
        until_replaced(&self.ns, before, "2Gi").await?;
        if let Some(before) = &self.before {
            before.keeps_pods_and_claims(&self.ns).await?;
        }
        let journals = journals(&self.ns).await?;
        ensure!(journals.is_empty(), "{journals:#?}");
        Ok(())
    }

    /// Patches the StatefulSet, and returns it with its field managers.
    pub(crate) async fn patch(&self, patch: &Value) -> anyhow::Result<Value> {
        // Not typed: 1.33 answers `creationTimestamp: null` in the Pod template.
        let sets = self.ns.api("apps", "v1", "StatefulSet");
        let params = PatchParams {
            field_manager: Some("user".to_owned()),
            ..PatchParams::default()
        };
        Ok(serde_json::to_value(
            sets.patch("web", &params, &Patch::Merge(patch)).await?,
        )?)
    }
}

/// Binds the part of the guard for StatefulSets that are being replaced to the namespaces that are selected.
async fn bind_guard(env: &World, patch: &Value) -> anyhow::Result<()> {
    let binding = "validatingadmissionpolicybinding/claim-rollout-replacing";
    let patch = format!("patch {binding} --type=merge -p '{patch}'");
    env.cluster.typed(&patch).await.map(drop)
}

pub(crate) async fn guard_that_is_bound_elsewhere_prevents_a_replacement(env: &World) -> anyhow::Result<()> {
    let namespace = "refused-guard";
    let mut binding = bound_elsewhere(namespace);
    bind_guard(env, &binding).await?;
    let mut refused = Refused::prepare(env, namespace).await?;
    refused.roll_out().await?;
    refused.for_reason("GuardMissing", "apply deploy/guard").await?;
    let before = refused.ns.set().await?;
    binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"].take();
    bind_guard(env, &binding).await?;
    refused.until_replaced(&before).await
}

pub(crate) async fn dependent_of_another_kind_prevents_a_replacement(env: &World) -> anyhow::Result<()> {
    let mut refused = Refused::prepare(env, "refused-dependent").await?;
    let ns = &refused.ns;
    ns.typed("create role maps --verb=list --resource=configmaps").await?;
    ns.let_controller("--role=maps").await?;
    let owner = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web",
        "uid": ns.set().await?["metadata"]["uid"]}]);
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "generated", "ownerReferences": owner}});
    ns.target(&map).await?;
    refused.roll_out().await?;
    refused
        .for_reason("OtherDependents", "ConfigMap generated is owned by")
        .await?;
    let before = refused.ns.set().await?;
    let disown = r#"{"metadata": {"ownerReferences": null}}"#;
    refused
        .ns
        .typed(&format!("patch configmap generated --type=merge -p '{disown}'"))
        .await?;
    refused.until_replaced(&before).await
}

pub(crate) async fn denied_delete_and_create_prevent_a_replacement(env: &World) -> anyhow::Result<()> {
    let mut refused = Refused::prepare(env, "refused-denied").await?;
    let deletes = Denial::of_deletes(&refused.ns).await?;
    let creates = Denial::of_creates(&refused.ns).await?;
    refused.roll_out().await?;
    refused.for_reason("DeleteDenied", MESSAGE).await?;
    deletes.end(&refused.ns).await?;
    refused.for_reason("CreateDenied", MESSAGE).await?;
    let before = refused.ns.set().await?;
    creates.end(&refused.ns).await?;
    refused.until_replaced(&before).await
}

pub(crate) async fn denied_mark_is_undone(env: &World) -> anyhow::Result<()> {
    let mut refused = Refused::prepare(env, "refused-mark").await?;
    let marks = Denial::of_the_mark(&refused.ns).await?;
    refused.roll_out().await?;
    refused.for_reason("StepDenied", MESSAGE).await?;
    let set = refused.ns.set().await?;
    // Each attempt begins a journal for a moment.
    let read = async || Ok((journals(&refused.ns).await?.len(), refused.ns.rollout().await?));
    let is_undone = |(begun, rollout): &(usize, Value)| {
        *begun == 0 && rollout["metadata"]["ownerReferences"][0]["uid"] == set["metadata"]["uid"]
    };
    until(
        "the journal and the owner of the ClaimRollout to be as before",
        read,
        is_undone,
    )
    .await?;
    marks.end(&refused.ns).await?;
    refused.until_replaced(&set).await
}

pub(crate) async fn webhook_that_changes_new_sets_prevents_a_replacement(env: &World) -> anyhow::Result<()> {
    let mut refused = Refused::prepare(env, "refused-webhook").await?;
    let webhook = Webhook::on_create(&refused.ns, "true").await?;
    refused.roll_out().await?;
    refused.for_reason("CreateChanges", "spec.template").await?;
    let before = refused.ns.set().await?;
    webhook.end(&refused.ns).await?;
    refused.until_replaced(&before).await
}
