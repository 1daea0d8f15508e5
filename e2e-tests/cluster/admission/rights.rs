//! Two users: both may change StatefulSets, only alice may change PVCs.

use std::fmt::Display;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::installation::USER;
use crate::world::namespace::{TestNamespace, are_as_written, text};
use crate::world::served::Policies;
use crate::world::web::Web;

const SWITCH: [&str; 4] = [
    "annotate",
    "statefulset",
    "web",
    "claim-rollout.io/update-policy=InPlace",
];

/// bob sends a request that would change PVCs. The policy denies it, and nothing is stored.
async fn denied(ns: &TestNamespace<'_>, arguments: &[&str], input: &(impl Display + ?Sized)) -> anyhow::Result<()> {
    let before = ns.set().await?;
    for dry in [&["--dry-run=server"][..], &[]] {
        let output = ns.kubectl(&[arguments, &["--as=bob"], dry].concat(), input).await?;
        let sentence = format!(
            "user bob cannot patch persistentvolumeclaims in namespace {}",
            ns.namespace
        );
        ensure!(
            !output.success && output.stderr.contains(&sentence),
            "{arguments:?}: {output:?}"
        );
    }
    ensure!(ns.set().await? == before, "{arguments:?}: the set was written");
    Ok(())
}

/// A user sends a request, and kubectl prints this warning.
async fn warned(
    ns: &TestNamespace<'_>,
    user: &str,
    arguments: &[&str],
    input: &(impl Display + ?Sized),
    expected: &str,
) -> anyhow::Result<Value> {
    let user = format!("--as={user}");
    let output = ns.done(&[arguments, &[&user]].concat(), input).await?;
    ensure!(output.stderr.contains(expected), "{arguments:?}: {output:?}");
    ns.staged_change().await
}

pub(super) async fn user_without_claim_rights_may_withdraw_but_not_switch(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace("two-users").await?;
    // By default existing PVCs stay as they are, so that the annotation is a switch.
    let policies = Policies::of_sets(&[ns])?.with("defaultUpdatePolicy", &json!("OnClaimDelete"));
    let _served = policies.serve(&env.cluster).await?;
    ns.give_rights_to_alice_and_bob().await?;
    ns.target(&Web::replicas(1).plain()).await?;
    ns.settled().await?;
    let claims = ns.claims().await?;
    let apply = ["apply", "-f", "-"];

    // The new update policy alone rolls out the staged change.
    denied(ns, &SWITCH, "").await?;
    let change = warned(
        ns,
        "alice",
        &SWITCH,
        "",
        "staged the live templates; 1 PVC will be updated",
    )
    .await?;
    ensure!(
        change["by"] == "alice" && change["updatePolicy"] == "InPlace",
        "{change:#}"
    );

    // A user may withdraw what another user staged: that changes no PVC.
    let withdraw = |change: &Value| format!("claim-rollout.io/withdraw={}", text(&change["revision"]));
    let annotate = ["annotate", "statefulset", "web"];
    let back = withdraw(&change);
    let change = warned(ns, "bob", &[&annotate[..], &[&back]].concat(), "", "withdrew ").await?;
    ensure!(change.is_null(), "{change:#}");
    denied(ns, &apply, &Web::replicas(1).size("2Gi")).await?;
    let change = warned(
        ns,
        "alice",
        &apply,
        &Web::replicas(1).size("2Gi"),
        "staged data 1Gi -> 2Gi; 1 PVC",
    )
    .await?;
    let back = withdraw(&change);
    let change = warned(
        ns,
        "bob",
        &[&annotate[..], &[&back]].concat(),
        "",
        "withdrew data 1Gi -> 2Gi",
    )
    .await?;
    ensure!(change.is_null(), "{change:#}");

    // A change that was staged without reaching PVCs reaches them by the new update policy.
    let later = Web::replicas(1).size("3Gi").plain();
    denied(ns, &apply, &later).await?;
    let change = warned(ns, "alice", &apply, &later, "existing PVCs stay as they are").await?;
    ensure!(change["updatePolicy"] == "OnClaimDelete", "{change:#}");
    denied(ns, &SWITCH, "").await?;
    let kept = warned(ns, "alice", &SWITCH, "", "").await?;
    ensure!(kept == change, "{kept:#}");

    ensure!(are_as_written(&ns.claims().await?, &claims), "a claim was written");
    ensure!(ns.writes_of(USER).await?.is_empty(), "something was rolled out");
    Ok(())
}
