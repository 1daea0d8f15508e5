//! Whether a write to a StatefulSet came back as it was sent.
//!
//! The policy puts its annotations back for everybody whom its setting `controllerAccounts` does not name. A controller that
//! did not look at the reply would write the same again at every reconcile, and never come to an end.

use serde_json::Value;

use super::slim::Set;
use crate::rollout::Seconds;
use crate::rollout::snapshot::retry_at;

/// The cause of such a write, beside those of the API server.
pub(super) const CAUSE: &str = "WriteUndone";

/// A write that somebody put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Undone {
    /// What was put back.
    pub(super) what: String,
    attempts: u32,
    last: Seconds,
}

impl Undone {
    /// It happened, once more if it did before.
    pub(super) fn again(before: Option<&Self>, what: String, now: Seconds) -> Self {
        let attempts = before.map_or(0, |before| before.attempts).saturating_add(1);
        Self {
            what,
            attempts,
            last: now,
        }
    }

    /// When it is tried again.
    pub(super) fn retry_at(&self, now: Seconds) -> Seconds {
        retry_at(self.attempts, self.last, now)
    }
}

/// The first of what was sent that the reply does not have; nothing if it has all of it.
pub(super) fn undone(sent: &Value, reply: &Set) -> Option<String> {
    let annotations = sent["metadata"]["annotations"].as_object();
    let mut annotations = annotations.into_iter().flatten();
    let other = annotations.find(|(key, value)| reply.annotation(key) != value.as_str());
    other.map(|(key, _)| format!("the annotation {key}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Set, Undone, undone};

    fn set(annotations: &Value) -> Set {
        let set = json!({"metadata": {"name": "web", "annotations": annotations}});
        serde_json::from_str(&set.to_string()).unwrap()
    }

    #[test]
    fn reply_that_lacks_what_was_sent_is_undone() {
        let record = json!({"metadata": {"uid": "u", "annotations": {"staged": "b"}}});
        let ready = json!({"metadata": {"uid": "u", "annotations": {"ready": null}}});
        let staged = Some("the annotation staged");
        let named = Some("the annotation ready");
        for (sent, reply, expected) in [
            (&record, set(&json!({"staged": "b", "other": "x"})), None),
            (&record, set(&json!({"staged": "a"})), staged),
            (&record, set(&json!({})), staged),
            (&ready, set(&json!({})), None),
            (&ready, set(&json!({"ready": "1"})), named),
        ] {
            assert_eq!(undone(sent, &reply).as_deref(), expected, "{sent} {reply:?}");
        }
    }

    #[test]
    fn undone_write_is_tried_less_and_less_often() {
        let mut last = None;
        let mut pauses = Vec::new();
        for _ in 0..10 {
            let again = Undone::again(last.as_ref(), "it".to_owned(), 1000);
            pauses.push(again.retry_at(1000) - 1000);
            last = Some(again);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
    }
}
