//! The statements of `docs/gitops.md` outside of its table.

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::cycle::in_git;
use super::tools::{Sync, forced, server_side};
use crate::world::World;
use crate::world::namespace::{STAGED, TestNamespace, text};

/// Creates a namespace without a controller, and in it the StatefulSet of 1Gi by this request.
pub(super) async fn prepare<'a>(env: &'a World, namespace: &str, sync: Sync) -> anyhow::Result<TestNamespace<'a>> {
    let ns = env.namespace(namespace).await?;
    sync.send(&ns, &in_git("1Gi").value()).await?;
    ns.settled().await?;
    Ok(ns)
}

pub(super) async fn is_staged(ns: &TestNamespace<'_>, size: &str) -> anyhow::Result<bool> {
    let change = ns.staged_change().await?;
    Ok(change["templates"][0]["spec"]["resources"]["requests"]["storage"] == size)
}

pub(super) async fn uid(ns: &TestNamespace<'_>) -> anyhow::Result<String> {
    Ok(text(&ns.set().await?["metadata"]["uid"]))
}

/// `Replace=true` is `kubectl replace`, which succeeds and withdraws nothing. With `Force=true` it deletes the
/// StatefulSet.
pub(super) async fn argo_replace_keeps_the_set_unless_forced(env: &World) -> anyhow::Result<()> {
    let sync = Sync::ClientSide("argocd-controller");
    let ns = prepare(env, "argo-replacing", sync).await?;
    let before = (uid(&ns).await?, ns.pods().await?);
    let large = in_git("2Gi");
    ns.done(&["replace", "-f", "-"], &large).await?;
    ensure!(is_staged(&ns, "2Gi").await?, "{:#}", ns.set().await?);
    ns.done(&["replace", "-f", "-"], &in_git("1Gi")).await?;
    ensure!(is_staged(&ns, "2Gi").await?, "a replacement does not go back");
    ensure!((uid(&ns).await?, ns.pods().await?) == before, "the set was deleted");

    ns.done(&["replace", "--force", "-f", "-"], &large).await?;
    ns.settled().await?;
    ensure!(uid(&ns).await? != before.0, "the set was to be deleted");
    ensure!(ns.pods().await? != before.1, "and its Pods");
    is_behind(&ns).await
}

/// The StatefulSet is a new one with the large templates, and the PVCs are the small ones.
pub(super) async fn is_behind(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    let set = ns.set().await?;
    let size = &set["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"];
    ensure!(
        size == "2Gi" && set["metadata"]["annotations"].get(STAGED).is_none(),
        "{set:#}"
    );
    for claim in ns.claims().await? {
        ensure!(claim["spec"]["resources"]["requests"]["storage"] == "1Gi", "{claim:#}");
    }
    Ok(())
}

/// A PVC as `kubectl get` prints it, pasted as a template: it has a `status` and a time. The API server answers with 422 to
/// any other text of a template, so none may reach it.
pub(super) async fn forced_apply_of_an_exported_pvc_keeps_the_set(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "forced-export", Sync::ClientSide("kubectl-client-side-apply")).await?;
    let before = (uid(&ns).await?, ns.pods().await?);
    let exported = ns.claims().await?.swap_remove(0);
    ensure!(
        exported["status"]["phase"] == "Bound" && exported["metadata"]["creationTimestamp"].is_string(),
        "{exported:#}"
    );
    // Each request also changes a label, so that it is a write.
    let pasted = |size: &str, request: String| {
        let mut set = in_git(size).value();
        set["metadata"]["labels"]["request"] = request.into();
        let template = &mut set["spec"]["volumeClaimTemplates"][0];
        template["apiVersion"] = "v1".into();
        template["kind"] = "PersistentVolumeClaim".into();
        template["status"] = exported["status"].clone();
        template["metadata"]["creationTimestamp"] = exported["metadata"]["creationTimestamp"].clone();
        set
    };
    let forced = &["apply", "--force", "-f", "-"][..];
    let server_side = &["apply", "--server-side", "--force-conflicts", "-f", "-"];
    for way in [forced, server_side] {
        for (index, size) in ["1Gi", "2Gi", "2Gi", "1Gi"].into_iter().enumerate() {
            let request = format!("{}-{index}", way.len());
            ns.done(way, &pasted(size, request.clone())).await?;
            let set = ns.set().await?;
            ensure!(set["metadata"]["labels"]["request"] == *request, "{set:#}");
            ensure!(
                is_staged(&ns, size).await? == (size == "2Gi"),
                "{way:?}, request {index}: {set:#}"
            );
            ensure!(size == "2Gi" || ns.staged_change().await?.is_null(), "{set:#}");
            ensure!(
                (uid(&ns).await?, ns.pods().await?) == before,
                "{way:?}, request {index}: the set was deleted"
            );
        }
    }

    // The volume, the uid and the annotations of Kubernetes are those of one PVC.
    let mut whole = in_git("2Gi").value();
    whole["spec"]["volumeClaimTemplates"][0] = exported;
    whole["spec"]["volumeClaimTemplates"][0]["metadata"]["name"] = "data".into();
    let answer = ns.kubectl(forced, &whole).await?;
    ensure!(
        !answer.success && answer.stderr.contains("denied the request: claim-rollout: "),
        "{answer:?}"
    );
    ensure!((uid(&ns).await?, ns.pods().await?) == before, "the set was deleted");
    ensure!(ns.staged_change().await?.is_null(), "{:#}", ns.set().await?);
    Ok(())
}

/// Pulumi with `ignoreChanges` for the templates sends the old ones with every other change. The user who staged a
/// change owns them since, so that is a conflict. With `pulumi.com/patchForce` the request succeeds, and the staged
/// change stays.
pub(super) async fn pulumi_ignoring_templates_keeps_staged_change_of_others(env: &World) -> anyhow::Result<()> {
    let manager = "pulumi-kubernetes-1a2b3c4d";
    let (plain, forced) = (server_side(manager), forced(manager));
    let ns = prepare(env, "pulumi-ignoring", plain).await?;
    let path = "/spec/volumeClaimTemplates/0/spec/resources/requests/storage";
    let patch = json!([{"op": "replace", "path": path, "value": "2Gi"}]).to_string();
    ns.typed(&format!("patch statefulset/web --type=json -p '{patch}'"))
        .await?;
    let change = ns.staged_change().await?;
    ensure!(is_staged(&ns, "2Gi").await?, "{change:#}");

    let conflict = plain.send(&ns, &in_git("1Gi").image("2").value()).await;
    let conflict = conflict.err().context("expected a conflict")?.to_string();
    ensure!(
        conflict.contains("conflict with \"kubectl-patch\"") && conflict.contains(".spec.volumeClaimTemplates"),
        "{conflict}"
    );
    for tag in ["2", "3"] {
        forced.send(&ns, &in_git("1Gi").image(tag).value()).await?;
        ensure!(ns.staged_change().await? == change, "{:#}", ns.set().await?);
    }
    Ok(())
}
