//! Reports StatefulSets that cannot be read. An Event needs no more of an object than its name.

use futures::StreamExt;
use futures::channel::mpsc::UnboundedReceiver;

use super::events;
use crate::controller::calls::caller::Caller;
use crate::controller::objects::set_kind::SetKind;
use crate::controller::read::item::UnreadObject;
use crate::rollout::{EventNotice, Reason};
use crate::templates::keys;

/// Emits an Event on each of these StatefulSets.
pub(crate) async fn report(kind: SetKind, caller: Caller, mut unread: UnboundedReceiver<Box<UnreadObject>>) {
    while let Some(object) = unread.next().await {
        if let Some(notice) = notice(&object) {
            let (namespace, name) = object.key();
            events::emit_on(&caller, (kind, &namespace, &name), &notice).await;
        }
    }
}

/// None if the StatefulSet has no annotation of ours: then nothing is rolled out anyway.
fn notice(object: &UnreadObject) -> Option<EventNotice> {
    let metadata = &object.metadata;
    metadata.name.as_ref()?;
    // Those of an object that is too large are not known.
    if let Some(annotations) = &metadata.annotations
        && !annotations.keys().any(|key| key.starts_with(keys::PREFIX))
    {
        return None;
    }
    let message = format!(
        "Failed to read the StatefulSet, so nothing is rolled out: {}",
        object.why
    );
    let uid = metadata.uid.clone().unwrap_or_default();
    Some(EventNotice::of_set(uid, Reason::ClaimRolloutStalled, message))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::notice;
    use crate::controller::objects::set::SlimSet;
    use crate::controller::read::item::ListItem;
    use crate::controller::read::pages::UNREAD;

    #[test]
    fn unread_set_is_reported_unless_it_is_none_of_ours() {
        let unreadable = |annotations: Value| {
            let metadata = json!({"name": "web", "namespace": "shop", "uid": "u", "annotations": annotations});
            json!({"metadata": metadata, "spec": {"replicas": "many"}})
        };
        let message = |why: &str| {
            Some(format!(
                "Failed to read the StatefulSet, so nothing is rolled out: {why}"
            ))
        };
        for (what, object, expected) in [
            (
                "something is staged",
                unreadable(json!({"a": "b", "claim-rollout.io/staged": "{}"})),
                message("Data error at line 1, column "),
            ),
            ("nothing is ours", unreadable(json!({"a": "b"})), None),
            (
                "too large",
                json!({(UNREAD): "the response has more than 5 bytes", "metadata": {"name": "web"}}),
                message("the response has more than 5 bytes"),
            ),
            ("no name", json!({"metadata": {"name": 5}}), None),
        ] {
            let item: ListItem<SlimSet> = serde_json::from_str(&object.to_string()).expect("an item");
            let unread = item.read().expect_err("no StatefulSet");
            let found = notice(&unread).map(|notice| notice.message);
            let is_expected = match (&found, &expected) {
                (Some(found), Some(expected)) => found.starts_with(expected),
                (found, expected) => found == expected,
            };
            assert!(is_expected, "{what}: {found:?}");
        }
    }
}
