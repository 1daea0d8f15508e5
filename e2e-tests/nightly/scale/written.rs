//! Replacements of StatefulSets to which somebody writes all the time, and how long these StatefulSets are absent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::ensure;
use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{Api, Patch, PatchParams};
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::json;

use super::PATIENCE;
use super::bare_replacing::REPLACE_SET;
use super::fleet::Member;
use super::replacing::{Stand, is_replaced};
use crate::cluster::replacing::writer::Writer;
use crate::world::eventually;

/// The number of StatefulSets, and of those that are replaced at the same time.
const SETS: (usize, usize) = (200, 4);

/// For how long StatefulSets did not exist.
type Absences = Arc<Mutex<Vec<Duration>>>;

/// 200 replacements, each with a client that annotates the StatefulSet all the time and scales it while it is being
/// deleted.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make scale"]
async fn two_hundred_replacements_lose_no_write() -> anyhow::Result<()> {
    let (number, at_once) = SETS;
    let stand = Stand::build(number).await?;
    stand.stage("2Gi").await?;
    let mut controller = stand.start_controller().await?;
    let absences = Absences::default();
    let observed = tokio::spawn(observe(stand.client.clone(), Arc::clone(&absences)));
    let (mut writes, mut longest) = (0, Duration::ZERO);
    for members in stand.fleet.sets.chunks(at_once) {
        let begun = Instant::now();
        let replaced = members
            .iter()
            .map(|member| replace_while_written(&stand.client, member));
        writes += futures::future::try_join_all(replaced).await?.iter().sum::<usize>();
        longest = longest.max(begun.elapsed());
    }
    observed.abort();
    let mut absences = absences.lock().map(|found| found.clone()).unwrap_or_default();
    absences.sort_unstable();
    ensure!(absences.len() == number, "{} absences", absences.len());
    println!(
        "{number} replacements, {at_once} at a time, each within {:.1} s: {writes} writes acknowledged, none lost; \
         without the object: median {} ms, at most {} ms",
        longest.as_secs_f64(),
        absences[number / 2].as_millis(),
        absences[number - 1].as_millis(),
    );
    controller.terminate().await?;
    stand.world.stop().await
}

/// Lets the controller replace the StatefulSet. Returns the number of writes that were acknowledged meanwhile.
async fn replace_while_written(client: &Client, member: &Member) -> anyhow::Result<usize> {
    let sets: Api<StatefulSet> = Api::namespaced(client.clone(), &member.namespace);
    let replace = async {
        let asks = json!({"metadata": {"annotations": {REPLACE_SET: "WhenComplete"}}});
        sets.patch(&member.name, &PatchParams::default(), &Patch::Merge(asks))
            .await?;
        eventually("the set to be replaced", PATIENCE, async || {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let set = sets.get_opt(&member.name).await?;
            Ok(set.filter(|set| is_replaced(set, "2Gi")).map(drop))
        })
        .await
    };
    let writer = Writer::new(sets.clone(), &member.name, 2);
    writer.during(replace).await?.lost_nothing().await
}

/// Notes for how long each StatefulSet is absent.
async fn observe(client: Client, absences: Absences) {
    let sets: Api<PartialObjectMeta<StatefulSet>> = Api::all(client);
    let events = watcher(sets, watcher::Config::default()).default_backoff();
    let mut events = std::pin::pin!(events);
    let mut absent = BTreeMap::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Delete(set)) => _ = absent.insert((set.namespace(), set.name_any()), Instant::now()),
            Ok(Event::Apply(set)) => {
                let since = absent.remove(&(set.namespace(), set.name_any()));
                if let (Some(since), Ok(mut absences)) = (since, absences.lock()) {
                    absences.push(since.elapsed());
                }
            }
            _ => {}
        }
    }
}
