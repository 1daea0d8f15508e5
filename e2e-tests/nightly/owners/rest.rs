//! A cluster with OpenKruise and all operators, in which every volume has grown: nobody has anything left to do.

use std::env;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::operator::Operator;
use super::prometheus::PROMETHEUS;
use super::rabbitmq::RABBITMQ;
use super::shipped;
use super::trial::{Owned, live, settings};
use crate::nightly::openkruise::manager::{KruiseManager, ROLLING, advanced};
use crate::world::namespace::{PATIENCE, TestNamespace};
use crate::world::web::Web;
use crate::world::{Cluster, Entry, Options, POLICY_SERVER, World, at_rest, kinds, until};

/// The seconds without a write that the test asks for, and the variable with another number of them.
const AT_REST: (&str, u64) = ("REST_SECONDS", 30);
/// The accounts of claim-rollout: the controller and the policy.
const OURS: [&str; 2] = ["system:serviceaccount:claim-rollout:", POLICY_SERVER];

/// `REST_SECONDS=3600 cargo test -p e2e-tests --test e2e rest` waits for an hour.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn claim_rollout_at_rest_writes_nothing() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let prometheus = Operator::start(&cluster, &PROMETHEUS).await?;
    let rabbitmq = Operator::start(&cluster, &RABBITMQ).await?;
    let kruise = KruiseManager::start(&cluster, true).await?;
    let mut of_policy = shipped()?;
    of_policy["stageOwnedBy"] = json!([PROMETHEUS.owner()]);
    let env = World::on(cluster)
        .policy(of_policy)
        .rights(&["replace-sets.yaml"])
        .build()
        .await?;
    let namespaces = grow(&env).await?;
    let ended = env.cluster.audit().await?.len();
    let seconds = match env::var(AT_REST.0) {
        Ok(text) => text.parse().with_context(|| format!("{}: {text}", AT_REST.0))?,
        Err(_) => AT_REST.1,
    };
    let since = Instant::now();
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let written = env.cluster.audit().await?.split_off(ended);
    let ours = |entry: &&Entry| OURS.iter().any(|user| entry.user.starts_with(user));
    let ours: Vec<&Entry> = written.iter().filter(ours).collect();
    let kind = |entry: &Entry| format!("{} {}", entry.user, entry.resource);
    let seconds = since.elapsed().as_secs();
    println!("all writes in {seconds} s: {}", kinds(&written, kind));
    ensure!(ours.is_empty(), "{ours:?}");
    // Those that are at rest still run.
    let [plain, ..] = &namespaces[..] else { return Ok(()) };
    plain.target(&Web::replicas(3).size("3Gi")).await?;
    until_sizes(plain, 3, "3Gi").await?;
    drop((namespaces, prometheus, rabbitmq, kruise));
    env.stop().await
}

/// A volume of each kind of StatefulSet grows. Returns when nobody has written for a while: the namespace of a
/// StatefulSet without owner, and the others.
async fn grow(env: &World) -> anyhow::Result<Vec<TestNamespace<'_>>> {
    let replaced = settings(&PROMETHEUS, &json!({"defaultReplaceSet": "WhenComplete"}));
    let monitored = Owned::new(env, &PROMETHEUS, "rest-prometheus", &replaced, json!({})).await?;
    monitored.allow_patches().await?;
    let queue = Owned::new(env, &RABBITMQ, "rest-rabbitmq", &json!({}), json!({})).await?;
    let plain = env.managed("rest-plain").await?;
    let asts = env.managed("rest-kruise").await?;
    for size in ["1Gi", "2Gi"] {
        monitored.resize(size).await?;
        queue.resize(size).await?;
        plain.target(&Web::replicas(3).size(size)).await?;
        asts.target(&advanced("kruise", ROLLING, 2, size)).await?;
        for owned in [&monitored, &queue] {
            owned.until_sizes(size).await?;
            owned.until_ready().await?;
        }
        for (ns, replicas) in [(&plain, 3), (&asts, 2)] {
            until_sizes(ns, replicas, size).await?;
        }
    }
    // A StatefulSet is replaced when it is a minute old.
    let replaced = async || Ok(live(&monitored.set().await?) == "2Gi");
    until("the StatefulSet of the Prometheus to be replaced", replaced, |is| *is).await?;
    monitored.until_ready().await?;
    let written = async || {
        let mut all = env.cluster.audit().await?;
        all.retain(|entry| entry.resource != "leases");
        Ok(all)
    };
    at_rest("everybody", [Duration::from_secs(10), PATIENCE], written).await?;
    Ok(vec![plain, monitored.ns, queue.ns, asts])
}

/// Waits until all PVCs of the namespace exist and have this capacity.
async fn until_sizes(ns: &TestNamespace<'_>, replicas: usize, size: &str) -> anyhow::Result<()> {
    let all_grown = |claims: &[Value]| {
        let all = claims
            .iter()
            .all(|claim| claim["status"]["capacity"]["storage"] == size);
        all && claims.len() == replicas
    };
    ns.until_all("PVCs to grow", "pvc", all_grown).await.map(drop)
}
