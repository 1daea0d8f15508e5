//! The policy is not called for requests that change no template, and its absence stops none of them.

use anyhow::ensure;
use serde_json::{Value, json};

use super::new_claims::creations;
use crate::world::namespace::TestNamespace;
use crate::world::served::{Policies, Served};
use crate::world::web::Web;
use crate::world::{EXPANDABLE, World};

/// Requests that do not concern the policy, for a StatefulSet without annotations of ours.
const UNRELATED: [&[&str]; 8] = [
    &["set", "image", "statefulset/web", "main=example/main:2"],
    &["set", "env", "statefulset/web", "A=b"],
    &[
        "annotate",
        "statefulset",
        "web",
        "example.com/note=hello",
        "--overwrite",
    ],
    &["label", "statefulset", "web", "team=storage", "--overwrite"],
    &["rollout", "restart", "statefulset/web"],
    &["patch", "statefulset", "web", "-p", r#"{"spec":{"replicas":2}}"#],
    &[
        "patch",
        "statefulset",
        "web",
        "--subresource=status",
        "--type=merge",
        "-p",
        r#"{"status":{"collisionCount":0}}"#,
    ],
    &["delete", "statefulset", "other"],
];

/// Another StatefulSet without replicas.
fn other() -> Web {
    Web::replicas(0).plain().named("other")
}

fn claim(name: &str) -> String {
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": EXPANDABLE, "resources": {"requests": {"storage": "1Gi"}}},
    });
    claim.to_string()
}

/// Sends all requests, and waits for what the controllers do.
async fn live(ns: &TestNamespace<'_>, claim_name: &str) -> anyhow::Result<()> {
    ns.done(&["create", "-f", "-"], &other()).await?;
    ns.done(&["create", "-f", "-"], &claim(claim_name)).await?;
    for arguments in UNRELATED {
        let output = ns.done(arguments, "").await?;
        ensure!(output.stderr.is_empty(), "{arguments:?}: {output:?}");
        ns.settled().await?;
    }
    ns.done(
        &["patch", "pvc", claim_name, "-p", r#"{"metadata":{"labels":{"a":"b"}}}"#],
        "",
    )
    .await?;
    ns.done(&["delete", "pvc", claim_name, "--wait=false"], "").await?;
    Ok(())
}

fn counts(served: &Served) -> [u64; 3] {
    [served.sets(), served.claims(), served.retention()]
}

/// Waits until this many Pods are Ready and have PVCs.
async fn until_created(ns: &TestNamespace<'_>, set: &str, replicas: u32) -> anyhow::Result<()> {
    let are_ready = |found: &Value| found["status"]["readyReplicas"] == replicas;
    let object = format!("statefulset/{set}");
    ns.until("the replicas", &object, are_ready).await.map(drop)
}

pub(super) async fn absent_policy_fails_only_template_changes_and_staged_sets(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace("unrelated").await?;
    let served = Policies::of_sets(&[ns])?
        .and_claims()?
        .and_retention("Warn")?
        .serve(&env.cluster)
        .await?;
    ns.target(&Web::replicas(1).plain()).await?;
    ns.settled().await?;
    let staged = |size: &str| Web::replicas(0).size(size).named("staged");
    ns.target(&staged("1Gi")).await?;
    ns.target(&staged("2Gi")).await?;

    let [sets, claims, retention] = counts(&served);
    let before = creations(ns).await?;
    live(ns, "foreign-0").await?;
    // The second replica has its PVC; the policy got no other request.
    let created = creations(ns).await? - before;
    ensure!(
        created > 0 && counts(&served) == [sets, claims + created, retention],
        "{:?}",
        counts(&served)
    );
    ns.done(&["patch", "statefulset", "web", "-p", r#"{"spec":{"replicas":1}}"#], "")
        .await?;
    ns.settled().await?;

    served.lose().await?;
    live(ns, "foreign-1").await?;
    away(ns, &staged("3Gi")).await
}

/// Requests that fail while the policy is away, and requests that do not.
async fn away(ns: &TestNamespace<'_>, staged: &Web) -> anyhow::Result<()> {
    let objects = async || -> anyhow::Result<Value> {
        let output = ns
            .done(&["get", "statefulset", "web", "staged", "-o", "json"], "")
            .await?;
        Ok(serde_json::from_str(&output.stdout)?)
    };
    let before = objects().await?;
    let label = ["label", "statefulset", "staged", "team=storage"];
    let policy = [
        "annotate",
        "statefulset",
        "web",
        "claim-rollout.io/update-policy=InPlace",
    ];
    for (arguments, input) in [
        (
            &["apply", "-f", "-"][..],
            Web::replicas(2).size("2Gi").plain().to_string(),
        ),
        (&["apply", "-f", "-"], staged.to_string()),
        (&label, String::new()),
        (&policy, String::new()),
    ] {
        let output = ns.kubectl(arguments, &input).await?;
        let named = output
            .stderr
            .contains("failed calling webhook \"clusterwide-claim-rollout.unrelated.kubewarden.admission\"");
        ensure!(!output.success && named, "{arguments:?}: {output:?}");
    }
    ensure!(objects().await? == before, "something was stored");

    // A StatefulSet with a staged change can still be scaled and deleted, and its PVCs are created.
    ns.done(&["scale", "statefulset", "staged", "--replicas=1"], "").await?;
    until_created(ns, "staged", 1).await?;
    let created = ns
        .done(
            &[
                "get",
                "pvc",
                "data-staged-0",
                "-o",
                "jsonpath={.spec.resources.requests.storage}",
            ],
            "",
        )
        .await?;
    ensure!(created.stdout == "1Gi", "{created:?}");
    for arguments in [
        &["scale", "statefulset", "web", "--replicas=1"][..],
        &["delete", "statefulset", "staged"],
        &["delete", "statefulset", "web"],
    ] {
        let output = ns.done(arguments, "").await?;
        ensure!(output.stderr.is_empty(), "{arguments:?}: {output:?}");
    }
    Ok(())
}
