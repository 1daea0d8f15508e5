//! PVCs that are deleted while the controller decides about them.

use anyhow::ensure;
use serde_json::json;

use super::held::held_at;
use crate::world::World;
use crate::world::installation::USER;
use crate::world::namespace::text;
use crate::world::web::Web;

pub(super) async fn claim_deleted_between_read_and_write_is_not_recreated_by_us(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("stopped-deleted", 3).await?;
    let old = ns.claims().await?[1]["metadata"]["uid"].clone();
    held_at(env, &ns, "data-web-1", &Web::replicas(3).size("2Gi")).await?;
    // The controller has decided, and its write is in progress.
    ns.typed("delete pvc/data-web-1 pod/web-1 --wait=false").await?;
    ns.until_all("another claim", "pvc", |claims| {
        claims.len() == 3 && claims[1]["metadata"]["uid"] != old
    })
    .await?;
    env.barriers.open(&ns.namespace);
    ns.until_ready(3).await?;
    ns.until_complete(3, "2Gi").await?;

    let writes = ns.writes_of(USER).await?;
    let claims = writes.iter().filter(|entry| entry.resource == "persistentvolumeclaims");
    let claims: Vec<_> = claims.map(|entry| (entry.name.as_str(), entry.code)).collect();
    // The write for the old PVC found another one, or none. The new PVC is created from the desired template.
    let expected = [("data-web-2", 200), ("data-web-1", 409), ("data-web-0", 200)];
    ensure!(claims == expected, "{claims:?}");
    ns.writes_since(0).await?;
    let makers = env.cluster.audit().await?;
    let creations = makers.iter().filter(|entry| {
        entry.namespace == ns.namespace && entry.resource == "persistentvolumeclaims" && entry.verb == "create"
    });
    for creation in creations {
        let maker = "system:serviceaccount:kube-system:statefulset-controller";
        ensure!(creation.user == maker, "{creation:?}");
    }
    Ok(())
}

pub(super) async fn apply_with_uid_of_another_claim_fails_in_the_api_server(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("stale", 1).await?;
    let before = ns.claims().await?;
    let apply = |name: &str| {
        json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "uid": "00000000-0000-4000-8000-000000000000"},
            "spec": {"resources": {"requests": {"storage": "2Gi"}}},
        })
    };
    let arguments = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=claim-rollout",
        "-f",
        "-",
    ];
    // The first PVC exists with another uid; the second does not exist.
    let another = "metadata.uid: Invalid value: \"00000000-0000-4000-8000-000000000000\": field is immutable";
    let missing =
        "uid mismatch: the provided object specified uid 00000000-0000-4000-8000-000000000000, and no existing object";
    for (name, expected) in [("data-web-0", another), ("data-web-7", missing)] {
        for user in [USER, "admin"] {
            let group = if user == USER {
                "system:serviceaccounts"
            } else {
                "system:masters"
            };
            let who = ["--as", user, "--as-group", group];
            let output = ns
                .kubectl(&[&arguments[..], &who].concat(), &apply(name).to_string())
                .await?;
            ensure!(
                !output.success && output.stderr.contains(expected),
                "{name} as {user}: {output:?}"
            );
        }
    }
    let names = |claims: &[serde_json::Value]| -> Vec<String> {
        let parts = claims.iter().map(|claim| &claim["metadata"]);
        parts
            .map(|metadata| text(&metadata["name"]) + &text(&metadata["resourceVersion"]))
            .collect()
    };
    let after = ns.claims().await?;
    ensure!(names(&after) == names(&before), "{after:#?}");
    Ok(())
}
