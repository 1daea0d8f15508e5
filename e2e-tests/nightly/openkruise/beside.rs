//! An Advanced StatefulSet and an `apps/v1` StatefulSet in one namespace: both grow, each by its own controller.

use std::time::Duration;

use anyhow::ensure;
use serde_json::Value;

use super::manager::{ROLLING, USER as KRUISE, advanced};
use crate::world::installation::USER;
use crate::world::namespace::{PATIENCE, TestNamespace};
use crate::world::waits::is_observed;
use crate::world::web::Web;
use crate::world::{Entry, World, at_rest, kinds, until};

/// Who writes nothing for this long does not write again and again.
const QUIET: Duration = Duration::from_secs(30);

pub(super) async fn each_updates_its_own_pvcs_and_pods(env: &World) -> anyhow::Result<()> {
    let (ns, pods) = prepare(env, "kruise-beside").await?;
    for set in sets("2Gi") {
        ns.target(&set).await?;
    }
    until_both(&ns, "2Gi").await?;
    let grown = until_rest(&ns).await?;
    are_apart(&ns.namespace, &grown)?;
    let now = ns.pods().await?;
    ensure!(now == pods, "Pods: {now:?}, before {pods:?}");

    // With another image, each replaces its own Pods after their PVCs.
    let begun = ns.mark().await?;
    for set in sets("3Gi") {
        ns.target(&set.image("2")).await?;
    }
    until_both(&ns, "3Gi").await?;
    ns.until_updated(2).await?;
    let writes = until_rest(&ns).await?;
    are_apart(&ns.namespace, &writes[grown.len()..])?;
    let now = ns.pods().await?;
    ensure!(
        now.iter().all(|pod| !pods.contains(pod)),
        "Pods: {now:?}, before {pods:?}"
    );
    let written = ns.writes_since(begun).await?;
    written.pods_follow_their_claims("web", &["data"], &[1, 0])
}

/// The manifests of both. The annotations of claim-rollout are on the Advanced StatefulSet too.
fn sets(size: &str) -> [Web; 2] {
    let advanced = advanced("kruise", ROLLING, 2, size).policy("InPlace");
    [advanced, Web::replicas(2).size(size)]
}

/// A namespace with both, all Pods Ready, and their Pods.
async fn prepare<'a>(env: &'a World, namespace: &str) -> anyhow::Result<(TestNamespace<'a>, Vec<Value>)> {
    let ns = env.managed(namespace).await?;
    for set in sets("1Gi") {
        ns.target(&set).await?;
    }
    ns.settled().await?;
    until_advanced(&ns, "1Gi").await?;
    let pods = ns.pods().await?;
    ensure!(pods.len() == 4, "{pods:?}");
    Ok((ns, pods))
}

/// Waits until both have this size, as their controllers report it and as the PVCs are.
async fn until_both(ns: &TestNamespace<'_>, size: &str) -> anyhow::Result<()> {
    until_advanced(ns, size).await?;
    let is_complete = |change: &Value| {
        let asked = &change["templates"][0]["spec"]["resources"]["requests"]["storage"];
        change["phase"] == "Complete" && asked == size
    };
    ns.until("web to be complete", "staged", is_complete).await?;
    let sizes = capacities(ns).await?;
    ensure!(sizes == [size; 4], "{sizes:?}");
    Ok(())
}

/// What the PVCs have, sorted by name.
pub(super) async fn capacities(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<Value>> {
    let claims = ns.claims().await?;
    let capacities = claims
        .into_iter()
        .map(|mut claim| claim["status"]["capacity"]["storage"].take());
    Ok(capacities.collect())
}

/// Waits until OpenKruise has nothing left to do for the Advanced StatefulSet of this size.
async fn until_advanced(ns: &TestNamespace<'_>, size: &str) -> anyhow::Result<()> {
    let has_size = |set: &Value| {
        let asked = &set["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"];
        asked == size && set["status"]["volumeClaims"][0]["compatibleReadyReplicas"] == 2
    };
    until_settled(ns, has_size).await
}

/// Waits until OpenKruise has nothing left to do for the Pods of an Advanced StatefulSet that matches.
pub(super) async fn until_settled(ns: &TestNamespace<'_>, matches: impl Fn(&Value) -> bool) -> anyhow::Result<()> {
    let read = async || Ok(ns.all("apps.kruise.io", "v1beta1", "StatefulSet").await?.remove(0));
    let is_settled = |set: &Value| {
        let (spec, status) = (&set["spec"], &set["status"]);
        let mut counts = ["readyReplicas", "updatedReplicas", "replicas"].iter();
        is_observed(set) && counts.all(|key| status[key] == spec["replicas"]) && matches(set)
    };
    until("the Advanced StatefulSet to settle", read, is_settled)
        .await
        .map(drop)
}

/// The writes of both controllers in the namespace, but Events, in their order.
pub(super) async fn writes(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<Entry>> {
    let mut all = ns.writes().await?;
    all.retain(|entry| [USER, KRUISE].contains(&&*entry.user) && entry.resource != "events");
    Ok(all)
}

/// Waits until neither controller has written for a while, and returns their writes.
async fn until_rest(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<Entry>> {
    at_rest("both controllers", [QUIET, PATIENCE], async || writes(ns).await).await
}

/// Neither controller writes to objects of the other, and nothing that either asks for is denied.
fn are_apart(namespace: &str, writes: &[Entry]) -> anyhow::Result<()> {
    println!(
        "{namespace}: {}, then none in {} s",
        kinds(writes, kind),
        QUIET.as_secs()
    );
    for entry in writes {
        let other = if entry.user == KRUISE { "web" } else { "kruise" };
        ensure!(!entry.name.contains(other), "{entry:?}");
        ensure!(entry.code < 400 || entry.code == 409, "{entry:?}");
    }
    for (user, claim) in [(KRUISE, "data-kruise-"), (USER, "data-web-")] {
        let grown = writes
            .iter()
            .filter(|entry| entry.user == user && entry.succeeded() && entry.name.starts_with(claim));
        let grown = grown.filter(|entry| entry.verb != "create").count();
        ensure!(grown == 2, "{user} wrote {grown} times to {claim}0 and {claim}1");
    }
    Ok(())
}

/// The kind of a write, with its controller.
pub(super) fn kind(entry: &Entry) -> String {
    let user = if entry.user == KRUISE {
        "kruise-manager"
    } else {
        "claim-rollout"
    };
    format!("{user} {}", entry.kind())
}
