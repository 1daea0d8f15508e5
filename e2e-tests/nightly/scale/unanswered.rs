//! The webhook of another project is down for minutes: what does not need it goes on, and what does is reported, tried
//! seldom, and done soon after the webhook is back.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::world::installation::USER;
use crate::world::namespace::{TestNamespace, condition, text};
use crate::world::web::Web;
use crate::world::{Options, World, eventually, until, words};

const NAMESPACE: &str = "unanswered";
/// The PVCs of `web` that are stuck.
const STUCK: [&str; 2] = ["data-web-4", "data-web-3"];
const REPLICAS: u32 = 5;
/// The PVCs of `web` and of the StatefulSet beside it that are not stuck.
const OTHERS: usize = 2 * REPLICAS as usize - STUCK.len();
/// How long the webhook is down.
const DOWN: Duration = Duration::from_secs(300);
/// The most time until a PVC is reported.
const REPORTED: Duration = Duration::from_secs(90);
/// The longest pause between two attempts, and the time for everything else.
const RETRIED: Duration = Duration::from_secs(300 + 60);
/// The most attempts for each PVC in a minute.
const MOST: usize = 12;

/// Takes the webhook down, and waits until the API server calls it. Nothing listens at its address.
async fn take_down(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    let webhook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": NAMESPACE},
        "webhooks": [{
            "name": "down.scale.test", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": "https://127.0.0.1:1/"}, "failurePolicy": "Fail",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}},
            "matchConditions": [{"name": "stuck", "expression": format!("request.name in {STUCK:?}")}],
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"],
                "resources": ["persistentvolumeclaims"]}],
        }],
    });
    ns.target(&webhook).await?;
    for claim in STUCK {
        let probe = format!("label pvc {claim} probe=a --dry-run=server");
        let ask = async || ns.kubectl(&words(&probe), "").await;
        until("the API server to call the webhook", ask, |output| !output.success).await?;
    }
    Ok(())
}

/// The number of PVCs that have grown, of both StatefulSets.
async fn grown(ns: &TestNamespace<'_>) -> anyhow::Result<usize> {
    let mut claims = ns.claims().await?;
    claims.retain(|claim| claim["status"]["capacity"]["storage"] == "2Gi");
    let is_stuck = |claim: &Value| STUCK.contains(&&*text(&claim["metadata"]["name"]));
    ensure!(!claims.iter().any(is_stuck), "the webhook is not down");
    Ok(claims.len())
}

/// The most attempts in any minute, and the number of all, for a PVC.
async fn attempts(ns: &TestNamespace<'_>, claim: &str) -> anyhow::Result<(usize, usize)> {
    let writes = ns.writes_of(USER).await?;
    let ours = writes.iter().filter(|entry| entry.name == claim && entry.code == 500);
    let times: Result<Vec<Timestamp>, _> = ours.map(|entry| entry.stage_timestamp.parse()).collect();
    let times: Vec<i64> = times?.into_iter().map(Timestamp::as_second).collect();
    let in_a_minute = |from: &i64| times.iter().filter(|at| (*from..from + 60).contains(at)).count();
    Ok((times.iter().map(in_a_minute).max().unwrap_or(0), times.len()))
}

/// Two of five PVCs of a Parallel StatefulSet cannot be written for five minutes. Another StatefulSet grows beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make scale"]
async fn webhook_down_for_minutes_stops_only_its_pvcs() -> anyhow::Result<()> {
    let world = World::with(Options::default()).policy(json!({})).build().await?;
    let web = Web::replicas(REPLICAS).parallel();
    let ns = world.with_web(NAMESPACE, &web).await?;
    let beside = web.named("beside");
    ns.target(&beside).await?;
    ns.until("the other set to be ready", "statefulset/beside", |set| {
        set["status"]["readyReplicas"] == REPLICAS
    })
    .await?;
    take_down(&ns).await?;
    let begun = Instant::now();
    for set in [&web, &beside] {
        ns.target(&set.size("2Gi")).await?;
    }
    let others = eventually("all other PVCs to grow", REPORTED, async || {
        Ok((grown(&ns).await? == OTHERS).then(|| begun.elapsed()))
    });
    let others = others.await.with_context(|| ns.log())?;
    let reported = eventually("the PVCs to be reported", REPORTED, async || {
        let rollout = ns.rollout().await?;
        let claims = rollout["status"]["claims"].as_array().into_iter().flatten();
        let reported = claims.filter(|claim| claim["reason"] == "NotAnswered").count();
        Ok((reported == STUCK.len() && condition(&rollout, "Stalled") == "True").then(|| begun.elapsed()))
    });
    let reported = reported.await.with_context(|| ns.log())?;
    ensure!(reported < REPORTED, "reported after {reported:?}");
    let other = ns.get("claimrollout/beside").await?;
    ensure!(condition(&other, "Ready") == "True", "{other:#}");
    tokio::time::sleep(DOWN.saturating_sub(begun.elapsed())).await;
    ensure!(grown(&ns).await? == OTHERS, "the webhook was down");
    println!("the webhook is down: other PVCs grew in {others:.0?}, reported after {reported:.0?}");
    for claim in STUCK {
        let (most, all) = attempts(&ns, claim).await?;
        println!("  {claim}: {all} attempts in {DOWN:?}, at most {most} in a minute");
        ensure!((1..=MOST).contains(&most), "{most} attempts in a minute");
    }
    ns.typed(&format!("delete validatingwebhookconfiguration {NAMESPACE}"))
        .await?;
    let back = Instant::now();
    let ended = eventually("the rollout to end", RETRIED, async || {
        Ok((condition(&ns.rollout().await?, "Ready") == "True").then(|| back.elapsed()))
    });
    let ended = ended.await.with_context(|| ns.log())?;
    println!("the webhook is back: done after {ended:.0?}");
    drop(ns);
    world.stop().await
}
