//! Replacements of StatefulSets that stopped in the middle.

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use claim_rollout::replace::{Journal, LiveSet};
use serde_json::json;

use super::examined::{Examined, KEPT};
use crate::world::installation::{NAMESPACE, manifest_applied};
use crate::world::web::Web;

/// The Secret for StatefulSet web in [`KEPT`]: a hash of both names.
const JOURNAL: &str = "claim-rollout-journal-ee8c893f5943e1a9b52e";

/// Stages a change, and waits until its rollout has ended.
async fn stage(env: &Examined) -> anyhow::Result<()> {
    env.done(&["apply", "-n", KEPT, "-f", "-"], &Web::replicas(2).size("3Gi"))
        .await?;
    let complete = "--for=jsonpath={.metadata.annotations.claim-rollout\\.io/phase}=Complete";
    env.typed(&format!("wait -n {KEPT} statefulset/web --timeout=120s {complete}"))
        .await
        .map(drop)
}

/// Writes a journal that began long ago.
async fn write_journal(env: &Examined, is_let_go: bool) -> anyhow::Result<()> {
    let get = [
        "get",
        "statefulset/web",
        "-n",
        KEPT,
        "-o",
        "json",
        "--show-managed-fields",
    ];
    let set = LiveSet::new(serde_json::from_str(&env.done(&get, "").await?.stdout)?);
    let journal = Journal::prepare(&set, None, 0).context("a staged change")?;
    let journal = if is_let_go {
        let namespace = env
            .typed(&format!("get namespace {KEPT} -o jsonpath={{.metadata.uid}}"))
            .await?
            .stdout;
        // It is never the first journal in its Secret.
        let secret = env
            .typed(&format!(
                "get secret {JOURNAL} -n {NAMESPACE} -o jsonpath={{.metadata.uid}}"
            ))
            .await?
            .stdout;
        journal.release(&set, Vec::new(), &namespace, &secret)
    } else {
        journal
    };
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "claim-rollout.io/journal",
        "metadata": {"name": JOURNAL, "namespace": NAMESPACE, "labels": {"claim-rollout.io/journal": "true"}},
        "data": {"journal": STANDARD.encode(journal.write()?)},
    });
    env.done(&["apply", "--server-side", "-f", "-"], &secret.to_string())
        .await
        .map(drop)
}

/// The uids of the Pods and PVCs.
async fn uids(env: &Examined) -> anyhow::Result<String> {
    let jsonpath = "jsonpath={.items[*].metadata.uid}";
    Ok(env
        .typed(&format!("get pods,pvc -n {KEPT} -o {jsonpath}"))
        .await?
        .stdout)
}

pub(super) async fn journal_left_behind_is_found(env: &mut Examined) -> anyhow::Result<()> {
    manifest_applied(&env.world.cluster, "replace-sets.yaml").await?;
    stage(env).await?;
    let before = uids(env).await?;

    // The StatefulSet exists.
    write_journal(env, false).await?;
    env.diagnosed(("Warning", &format!("secret/{NAMESPACE}/{JOURNAL}")))
        .await?;

    // It does not exist, because the controller ended after it had let it go.
    write_journal(env, true).await?;
    env.typed(&format!("delete -n {KEPT} statefulset/web --cascade=orphan"))
        .await?;
    env.fixed(("Error", "statefulset.apps/kept/web")).await?;

    let listed = env.typed(&format!("get secrets -n {NAMESPACE} -o name")).await?;
    ensure!(!listed.stdout.contains(JOURNAL), "a journal is left");
    let size = "jsonpath={.spec.volumeClaimTemplates[0].spec.resources.requests.storage}";
    let live = env.typed(&format!("get statefulset/web -n {KEPT} -o '{size}'")).await?;
    ensure!(live.stdout == "3Gi", "{live:?}");
    let after = uids(env).await?;
    ensure!(after == before, "{after}, before {before}");
    Ok(())
}
