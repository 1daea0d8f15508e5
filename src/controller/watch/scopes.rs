//! Chooses the scope of watches, a namespace or the whole cluster, and tracks which sets use each of them. It does no
//! I/O.
//!
//! Each watch needs a connection (the client of kube uses HTTP/1.1), so their number is limited: [`MAX_NAMESPACES`]
//! namespaces have a watch of their own, which keeps few objects in memory. If more have a rollout in progress, the
//! sets of all others share one watch on the whole cluster. They cannot wait in a queue, because a rollout may be in
//! progress for days. A controller of one namespace never shares.
//!
//! An unused watch stays open for [`LINGER`], so that a series of rollouts needs one list. It closes at once if another
//! namespace needs its place.

use std::collections::HashMap;

use crate::api::Seconds;
use crate::templates::names;

/// The maximum number of namespaces with a watch of their own. With two watches on each, two on the cluster, those on
/// StatefulSets, ClaimRollouts and blockers, the Lease and a request of each concurrent reconcile there are about 60
/// connections.
pub(super) const MAX_NAMESPACES: usize = 16;

/// For how many seconds an unused watch stays open.
pub(super) const LINGER: Seconds = 180;

/// The open watches and their users.
#[derive(Debug)]
pub(super) struct Scopes<T> {
    open: Vec<OpenScope<T>>,
    /// The maximum number of namespaces with a watch of their own.
    max: usize,
}

#[derive(Debug)]
struct OpenScope<T> {
    /// The namespace; none for the whole cluster.
    namespace: Option<String>,
    watched: T,
    /// The sets that use it, by namespace and name.
    users: HashMap<String, User>,
    unused_since: Seconds,
}

/// A set that uses a watch.
#[derive(Debug)]
struct User {
    uid: String,
    templates: Vec<String>,
}

impl<T> Default for Scopes<T> {
    fn default() -> Self {
        Self::at_most(MAX_NAMESPACES)
    }
}

impl<T> Scopes<T> {
    /// No watches, and this maximum number of namespaces with a watch of their own.
    pub(super) fn at_most(max: usize) -> Self {
        Self { open: Vec::new(), max }
    }
}

impl<T: Clone> Scopes<T> {
    /// Returns the watch for the set of this namespace, name and uid. `begin` opens a new one.
    pub(super) fn enter(
        &mut self,
        [namespace, set, uid]: [&str; 3],
        templates: Vec<String>,
        begin: impl FnOnce(Option<&str>) -> T,
    ) -> T {
        let key = key(namespace, set);
        let place = self.place(namespace, &key);
        let place = place.unwrap_or_else(|| {
            let own = self.make_room().then(|| namespace.to_owned());
            // The watch on the whole cluster may be open already.
            let shared = self
                .open
                .iter()
                .position(|open| open.namespace.is_none() && own.is_none());
            shared.unwrap_or_else(|| {
                let watched = begin(own.as_deref());
                self.open.push(OpenScope {
                    namespace: own,
                    watched,
                    users: HashMap::new(),
                    unused_since: 0,
                });
                self.open.len() - 1
            })
        });
        let uid = uid.to_owned();
        let open = &mut self.open[place];
        open.users.insert(key, User { uid, templates });
        open.watched.clone()
    }

    /// The open watch for the set: the one that it uses already, else the one on its namespace.
    fn place(&self, namespace: &str, key: &str) -> Option<usize> {
        let mut open = self.open.iter();
        let known = open.position(|open| open.users.contains_key(key));
        let own = |open: &OpenScope<T>| open.namespace.as_deref() == Some(namespace);
        known.or_else(|| self.open.iter().position(own))
    }

    /// True iff there is room for one more namespace. If necessary the watch closes that has been unused for longest.
    fn make_room(&mut self) -> bool {
        let own = self
            .open
            .iter()
            .enumerate()
            .filter(|(_, open)| open.namespace.is_some());
        if own.clone().count() < self.max {
            return true;
        }
        let unused = own.filter(|(_, open)| open.users.is_empty());
        let idlest = unused.min_by_key(|(_, open)| open.unused_since).map(|(place, _)| place);
        idlest.map(|place| self.open.swap_remove(place)).is_some()
    }

    /// The set of this uid needs no watch any more. A newer set of the same name may.
    pub(crate) fn leave(&mut self, [namespace, set, uid]: [&str; 3], now: Seconds) {
        let key = key(namespace, set);
        self.retain(now, |known, user| known != key || user.uid != uid);
    }

    /// Only the sets with these uids still exist.
    pub(crate) fn keep(&mut self, exists: impl Fn(&str) -> bool, now: Seconds) {
        self.retain(now, |_, user| exists(&user.uid));
    }

    fn retain(&mut self, now: Seconds, keep: impl Fn(&str, &User) -> bool) {
        for open in self.open.iter_mut().filter(|open| !open.users.is_empty()) {
            open.users.retain(|key, user| keep(key, user));
            open.unused_since = now;
        }
    }

    /// Closes watches that have been unused for [`LINGER`], or if the clock was set back.
    pub(super) fn close_unused(&mut self, now: Seconds) {
        let lingers = |since: Seconds| now.checked_sub(since).is_some_and(|unused| unused < LINGER);
        self.open
            .retain(|open| !open.users.is_empty() || lingers(open.unused_since));
    }

    /// The sets that can have a PVC of this name.
    pub(super) fn concerned<'a>(&self, namespace: &str, claim: &'a str) -> Vec<&'a str> {
        let sets = names::givers_of(claim);
        let could_have = |(template, set): &(&str, &str)| {
            let key = key(namespace, set);
            let mut users = self.open.iter().filter_map(|open| open.users.get(&key));
            users.any(|user| user.templates.iter().any(|known| known == template))
        };
        sets.filter(could_have).map(|(_, set)| set).collect()
    }

    /// The watch that the set of this namespace and name uses.
    pub(crate) fn of(&self, [namespace, set]: [&str; 2]) -> Option<&T> {
        let key = key(namespace, set);
        let open = self.open.iter().find(|open| open.users.contains_key(&key));
        open.map(|open| &open.watched)
    }

    /// Namespace and name of the sets that use the watch on this namespace, or on the whole cluster.
    pub(crate) fn users(&self, namespace: Option<&str>) -> impl Iterator<Item = (&str, &str)> {
        let open = self
            .open
            .iter()
            .filter(move |open| open.namespace.as_deref() == namespace);
        open.flat_map(|open| open.users.keys())
            .filter_map(|key| key.split_once('/'))
    }
}

/// A unique key: neither name can contain a slash.
fn key(namespace: &str, set: &str) -> String {
    format!("{namespace}/{set}")
}

#[cfg(test)]
#[path = "scopes_tests.rs"]
mod tests;
