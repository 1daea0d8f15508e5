//! Objects of 1.3 MB each in etcd, of one tenant, and many ordinary Pods: the memory of the controller, whose limit in
//! `deploy/` is 256 MiB.

use std::time::Instant;

use anyhow::ensure;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use super::fleet::{Fleet, at_once};
use super::replacing::Stand;
use crate::world::installation::{AS_IN_A_POD, Controller};
use crate::world::{Options, World};

/// The limit of the memory in `deploy/`, in KiB.
const MOST_KIB: u64 = 256 << 10;

/// The number of large StatefulSets, and of large Pods.
const LARGE: usize = 100;

/// The number of ordinary Pods, and their bytes.
const ORDINARY: (usize, usize) = (5000, 10_000);

/// As JSON, each `<` has six bytes.
fn pod_spec(bytes: usize, letter: &str) -> Value {
    json!({
        "schedulerName": "nobody",
        "containers": [{"name": "main", "image": "example/main:1", "args": [letter.repeat(bytes)]}],
    })
}

async fn create_pods(client: &Client, number: usize, spec: &Value) -> anyhow::Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "fleet-0");
    at_once(0..number, async |index| {
        let metadata = json!({"name": format!("other-{index}"), "labels": {"app": "other"}});
        let pod = serde_json::from_value(json!({"metadata": metadata, "spec": spec}))?;
        Ok(pods.create(&PostParams::default(), &pod).await?)
    })
    .await?;
    Ok(())
}

async fn create_sets(client: &Client, number: usize, spec: &Value) -> anyhow::Result<()> {
    let sets: Api<StatefulSet> = Api::namespaced(client.clone(), "fleet-0");
    at_once(0..number, async |index| {
        let labels = json!({"app": "other"});
        let template = json!({"metadata": {"labels": labels}, "spec": spec});
        let spec =
            json!({"replicas": 0, "serviceName": "other", "selector": {"matchLabels": labels}, "template": template});
        let set = serde_json::from_value(json!({"metadata": {"name": format!("other-{index}")}, "spec": spec}))?;
        Ok(sets.create(&PostParams::default(), &set).await?)
    })
    .await?;
    Ok(())
}

/// Prints the most memory of the controller so far. Fails if it is above the limit.
fn check(controller: &Controller, what: &str, begun: Instant) -> anyhow::Result<()> {
    let peak = controller.usage()?.peak_kib;
    println!(
        "  {what}: {} MiB at the peak, after {:.1} s",
        peak >> 10,
        begun.elapsed().as_secs_f64()
    );
    ensure!(
        peak <= MOST_KIB,
        "{what}: expected at most {MOST_KIB} KiB, but found {peak}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make scale"]
async fn large_objects_of_one_tenant_fit_into_the_memory() -> anyhow::Result<()> {
    let world = World::with(Options::default()).build().await?;
    let client = world.client.clone();
    let fleet = Fleet::create(&client, 2, 2, 1).await?;
    create_sets(&client, LARGE, &pod_spec(1_300_000, "<")).await?;
    create_pods(&client, LARGE, &pod_spec(1_300_000, "<")).await?;
    println!("{LARGE} StatefulSets and {LARGE} Pods of 1.3 MB:");
    let flags = [&AS_IN_A_POD[..], &["--allow-without-policy"]].concat();
    let begun = Instant::now();
    let mut first = world.controllers.start(&flags).await?;
    check(&first, "start", begun)?;
    let begun = Instant::now();
    fleet.roll("2Gi").await?;
    check(&first, "rollouts beside them", begun)?;
    let mut second = world.controllers.start(&flags).await?;
    check(&second, "start of a second replica", begun)?;
    let begun = Instant::now();
    first.kill()?;
    fleet.roll("3Gi").await?;
    check(&second, "failover and rollouts", begun)?;
    second.terminate().await?;
    world.stop().await
}

/// Replaces all StatefulSets of the stand, some of them beside these Pods.
async fn replace(stand: &mut Stand, what: &str) -> anyhow::Result<()> {
    let mut controller = stand.start_controller().await?;
    stand.stage("2Gi").await?;
    let begun = Instant::now();
    stand.replace("2Gi").await?;
    check(&controller, what, begun)?;
    controller.terminate().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make scale"]
async fn replacements_beside_many_pods_fit_into_the_memory() -> anyhow::Result<()> {
    let mut stand = Stand::build(160).await?;
    create_pods(&stand.client, ORDINARY.0, &pod_spec(ORDINARY.1, "x")).await?;
    println!(
        "16 replacements in a namespace with {} Pods of {} bytes:",
        ORDINARY.0, ORDINARY.1
    );
    replace(&mut stand, "replacements").await?;
    stand.world.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make scale"]
async fn replacements_beside_large_pods_fit_into_the_memory() -> anyhow::Result<()> {
    let mut stand = Stand::build(20).await?;
    create_pods(&stand.client, LARGE, &pod_spec(1_300_000, "<")).await?;
    create_sets(&stand.client, LARGE, &pod_spec(1_300_000, "<")).await?;
    println!("2 replacements in a namespace with {LARGE} Pods and StatefulSets of 1.3 MB:");
    replace(&mut stand, "replacements").await?;
    stand.world.stop().await
}
