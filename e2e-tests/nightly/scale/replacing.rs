//! Replacements of many StatefulSets: nothing is lost, and the time beside the bare calls.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use claim_rollout::templates::Phase;
use futures::TryStreamExt as _;
use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ListParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};
use tokio::time::timeout;

use super::bare_replacing::{self, REPLACE_SET, SETTLING};
use super::fleet::{CONCURRENCY, Fleet};
use super::{FLAGS, PATIENCE, aim};
use crate::world::installation::{Controller, JOURNALS};
use crate::world::namespace::STAGED;
use crate::world::{Options, World, eventually};

/// Below this age a StatefulSet is not replaced.
const AGE: Duration = Duration::from_secs(60);
/// The maximum time of a replacement, relative to the same calls without a controller.
const MOST: f64 = 1.2;

/// After this time the garbage collector has deleted what it would delete.
const COLLECTED: Duration = Duration::from_secs(30);

/// Many StatefulSets that are replaced as soon as a change is staged.
pub(super) struct Stand {
    pub(super) world: World,
    pub(super) client: Client,
    pub(super) fleet: Fleet,
    /// When the youngest StatefulSet existed.
    youngest: Instant,
}

/// What a replacement keeps, by namespace, kind and name: the uids. The owner of each is the present StatefulSet.
type Kept = BTreeMap<String, String>;

impl Stand {
    pub(super) async fn build(sets: usize) -> anyhow::Result<Self> {
        let rights = ["replace-sets.yaml"];
        let world = World::with(Options::default()).rights(&rights).build().await?;
        let client = world.client.clone();
        let fleet = Fleet::create(&client, sets, 10, 1).await?;
        fleet
            .annotate("claim-rollout.io/update-policy", Some("OnClaimDelete"))
            .await?;
        let stand = Self {
            world,
            client,
            fleet,
            youngest: Instant::now(),
        };
        stand
            .until_all("all Pods to be ready", |set| {
                set.status.as_ref().and_then(|status| status.ready_replicas) == Some(1)
            })
            .await?;
        Ok(stand)
    }

    pub(super) async fn start_controller(&self) -> anyhow::Result<Controller> {
        self.world.controllers.start(&[&FLAGS[..], &[JOURNALS]].concat()).await
    }

    async fn sets(&self) -> anyhow::Result<Vec<StatefulSet>> {
        let sets: Api<StatefulSet> = Api::all(self.client.clone());
        Ok(sets.list(&ListParams::default()).await?.items)
    }

    /// Waits until all StatefulSets are there and match.
    async fn until_all(&self, what: &str, matches: impl Fn(&StatefulSet) -> bool) -> anyhow::Result<()> {
        let mut left = 0;
        let waited = eventually(what, PATIENCE, async || {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let sets = self.sets().await?;
            left = self.fleet.sets.len() - sets.iter().filter(|set| matches(set)).count();
            Ok((left == 0).then_some(()))
        });
        let waited = waited.await;
        waited.with_context(|| format!("{left} of {} are left", self.fleet.sets.len()))
    }

    /// Stages this size for all StatefulSets, and waits until they are old enough.
    pub(super) async fn stage(&self, size: &str) -> anyhow::Result<()> {
        self.fleet.annotate(REPLACE_SET, Some("Never")).await?;
        self.fleet.stage(size, Phase::RollingOut).await?;
        let least = AGE + Duration::from_secs(1);
        tokio::time::sleep(least.saturating_sub(self.youngest.elapsed())).await;
        Ok(())
    }

