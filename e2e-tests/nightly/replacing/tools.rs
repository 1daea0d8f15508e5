//! After a replacement, every tool finds nothing to do, and another sync writes nothing.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::cluster::replacing::kept::Before;
use crate::cluster::replacing::trial::{prepare, replaced, until_replaced};
use crate::nightly::gitops::tools::{TOOLS, Tool};
use crate::world::World;
use crate::world::again::Unmoved;
use crate::world::installation::JOURNALS;
use crate::world::namespace::{STAGED, TestNamespace};

/// The keys by which tools recognize their objects.
const KEYS: [(&str, &str, &str); 6] = [
    ("labels", "app.kubernetes.io/managed-by", "Helm"),
    ("labels", "kustomize.toolkit.fluxcd.io/name", "apps"),
    ("labels", "kustomize.toolkit.fluxcd.io/namespace", "flux-system"),
    ("annotations", "meta.helm.sh/release-name", "web"),
    ("annotations", "meta.helm.sh/release-namespace", "apps"),
    (
        "annotations",
        "argocd.argoproj.io/tracking-id",
        "apps:apps/StatefulSet:apps/web",
    ),
];

/// What claim-rollout writes into a StatefulSet during a rollout.
const OF_A_ROLLOUT: [&str; 3] = [STAGED, "claim-rollout.io/phase", "claim-rollout.io/ready"];

/// A namespace with a controller and without a StatefulSet.
async fn empty<'a>(env: &'a World, namespace: &str) -> anyhow::Result<TestNamespace<'a>> {
    let mut ns = env.namespace(namespace).await?;
    ns.start_controller(env, &[JOURNALS]).await?;
    Ok(ns)
}

/// The StatefulSet in Git.
fn in_git(size: &str) -> Value {
    let mut manifest = replaced(2, size).value();
    for (part, key, value) in KEYS {
        manifest["metadata"][part][key] = json!(value);
    }
    manifest
}

/// The labels and annotations of others than claim-rollout.
fn keys_of_others(set: &Value) -> Value {
    let mut annotations = set["metadata"]["annotations"].clone();
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.retain(|key, _| !OF_A_ROLLOUT.contains(&&**key));
    }
    json!([set["metadata"]["labels"], annotations])
}

/// Replaces the StatefulSet with templates of 2Gi, and returns the new one. What others have written is still there.
async fn replace(ns: &TestNamespace<'_>) -> anyhow::Result<Value> {
    let before = Before::of(ns).await?;
    let set = until_replaced(ns, &before.set, "2Gi").await?;
    ensure!(ns.pods().await? == before.pods, "Pods restarted");
    let (now, then) = (keys_of_others(&set), keys_of_others(&before.set));
    ensure!(now == then, "labels and annotations: {now:#}, before {then:#}");
    Ok(set)
}

/// A StatefulSet of this tool is replaced. The tool then shows nothing, and its sync writes nothing.
async fn finds_nothing(env: &World, tool: &Tool) -> anyhow::Result<()> {
    let ns = empty(env, &format!("replaced-{}", tool.namespace)).await?;
    tool.sync.send(&ns, &in_git("1Gi")).await?;
    ns.settled().await?;
    let large = in_git("2Gi");
    tool.sync.send(&ns, &large).await?;
    let set = replace(&ns).await?;
    let shown = tool.shows(&ns, &large, &large).await?;
    let expected = tool.shows_of_another_object();
    ensure!(shown.iter().eq(expected), "{} shows {shown:?}", tool.name);
    let mut unmoved = Unmoved::from(set)?;
    for _ in 0..3 {
        tool.sync.send(&ns, &large).await?;
        unmoved.still(ns.set().await?)?;
    }
    let shown = tool.shows(&ns, &large, &large).await?;
    ensure!(shown.is_empty(), "{} still shows {shown:?}", tool.name);
    Ok(())
}

pub(super) async fn gitops_tools_find_nothing_to_do(env: &World) -> anyhow::Result<()> {
    let runs = TOOLS
        .iter()
        .map(async |tool| finds_nothing(env, tool).await.context(tool.name));
    futures::future::try_join_all(runs).await.map(drop)
}

pub(super) async fn rollout_history_and_undo_work_as_before(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "replaced-history", 2).await?;
    let first = ns.set().await?["status"]["updateRevision"].take();
    ns.target(&replaced(2, "1Gi").image("2")).await?;
    ns.until_updated(2).await?;
    ns.settled().await?;
    let history = async || ns.typed("rollout history statefulset/web").await;
    let listed = history().await?.stdout;
    ensure!(listed.contains("\n1 ") && listed.contains("\n2 "), "{listed}");
    ns.target(&replaced(2, "2Gi").image("2")).await?;
    replace(&ns).await?;
    let again = history().await?.stdout;
    ensure!(again == listed, "{again}, before {listed}");
    let status = "rollout status statefulset/web --timeout=60s";
    ns.typed(status).await?;

    ns.typed("rollout undo statefulset/web").await?;
    ns.typed(status).await?;
    let set = ns.settled().await?;
    ensure!(
        set["spec"]["template"]["spec"]["containers"][0]["image"] == "example/main:1",
        "{set:#}"
    );
    let revision = &set["status"]["updateRevision"];
    ensure!(*revision == first, "revision {revision}, at first {first}");
    let size = &set["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"];
    ensure!(size == "2Gi" && ns.staged_change().await?.is_null(), "{set:#}");
    Ok(())
}
