//! The rights that a template change needs.

use anyhow::ensure;

use crate::world::World;
use crate::world::installation::USER;
use crate::world::namespace::{TestNamespace, text};
use crate::world::web::Web;

pub(super) async fn user_without_claim_rights_may_not_change_templates(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("rights", 1).await?;
    ns.give_rights_to_alice_and_bob().await?;
    let version = text(&ns.set().await?["metadata"]["resourceVersion"]);
    let grown = Web::replicas(1).size("2Gi");
    let apply = ["apply", "-f", "-"];

    user_without_rights_is_denied(&ns, &grown).await?;

    // bob may change StatefulSets, but not PVCs.
    let output = ns.kubectl(&[&apply[..], &["--as=bob"]].concat(), &grown).await?;
    let sentence = "user bob cannot patch persistentvolumeclaims in namespace rights, which a change of volumeClaimTemplates \
                    needs; grant that (ClusterRole edit has it), or set authority: TrustSetEditors in the policy's settings";
    ensure!(!output.success && output.stderr.contains(sentence), "{output:?}");
    ensure!(
        output.stderr.contains("Forbidden") || output.stderr.contains("denied the request"),
        "{output:?}"
    );
    ensure!(
        text(&ns.set().await?["metadata"]["resourceVersion"]) == version,
        "the set was written"
    );
    let codes: Vec<u16> = ns.writes_of("bob").await?.iter().map(|entry| entry.code).collect();
    ensure!(codes == [403], "{codes:?}");
    ensure!(ns.writes_of(USER).await?.is_empty(), "something was rolled out");
    // bob may change what does not concern PVCs.
    ns.done(
        &["annotate", "statefulset", "web", "example.com/by=bob", "--as=bob"],
        "",
    )
    .await?;

    let output = ns.done(&[&apply[..], &["--as=alice"]].concat(), &grown).await?;
    ensure!(output.stderr.contains("staged data 1Gi -> 2Gi"), "{output:?}");
    ns.until_complete(1, "2Gi").await?;
    ensure!(
        ns.staged_change().await?["by"] == "alice",
        "{:#}",
        ns.staged_change().await?
    );
    let written = ns.writes_since(0).await?;
    written.is_a_rollout(&["data-web-0"], 0)
}

/// The API server itself denies the request, and the policy is not called.
async fn user_without_rights_is_denied(ns: &TestNamespace<'_>, grown: &Web) -> anyhow::Result<()> {
    let asked = ns
        .kubectl(&["auth", "can-i", "patch", "statefulsets", "--as=carol"], "")
        .await?;
    ensure!(asked.stdout.trim() == "no", "{asked:?}");
    let output = ns.kubectl(&["apply", "-f", "-", "--as=carol"], grown).await?;
    ensure!(
        !output.success && output.stderr.contains("User \"carol\" cannot get"),
        "{output:?}"
    );
    ensure!(!output.stderr.contains("claim-rollout:"), "{output:?}");
    let output = ns
        .kubectl(&["apply", "--server-side", "-f", "-", "--as=carol"], grown)
        .await?;
    ensure!(
        !output.success && output.stderr.contains("User \"carol\" cannot patch"),
        "{output:?}"
    );
    let codes: Vec<u16> = ns.writes_of("carol").await?.iter().map(|entry| entry.code).collect();
    ensure!(codes == [403], "{codes:?}");
    Ok(())
}
