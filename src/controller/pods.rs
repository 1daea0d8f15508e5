//! The Pods that are seen, found by the set that controls them and by the claims that they mount: a look at a set does not go
//! through all Pods of its namespace. A Pod without claims is not kept.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use kube::ResourceExt;
use kube::runtime::watcher::Event;

use super::slim::Pod;
use super::views;
use super::watch::lock;
use crate::rollout::{PodView, SetView};

/// The Pods of one namespace, or of all.
#[derive(Debug, Default)]
pub(super) struct Pods {
    known: Mutex<Known>,
    /// What a list that is being read has shown so far.
    listed: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// By namespace and name.
    pods: HashMap<String, Arc<PodView>>,
    /// The same by the uid of their controller, and by namespace and name of each of their claims.
    found: HashMap<String, Vec<Arc<PodView>>>,
}

impl Pods {
    pub(super) fn note(&self, event: &Event<Pod>) {
        match event {
            Event::Init => *lock(&self.listed) = Known::default(),
            Event::InitApply(pod) => lock(&self.listed).add(pod),
            Event::InitDone => {
                let listed = std::mem::take(&mut *lock(&self.listed));
                *lock(&self.known) = listed;
            }
            Event::Apply(pod) => lock(&self.known).add(pod),
            Event::Delete(pod) => lock(&self.known).remove(pod),
        }
    }

    /// The Pods of the set, and those that mount one of these claims, by name.
    pub(super) fn of<'a>(&self, set: &SetView, claims: impl Iterator<Item = &'a String>) -> BTreeMap<String, PodView> {
        let known = lock(&self.known);
        let claims = claims.map(|claim| key(&set.namespace, claim));
        let places = claims.chain([set.uid.clone()]);
        let pods = places.filter_map(|place| known.found.get(&place)).flatten();
        pods.map(|pod| (pod.name.clone(), PodView::clone(pod))).collect()
    }
}

impl Known {
    fn add(&mut self, pod: &Pod) {
        self.remove(pod);
        // One that has ended mounts nothing any more.
        let Some(view) = views::pod(pod).filter(|view| !view.claims.is_empty()) else {
            return;
        };
        let (namespace, view) = (pod.namespace().unwrap_or_default(), Arc::new(view));
        for place in places(&namespace, &view) {
            self.found.entry(place).or_default().push(Arc::clone(&view));
        }
        self.pods.insert(key(&namespace, &view.name), view);
    }

    fn remove(&mut self, pod: &Pod) {
        let namespace = pod.namespace().unwrap_or_default();
        let Some(gone) = self.pods.remove(&key(&namespace, &pod.name_any())) else {
            return;
        };
        for place in places(&namespace, &gone) {
            let Some(pods) = self.found.get_mut(&place) else {
                continue;
            };
            pods.retain(|pod| !Arc::ptr_eq(pod, &gone));
            if pods.is_empty() {
                self.found.remove(&place);
            }
        }
    }
}

/// Where a Pod is found. No uid holds a slash.
fn places(namespace: &str, pod: &PodView) -> impl Iterator<Item = String> {
    let claims = pod.claims.iter().map(move |claim| key(namespace, claim));
    claims.chain(pod.controller.as_ref().map(|owner| owner.uid.clone()))
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

#[cfg(test)]
#[path = "pods_tests.rs"]
mod tests;
