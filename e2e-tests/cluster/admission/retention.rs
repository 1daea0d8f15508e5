//! The policy names the PVCs that a request deletes by the retention policy of the StatefulSet. Kubernetes deletes exactly
//! these.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::namespace::{TestNamespace, text};
use crate::world::served::Policies;
use crate::world::web::Web;

/// Long enough for the controllers to do what they should not.
const MOMENT: Duration = Duration::from_secs(3);

/// What happens to a StatefulSet of two, which has another name.
const SCALE: &str = "scale statefulset NAME --replicas=1";
const DELETE: &str = "delete statefulset NAME";
const ORPHAN: &str = "delete statefulset NAME --cascade=orphan";

/// The name of a StatefulSet, `whenDeleted` and `whenScaled`, the request, and the ordinals whose PVCs are deleted. The PVC
/// of the second replica of `foreign-…` has another controller, and that of `shared-…` another owner as well.
const CASES: [(&str, [&str; 2], &str, &[u32]); 16] = [
    ("rr-scale", ["Retain", "Retain"], SCALE, &[]),
    ("rr-delete", ["Retain", "Retain"], DELETE, &[]),
    ("rr-orphan", ["Retain", "Retain"], ORPHAN, &[]),
    ("dr-scale", ["Delete", "Retain"], SCALE, &[]),
    ("dr-delete", ["Delete", "Retain"], DELETE, &[1, 0]),
    ("dr-orphan", ["Delete", "Retain"], ORPHAN, &[]),
    ("rd-scale", ["Retain", "Delete"], SCALE, &[1]),
    ("rd-delete", ["Retain", "Delete"], DELETE, &[]),
    ("rd-orphan", ["Retain", "Delete"], ORPHAN, &[]),
    ("dd-scale", ["Delete", "Delete"], SCALE, &[1]),
    ("dd-delete", ["Delete", "Delete"], DELETE, &[1, 0]),
    ("dd-orphan", ["Delete", "Delete"], ORPHAN, &[]),
    ("foreign-scale", ["Delete", "Delete"], SCALE, &[]),
    ("foreign-delete", ["Delete", "Delete"], DELETE, &[0]),
    ("shared-scale", ["Delete", "Delete"], SCALE, &[]),
    ("shared-delete", ["Delete", "Delete"], DELETE, &[0]),
];

fn claim(set: &str, ordinal: u32) -> String {
    format!("data-{set}-{ordinal}")
}

/// Creates the StatefulSets, and waits until the StatefulSet controller has made those PVCs their own that go with them.
async fn create(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    for (name, [when_deleted, when_scaled], ..) in CASES {
        let retention = json!({"whenDeleted": when_deleted, "whenScaled": when_scaled});
        let web = Web::replicas(2).named(name).plain().parallel();
        ns.target(&web.spec(&json!({"persistentVolumeClaimRetentionPolicy": retention})))
            .await?;
    }
    let is_ready = |set: &Value| set["status"]["readyReplicas"].as_u64().unwrap_or_default() == set["spec"]["replicas"];
    let are_ready = |sets: &[Value]| sets.iter().all(is_ready);
    ns.until_all("the Pods to be ready", "statefulset", are_ready).await?;
    let is_owned = |claim: &&Value| claim["metadata"]["ownerReferences"][0]["kind"] == "StatefulSet";
    let owned = CASES
        .iter()
        .filter(|(_, [when_deleted, _], ..)| *when_deleted == "Delete");
    let owned = 2 * owned.count();
    let are_owned = |claims: &[Value]| claims.iter().filter(is_owned).count() == owned;
    ns.until_all("the claims to be owned", "pvc", are_owned).await.map(drop)
}

/// Gives the PVCs of the second replicas their other owners. The API server allows only one controller.
async fn share(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    ns.typed("create configmap other").await?;
    let uid = ns
        .typed("get configmap other -o jsonpath={.metadata.uid}")
        .await?
        .stdout;
    for (name, ..) in CASES {
        let name_of_claim = claim(name, 1);
        let path = format!("get pvc {name_of_claim} -o jsonpath={{.metadata.ownerReferences}}");
        let other = |controls: bool| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": uid, "controller": controls});
        let owners = match name.split('-').next() {
            Some("foreign") => json!([other(true)]),
            Some("shared") => {
                let set: Vec<Value> = serde_json::from_str(&ns.typed(&path).await?.stdout)?;
                json!([set[0], other(false)])
            }
            _ => continue,
        };
        let patch = json!({"metadata": {"ownerReferences": owners}});
        ns.typed(&format!("patch pvc {name_of_claim} --type=merge -p '{patch}'"))
            .await?;
    }
    Ok(())
}

async fn claims(ns: &TestNamespace<'_>) -> anyhow::Result<BTreeSet<String>> {
    let claims = ns.claims().await?;
    Ok(claims.iter().map(|claim| text(&claim["metadata"]["name"])).collect())
}

pub(super) async fn claims_are_deleted_and_kept_as_forecast(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace("retention").await?;
    let served = Policies::of_sets(&[ns])?.and_retention("Warn")?;
    let _served = served.serve(&env.cluster).await?;
    create(ns).await?;
    share(ns).await?;
    let mut stay = claims(ns).await?;
    for (name, _, request, ordinals) in CASES {
        let request = request.replace("NAME", name);
        let dry = ns.typed(&format!("{request} --dry-run=server")).await?;
        let output = ns.typed(&request).await?;
        let deleted: Vec<String> = ordinals.iter().map(|ordinal| claim(name, *ordinal)).collect();
        let why = if request.starts_with("scale") {
            "whenScaled"
        } else {
            "whenDeleted"
        };
        let warning = format!(
            "Warning: claim-rollout: persistentVolumeClaimRetentionPolicy.{why}: Delete deletes {}\n",
            deleted.join(", ")
        );
        let expected = if deleted.is_empty() { "" } else { &warning };
        ensure!(
            dry.stderr == expected && output.stderr == expected,
            "{request}: {dry:?} {output:?}"
        );
        stay.retain(|claim| !deleted.contains(claim));
    }
    let are_left = |claims: &[Value]| {
        claims
            .iter()
            .map(|claim| text(&claim["metadata"]["name"]))
            .eq(stay.iter().cloned())
    };
    ns.until_all("the claims to be deleted", "pvc", are_left).await?;
    tokio::time::sleep(MOMENT).await;
    let left = claims(ns).await?;
    ensure!(left == stay, "a moment later: {left:?}");
    Ok(())
}
