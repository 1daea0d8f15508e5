//! 1,000 StatefulSets of one tenant that wait, fail or are stuck, and one of another tenant: how much longer its rollout
//! takes than without them, before they exist and after they are deleted. Their PVCs and the driver's work for them
//! stay: csi-resizer tries PVCs that it cannot grow again and again.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use claim_rollout::templates::Phase;
use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use serde_json::json;

use super::fleet::Fleet;
use super::{PATIENCE, rollouts};
use crate::world::installation::Controller;
use crate::world::{Driver, Options, World, eventually};

/// With the default budget of writes.
const FLAGS: [&str; 2] = ["--leader-elect=false", "--allow-without-policy"];
/// The StatefulSets of the tenant.
const SETS: usize = 999;
/// Those of them that the driver cannot grow. It tries them again and again, and PVCs of others wait in its own queue.
const INFEASIBLE: usize = 3;
/// The rollouts of the other tenant in each part.
const ROLLS: u64 = 40;
/// The time between two of them.
const PAUSE: Duration = Duration::from_millis(250);
/// The maximum, relative to the time of the same rollouts without them.
const MOST: f64 = 1.2;
/// After this time the StatefulSets of the tenant are tried again every minute at most.
const BACKOFF: Duration = Duration::from_secs(90);
/// The limit of the driver.
const LIMIT: u64 = 1 << 40;

/// The size that is staged for a StatefulSet of the tenant, and why it does not get there.
const fn stuck(index: usize) -> (&'static str, &'static str) {
    match index % 3 {
        _ if index < INFEASIBLE => ("2Ti", "ClaimInfeasible"),
        0 => ("2Gi", "ClaimRefused"),
        1 => ("3Gi", "Paused"),
        _ => ("200Ti", "WouldExceedQuota"),
    }
}

/// Limits the storage of the tenant.
async fn limit(client: &Client) -> anyhow::Result<()> {
    let quota = json!({"metadata": {"name": "storage"}, "spec": {"hard": {"requests.storage": "100Ti"}}});
    let quotas: Api<ResourceQuota> = Api::namespaced(client.clone(), "tenant-0");
    quotas
        .create(&PostParams::default(), &serde_json::from_value::<_>(quota)?)
        .await?;
    Ok(())
}

/// Denies every change of a PVC of the tenant that asks for exactly 2Gi.
async fn deny(client: &Client) -> anyhow::Result<()> {
    let rule = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["persistentvolumeclaims"],
    });
    let policy = json!({
        "metadata": {"name": "tenant"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "object.spec.resources.requests.storage != '2Gi'", "message": "no room"}],
        },
    });
    let namespace = json!({"matchLabels": {"kubernetes.io/metadata.name": "tenant-0"}});
    let binding = json!({
        "metadata": {"name": "tenant"},
        "spec": {
            "policyName": "tenant", "validationActions": ["Deny"], "matchResources": {"namespaceSelector": namespace},
        },
    });
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(client.clone());
    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(client.clone());
    let create = PostParams::default();
    policies.create(&create, &serde_json::from_value::<_>(policy)?).await?;
    bindings.create(&create, &serde_json::from_value::<_>(binding)?).await?;
    // The API server needs a moment to compile it.
    tokio::time::sleep(Duration::from_secs(5)).await;
    Ok(())
}

/// Stages a size for each StatefulSet of the tenant.
async fn stage(client: &Client, tenant: &Fleet) -> anyhow::Result<()> {
    for (index, member) in tenant.sets.iter().enumerate() {
        let (size, state) = stuck(index);
        if state == "Paused" {
            member.annotate(client, "claim-rollout.io/paused", Some("true")).await?;
        }
        member.stage(client, size, Phase::RollingOut).await?;
    }
    Ok(())
}

/// Waits until the StatefulSets of the tenant are stuck.
async fn until_stuck(controller: &Controller) -> anyhow::Result<()> {
    for state in ["ClaimRefused", "Paused", "WouldExceedQuota", "ClaimInfeasible"] {
        let number = (0..SETS).filter(|index| stuck(*index).1 == state).count();
        eventually("the StatefulSets of the tenant to be stuck", PATIENCE, async || {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok((rollouts(controller, state)? == number).then_some(()))
        })
        .await
        .with_context(|| format!("{:?} are {state}", rollouts(controller, state)))?;
    }
    Ok(())
}

/// Deletes the StatefulSets of the tenant. Their PVCs stay, and so does what the driver does for them.
async fn delete(client: &Client) -> anyhow::Result<()> {
    let sets: Api<StatefulSet> = Api::namespaced(client.clone(), "tenant-0");
    let pods: Api<Pod> = Api::namespaced(client.clone(), "tenant-0");
    let all = ListParams::default();
    sets.delete_collection(&DeleteParams::background(), &all).await?;
    eventually("the Pods of the tenant to be deleted", PATIENCE, async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(pods.list_metadata(&all).await?.items.is_empty().then_some(()))
    })
    .await?;
    // The caches of the controllers follow.
    tokio::time::sleep(Duration::from_secs(10)).await;
    Ok(())
}

/// The times of some rollouts of the fleet, to sizes from this one on.
async fn times(fleet: &Fleet, first: u64) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::new();
    for size in first..first + ROLLS {
        // Without a pause, these rollouts alone use up the budget of writes.
        tokio::time::sleep(PAUSE).await;
        times.push(fleet.roll(&format!("{size}Gi")).await?);
    }
    Ok(times)
}

/// The median, on which one slow answer has no effect.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make scale"]
async fn thousand_stuck_sets_of_a_tenant_delay_no_other() -> anyhow::Result<()> {
    let driver = Driver {
        maximum_bytes: LIMIT,
        ..Driver::default()
    };
    let options = Options {
        driver,
        ..Options::default()
    };
    let world = World::with(options).build().await?;
    let client = world.client.clone();
    deny(&client).await?;
    let other = Fleet::create_in("other", &client, 1, 1, 3).await?;
    let mut controller = world.controllers.start(&FLAGS).await?;
    let before = times(&other, 2).await?;
    let tenant = Fleet::create_in("tenant", &client, SETS, 1, 1).await?;
    limit(&client).await?;
    stage(&client, &tenant).await?;
    let begun = Instant::now();
    let during = median(times(&other, 100).await?);
    until_stuck(&controller).await?;
    println!("all are stuck after {:.0} s", begun.elapsed().as_secs_f64());
    let soon = median(times(&other, 200).await?);
    tokio::time::sleep(BACKOFF).await;
    let beside = median(times(&other, 300).await?);
    delete(&client).await?;
    let after = times(&other, 400).await?;
    controller.terminate().await?;
    println!(
        "before {:.3} s, while they begin {during:.3} s, right after that {soon:.3} s, later {beside:.3} s, after them {:.3} s",
        median(before.clone()),
        median(after.clone())
    );
    let alone = median([before, after].concat());
    for (when, time) in [("right after that", soon), ("later", beside)] {
        let ratio = time / alone;
        println!("{when} : alone: {ratio:.2}");
        ensure!(ratio <= MOST, "{when} : alone: {ratio:.2}, expected at most {MOST}");
    }
    world.stop().await
}
