//! PVCs that a request would delete by the retention policy of the StatefulSet: the policy names them first, or denies
//! the request.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::world::namespace::{PATIENCE, TestNamespace, are_as_written};
use crate::world::served::{Policies, Served};
use crate::world::web::Web;
use crate::world::{Output, World, eventually};

/// A StatefulSet of two replicas whose PVCs are deleted with it, and with their replicas.
async fn deleting_set(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    let retention = json!({"whenDeleted": "Delete", "whenScaled": "Delete"});
    let set = Web::replicas(2).plain();
    let set = set.spec(&json!({"persistentVolumeClaimRetentionPolicy": retention}));
    ns.target(&set).await?;
    ns.settled().await?;
    // The StatefulSet controller marks PVCs for deletion by owner references.
    let owned = eventually("the claims to be owned", PATIENCE, async || {
        let claims = ns.claims().await?;
        let owned = claims
            .iter()
            .filter(|claim| claim["metadata"]["ownerReferences"][0]["kind"] == "StatefulSet");
        Ok((owned.count() == 2).then_some(()))
    });
    owned.await
}

/// Waits until exactly these PVCs are left.
async fn until_left(ns: &TestNamespace<'_>, names: &[&str]) -> anyhow::Result<()> {
    let what = format!("{names:?} to be left in {}", ns.namespace);
    let left = eventually(&what, PATIENCE, async || {
        let claims = ns.claims().await?;
        let left: Vec<&str> = claims
            .iter()
            .filter_map(|claim| claim["metadata"]["name"].as_str())
            .collect();
        Ok((left == names).then_some(()))
    });
    left.await
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

pub(super) async fn orphaned_set_keeps_claims_without_a_warning(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace("retention-orphan").await?;
    let served = Policies::of_sets(&[ns])?
        .and_retention("Warn")?
        .serve(&env.cluster)
        .await?;
    deleting_set(ns).await?;
    let asked = served.retention();
    let output = ns
        .done(&["delete", "statefulset", "web", "--cascade=orphan"], "")
        .await?;
    ensure!(output.stderr.is_empty(), "{output:?}");
    ensure!(served.retention() == asked + 1, "the policy was not asked");
    let unowned = eventually("the claims to have no owner", PATIENCE, async || {
        let claims = ns.claims().await?;
        Ok(claims
            .iter()
            .all(|claim| claim["metadata"]["ownerReferences"].is_null())
            .then_some(claims))
    });
    ensure!(unowned.await?.len() == 2, "a claim was deleted");
    Ok(())
}

pub(super) async fn retention_changed_during_scale_down_applies_to_its_replicas(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace("retention-changed").await?;
    let _served = Policies::of_sets(&[ns])?
        .and_retention("Warn")?
        .serve(&env.cluster)
        .await?;
    ns.target(&Web::replicas(2).plain()).await?;
    ns.settled().await?;
    // A Pod that does not terminate keeps the scale-down in progress.
    let finalizer = |list: &str| format!(r#"{{"metadata":{{"finalizers":{list}}}}}"#);
    ns.done(
        &["patch", "pod", "web-1", "-p", &finalizer(r#"["example.com/stays"]"#)],
        "",
    )
    .await?;
    let output = ns.done(&["scale", "statefulset", "web", "--replicas=1"], "").await?;
    ensure!(output.stderr.is_empty(), "{output:?}");
    let going = eventually("the second Pod to terminate", PATIENCE, async || {
        let output = ns
            .done(
                &["get", "pod", "web-1", "-o", "jsonpath={.metadata.deletionTimestamp}"],
                "",
            )
            .await?;
        Ok((!output.stdout.is_empty()).then_some(()))
    });
    going.await?;
    let policy = r#"{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"}}}"#;
    let patch = ["patch", "statefulset", "web", "-p", policy];
    let expected = "claim-rollout: persistentVolumeClaimRetentionPolicy.whenScaled: Delete";
    let output = ns.done(&patch, "").await?;
    ensure!(
        output.stderr.contains(expected) && output.stderr.contains("data-web-1"),
        "{output:?}"
    );
    ensure!(!output.stderr.contains("data-web-0"), "{output:?}");
    ns.done(&["patch", "pod", "web-1", "-p", &finalizer("null")], "")
        .await?;
    Ok(())
}

async fn refused(ns: &TestNamespace<'_>, served: &Served, arguments: &[&str], claims: &str) -> anyhow::Result<()> {
    let (set, stored, asked) = (ns.set().await?, ns.claims().await?, served.retention());
    for dry in [&["--dry-run=server"][..], &[]] {
        let output: Output = ns.kubectl(&[arguments, dry].concat(), "").await?;
        let sentence = format!("Delete deletes {claims}; set ");
        ensure!(
            !output.success && output.stderr.contains(&sentence),
            "{arguments:?}: {output:?}"
        );
    }
    ensure!(
        served.retention() == asked + 2,
        "{arguments:?}: asked {}",
        served.retention() - asked
    );
    ensure!(ns.set().await? == set, "{arguments:?}: the set was written");
    ensure!(
        are_as_written(&ns.claims().await?, &stored),
        "{arguments:?}: a claim was written"
    );
    Ok(())
}

pub(super) async fn retention_deny_denies_the_request(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace("retention-deny").await?;
    let served = Policies::of_sets(&[ns])?
        .and_retention("Deny")?
        .serve(&env.cluster)
        .await?;
    deleting_set(ns).await?;
    for (arguments, claims) in [
        (&["scale", "statefulset", "web", "--replicas=1"][..], "data-web-1"),
        (
            &["patch", "statefulset", "web", "-p", r#"{"spec":{"replicas":0}}"#],
            "data-web-1, data-web-0",
        ),
        (&["delete", "statefulset", "web"], "data-web-1, data-web-0"),
    ] {
        refused(ns, &served, arguments, claims).await?;
    }
    // Does what the message asks for.
    let keep = r#"{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Retain"}}}"#;
    ns.done(&["patch", "statefulset", "web", "-p", keep], "").await?;
    let output = ns.done(&["scale", "statefulset", "web", "--replicas=1"], "").await?;
    ensure!(output.stderr.is_empty(), "{output:?}");
    let set: Value = ns.settled().await?;
    ensure!(set["spec"]["replicas"] == 1, "{set:#}");
    ensure!(
        ns.claims().await.context("the claims")?.len() == 2,
        "a claim was deleted"
    );
    Ok(())
}
