//! The cost of the gate: one lookup for a Pod with PVCs of a StatefulSet without a staged change, and no call for any
//! other Pod.

use anyhow::ensure;
use serde_json::json;

use crate::world::namespace::TestNamespace;
use crate::world::served::Served;
use crate::world::{POLICY_SERVER, STATEFULSET_CONTROLLER, World};

/// A dry run of the deletion by the StatefulSet controller.
async fn delete(ns: &TestNamespace<'_>, pod: &str) -> anyhow::Result<()> {
    let account = ["--as", STATEFULSET_CONTROLLER, "--as-group", "system:masters"];
    let arguments = [&["delete", "pod", pod, "--dry-run=server"][..], &account].concat();
    ns.done(&arguments, "").await.map(drop)
}

/// The lookups of the policy in this namespace.
async fn lookups(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<String>> {
    let requests = ns.cluster.requests().await?.into_iter();
    let ours = requests.filter(|entry| entry.user == POLICY_SERVER && entry.namespace == ns.namespace);
    Ok(ours.map(|entry| format!("{} {}", entry.verb, entry.resource)).collect())
}

pub(super) async fn one_lookup_without_staged_change_and_no_call_without_claims(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("gate-cost", 1).await?;
    let bare = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "bare"},
        "spec": {
            "serviceName": "bare", "selector": {"matchLabels": {"app": "bare"}},
            "template": {
                "metadata": {"labels": {"app": "bare"}},
                "spec": {"containers": [{"name": "main", "image": "example/main:1"}]},
            },
        },
    });
    ns.target(&bare).await?;
    ns.done(&["rollout", "status", "statefulset/bare", "--timeout=120s"], "")
        .await?;
    let served = Served::start(&ns, &json!({})).await?;
    let (asked, seen) = (served.pods(), lookups(&ns).await?.len());

    delete(&ns, "bare-0").await?;
    ensure!(
        served.pods() == asked,
        "the policy was asked about a Pod without claims"
    );
    ensure!(lookups(&ns).await?.len() == seen, "{:?}", lookups(&ns).await?);

    delete(&ns, "web-0").await?;
    // An API server calls once or twice for one deletion.
    let calls = served.pods() - asked;
    ensure!((1..=2).contains(&calls), "the policy was asked {calls} times");
    let found = lookups(&ns).await?;
    let of_pods = &found[seen..];
    let expected = vec!["get statefulsets".to_owned(); usize::try_from(calls)?];
    ensure!(of_pods == expected, "{calls} calls: {of_pods:?}");
    Ok(())
}
