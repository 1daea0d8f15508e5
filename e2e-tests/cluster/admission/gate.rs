//! A new image and a new size in one request: no Pod is replaced before its PVCs are ready. No controller runs here, so
//! only the policy keeps the Pods, and no PVC changes.

use anyhow::ensure;
use serde_json::Value;

use crate::world::namespace::{TestNamespace, are_as_written, staged_change};
use crate::world::served::{Policies, Served};
use crate::world::web::Web;
use crate::world::{World, until};

fn phase(set: &Value) -> &Value {
    &set["metadata"]["annotations"]["claim-rollout.io/phase"]
}

/// Dry-runs the manifest with another image and another size, then applies it. Both requests print this warning.
async fn apply_both(ns: &TestNamespace<'_>, before: &Web, warning: &str) -> anyhow::Result<()> {
    let both = before.size("2Gi").image("2");
    let set = ns.settled().await?;
    let dry = ns.done(&["apply", "-f", "-", "--dry-run=server"], &both).await?;
    ensure!(ns.set().await? == set, "a dry run changed the set");
    let output = ns.target(&both).await?;
    ensure!(dry.stderr == output.stderr, "{dry:?} {output:?}");
    ensure!(output.stderr.contains(warning), "{output:?}");
    ensure!(output.stderr.matches("Warning:").count() == 1, "{output:?}");
    Ok(())
}

/// Waits until the Pod of this ordinal is another one, and returns all Pods.
async fn until_replaced(ns: &TestNamespace<'_>, pods: &[Value], ordinal: usize) -> anyhow::Result<Vec<Value>> {
    let is_replaced = |now: &Vec<Value>| now.len() == pods.len() && now[ordinal] != pods[ordinal];
    until("a Pod to be replaced", async || ns.pods().await, is_replaced).await
}

pub(super) async fn image_and_size_in_one_apply_keep_every_pod_until_released(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace("gate").await?;
    let served = Policies::of_sets(&[ns])?.and_pods()?.serve(&env.cluster).await?;
    let manifest = Web::replicas(2);
    ns.target(&manifest).await?;
    let before = ns.settled().await?;
    let (pods, claims) = (ns.pods().await?, ns.claims().await?);
    let asked = served.pods();
    apply_both(ns, &manifest, "staged data 1Gi -> 2Gi; 2 PVCs will be updated in place").await?;

    let why = ns.until_denied("web-1").await?;
    let set = ns.set().await?;
    let revision = staged_change(&set)?["revision"].as_str().unwrap_or_default().to_owned();
    let waits =
        format!("claim-rollout: data-web-1 is not yet at revision {revision}; Pod web-1 is replaced when it is ready");
    ensure!(why.contains(&waits), "{why}");
    ensure!(served.pods() > asked, "the policy for Pods was not asked");
    ensure!(phase(&set) == "RollingOut", "{set:#}");
    ensure!(set["metadata"]["generation"] == 2, "{set:#}");
    ensure!(
        set["spec"]["updateStrategy"] == before["spec"]["updateStrategy"],
        "{set:#}"
    );
    ensure!(
        set["spec"]["volumeClaimTemplates"] == before["spec"]["volumeClaimTemplates"],
        "{set:#}"
    );
    // Tools that wait for the rollout see that it is not done.
    ensure!(
        set["status"]["updateRevision"] != before["status"]["updateRevision"],
        "{set:#}"
    );
    ensure!(
        set["status"]["updateRevision"] != set["status"]["currentRevision"]
            && set["status"]["updatedReplicas"].is_null(),
        "{set:#}"
    );
    let rollout = ns
        .kubectl(&["rollout", "status", "statefulset/web", "--watch=false"], "")
        .await?;
    ensure!(
        rollout.stdout.contains("0 out of 2 new pods have been updated"),
        "{rollout:?}"
    );
    ensure!(ns.pods().await? == pods, "Pods restarted");
    ensure!(are_as_written(&ns.claims().await?, &claims), "a claim was written");
    pods_are_replaced(ns, &served, &pods).await
}

/// Pods that need not wait are replaced, down to the user's partition. The staged change stays.
async fn pods_are_replaced(ns: &TestNamespace<'_>, served: &Served, pods: &[Value]) -> anyhow::Result<()> {
    let patch = r#"{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}"#;
    let asked = served.pods();
    let output = ns.typed(&format!("patch statefulset web -p '{patch}'")).await?;
    ensure!(output.stderr.is_empty(), "{output:?}");
    let calls = async || Ok(served.pods());
    until("the write to make the controller try again", calls, |calls| {
        *calls > asked
    })
    .await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    let staged = ns.staged_change().await?;

    let output = ns.typed("annotate statefulset web claim-rollout.io/sync=Async").await?;
    ensure!(output.stderr.is_empty(), "{output:?}");
    let now = until_replaced(ns, pods, 1).await?;
    let set = ns.settled().await?;
    ensure!(ns.staged_change().await? == staged, "what is staged stays staged");
    ensure!(phase(&set) == "RollingOut", "{set:#}");
    ensure!(now[0] == pods[0], "the Pod below the partition restarted");
    Ok(())
}

pub(super) async fn pods_that_need_not_wait_are_replaced_at_once(env: &World) -> anyhow::Result<()> {
    let names = ["gate-async", "gate-lazy"];
    let all = env.namespaces(&names).await?;
    let all: Vec<&TestNamespace<'_>> = all.iter().collect();
    let served = Policies::of_sets(&all)?.and_pods()?.serve(&env.cluster).await?;
    for (ns, manifest, (warning, phase_of)) in [
        (
            &all[0],
            Web::replicas(2).annotated("sync", "Async"),
            ("2 PVCs will be updated in place", "RollingOut"),
        ),
        (
            &all[1],
            Web::replicas(2).policy("OnClaimDelete"),
            ("existing PVCs stay as they are", "Staged"),
        ),
    ] {
        ns.target(&manifest).await?;
        ns.settled().await?;
        let (pods, asked) = (ns.pods().await?, served.pods());
        apply_both(ns, &manifest, warning).await?;
        until_replaced(ns, &pods, 0).await?;
        let set = ns.settled().await?;
        ensure!(phase(&set) == phase_of, "{set:#}");
        ensure!(!ns.staged_change().await?.is_null(), "{set:#}");
        ensure!(served.pods() > asked, "the policy for Pods was not asked");
        let events = ns.typed("get events -o name").await?;
        ensure!(!events.stdout.is_empty(), "{events:?}");
        let denied = ns
            .typed("get events --field-selector=reason=FailedDelete -o name")
            .await?;
        ensure!(denied.stdout.is_empty(), "{denied:?}");
    }
    Ok(())
}
