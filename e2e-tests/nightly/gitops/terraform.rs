//! The statements of `docs/gitops.md` on OpenTofu and Terraform outside of its table.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use anyhow::{bail, ensure};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::beside::{is_behind, is_staged, prepare, uid};
use super::cycle::in_git;
use super::opentofu::{COMPUTED, KUBECTL, KUBECTL_SERVER_SIDE, MANIFEST, TYPED, WAITING};
use super::tools::Sync;
use crate::world::namespace::PATIENCE;
use crate::world::{Output, World};

/// What it prints, without its line breaks.
fn printed(output: &Output) -> String {
    output.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// With the templates in `computed_fields` the answer may have others. The annotations still make the apply fail, and
/// the next one sends the templates of the answer.
pub(super) async fn computed_templates_fail_and_withdraw_staged_change(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "tofu-computed", Sync::OpenTofu(&COMPUTED)).await?;
    let large = in_git("2Gi");
    let output = COMPUTED.apply(&ns, &large.value()).await?;
    let message = printed(&output);
    let annotation = ".object.metadata.annotations: new element \"claim-rollout.io/staged\" has appeared";
    ensure!(!output.success && message.contains(annotation), "{message}");
    ensure!(!message.contains("volumeClaimTemplates["), "{message}");
    ensure!(is_staged(&ns, "2Gi").await?, "{:#}", ns.set().await?);
    let plan = COMPUTED.plan(&ns, &large.value()).await?;
    ensure!(plan.changes.is_empty(), "{plan:?}");

    let output = COMPUTED.apply(&ns, &large.image("2").value()).await?;
    let message = printed(&output);
    let annotation = "element \"claim-rollout.io/staged\" has vanished";
    ensure!(!output.success && message.contains(annotation), "{message}");
    ensure!(
        ns.staged_change().await?.is_null(),
        "what was staged was to be taken back"
    );
    Ok(())
}

/// `kubernetes_stateful_set_v1` plans a size each time, and never sends it. Another access mode deletes the StatefulSet
/// with its Pods.
pub(super) async fn typed_resource_sends_no_size_or_deletes_the_set(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "tofu-typed", Sync::OpenTofu(&TYPED)).await?;
    let before = ns.set().await?;
    let mut other = in_git("2Gi").value();
    for _ in 0..2 {
        let plan = TYPED.plan(&ns, &other).await?;
        let spec = BTreeSet::from(["spec".to_owned()]);
        ensure!(plan.changes == spec && plan.actions == json!(["update"]), "{plan:?}");
        TYPED.sync(&ns, &other).await?;
        ensure!(ns.set().await? == before, "something was stored");
    }

    let pods = ns.pods().await?;
    other["spec"]["volumeClaimTemplates"][0]["spec"]["accessModes"] = json!(["ReadWriteMany"]);
    let plan = TYPED.plan(&ns, &other).await?;
    ensure!(plan.actions == json!(["delete", "create"]), "{plan:?}");
    TYPED.sync(&ns, &other).await?;
    ns.settled().await?;
    let now = ns.pods().await?;
    ensure!(pods.iter().all(|pod| !now.contains(pod)), "a Pod is still there");
    is_behind(&ns).await
}

/// Unless `wait_for_rollout` is false, `kubectl_manifest` waits for the next write to the StatefulSet, and there may be
/// none.
pub(super) async fn kubectl_manifest_waits_until_the_set_is_written(env: &World) -> anyhow::Result<()> {
    let mut ns = prepare(env, "tofu-waiting", Sync::OpenTofu(&KUBECTL)).await?;
    KUBECTL.sync(&ns, &in_git("2Gi").value()).await?;
    ns.start_controller(env, &[]).await?;
    ns.until_complete(2, "2Gi").await?;

    let small = in_git("1Gi").value();
    let mut apply = pin!(WAITING.apply(&ns, &small));
    let withdrawn = async {
        while !ns.staged_change().await?.is_null() {
            sleep(Duration::from_millis(100)).await;
        }
        sleep(Duration::from_secs(5)).await;
        anyhow::Ok(())
    };
    tokio::select! {
        ended = &mut apply => bail!("it did not wait: {ended:?}"),
        withdrawn = withdrawn => withdrawn?,
    }
    // On a slow machine it does not watch yet when the first one comes.
    let written = async {
        for count in 0.. {
            let note = format!("example.com/written={count}");
            ns.typed(&format!("annotate statefulset web --overwrite {note}"))
                .await?;
            sleep(Duration::from_secs(5)).await;
        }
        anyhow::Ok(())
    };
    let output = tokio::select! {
        output = timeout(PATIENCE, apply) => output??,
        written = written => bail!("it does not end: {written:?}"),
    };
    ensure!(output.success, "{output:?}");
    Ok(())
}

/// A denial is printed. After it, a plan of `kubectl_manifest` shows nothing: its provider keeps what it has sent.
pub(super) async fn denial_is_shown(env: &World) -> anyhow::Result<()> {
    for (namespace, resource, planned) in [
        ("tofu-denied", &MANIFEST, &["manifest", "spec.volumeClaimTemplates"][..]),
        ("tofu-denied-kubectl", &KUBECTL, &[]),
        ("tofu-denied-server-side", &KUBECTL_SERVER_SIDE, &[]),
    ] {
        let ns = prepare(env, namespace, Sync::OpenTofu(resource)).await?;
        let before = (uid(&ns).await?, ns.pods().await?);
        let small = in_git("512Mi").value();
        let output = resource.apply(&ns, &small).await?;
        let message = printed(&output);
        let denied = "denied the request: claim-rollout: \
                      spec.volumeClaimTemplates[data].spec.resources.requests.storage: cannot shrink";
        ensure!(!output.success && message.contains(denied), "{namespace}: {message}");
        ensure!((uid(&ns).await?, ns.pods().await?) == before, "the set was deleted");
        let plan = resource.plan(&ns, &small).await?;
        ensure!(plan.changes.iter().eq(planned), "{namespace}: {plan:?}");
        // The manifest of before is sent again.
        resource.sync(&ns, &in_git("1Gi").value()).await?;
        let plan = resource.plan(&ns, &in_git("1Gi").value()).await?;
        ensure!(plan.changes.is_empty(), "{namespace}: {plan:?}");
    }
    Ok(())
}
