//! A webhook of somebody else changes the new StatefulSet.

use anyhow::ensure;

use crate::cluster::replacing::kept::{Before, until_complete, until_reported};
use crate::cluster::replacing::trial::{prepare, replaced};
use crate::cluster::replacing::webhook::{INJECTED, Webhook};
use crate::world::World;

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
    ns.typed(&format!("patch statefulset web --type=json -p '{patch}'"))
        .await?;
    until_complete(&ns).await?;
    let set = ns.settled().await?;
    ensure!(
        set["spec"]["updateStrategy"] == before.set["spec"]["updateStrategy"],
        "{set:#}"
    );
    before.keeps_pods_and_claims(&ns).await
}
