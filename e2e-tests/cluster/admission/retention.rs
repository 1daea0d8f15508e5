//! PVCs that a request would delete by the retention policy of the StatefulSet: the policy names them first, or denies
//! the request.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::namespace::TestNamespace;
use crate::world::served::Policies;
use crate::world::web::Web;

/// A StatefulSet of two replicas whose PVCs are deleted with it, and with their replicas.
async fn deleting_set(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    let retention = json!({"whenDeleted": "Delete", "whenScaled": "Delete"});
    let set = Web::replicas(2).plain();
    let set = set.spec(&json!({"persistentVolumeClaimRetentionPolicy": retention}));
    ns.target(&set).await?;
    ns.settled().await?;
    // The StatefulSet controller marks PVCs for deletion by owner references.
    let is_owned = |claim: &&Value| claim["metadata"]["ownerReferences"][0]["kind"] == "StatefulSet";
    let are_owned = |claims: &[Value]| claims.iter().filter(is_owned).count() == 2;
    ns.until_all("the claims to be owned", "pvc", are_owned).await.map(drop)
}

/// Waits until exactly these PVCs are left.
async fn until_left(ns: &TestNamespace<'_>, names: &[&str]) -> anyhow::Result<()> {
    let are_left = |claims: &[Value]| {
        let left = claims.iter().filter_map(|claim| claim["metadata"]["name"].as_str());
        left.eq(names.iter().copied())
    };
    ns.until_all(&format!("{names:?} to be left"), "pvc", are_left)
        .await
        .map(drop)
}

fn line(why: &str, claims: &str) -> String {
    format!("claim-rollout: persistentVolumeClaimRetentionPolicy.{why}: Delete deletes {claims}")
}

/// The dry run prints the same warning as the request, and changes nothing.
async fn warned(ns: &TestNamespace<'_>, arguments: &[&str], expected: &str) -> anyhow::Result<()> {
    let before = ns.set().await?;
    let dry = ns.done(&[arguments, &["--dry-run=server"]].concat(), "").await?;
    ensure!(ns.set().await? == before, "{arguments:?}: a dry run changed the set");
    let output = ns.done(arguments, "").await?;
    let expected = format!("Warning: {expected}\n");
    ensure!(
        output.stderr == expected && dry.stderr == expected,
        "{arguments:?}: {dry:?} {output:?}"
    );
    Ok(())
}

/// The request of the HorizontalPodAutoscaler: a PUT of a Scale.
async fn autoscaled_to_none(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    let namespace = &ns.namespace;
    let scale = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", "namespace": namespace},
        "spec": {"replicas": 0},
    });
    let expected = format!("Warning: {}\n", line("whenScaled", "data-web-1, data-web-0"));
    let before = ns.set().await?;
    for query in ["?dryRun=All", ""] {
        ensure!(ns.set().await? == before, "a dry run changed the set");
        let path = format!("/apis/apps/v1/namespaces/{namespace}/statefulsets/web/scale{query}");
        let autoscaler = "--as=system:serviceaccount:kube-system:horizontal-pod-autoscaler";
        let output = ns
            .done(&["replace", "--raw", &path, "-f", "-", autoscaler], &scale)
            .await?;
        ensure!(output.stderr == expected, "{query}: {output:?}");
    }
    Ok(())
}

pub(super) async fn scale_down_and_delete_name_the_claims_that_are_deleted(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace("retention").await?;
    let _served = Policies::of_sets(&[ns])?
        .and_retention("Warn")?
        .serve(&env.cluster)
        .await?;
    deleting_set(ns).await?;
    let second = line("whenScaled", "data-web-1");
    warned(ns, &["scale", "statefulset", "web", "--replicas=1"], &second).await?;
    until_left(ns, &["data-web-0"]).await?;
    ns.done(&["scale", "statefulset", "web", "--replicas=2"], "").await?;
    ns.settled().await?;

    let patch = ["patch", "statefulset", "web", "-p", r#"{"spec":{"replicas":1}}"#];
    warned(ns, &patch, &second).await?;
    until_left(ns, &["data-web-0"]).await?;
    ns.done(&["scale", "statefulset", "web", "--replicas=2"], "").await?;
    ns.settled().await?;

    autoscaled_to_none(ns).await?;
    until_left(ns, &[]).await?;

    ns.done(&["scale", "statefulset", "web", "--replicas=2"], "").await?;
    ns.settled().await?;
    deleting_set(ns).await?;
    warned(
        ns,
        &["delete", "statefulset", "web"],
        &line("whenDeleted", "data-web-1, data-web-0"),
    )
    .await?;
    until_left(ns, &[]).await
}
