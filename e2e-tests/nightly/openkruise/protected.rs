//! Replacements with OpenKruise's deletion protection, and while kruise-manager is down: its webhooks for StatefulSets
//! with the label and for updates of Pods then fail every request.

use anyhow::ensure;
use serde_json::{Value, json};

use super::manager::KruiseManager;
use crate::cluster::replacing::refused::Refused;
use crate::world::namespace::text;
use crate::world::{Entry, World, until};

/// OpenKruise denies the DELETE of an object with this label.
const LABEL: &str = "policy.kruise.io/delete-protection";
/// Who removes the owner of the Pods of a StatefulSet that is deleted without them.
const GARBAGE_COLLECTOR: &str = "system:serviceaccount:kube-system:generic-garbage-collector";

/// StatefulSets that are to be replaced, two of them with the label.
pub(super) struct Protected<'a> {
    plain: Refused<'a>,
    always: Refused<'a>,
    cascading: Refused<'a>,
}

impl<'a> Protected<'a> {
    /// Creates them with all Pods Ready. They have to be a minute old before they are replaced.
    pub(super) async fn prepare(env: &'a World) -> anyhow::Result<Self> {
        let prepared = async |namespace: &'static str, label: Option<&str>| {
            let refused = Refused::prepare(env, namespace).await?;
            refused.patch(&labelled(label)).await?;
            anyhow::Ok(refused)
        };
        let (plain, always, cascading) = futures::try_join!(
            prepared("protected-plain", None),
            prepared("protected-always", Some("Always")),
            prepared("protected-cascading", Some("Cascading")),
        )?;
        Ok(Self {
            plain,
            always,
            cascading,
        })
    }

    pub(super) async fn replaced_only_with_kruise_manager_and_no_label(
        self,
        env: &World,
        kruise: &mut KruiseManager,
    ) -> anyhow::Result<()> {
        let Self {
            mut plain,
            mut always,
            mut cascading,
        } = self;
        kruise.kill()?;
        let before = plain.ns.set().await?;
        futures::try_join!(plain.roll_out(), always.roll_out())?;
        until_pods_cannot_change(&plain).await?;
        let unanswered = "failed calling webhook \"vbuiltinstatefulset.kb.io\"";
        always.for_reason("DeleteDenied", unanswered).await?;

        kruise.restart(&env.cluster, true).await?;
        plain.until_replaced(&before).await?;
        let forbidden = format!("forbidden by ResourcesProtectionDeletion for {LABEL}=");
        let is_it = |rollout: &Value| text(&rollout["status"]["replacement"]["message"]).contains(&forbidden);
        always.ns.until_reported("the answer of kruise-manager", is_it).await?;
        cascading.roll_out().await?;
        let forbidden = format!("{forbidden}Cascading and replicas 2>0");
        cascading.for_reason("DeleteDenied", &forbidden).await?;
        futures::try_join!(without_label(always), without_label(cascading)).map(drop)
    }
}

/// The deletion has begun and does not end, because the Pods cannot be written. They run on.
async fn until_pods_cannot_change(refused: &Refused<'_>) -> anyhow::Result<()> {
    let pods = refused.ns.pods().await?;
    let written = async || refused.ns.writes_of(GARBAGE_COLLECTOR).await;
    let has_failed = |writes: &Vec<Entry>| writes.iter().any(|entry| entry.resource == "pods" && entry.code == 500);
    until("the garbage collector to fail", written, has_failed).await?;
    let set = refused.ns.set().await?;
    ensure!(!set["metadata"]["deletionTimestamp"].is_null(), "{set:#}");
    let now = refused.ns.pods().await?;
    ensure!(now == pods, "Pods: {now:?}, before {pods:?}");
    Ok(())
}

/// The StatefulSet is replaced when the label is removed.
async fn without_label(refused: Refused<'_>) -> anyhow::Result<()> {
    let before = refused.patch(&labelled(None)).await?;
    refused.until_replaced(&before).await
}

fn labelled(value: Option<&str>) -> Value {
    json!({"metadata": {"labels": {LABEL: value}}})
}
