//! The webhook of another project is down for minutes: what does not need it goes on, and what does is reported, tried
//! seldom, and done soon after the webhook is back.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use claim_rollout::templates::Phase;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use super::fleet::Fleet;
use super::{FLAGS, PATIENCE};
use crate::world::installation::USER;
use crate::world::namespace::condition;
use crate::world::{Cluster, Options, World, eventually};

const NAMESPACE: &str = "fleet-0";
/// The StatefulSet whose PVCs are stuck, and those PVCs.
const STUCK_SET: &str = "web-0000";
const STUCK: [&str; 2] = ["data-web-0000-4", "data-web-0000-3"];
const REPLICAS: u32 = 5;
/// How long the webhook is down.
const DOWN: Duration = Duration::from_secs(300);
/// The most time until a PVC is reported.
const REPORTED: Duration = Duration::from_secs(90);
/// The longest pause between two attempts, and the time for everything else.
const RETRIED: Duration = Duration::from_secs(300 + 60);
/// The most attempts for each PVC in a minute.
const MOST: usize = 12;

/// Nothing listens at this address.
fn down() -> Value {
    json!({
        "metadata": {"name": NAMESPACE},
        "webhooks": [{
            "name": "down.scale.test", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": "https://127.0.0.1:1/"}, "failurePolicy": "Fail",
            "matchConditions": [{"name": "stuck", "expression": format!("request.name in {STUCK:?}")}],
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"],
                "resources": ["persistentvolumeclaims"]}],
        }],
    })
}

/// Takes the webhook down, and waits until the API server calls it.
async fn take_down(client: &Client) -> anyhow::Result<()> {
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    webhooks
        .create(&PostParams::default(), &serde_json::from_value(down())?)
        .await?;
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), NAMESPACE);
    let probe = Patch::Merge(json!({"metadata": {"labels": {"probe": "a"}}}));
    let dry = PatchParams {
        dry_run: true,
        ..PatchParams::default()
    };
    eventually("the API server to call the webhook", PATIENCE, async || {
        let answers = [
            claims.patch(STUCK[0], &dry, &probe).await,
            claims.patch(STUCK[1], &dry, &probe).await,
        ];
        Ok(answers.iter().all(Result::is_err).then_some(()))
    })
    .await
}

async fn rollout(client: &Client, set: &str) -> anyhow::Result<Value> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("claim-rollout.io", "v1alpha1", "ClaimRollout"));
    let rollouts: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAMESPACE, &kind);
    Ok(serde_json::to_value(rollouts.get_opt(set).await?)?)
}

/// The PVCs that have grown, of all StatefulSets.
async fn grown(client: &Client) -> anyhow::Result<usize> {
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), NAMESPACE);
    let listed = claims.list(&ListParams::default()).await?;
    let has = |claim: &&PersistentVolumeClaim| {
        let capacity = claim.status.as_ref().and_then(|status| status.capacity.as_ref());
        capacity.is_some_and(|capacity| capacity["storage"].0 == "2Gi")
    };
    let grown: Vec<_> = listed.items.iter().filter(has).collect();
    ensure!(
        !grown.iter().any(|claim| STUCK.contains(&&*claim.name_any())),
        "the webhook is not down"
    );
    Ok(grown.len())
}

/// The most attempts in any minute, and the number of all, for a PVC.
async fn attempts(cluster: &Cluster, claim: &str) -> anyhow::Result<(usize, usize)> {
    let audit = cluster.audit().await?;
    let ours = audit
        .iter()
        .filter(|entry| entry.user == USER && entry.name == claim && entry.code == 500);
    let times: Result<Vec<Timestamp>, _> = ours.map(|entry| entry.stage_timestamp.parse()).collect();
    let times: Vec<i64> = times?.into_iter().map(Timestamp::as_second).collect();
    let in_a_minute = |from: &i64| times.iter().filter(|at| (*from..from + 60).contains(at)).count();
    Ok((times.iter().map(in_a_minute).max().unwrap_or(0), times.len()))
}

/// Two of five PVCs of a Parallel StatefulSet cannot be written for five minutes. Another StatefulSet grows beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make scale"]
async fn webhook_down_for_minutes_stops_only_its_pvcs() -> anyhow::Result<()> {
    let world = World::with(Options::default()).build().await?;
    let client = world.client.clone();
    let fleet = Fleet::create(&client, 2, 1, REPLICAS).await?;
    take_down(&client).await?;
    let mut controller = world.controllers.start(&FLAGS).await?;
    let begun = Instant::now();
    fleet.stage("2Gi", Phase::RollingOut).await?;
    let stuck = STUCK.len();
    let others = eventually("all other PVCs to grow", REPORTED, async || {
        Ok((grown(&client).await? == fleet.claims() - stuck).then(|| begun.elapsed()))
    });
    let others = others.await.with_context(|| controller.log())?;
    let reported = eventually("the PVCs to be reported", REPORTED, async || {
        let rollout = rollout(&client, STUCK_SET).await?;
        let claims = rollout["status"]["claims"].as_array().cloned().unwrap_or_default();
        let reported = claims.iter().filter(|claim| claim["reason"] == "NotAnswered").count();
        Ok((reported == stuck && condition(&rollout, "Stalled") == "True").then(|| begun.elapsed()))
    });
    let reported = reported.await.with_context(|| controller.log())?;
    ensure!(reported < REPORTED, "reported after {reported:?}");
    let beside = rollout(&client, "web-0001").await?;
    ensure!(condition(&beside, "Ready") == "True", "{beside:#}");
    tokio::time::sleep(DOWN.saturating_sub(begun.elapsed())).await;
    ensure!(grown(&client).await? == fleet.claims() - stuck, "the webhook was down");
    println!(
        "the webhook is down: other PVCs grew in {:.0} s, reported after {:.0} s",
        others.as_secs_f64(),
        reported.as_secs_f64()
    );
    for claim in STUCK {
        let (most, all) = attempts(&world.cluster, claim).await?;
        println!(
            "  {claim}: {all} attempts in {} s, at most {most} in a minute",
            DOWN.as_secs()
        );
        ensure!((1..=MOST).contains(&most), "{most} attempts in a minute");
    }
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    webhooks.delete(NAMESPACE, &DeleteParams::default()).await?;
    let back = Instant::now();
    let ended = eventually("the rollout to end", RETRIED, async || {
        Ok((condition(&rollout(&client, STUCK_SET).await?, "Ready") == "True").then(|| back.elapsed()))
    });
    let ended = ended.await.with_context(|| controller.log())?;
    println!("the webhook is back: done after {:.0} s", ended.as_secs_f64());
    controller.terminate().await?;
    world.stop().await
}
