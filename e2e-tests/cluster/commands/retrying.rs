//! `claim-rollout retry`, and its section in `docs/commands.md`.

use anyhow::ensure;
use serde_json::json;

use super::prepare;
use super::shown::{DOCUMENT, types};
use crate::world::backoff::until_pause_is_long;
use crate::world::book::Book;
use crate::world::namespace::TestNamespace;
use crate::world::{World, manifests, until};

/// True iff the API server denies updates of PVCs, as a dry run shows.
async fn is_frozen(ns: &TestNamespace<'_>, claim: &str) -> anyhow::Result<bool> {
    let probe = ["label", "pvc", claim, "probe=1", "--overwrite", "--dry-run=server"];
    Ok(ns.kubectl(&probe, "").await?.stderr.contains("no changes today"))
}

pub(super) async fn retry_ends_the_pause_after_denied_writes(env: &World) -> anyhow::Result<()> {
    let mut book = Book::under(&["## retry: try again now"], DOCUMENT)?;
    let ns = prepare(env, "frozen").await?;
    // The controller does not watch this policy.
    let validation = json!({"expression": "false", "message": "no changes today"});
    let updates = ["UPDATE", "", "persistentvolumeclaims"];
    for object in manifests::denying("frozen", &ns.namespace, updates, &validation) {
        ns.target(&object).await?;
    }
    let frozen = async || is_frozen(&ns, "data-web-2").await;
    until("updates of PVCs to be denied", frozen, |denied| *denied).await?;
    ns.apply(3, "2Gi").await?;
    until_pause_is_long(&ns).await?;
    ns.typed("delete validatingadmissionpolicybinding,validatingadmissionpolicy frozen")
        .await?;
    let frozen = async || is_frozen(&ns, "data-web-2").await;
    until("updates of PVCs to be allowed", frozen, |denied| !denied).await?;
    types(&mut book, &ns, "claim-rollout retry web").await?;
    // The report is one of after the request, so that `wait` does not end with the last one, which is stalled.
    types(&mut book, &ns, "claim-rollout wait web --timeout 1m").await?;
    let annotations = &ns.rollout().await?["metadata"]["annotations"];
    ensure!(
        annotations["claim-rollout.io/retry"].is_null(),
        "the request is left: {annotations}"
    );
    types(&mut book, &ns, "claim-rollout retry web").await?;
    book.end()
}
