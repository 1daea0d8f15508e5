//! The members of an object.

use std::mem;
use std::slice;
use std::vec;

/// A map from strings to values, in the order of the bytes of its keys.
///
/// A sorted list: the objects of templates and staged changes have few members, and API servers write them in this
/// order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map<V>(Vec<(String, V)>);

impl<V> Default for Map<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V> Map<V> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// A map of members in any order; `None` if a key occurs twice.
    #[must_use]
    pub fn from_unsorted(members: Vec<(String, V)>) -> Option<Self> {
        let mut map = Self(members);
        map.sort().then_some(map)
    }

    /// The map with other values of the same keys.
    #[must_use]
    pub fn map<W>(self, mut value: impl FnMut(V) -> W) -> Map<W> {
        Map(self.0.into_iter().map(|(key, of)| (key, value(of))).collect())
    }

    /// True iff the map is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&V> {
        let place = self.find(key).ok()?;
        self.0.get(place).map(|(_, value)| value)
    }

    /// True iff the map has this key.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_ok()
    }

    /// True iff this map has each member of the other one. One pass over both.
    #[must_use]
    pub fn contains_all<W>(&self, other: &Map<W>) -> bool
    where
        V: PartialEq<W>,
    {
        let mut members = self.0.iter();
        let is = |(key, value): &(String, V), wanted: &(String, W)| *key == wanted.0 && *value == wanted.1;
        other.0.iter().all(|wanted| members.any(|member| is(member, wanted)))
    }

    /// Sets a value, and returns the previous one.
    pub fn insert(&mut self, key: String, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(place) => self.0.get_mut(place).map(|(_, old)| mem::replace(old, value)),
            Err(place) => {
                self.0.insert(place, (key, value));
                None
            }
        }
    }

    /// Removes a member, and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        let place = self.find(key).ok()?;
        Some(self.0.remove(place).1)
    }

    /// Keeps the members for which `keep` returns true. `keep` may change the values.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| keep(key, value));
    }

    /// The members, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &V)> {
        self.into_iter()
    }

    /// The keys, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values, mutable.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// The index of a key, or the index at which to insert it.
    fn find(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(found, _)| found.as_str().cmp(key))
    }

    /// The members, sorted by key.
    pub(super) fn as_slice(&self) -> &[(String, V)] {
        &self.0
    }

    /// Appends a member, unless it has the key of the last one; returns whether it did. Call [`Map::sort`] afterwards.
    pub(super) fn push(&mut self, key: String, value: V) -> bool {
        if self.0.last().is_some_and(|(last, _)| *last == key) {
            return false;
        }
        self.0.push((key, value));
        true
    }

    /// Sorts the members; false if a key occurs twice.
    pub(super) fn sort(&mut self) -> bool {
        let ascending = |pair: &[(String, V)]| pair.first().map(|(key, _)| key) < pair.get(1).map(|(key, _)| key);
        if self.0.windows(2).all(ascending) {
            return true;
        }
        heap_sort(&mut self.0);
        self.0.windows(2).all(ascending)
    }
}

/// Sorts by key, never worse than `n log n`. The sort of the standard library has twenty times as much code, and
/// members are nearly always sorted already.
fn heap_sort<V>(members: &mut [(String, V)]) {
    for root in (0..members.len() / 2).rev() {
        sift(members, root);
    }
    for end in (1..members.len()).rev() {
        members.swap(0, end);
        sift(&mut members[..end], 0);
    }
}

/// Moves a member down until no child has a greater key.
fn sift<V>(members: &mut [(String, V)], mut root: usize) {
    let is_less = |members: &[(String, V)], one: usize, other: usize| members[one].0 < members[other].0;
    loop {
        let mut child = 2 * root + 1;
        if child >= members.len() {
            return;
        }
        if child + 1 < members.len() && is_less(members, child, child + 1) {
            child += 1;
        }
        if !is_less(members, root, child) {
            return;
        }
        members.swap(root, child);
        root = child;
    }
}

impl<V> IntoIterator for Map<V> {
    type Item = (String, V);
    type IntoIter = vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, V> IntoIterator for &'a Map<V> {
    type Item = (&'a String, &'a V);
    type IntoIter = std::iter::Map<slice::Iter<'a, (String, V)>, fn(&'a (String, V)) -> (&'a String, &'a V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(key, value)| (key, value))
    }
}
