//! Somebody else creates the StatefulSet while it is absent. The CREATE of the controller is denied until then, so that
//! it is absent for long enough.

use anyhow::ensure;
use serde_json::{Value, json};

use super::intruder::{Intrusion, Report};
use crate::cluster::replacing::denying::Denial;
use crate::cluster::replacing::kept::{Before, until_complete, until_reported};
use crate::cluster::replacing::trial::{prepare, replaced};
use crate::cluster::replacing::webhook::{INJECTED, Webhook};
use crate::world::World;
use crate::world::namespace::TestNamespace;
use crate::world::web::Web;

/// The denial of a CREATE with fewer replicas.
const FEWER: &str = "may not create StatefulSet web with fewer than 3 replicas now, because Pods would be deleted: it is \
                     being replaced, try again in a moment";

/// Server-side apply, as GitOps tools do it.
const APPLY: [&str; 5] = ["apply", "--server-side", "--field-manager=gitops", "-f", "-"];

/// The manifest without replicas, which is one replica.
fn without_replicas() -> Web {
    replaced(3, "2Gi").spec(&json!({"replicas": null}))
}

/// A StatefulSet of three replicas that the controller has deleted and may not create.
struct Absent<'a> {
    ns: TestNamespace<'a>,
    before: Before,
    denial: Denial,
}

impl<'a> Absent<'a> {
    async fn prepare(env: &'a World, namespace: &str) -> anyhow::Result<Self> {
        let ns = prepare(env, namespace, 3).await?;
        let denial = Denial::of_the_create(&ns).await?;
        ns.target(&replaced(3, "2Gi")).await?;
        let set = ns.set().await?;
        ns.until("the StatefulSet to be absent", "statefulset/web", Value::is_null)
            .await?;
        until_reported(&ns, "Stalled", "StepDenied").await?;
        let before = Before::with(&ns, set).await?;
        Ok(Self { ns, before, denial })
    }

    /// Somebody creates the StatefulSet.
    async fn create(&self, manifest: &Web) -> anyhow::Result<()> {
        self.ns.done(&APPLY, manifest).await.map(drop)
    }

    /// The replacement has ended: the StatefulSet of somebody else is there with three replicas and its own strategy,
    /// and owns the Pods and the ClaimRollout.
    async fn has_ended(&self) -> anyhow::Result<Value> {
        let set = self.ns.settled().await?;
        self.before.keeps_pods_and_claims(&self.ns).await?;
        let uid = &set["metadata"]["uid"];
        ensure!(*uid != self.before.set["metadata"]["uid"], "the same set");
        ensure!(set["metadata"]["finalizers"].is_null(), "{set:#}");
        let (spec, then) = (&set["spec"], &self.before.set["spec"]);
        for key in ["replicas", "updateStrategy", "template"] {
            ensure!(spec[key] == then[key], "{key}: {}, before {}", spec[key], then[key]);
        }
        let revision = &set["status"]["updateRevision"];
        let then = &self.before.set["status"]["updateRevision"];
        ensure!(revision == then, "revision {revision}, before {then}");
        let rollout = self.ns.rollout().await?;
        let owner = &rollout["metadata"]["ownerReferences"][0]["uid"];
        ensure!(owner == uid, "owner of the ClaimRollout: {owner}, not {uid}");
        Ok(set)
    }
}

pub(super) async fn set_of_somebody_else_with_the_same_templates_is_as_good(env: &World) -> anyhow::Result<()> {
    let absent = Absent::prepare(env, "foreign-same").await?;
    absent.create(&replaced(3, "2Gi")).await?;
    until_complete(&absent.ns).await?;
    let set = absent.has_ended().await?;
    let size = &set["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"];
    ensure!(size == "2Gi", "{size}");
    absent.denial.end(&absent.ns).await
}

/// Somebody tries to create the StatefulSet without replicas while it is absent, just before the controller does.
async fn intrude<'a>(
    env: &'a World,
    namespace: &str,
    report: Report,
) -> anyhow::Result<(TestNamespace<'a>, Before, Intrusion)> {
    let ns = prepare(env, namespace, 3).await?;
    let intrusion = Intrusion::begin(&ns, &without_replicas(), report).await?;
    ns.target(&replaced(3, "2Gi")).await?;
    let old = ns.set().await?;
    ns.until_complete(3, "2Gi").await?;
    let before = Before::of(&ns).await?;
    ns.until_another(&old).await?;
    until_complete(&ns).await?;
    let set = ns.settled().await?;
    ensure!(set["spec"]["replicas"] == 3, "{set:#}");
    let strategy = &set["spec"]["updateStrategy"];
    ensure!(*strategy == old["spec"]["updateStrategy"], "{strategy}");
    let denial = intrusion.denial();
    ensure!(denial.contains(FEWER), "{denial:?}");
    Ok((ns, before, intrusion))
}

pub(super) async fn create_with_fewer_replicas_is_denied_and_restarts_no_pod(env: &World) -> anyhow::Result<()> {
    let (ns, before, intrusion) = intrude(env, "foreign-denied", Report::Kept).await?;
    ensure!(!intrusion.has_succeeded(), "somebody else created the StatefulSet");
    before.keeps_pods_and_claims(&ns).await
}

/// Where the guard does not know the replicas, the StatefulSet controller may be faster than ours: then it has deleted
/// Pods of the highest ordinals already.
pub(super) async fn pods_that_were_scaled_away_come_back_with_their_claims(env: &World) -> anyhow::Result<()> {
    let (ns, before, intrusion) = intrude(env, "foreign-sudden", Report::Lost).await?;
    ensure!(intrusion.has_succeeded(), "nobody else created the StatefulSet");
    before.keeps_claims(&ns).await?;
    let pods = ns.pods().await?;
    let same = pods.iter().filter(|pod| before.pods.contains(pod)).count();
    println!("{same} of {} Pods are the same", pods.len());
    ensure!(
        pods.len() == 3 && pods[0] == before.pods[0],
        "{pods:?}, before {:?}",
        before.pods
    );
    Ok(())
}

/// A webhook that acts on the name of the new StatefulSet: no dry run shows what it changes.
pub(super) async fn changed_template_of_the_new_set_restarts_no_pod(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "foreign-webhook", 3).await?;
    let webhook = Webhook::on_create(&ns, "object.metadata.?name.orValue('') == 'web'").await?;
    ns.target(&replaced(3, "2Gi")).await?;
    let old = ns.set().await?;
    ns.until_another(&old).await?;
    let message = until_reported(&ns, "Stalled", "RevisionChanged").await?;
    ensure!(message.contains("The partition 1000000000 keeps the Pods"), "{message}");
    let before = Before::with(&ns, old).await?;
    ns.until_ready(3).await?;
    before.keeps_pods_and_claims(&ns).await?;
    webhook.end(&ns).await?;

    // The user puts the Pod template back: no Pod restarts.
    let annotation = INJECTED.replace('/', "~1");
    let patch = format!(r#"[{{"op": "remove", "path": "/spec/template/metadata/annotations/{annotation}"}}]"#);
    let arguments = ["patch", "statefulset", "web", "--type=json", "-p", &patch];
    ns.done(&arguments, "").await?;
    until_complete(&ns).await?;
    let set = ns.settled().await?;
    ensure!(
        set["spec"]["updateStrategy"] == before.set["spec"]["updateStrategy"],
        "{set:#}"
    );
    before.keeps_pods_and_claims(&ns).await
}
