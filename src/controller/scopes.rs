//! Through which watches the claims and Pods of a set are seen: a pure book of which are open, and for whom.
//!
//! One connection carries one watch (kube's client speaks HTTP/1.1), so their number is bounded: [`MOST`] namespaces are
//! watched each by itself, and with them few objects are read and kept. Where more have a rollout in progress at the same
//! time, the sets of all others share one watch on the whole cluster: a queue would not do, for a rollout may stay in progress
//! for days. A controller of one namespace never comes to that.
//!
//! What nobody needs any more stays open for [`LINGER`], so that a series of rollouts lists once; but it makes room at once for
//! another namespace.

use std::collections::HashMap;

use crate::rollout::Seconds;
use crate::templates::names;

/// How many namespaces are watched by themselves at most. With two watches on each, two on the cluster, those on sets and
/// ClaimRollouts, those on what had PVCs refused, the Lease and a request of each concurrent look there are about 60
/// connections.
pub(super) const MOST: usize = 16;

/// For how many seconds a watch that nobody needs stays open.
pub(super) const LINGER: Seconds = 180;

/// The watches that are open.
#[derive(Debug)]
pub(super) struct Scopes<T> {
    open: Vec<Open<T>>,
    /// How many namespaces are watched by themselves at most.
    most: usize,
}

#[derive(Debug)]
struct Open<T> {
    /// Which namespace; none if it is the whole cluster.
    namespace: Option<String>,
    watched: T,
    /// Who needs it, by namespace and name.
    users: HashMap<String, User>,
    unused_since: Seconds,
}

/// A set that is rolled out.
#[derive(Debug)]
struct User {
    uid: String,
    templates: Vec<String>,
}

impl<T> Default for Scopes<T> {
    fn default() -> Self {
        Self::at_most(MOST)
    }
}

impl<T> Scopes<T> {
    /// So many namespaces are watched by themselves at most.
    pub(super) fn at_most(most: usize) -> Self {
        Self { open: Vec::new(), most }
    }
}

impl<T: Clone> Scopes<T> {
    /// What the set of this name and uid is seen through from now on; `begin` opens what is not open.
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
            // The whole cluster may be watched already.
            let shared = self
                .open
                .iter()
                .position(|open| open.namespace.is_none() && own.is_none());
            shared.unwrap_or_else(|| {
                let watched = begin(own.as_deref());
                self.open.push(Open {
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

    /// What is open for the set: what it is seen through already, else what is open for its namespace.
    fn place(&self, namespace: &str, key: &str) -> Option<usize> {
        let mut open = self.open.iter();
        let known = open.position(|open| open.users.contains_key(key));
        let own = |open: &Open<T>| open.namespace.as_deref() == Some(namespace);
        known.or_else(|| self.open.iter().position(own))
    }

    /// True iff there is room for one more namespace. The one that nobody has needed for longest makes it.
    fn make_room(&mut self) -> bool {
        let own = self
            .open
            .iter()
            .enumerate()
            .filter(|(_, open)| open.namespace.is_some());
        if own.clone().count() < self.most {
            return true;
        }
        let unused = own.filter(|(_, open)| open.users.is_empty());
        let idlest = unused.min_by_key(|(_, open)| open.unused_since).map(|(place, _)| place);
        idlest.map(|place| self.open.swap_remove(place)).is_some()
    }

    /// The set of this uid needs no watch any more; one that came after it, of the same name, may.
    pub(super) fn leave(&mut self, [namespace, set, uid]: [&str; 3], now: Seconds) {
        let key = key(namespace, set);
        self.retain(now, |known, user| known != key || user.uid != uid);
    }

    /// Only sets of these uids still need one.
    pub(super) fn keep(&mut self, there: impl Fn(&str) -> bool, now: Seconds) {
        self.retain(now, |_, user| there(&user.uid));
    }

    fn retain(&mut self, now: Seconds, keep: impl Fn(&str, &User) -> bool) {
        for open in self.open.iter_mut().filter(|open| !open.users.is_empty()) {
            open.users.retain(|key, user| keep(key, user));
            open.unused_since = now;
        }
    }

    /// Closes what nobody has needed for a while. A clock that was set back closes it as well.
    pub(super) fn close_unused(&mut self, now: Seconds) {
        let lingers = |since: Seconds| now.checked_sub(since).is_some_and(|unused| unused < LINGER);
        self.open
            .retain(|open| !open.users.is_empty() || lingers(open.unused_since));
    }

    /// The sets one of whose claims could have this name.
    pub(super) fn concerned<'a>(&self, namespace: &str, claim: &'a str) -> Vec<&'a str> {
        let sets = names::givers_of(claim);
        let could_have = |(template, set): &(&str, &str)| {
            let key = key(namespace, set);
            let mut users = self.open.iter().filter_map(|open| open.users.get(&key));
            users.any(|user| user.templates.iter().any(|known| known == template))
        };
        sets.filter(could_have).map(|(_, set)| set).collect()
    }

    /// What the set of this namespace and name is seen through, if it is.
    pub(super) fn of(&self, [namespace, set]: [&str; 2]) -> Option<&T> {
        let key = key(namespace, set);
        let open = self.open.iter().find(|open| open.users.contains_key(&key));
        open.map(|open| &open.watched)
    }

    /// Namespace and name of the sets that are seen through the watch on this namespace, or on the whole cluster.
    pub(super) fn users(&self, namespace: Option<&str>) -> impl Iterator<Item = (&str, &str)> {
        let open = self
            .open
            .iter()
            .filter(move |open| open.namespace.as_deref() == namespace);
        open.flat_map(|open| open.users.keys())
            .filter_map(|key| key.split_once('/'))
    }
}

/// Neither may hold a slash.
fn key(namespace: &str, set: &str) -> String {
    format!("{namespace}/{set}")
}

#[cfg(test)]
#[path = "scopes_tests.rs"]
mod tests;
