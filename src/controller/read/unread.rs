//! The objects of a watch that cannot be read now. They are neither as they were nor deleted.

use std::collections::BTreeMap;
use std::sync::Mutex;

use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::item::{ListItem, UnreadObject};
use crate::controller::locking::lock;

/// Why each object cannot be read, by namespace and name.
type UnreadNames = BTreeMap<(String, String), String>;

/// The unread objects of one watch.
#[derive(Debug, Default)]
pub(crate) struct UnreadObjects {
    known: Mutex<UnreadNames>,
    /// Those of an incomplete list.
    listed: Mutex<UnreadNames>,
}

/// What an event of a watch comes to.
#[derive(Debug)]
pub(crate) struct SeenEvent<K> {
    /// The event for the store and the reconciles.
    pub(crate) event: Option<Event<K>>,
    /// The object that cannot be read since this event.
    pub(crate) unread: Option<Box<UnreadObject>>,
}

impl UnreadObjects {
    /// Notes an event. An object that can no longer be read leaves the store: its last version is not the present one.
    pub(crate) fn note<K>(&self, event: Event<ListItem<K>>) -> SeenEvent<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let (event, unread) = match event {
            Event::Init => {
                lock(&self.listed).clear();
                (Some(Event::Init), None)
            }
            Event::InitApply(ListItem::Read(object)) => (Some(Event::InitApply(object)), None),
            Event::InitApply(ListItem::Unread(unread)) => {
                lock(&self.listed).insert(unread.key(), unread.why.clone());
                let is_new = !lock(&self.known).contains_key(&unread.key());
                (None, is_new.then_some(unread))
            }
            Event::InitDone => {
                *lock(&self.known) = std::mem::take(&mut *lock(&self.listed));
                (Some(Event::InitDone), None)
            }
            Event::Apply(ListItem::Read(object)) => {
                self.forget(&object);
                (Some(Event::Apply(object)), None)
            }
            Event::Apply(ListItem::Unread(unread)) => {
                let before = lock(&self.known).insert(unread.key(), unread.why.clone());
                (unread.bare().map(Event::Delete), before.is_none().then_some(unread))
            }
            Event::Delete(ListItem::Read(object)) => {
                self.forget(&object);
                (Some(Event::Delete(object)), None)
            }
            Event::Delete(ListItem::Unread(unread)) => {
                lock(&self.known).remove(&unread.key());
                (unread.bare().map(Event::Delete), None)
            }
        };
        SeenEvent { event, unread }
    }

    fn forget<K: Resource>(&self, object: &K) {
        let mut known = lock(&self.known);
        if !known.is_empty() {
            known.remove(&(object.namespace().unwrap_or_default(), object.name_any()));
        }
    }

    /// Why this object cannot be read, if that is so.
    pub(crate) fn why(&self, namespace: &str, name: &str) -> Option<String> {
        let known = lock(&self.known);
        if known.is_empty() {
            return None;
        }
        known.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    /// Their number.
    pub(crate) fn len(&self) -> usize {
        lock(&self.known).len()
    }
}

#[cfg(test)]
mod tests {
    use kube::runtime::reflector::store;
    use kube::runtime::watcher::Event;
    use serde_json::{Value, json};

    use super::UnreadObjects;
    use crate::controller::objects::pod::SlimPod;
    use crate::controller::read::item::ListItem;

    fn pod(name: &str, phase: &Value) -> ListItem<SlimPod> {
        let metadata = json!({"name": name, "namespace": "shop"});
        let text = json!({"metadata": metadata, "status": {"phase": phase}}).to_string();
        serde_json::from_str(&text).expect("an item")
    }

    #[test]
    fn unread_object_is_neither_as_it_was_nor_deleted() {
        let (good, bad) = (json!("Running"), json!(5));
        // The event, the Pods of the store, the unread ones, and whether one is new.
        let rows = [
            (Event::Init, "", "", false),
            (Event::InitApply(pod("a", &good)), "", "", false),
            (Event::InitApply(pod("b", &bad)), "", "", true),
            (Event::InitApply(pod("c", &good)), "", "", false),
            (Event::InitDone, "a c", "b", false),
            (Event::Apply(pod("c", &bad)), "a", "b c", true),
            (Event::Apply(pod("c", &bad)), "a", "b c", false),
            (Event::Apply(pod("b", &good)), "a b", "c", false),
            (Event::Delete(pod("c", &bad)), "a b", "", false),
            (Event::Apply(pod("a", &bad)), "b", "a", true),
            (Event::Delete(pod("a", &good)), "b", "", false),
            (Event::Apply(pod("d", &bad)), "b", "d", true),
            (Event::Init, "b", "d", false),
            (Event::InitApply(pod("d", &bad)), "b", "d", false),
            (Event::InitDone, "", "d", false),
            (Event::Init, "", "d", false),
            (Event::InitDone, "", "", false),
        ];
        let (unread, (reader, mut writer)) = (UnreadObjects::default(), store::<SlimPod>());
        for (row, (event, stored, expected, is_new)) in rows.into_iter().enumerate() {
            let seen = unread.note(event);
            assert_eq!(seen.unread.is_some(), is_new, "row {row}");
            if let Some(event) = &seen.event {
                writer.apply_watcher_event(event);
            }
            let mut names: Vec<_> = reader
                .state()
                .iter()
                .filter_map(|pod| pod.metadata.name.clone())
                .collect();
            names.sort();
            assert_eq!(names.join(" "), stored, "row {row}");
            let names = ["a", "b", "c", "d"]
                .into_iter()
                .filter(|name| unread.why("shop", name).is_some());
            assert_eq!(names.collect::<Vec<_>>().join(" "), expected, "row {row}");
            assert_eq!(unread.len(), expected.split_whitespace().count(), "row {row}");
        }
    }
}
