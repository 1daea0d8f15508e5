//! `immutableFields: NewPVCs`: new PVCs get the other class and the smaller size, existing ones keep what they have.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::namespace::TestNamespace;
use crate::world::served::Served;
use crate::world::web::Web;
use crate::world::{Driver, World};

/// The name of the namespace, and of the other StorageClass.
const FAST: &str = "immutable";

/// The PVCs, each with its StorageClass, its size, and the StorageClass of its volume.
async fn classes(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for claim in ns.claims().await? {
        let spec = &claim["spec"];
        let volume = spec["volumeName"].as_str().unwrap_or_default();
        let path = [
            "get",
            "persistentvolume",
            volume,
            "-o",
            "jsonpath={.spec.storageClassName}",
        ];
        let of_volume = ns.done(&path, "").await?.stdout;
        found.push(format!(
            "{} {} {} {of_volume}",
            text(&claim["metadata"]["name"]),
            text(&spec["storageClassName"]),
            text(&spec["resources"]["requests"]["storage"]),
        ));
    }
    Ok(found)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Scales the StatefulSet, and waits for a PVC with a volume for each replica.
async fn scaled(ns: &TestNamespace<'_>, replicas: usize) -> anyhow::Result<()> {
    ns.done(&["scale", "statefulset", "web", &format!("--replicas={replicas}")], "")
        .await?;
    let are_bound = |claims: &[Value]| {
        let bound = claims.iter().filter(|claim| claim["status"]["phase"] == "Bound");
        bound.count() == replicas
    };
    ns.until_all("the new PVC to be bound", "pvc", are_bound)
        .await
        .map(drop)
}

pub(super) async fn immutable_fields_are_for_new_claims_only(env: &World) -> anyhow::Result<()> {
    let mut ns = env.namespace(FAST).await?;
    ns.make_class(&Driver::default(), true).await?;
    let file = env.cluster.write("immutable.yaml", "immutableFields: NewPVCs\n")?;
    ns.start_controller(env, &["--settings", &file]).await?;
    ns.target(&Web::replicas(2)).await?;
    ns.settled().await?;
    let _served = Served::start(&ns, &json!({"immutableFields": "NewPVCs"})).await?;
    let pods = ns.pods().await?;

    // Another class and a larger size in one change.
    let output = ns.target(&Web::replicas(2).size("2Gi").class(FAST)).await?;
    let warning = "for new PVCs only: data spec.storageClassName; existing PVCs keep what they have";
    ensure!(output.stderr.contains(warning), "{output:?}");
    ns.until_complete(2, "2Gi").await?;
    let existing = [
        "data-web-0 expandable 2Gi expandable",
        "data-web-1 expandable 2Gi expandable",
    ];
    let found = classes(&ns).await?;
    ensure!(found == existing, "{found:?}");
    let status = ns.rollout().await?["status"]["conditions"].to_string();
    let kept = "2 PVCs keep their spec.storageClassName: the template's is for new PVCs";
    ensure!(status.contains(kept), "{status}");
    ensure!(ns.pods().await? == pods, "Pods restarted");

    scaled(&ns, 3).await?;
    let found = classes(&ns).await?;
    ensure!(
        found[..2] == existing && found[2] == format!("data-web-2 {FAST} 2Gi {FAST}"),
        "{found:?}"
    );

    // A smaller size.
    let output = ns.target(&Web::replicas(3).class(FAST)).await?;
    let warning = "for new PVCs only: data 2Gi -> 1Gi; existing PVCs keep what they have";
    ensure!(
        output.stderr.contains(warning) && !output.stderr.contains("updated in place"),
        "{output:?}"
    );
    scaled(&ns, 4).await?;
    let found = classes(&ns).await?;
    ensure!(found[..2] == existing, "{found:?}");
    ensure!(
        found[2..]
            == [
                format!("data-web-2 {FAST} 2Gi {FAST}"),
                format!("data-web-3 {FAST} 1Gi {FAST}")
            ],
        "{found:?}"
    );
    Ok(())
}