    /// Lets the controller replace all StatefulSets at once. Returns how long that took.
    pub(super) async fn replace(&mut self, size: &str) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        let asked = self.fleet.annotate(REPLACE_SET, Some("WhenComplete"));
        let replaced = timeout(PATIENCE, self.until_replaced(size));
        let ((), replaced) = tokio::try_join!(asked, async { Ok(replaced.await) })?;
        replaced.context("the sets are not replaced")??;
        let took = begun.elapsed();
        self.learn_uids().await?;
        Ok(took)
    }

    /// Waits until all sets are replaced, by a watch: LISTs would take time from the controller.
    async fn until_replaced(&self, size: &str) -> anyhow::Result<()> {
        let sets: Api<StatefulSet> = Api::all(self.client.clone());
        let mut applied = std::pin::pin!(watcher(sets, watcher::Config::default()).applied_objects());
        let mut replaced = BTreeSet::new();
        while replaced.len() < self.fleet.sets.len() {
            let set = applied.try_next().await?.context("the watch has ended")?;
            if is_replaced(&set, size) {
                replaced.insert((set.namespace(), set.name_any()));
            }
        }
        Ok(())
    }

    /// The StatefulSets are others now.
    async fn learn_uids(&mut self) -> anyhow::Result<()> {
        let sets = self.sets().await?;
        let uids = sets.iter().map(|set| (key("StatefulSet", &set.metadata), set.uid()));
        let uids: BTreeMap<_, _> = uids.collect();
        for member in &mut self.fleet.sets {
            let key = format!("{} StatefulSet {}", member.namespace, member.name);
            let uid = uids.get(&key).cloned().flatten().context("a set")?;
            ensure!(uid != member.uid, "{key} is the same");
            member.uid = uid;
        }
        self.youngest = Instant::now();
        Ok(())
    }

    /// The Pods, PVCs and ControllerRevisions. Pods and ControllerRevisions belong to the present StatefulSets.
    async fn kept(&self) -> anyhow::Result<Kept> {
        let all = ListParams::default();
        let mut kept = Kept::new();
        let owners: Vec<&str> = self.fleet.sets.iter().map(|member| &*member.uid).collect();
        let pods: Api<Pod> = Api::all(self.client.clone());
        let revisions: Api<ControllerRevision> = Api::all(self.client.clone());
        let claims: Api<PersistentVolumeClaim> = Api::all(self.client.clone());
        let pods = pods.list(&all).await?.items.into_iter();
        let mut found: Vec<_> = pods.map(|pod| ("Pod", pod.metadata)).collect();
        let revisions = revisions.list(&all).await?.items.into_iter();
        let of_set = revisions.filter(|revision| !revision.name_any().contains("-claims-"));
        found.extend(of_set.map(|revision| ("ControllerRevision", revision.metadata)));
        for (kind, metadata) in &found {
            let owner = metadata.owner_references.iter().flatten().map(|owner| &*owner.uid);
            let owner: Vec<&str> = owner.collect();
            let is_owned = owner.len() == 1 && owner.iter().all(|owner| owners.contains(owner));
            ensure!(is_owned, "{}: owners {owner:?}", key(kind, metadata));
        }
        let claims = claims.list(&all).await?.items.into_iter();
        found.extend(claims.map(|claim| ("PersistentVolumeClaim", claim.metadata)));
        for (kind, metadata) in &found {
            kept.insert(key(kind, metadata), metadata.uid.clone().unwrap_or_default());
        }
        Ok(kept)
    }
}

fn key(kind: &str, metadata: &ObjectMeta) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{} {kind} {}", part(&metadata.namespace), part(&metadata.name))
}

/// Whether the set is the new one, and nothing is left to do for it.
pub(super) fn is_replaced(set: &StatefulSet, size: &str) -> bool {
    let template = set.spec.as_ref().and_then(|spec| spec.volume_claim_templates.as_ref());
    let spec = template.and_then(|templates| templates.first()?.spec.as_ref());
    let requests = spec.and_then(|spec| spec.resources.as_ref()?.requests.as_ref());
    let found = requests.and_then(|requests| requests.get("storage"));
    found.is_some_and(|found| found.0 == size) && set.finalizers().is_empty() && !set.annotations().contains_key(STAGED)
}

/// 100 StatefulSets are replaced at once, by the controller and by a plain loop in turn: the same calls in the same
/// order, as many at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make scale"]
async fn hundred_replacements_take_little_over_the_bare_calls() -> anyhow::Result<()> {
    let sets = 100;
    let mut stand = Stand::build(sets).await?;
    let before = stand.kept().await?;
    let (mut ours, mut theirs) = (0.0, 0.0);
    // The time of a pair varies by a fifth.
    for [ours_size, bare_size] in [["2Gi", "3Gi"], ["4Gi", "5Gi"], ["6Gi", "7Gi"], ["8Gi", "9Gi"]] {
        let mut controller = stand.start_controller().await?;
        stand.stage(ours_size).await?;
        let took = stand.replace(ours_size).await?;
        controller.terminate().await?;
        println!("by the controller: {}", each(took, sets));
        ours += one(took, sets);

        stand.fleet.stage(bare_size, Phase::RollingOut).await?;
        let took = bare_replacing::replace(&stand.world.cluster, &stand.fleet, bare_size).await?;
        println!("by a bare loop: {}", each(took, sets));
        theirs += one(took, sets);
        stand.learn_uids().await?;
    }
    // kubernetes#131284: the garbage collector strips the references that it knows, in one pass. A Pod whose reference it
    // sees later is deleted, silently. With our finalizer that does not happen.
    tokio::time::sleep(COLLECTED).await;
    ensure!(stand.kept().await? == before, "something was lost");
    aim("controller : bare calls", ours / theirs, MOST);
    stand.world.stop().await
}

/// The time of one replacement without the settling, in seconds.
#[expect(clippy::cast_precision_loss, reason = "there are not so many")]
fn one(all: Duration, sets: usize) -> f64 {
    // So many replacements run one after the other.
    let waves = (sets as f64 / CONCURRENCY as f64).ceil();
    all.as_secs_f64() / waves - SETTLING.as_secs_f64()
}

fn each(all: Duration, sets: usize) -> String {
    format!(
        "{sets} sets in {:.1} s, one in {:.2} s beside {} s of settling",
        all.as_secs_f64(),
        one(all, sets),
        SETTLING.as_secs()
    )
}
