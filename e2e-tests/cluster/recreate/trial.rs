//! A StatefulSet under `ReCreate`, and what the audit log shows of it.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, ensure};
use claim_rollout::api::time;
use serde_json::Value;

use crate::world::namespace::{PATIENCE, TestNamespace, condition, text};
use crate::world::web::Web;
use crate::world::written::Written;
use crate::world::{FIXED, World, eventually};

/// The settings of the controllers that may create PVCs anew, a file in the folder of the cluster.
pub(in crate::cluster) const RECREATING: &str = "recreate.yaml";

/// Long enough that a controller would have done something.
pub(super) const QUIET: Duration = Duration::from_secs(3);

/// The manifest of a StatefulSet of 1Gi with this policy.
pub(super) fn anew(replicas: u32, class: &str, size: &str) -> Web {
    let web = Web::replicas(replicas).size(size).class(class);
    web.policy("ReCreate")
}

/// A namespace with a controller that may re-create, and a StatefulSet of the class `expandable`.
pub(super) async fn prepare<'a>(env: &'a World, namespace: &str, manifest: &Web) -> anyhow::Result<TestNamespace<'a>> {
    let mut ns = env.namespace(namespace).await?;
    ns.excepts(|but| but.recreates = true);
    allow(&ns).await?;
    start(env, &mut ns, true).await?;
    ns.target(manifest).await?;
    ns.settled().await?;
    until_next_second(&ns).await?;
    Ok(ns)
}

/// Waits until no PVC was created in the present second: a PVC of the second in which the staging is seen is kept.
pub(super) async fn until_next_second(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    let created = ns.claims().await?;
    let created = created
        .iter()
        .map(|claim| text(&claim["metadata"]["creationTimestamp"]));
    let created = created.filter_map(|text| time::read(&text)).max();
    eventually("the next second", PATIENCE, async || {
        Ok((created < Some(seconds()?)).then_some(()))
    })
    .await
}

/// The present second.
#[allow(clippy::disallowed_methods, reason = "controllers and drivers have a clock")]
pub(super) fn seconds() -> anyhow::Result<u64> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs())
}

/// Gives the controller the rights.
pub(super) async fn allow(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    ns.let_controller("--clusterrole=claim-rollout-controller-recreate")
        .await
}

/// Starts a controller, with the flag or without it.
pub(super) async fn start(env: &World, ns: &mut TestNamespace<'_>, is_on: bool) -> anyhow::Result<()> {
    ns.controller = None;
    let settings = env.cluster.folder().join(RECREATING);
    let settings = settings.to_str().context("a path in UTF-8")?;
    let mut arguments = vec!["--namespace", &ns.namespace, "--settings", settings];
    arguments.extend(is_on.then_some("--recreate"));
    ns.controller = Some(env.controllers.start(&arguments).await?);
    Ok(())
}

/// Name, class and size of each PVC, and its uid and volume.
pub(super) async fn claims(ns: &TestNamespace<'_>) -> anyhow::Result<(Vec<String>, Vec<[String; 2]>)> {
    let claims = ns.claims().await?;
    let of = |claim: &Value| {
        let (spec, name) = (&claim["spec"], text(&claim["metadata"]["name"]));
        let size = text(&spec["resources"]["requests"]["storage"]);
        format!("{name} {} {size}", text(&spec["storageClassName"]))
    };
    let ids = |claim: &Value| [text(&claim["metadata"]["uid"]), text(&claim["spec"]["volumeName"])];
    Ok((claims.iter().map(of).collect(), claims.iter().map(ids).collect()))
}

/// All PVCs of a StatefulSet with this class and size.
pub(super) fn expected(replicas: u32, class: &str, size: &str) -> Vec<String> {
    (0..replicas)
        .map(|ordinal| format!("data-web-{ordinal} {class} {size}"))
        .collect()
}

/// Waits until the rollout is complete and all PVCs have this class and size.
pub(super) async fn until_complete(
    ns: &TestNamespace<'_>,
    replicas: u32,
    class: &str,
    size: &str,
) -> anyhow::Result<()> {
    ns.until_complete(replicas as usize, size).await?;
    let (found, _) = claims(ns).await?;
    ensure!(found == expected(replicas, class, size), "{found:?}");
    Ok(())
}

