//! The field of KEP-4650, which no release of Kubernetes has: the API server drops it before it asks the policy.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::served::Policies;
use crate::world::web::Web;

pub(super) async fn field_of_the_kep_is_dropped_and_the_change_is_staged(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace("native").await?;
    let served = Policies::of_sets(&[ns])?.serve(&env.cluster).await?;
    ns.target(&Web::replicas(1)).await?;
    ns.settled().await?;
    let grown = Web::replicas(1)
        .size("2Gi")
        .spec(&json!({"volumeClaimUpdatePolicy": "InPlace"}));
    let strict = ns.kubectl(&["apply", "--validate=strict", "-f", "-"], &grown).await?;
    let unknown = "unknown field \"spec.volumeClaimUpdatePolicy\"";
    ensure!(!strict.success && strict.stderr.contains(unknown), "{}", strict.stderr);
    ns.done(&["apply", "--validate=ignore", "-f", "-"], &grown).await?;
    let set = ns.set().await?;
    let spec = &set["spec"];
    ensure!(spec["volumeClaimUpdatePolicy"].is_null(), "{spec:#}");
    let size = |templates: &Value| templates[0]["spec"]["resources"]["requests"]["storage"].clone();
    ensure!(size(&spec["volumeClaimTemplates"]) == "1Gi", "{spec:#}");
    let staged = ns.staged_change().await?;
    ensure!(size(&staged["templates"]) == "2Gi", "{staged:#}");
    drop(served);
    Ok(())
}
