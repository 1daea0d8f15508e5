//! A PVC write that failed is retried when its obstacle is removed.

use anyhow::ensure;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::world::backoff::until_pause_is_long;
use crate::world::namespace::TestNamespace;
use crate::world::web::Web;
use crate::world::{DRIVER, World};

/// The open watches of the controller on these resources.
fn watches(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<String>> {
    let controller = ns.controller.as_ref();
    let metrics = controller.map_or(Ok((0, String::new())), |controller| controller.get("/metrics"))?;
    let open = metrics
        .1
        .lines()
        .filter(|line| line.starts_with("claim_rollout_watches{"));
    let concern = |line: &&str| {
        ["resourcequotas", "limitranges", "storageclasses"]
            .iter()
            .any(|resource| line.contains(resource))
    };
    Ok(open
        .filter(concern)
        .filter(|line| !line.ends_with(" 0"))
        .map(str::to_owned)
        .collect())
}

/// Waits for a long pause, removes the obstacle, and waits for the PVC.
async fn unblock(
    ns: &TestNamespace<'_>,
    size: &str,
    obstacle: impl AsyncFnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    until_pause_is_long(ns).await?;
    ensure!(watches(ns)?.len() == 1, "only what was named: {:?}", watches(ns)?);
    obstacle().await?;
    ns.until_complete(2, size).await?;
    ensure!(watches(ns)?.is_empty(), "{:?}", watches(ns)?);
    Ok(())
}

pub(super) async fn removed_obstacle_is_used_at_once_despite_long_backoff(env: &World) -> anyhow::Result<()> {
    let ns = env.managed("unblock").await?;
    let classes: Api<k8s_openapi::api::storage::v1::StorageClass> = Api::all(env.client.clone());
    let class = json!({"metadata": {"name": "unblock"}, "provisioner": DRIVER, "allowVolumeExpansion": true});
    classes
        .create(&PostParams::default(), &serde_json::from_value(class)?)
        .await?;
    let web = |size| Web::replicas(2).size(size).class("unblock");
    ns.target(&web("1Gi")).await?;
    ns.until_ready(2).await?;
    ensure!(watches(&ns)?.is_empty(), "{:?}", watches(&ns)?);

    // The quota has room at the start, and none when the second PVC is due.
    ns.partition(1).await?;
    ns.target(&web("2Gi")).await?;
    let first = |rollout: &Value| rollout["status"]["readyReplicas"] == 1;
    ns.until_reported("the first claim to be ready", first).await?;
    ns.typed("create quota storage --hard=requests.storage=3Gi").await?;
    ns.until_quota("used", "3Gi").await?;
    ns.partition(0).await?;
    unblock(&ns, "2Gi", async || {
        let raised = r#"{"spec":{"hard":{"requests.storage":"20Gi"}}}"#;
        ns.typed(&format!("patch quota storage --patch '{raised}'"))
            .await
            .map(drop)
    })
    .await?;

    let expansion = async |allowed: bool| {
        let patch = Patch::Merge(json!({"allowVolumeExpansion": allowed}));
        let patched = classes.patch("unblock", &PatchParams::default(), &patch).await?;
        ensure!(patched.allow_volume_expansion == Some(allowed));
        Ok(())
    };
    expansion(false).await?;
    ns.target(&web("3Gi")).await?;
    unblock(&ns, "3Gi", async || expansion(true).await).await?;

    let limits = |most: &str| {
        let limits = json!([{"type": "PersistentVolumeClaim", "max": {"storage": most}}]);
        json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "claims"}, "spec": {"limits": limits}})
    };
    let limit = async |most: &str| ns.target(&limits(most)).await.map(drop);
    // The policy dry-runs an apply of the PVC at admission, so the limit comes later.
    ns.typed("annotate statefulset web claim-rollout.io/paused=true")
        .await?;
    ns.target(&web("5Gi")).await?;
    limit("4Gi").await?;
    ns.typed("annotate statefulset web claim-rollout.io/paused-").await?;
    unblock(&ns, "5Gi", async || limit("5Gi").await).await
}
