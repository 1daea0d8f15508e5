//! The watched Pods, indexed by their controller and by the PVCs that they mount, so that a reconcile does not
//! iterate over all Pods of a namespace. Pods without PVCs are stored only if a StatefulSet controls them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use kube::ResourceExt;
use kube::runtime::watcher::Event;

use crate::controller::locking::lock;
use crate::controller::objects::pod::SlimPod;
use crate::controller::objects::views;
use crate::gate::SetView;
use crate::rollout::PodView;

/// The Pods of one namespace, or of all.
#[derive(Debug, Default)]
pub(crate) struct PodStore {
    known: Mutex<PodIndex>,
    /// The Pods of an incomplete list.
    listed: Mutex<PodIndex>,
}

#[derive(Debug, Default)]
struct PodIndex {
    /// Pods by namespace and name.
    pods: HashMap<String, Arc<PodView>>,
    /// Pods by the uid of their controller, and by namespace and name of each of their PVCs.
    index: HashMap<String, Vec<Arc<PodView>>>,
}

impl PodStore {
    pub(crate) fn note(&self, event: &Event<SlimPod>) {
        match event {
            Event::Init => *lock(&self.listed) = PodIndex::default(),
            Event::InitApply(pod) => lock(&self.listed).add(pod),
            Event::InitDone => {
                let listed = std::mem::take(&mut *lock(&self.listed));
                *lock(&self.known) = listed;
            }
            Event::Apply(pod) => lock(&self.known).add(pod),
            Event::Delete(pod) => lock(&self.known).remove(pod),
        }
    }

    /// The Pods of the set, and those that mount one of these PVCs, by name.
    pub(crate) fn of<'a>(&self, set: &SetView, claims: impl Iterator<Item = &'a String>) -> BTreeMap<String, PodView> {
        let known = lock(&self.known);
        let claims = claims.map(|claim| key(&set.namespace, claim));
        let keys = claims.chain([set.uid.clone()]);
        let pods = keys.filter_map(|key| known.index.get(&key)).flatten();
        pods.map(|pod| (pod.name.clone(), PodView::clone(pod))).collect()
    }
}

impl PodIndex {
    fn add(&mut self, pod: &SlimPod) {
        self.remove(pod);
        // A Pod that has ended does not mount volumes any more.
        let is_of_set = |view: &PodView| {
            view.controller
                .as_ref()
                .is_some_and(|owner| owner.kind == "StatefulSet")
        };
        let Some(view) = views::pod(pod).filter(|view| !view.claims.is_empty() || is_of_set(view)) else {
            return;
        };
        let (namespace, view) = (pod.namespace().unwrap_or_default(), Arc::new(view));
        for key in keys(&namespace, &view) {
            self.index.entry(key).or_default().push(Arc::clone(&view));
        }
        self.pods.insert(key(&namespace, &view.name), view);
    }

    fn remove(&mut self, pod: &SlimPod) {
        let namespace = pod.namespace().unwrap_or_default();
        let Some(removed) = self.pods.remove(&key(&namespace, &pod.name_any())) else {
            return;
        };
        for key in keys(&namespace, &removed) {
            let Some(pods) = self.index.get_mut(&key) else {
                continue;
            };
            pods.retain(|pod| !Arc::ptr_eq(pod, &removed));
            if pods.is_empty() {
                self.index.remove(&key);
            }
        }
    }
}

/// The keys of a Pod in the index. Uids contain no slash.
fn keys(namespace: &str, pod: &PodView) -> impl Iterator<Item = String> {
    let claims = pod.claims.iter().map(move |claim| key(namespace, claim));
    claims.chain(pod.controller.as_ref().map(|owner| owner.uid.clone()))
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

#[cfg(test)]
#[path = "pods_tests.rs"]
mod tests;
