//! Checks that what the demo shows really happened.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::ensure;
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use kube::runtime::watcher::{self, watcher};
use tokio::task::JoinHandle;

use super::screen::{PATIENCE, Screen};
use crate::world::installation::USER;
use crate::world::{Cluster, eventually};

/// The larger size.
pub(super) const LARGE: &str = "20Gi";
/// The PVCs in the order of a rollout.
const CLAIMS: [&str; 3] = ["data-web-2", "data-web-1", "data-web-0"];

/// The uids of the Pods by name, before the change.
pub(super) struct Before(BTreeMap<String, String>);

impl Before {
    pub(super) async fn see(client: &kube::Client) -> anyhow::Result<Self> {
        let pods: Api<Pod> = Api::default_namespaced(client.clone());
        let pods = pods.list(&ListParams::default()).await?.into_iter();
        Ok(Self(
            pods.map(|pod| (pod.name_any(), pod.uid().unwrap_or_default()))
                .collect(),
        ))
    }
}

/// An event of a PVC.
#[derive(Clone, Debug, PartialEq)]
enum Happened {
    /// The spec asks for the larger size.
    Asked(String),
    /// The capacity is the larger size.
    Grown(String),
}

/// Observes in which order PVCs are written and grow.
pub(super) struct Watch {
    seen: Arc<Mutex<Vec<Happened>>>,
    task: JoinHandle<()>,
}

impl Watch {
    /// Starts the watch, and returns when it will see all later changes.
    pub(super) async fn begin(client: &kube::Client) -> anyhow::Result<Self> {
        let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(client.clone());
        let mut events = watcher(claims, watcher::Config::default()).boxed();
        while let Some(event) = events.try_next().await? {
            if matches!(event, watcher::Event::InitDone) {
                break;
            }
        }
        let seen = Arc::<Mutex<Vec<Happened>>>::default();
        let log = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Some(event) = events.next().await {
                if let Ok(watcher::Event::Apply(claim)) = event {
                    note(&mut log.lock().unwrap_or_else(PoisonError::into_inner), &claim);
                }
            }
        });
        Ok(Self { seen, task })
    }

    fn seen(&self) -> Vec<Happened> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn note(log: &mut Vec<Happened>, claim: &PersistentVolumeClaim) {
    let asked = requested(claim) == Some(LARGE);
    let grown = asked && capacity(claim) == Some(LARGE);
    let asked = asked.then(|| Happened::Asked(claim.name_any()));
    let grown = grown.then(|| Happened::Grown(claim.name_any()));
    for happened in asked.into_iter().chain(grown) {
        if !log.contains(&happened) {
            log.push(happened);
        }
    }
}

fn requested(claim: &PersistentVolumeClaim) -> Option<&str> {
    let requests = claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?;
    Some(&requests.get("storage")?.0)
}

fn capacity(claim: &PersistentVolumeClaim) -> Option<&str> {
    Some(&claim.status.as_ref()?.capacity.as_ref()?.get("storage")?.0)
}

/// Checks everything, and prints one line per check.
pub(super) async fn check(
    cluster: &Cluster,
    client: &kube::Client,
    before: &Before,
    watch: Watch,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    let mut wrong = 0;
    let mut check = |right: bool, what: String| {
        wrong += usize::from(!right);
        screen.wrapped(&format!("  {} {what}", if right { "ok" } else { "NOT TRUE:" }));
    };

    let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(client.clone());
    let claims = claims.list(&ListParams::default()).await?.items;
    let large = claims.iter().filter(|claim| capacity(claim) == Some(LARGE)).count();
    check(
        large == 3 && claims.len() == 3,
        format!("{large} of {} PVCs have status.capacity {LARGE}", claims.len()),
    );

    let expected = CLAIMS.map(|name| [Happened::Asked(name.to_owned()), Happened::Grown(name.to_owned())]);
    let seen = in_full(&watch).await;
    check(
        seen == expected.concat(),
        match seen == expected.concat() {
            true => "in order 2, 1, 0; none was touched before the one above had grown".to_owned(),
            false => format!("in order 2, 1, 0; seen was {seen:?}"),
        },
    );

    let after = Before::see(client).await?;
    check(
        after.0 == before.0 && after.0.len() == 3,
        "no Pod was restarted: three Pods with the uids they had before".to_owned(),
    );

    let entries = cluster.audit().await?;
    let by_controller = entries.iter().filter(|entry| entry.user == USER && entry.succeeded());
    let of_claims = by_controller.filter(|entry| entry.resource == "persistentvolumeclaims");
    let written: Vec<&str> = of_claims.map(|entry| entry.name.as_str()).collect();
    check(
        written == CLAIMS,
        format!(
            "{} writes to PVCs by the controller: {}",
            written.len(),
            written.join(", ")
        ),
    );
    ensure!(wrong == 0, "{wrong} of these statements should be true and are not");
    Ok(())
}

/// The events of the watch, which may lag a moment.
async fn in_full(watch: &Watch) -> Vec<Happened> {
    let all = eventually("the watch to see it all", PATIENCE, async || {
        Ok(Some(watch.seen()).filter(|seen| seen.len() >= 2 * CLAIMS.len()))
    });
    all.await.unwrap_or_else(|_| watch.seen())
}