/// Waits, and checks that these PVCs and Pods, and no others, were deleted and evicted by us until then.
pub(super) async fn stays(ns: &TestNamespace<'_>, steps: &[&str]) -> anyhow::Result<()> {
    tokio::time::sleep(QUIET).await;
    let found = steps_of(&ns.writes_since(0).await?);
    ensure!(found == steps, "expected {steps:?}, but found {found:?}");
    Ok(())
}

/// Our deletions and evictions, in their order.
pub(super) fn steps_of(written: &Written) -> Vec<String> {
    let steps = written.ours().filter_map(|entry| {
        let what = match (entry.resource.as_str(), entry.subresource.as_str(), entry.verb.as_str()) {
            ("persistentvolumeclaims", "", "delete") => "delete",
            ("pods", "eviction", "create") => "evict",
            _ => return None,
        };
        Some(format!("{what} {}", entry.name))
    });
    steps.collect()
}

/// Waits until the Pod is another one, and is not Ready.
pub(super) async fn until_unready(ns: &TestNamespace<'_>, pod: &str, before: &Value) -> anyhow::Result<()> {
    let is_unready = |found: &Value| {
        let is_another = found["metadata"]["uid"].is_string() && found["metadata"]["uid"] != *before;
        is_another && condition(found, "Ready") == "False"
    };
    ns.until("another Pod that is not Ready", &format!("pod/{pod}"), is_unready)
        .await
        .map(drop)
}

/// Sets whether the application of a Pod is ready: `=false` or `-`.
pub(super) async fn make_ready(ns: &TestNamespace<'_>, pod: &str, ready: &str) -> anyhow::Result<()> {
    let annotation = format!("e2e.claim-rollout.io/ready{ready}");
    ns.typed(&format!("annotate pod {pod} {annotation} --overwrite"))
        .await?;
    Ok(())
}

/// Checks the order in the audit log: of each replica the PVC was marked, deleted with its uid and version, and its Pod
/// evicted or replaced; and the next PVC was deleted only when the new Pod was Ready, on a PVC that the StatefulSet
/// controller had created.
pub(super) fn replicas_follow_one_another(written: &Written, ordinals: &[u32]) -> anyhow::Result<()> {
    let mut last = 0;
    for ordinal in ordinals {
        let (claim, pod) = (format!("data-web-{ordinal}"), format!("web-{ordinal}"));
        let states = written.states("persistentvolumeclaims", &claim);
        // The removal of the last finalizer stores the same version, so our writes are looked up among all.
        let by_us = |verb: &str| {
            let mut ours = written.ours().filter(|entry| entry.name == claim);
            let found = ours.find(|entry| entry.verb == verb);
            found.with_context(|| format!("expected a {verb} of {claim}, but found none"))
        };
        let deletion = by_us("delete")?;
        let (marked, deleted) = (&by_us("patch")?.version, &deletion.version);
        ensure!(last < *deleted, "{claim} was deleted at {deleted}, before {last}");
        ensure!(
            marked < deleted,
            "{claim} was deleted at {deleted} before it was marked at {marked}"
        );
        let preconditions = deletion.request.value()["preconditions"].clone();
        ensure!(preconditions["uid"] == deletion.uid.as_str(), "{preconditions}");
        // Other controllers may have written its status since.
        let decided_for: u64 = text(&preconditions["resourceVersion"]).parse()?;
        ensure!(
            (*marked..*deleted).contains(&decided_for),
            "{preconditions}: expected {marked} or later"
        );
        let (created, creation) = states
            .iter()
            .find(|(version, entry)| *version > deleted && entry.verb == "create")
            .with_context(|| format!("{claim} was not created"))?;
        ensure!(
            creation.user == "system:serviceaccount:kube-system:statefulset-controller",
            "{creation:?}"
        );
        let pods = written.states("pods", &pod);
        let old = pods
            .values()
            .find(|entry| entry.verb == "create")
            .map(|entry| entry.uid.clone());
        let ready = pods.iter().find(|(_, entry)| {
            Some(&entry.uid) != old.as_ref() && condition(&entry.response.value(), "Ready") == "True"
        });
        let (ready, _) = ready.with_context(|| format!("{pod} was not Ready again"))?;
        ensure!(
            created < ready,
            "{claim} was created at {created}, and {pod} was Ready at {ready}"
        );
        last = *ready;
    }
    Ok(())
}

/// The class that PVCs get: its volumes cannot grow.
pub(super) const OTHER: &str = FIXED;
