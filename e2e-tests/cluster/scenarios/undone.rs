//! The policy does not know the account of the controller, and reverts its writes.

use anyhow::ensure;
use serde_json::json;

use crate::world::World;
use crate::world::namespace::{condition, text};
use crate::world::served::Served;

pub(super) async fn controller_with_unknown_account_stalls_with_a_reason(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("undone", 2).await?;
    ns.excepts(|but| but.undone = true);
    let stranger = json!({"controllerAccounts": ["system:serviceaccount:elsewhere:claim-rollout-controller"]});
    let served = Served::start(&ns, &stranger).await?;
    ns.apply(2, "2Gi").await?;
    let rollout = ns
        .until_reported("the write that was put back", |rollout| {
            rollout["status"]["conditions"][2]["reason"] == "WriteUndone"
        })
        .await?;
    ensure!(condition(&rollout, "Stalled") == "True", "{rollout:#}");
    let why = text(&rollout["status"]["conditions"][2]["message"]);
    ensure!(why.contains("controllerAccounts"), "{why}");
    let claims = ns.writes_since(0).await?.count().claims;
    ensure!(claims == ["data-web-1", "data-web-0"], "{claims:?}");

    // The controller reconciles after every change of the StatefulSet, and never writes again.
    let begun = ns.mark().await?;
    for count in 0..20 {
        let note = format!("note={count}");
        ns.done(&["label", "statefulset", "web", &note, "--overwrite"], "")
            .await?;
    }
    let changes = ns.writes_since(begun).await?.count().changes;
    ensure!(changes < 10, "{changes} writes for 20 changes");

    served.go().await?;
    let _known = Served::start(&ns, &json!({})).await?;
    ns.until_complete(2, "2Gi").await
}
