//! `plan` asks the API server, so it has the policy and the settings that are in force, wherever these are.

use anyhow::{Context as _, ensure};
use serde_json::json;

use crate::cluster::commands::plans::plan;
use crate::world::World;
use crate::world::served::Served;
use crate::world::web::Web;

pub(super) async fn plan_has_the_policy_that_is_in_force(env: &World) -> anyhow::Result<()> {
    let ns = env.with_web("planned-in-force", &Web::replicas(3).plain()).await?;
    let new = Web::replicas(3).size("2Gi").plain();
    let before = ns.set().await?;

    // No policy: Kubernetes denies the change.
    let (output, planned) = plan(&ns, &new).await?;
    let message = planned["verdict"]["message"].as_str().context("a message")?;
    ensure!(
        output.code == Some(1) && planned["verdict"]["outcome"] == "Refused",
        "{planned:#}"
    );
    let applied = ns.kubectl(&["apply", "-f", "-"], &new).await?;
    ensure!(
        !applied.success && message.contains("spec.volumeClaimTemplates") && message.contains("field is immutable"),
        "planned {message}\nbut kubectl prints {}",
        applied.stderr
    );

    // A policy whose settings are in no object of the cluster.
    let _served = Served::start(&ns, &json!({"defaultUpdatePolicy": "InPlace"})).await?;
    let (output, planned) = plan(&ns, &new).await?;
    ensure!(
        output.code == Some(0) && output.stderr.starts_with("settings: the default ones: "),
        "{output:?}"
    );
    ensure!(planned["verdict"]["decidedHere"].is_null(), "{planned:#}");
    ensure!(planned["target"]["updatePolicy"] == "InPlace", "{planned:#}");
    let steps = planned["claims"].as_array().context("claims")?;
    let updated = steps.iter().filter(|claim| claim["then"]["storage"] == "2Gi");
    ensure!(updated.count() == 3, "{planned:#}");
    ensure!(ns.set().await? == before, "a plan changes nothing");

    let applied = ns.target(&new).await?;
    let warning = planned["verdict"]["warnings"][0].as_str().context("a warning")?;
    ensure!(applied.stderr == format!("Warning: {warning}\n"), "{applied:?}");
    ns.until_complete(3, "2Gi").await?;
    Ok(())
}
