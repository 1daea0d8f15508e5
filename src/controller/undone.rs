//! Whether a write came back as it was sent.
//!
//! A webhook may change a write on its way, and a feature that is off drops fields of it. The policy puts its annotations back for everybody whom its setting `controllerAccounts` does not name. A controller that
//! did not look at the reply would write the same again at every reconcile, and never come to an end.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::claims::Claim;
use crate::rollout::snapshot::retry_at;
use crate::rollout::{ApplyClaim, Seconds};

/// The cause of such a write to a StatefulSet, beside those of the API server.
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

/// A label or an annotation that came back otherwise than it was sent.
struct Other<'s> {
    /// `label` or `annotation`
    kind: &'static str,
    key: &'s str,
    sent: Option<&'s str>,
    found: Option<&'s str>,
}

/// The labels and annotations that were sent and that the reply does not have.
fn others<'s>(sent: &'s Value, reply: &'s ObjectMeta) -> impl Iterator<Item = Other<'s>> {
    let maps = [
        ("label", "labels", reply.labels.as_ref()),
        ("annotation", "annotations", reply.annotations.as_ref()),
    ];
    maps.into_iter().flat_map(|(kind, map, reply)| {
        let sent = sent["metadata"][map].as_object().into_iter().flatten();
        let others = sent.map(move |(key, value)| Other {
            kind,
            key,
            sent: value.as_str(),
            found: reply.and_then(|reply| reply.get(key)).map(String::as_str),
        });
        others.filter(|other| other.sent != other.found)
    })
}

/// The first of what was sent to a StatefulSet that the reply does not have; nothing if it has all of it.
pub(super) fn of_set(sent: &Value, reply: &ObjectMeta) -> Option<String> {
    let other = others(sent, reply).next()?;
    Some(format!("the {} {}", other.kind, other.key))
}

/// What an apply asked a PersistentVolumeClaim for that the reply does not have, field by field; nothing if it has all of it.
///
/// A larger size is none of it: volumes come in steps. Where a growth is taken back, it is.
pub(super) fn of_claim(sent: &Value, apply: &ApplyClaim, reply: &ObjectMeta, claim: &Claim) -> Option<String> {
    let row = |field: &str, sent: &str, found: Option<&str>| match found.unwrap_or_default() {
        "" => format!("{field} {sent} came back empty"),
        found => format!("{field} {sent} came back as {found}"),
    };
    let of_metadata = |other: Other<'_>| {
        let field = format!("{} {}", other.kind, other.key);
        row(&field, other.sent.unwrap_or_default(), other.found)
    };
    let mut rows: Vec<String> = others(sent, reply).map(of_metadata).collect();
    let (asked, found) = (apply.storage, claim.request);
    if found < asked || apply.taken_back.is_some() && found != asked {
        rows.push(row("storage", &asked.to_string(), Some(&found.to_string())));
    }
    let asked = apply.volume_attributes_class_name.as_deref().unwrap_or_default();
    if !asked.is_empty() && claim.class.as_deref() != Some(asked) {
        rows.push(row("volumeAttributesClassName", asked, claim.class.as_deref()));
    }
    let changed = "a webhook changed what was asked for, or a feature is off";
    (!rows.is_empty()).then(|| format!("{changed}: {}", rows.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ApplyClaim, Undone, of_claim, of_set};
    use crate::controller::slim::Applied;
    use crate::templates::{ClaimName, Revision};

    #[test]
    fn reply_that_lacks_what_was_sent_is_undone() {
        let change = json!({"metadata": {"uid": "u", "annotations": {"staged": "b"}}});
        let ready = json!({"metadata": {"uid": "u", "annotations": {"ready": null}}});
        let staged = Some("the annotation staged");
        let named = Some("the annotation ready");
        for (sent, reply, expected) in [
            (&change, json!({"staged": "b", "other": "x"}), None),
            (&change, json!({"staged": "a"}), staged),
            (&change, json!({}), staged),
            (&ready, json!({}), None),
            (&ready, json!({"ready": "1"}), named),
        ] {
            let reply = serde_json::from_value(json!({"name": "web", "annotations": reply})).unwrap();
            assert_eq!(of_set(sent, &reply).as_deref(), expected, "{sent} {reply:?}");
        }
    }

    /// A change of what was asked for on its way, and what is said of it.
    type Row = (&'static str, fn(&mut Value), &'static str);

    const ROWS: &[Row] = &[
        ("nothing", |_| {}, ""),
        ("more", |reply| reply["metadata"]["labels"]["other"] = json!("x"), ""),
        ("the size in other words", |reply| size(reply, "2048Mi"), ""),
        ("a larger size", |reply| size(reply, "3Gi"), ""),
        (
            "a smaller size",
            |reply| size(reply, "1Gi"),
            "storage 2Gi came back as 1Gi",
        ),
        (
            "our label",
            |reply| gone(reply, "/metadata/labels", "claim-rollout.io/revision"),
            "label claim-rollout.io/revision b came back empty",
        ),
        (
            "every label",
            |reply| gone(reply, "/metadata", "labels"),
            "label claim-rollout.io/revision b came back empty, label tier a came back empty",
        ),
        (
            "a label of the template",
            |reply| reply["metadata"]["labels"]["tier"] = json!("b"),
            "label tier a came back as b",
        ),
        (
            "an annotation",
            |reply| gone(reply, "/metadata", "annotations"),
            "annotation note n came back empty",
        ),
        (
            "no class",
            |reply| gone(reply, "/spec", "volumeAttributesClassName"),
            "volumeAttributesClassName fast came back empty",
        ),
        (
            "another class",
            |reply| reply["spec"]["volumeAttributesClassName"] = json!("slow"),
            "volumeAttributesClassName fast came back as slow",
        ),
    ];

    fn size(reply: &mut Value, size: &str) {
        reply["spec"]["resources"]["requests"]["storage"] = json!(size);
    }

    fn gone(reply: &mut Value, parent: &str, key: &str) {
        reply.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key);
    }

    fn apply() -> ApplyClaim {
        ApplyClaim {
            name: ClaimName::new("data", "web", 2).unwrap(),
            uid: "u".to_owned(),
            resource_version: "7".to_owned(),
            storage: "2Gi".parse().unwrap(),
            taken_back: None,
            volume_attributes_class_name: Some("fast".to_owned()),
            labels: [("tier".to_owned(), "a".to_owned())].into(),
            annotations: [("note".to_owned(), "n".to_owned())].into(),
            revision: Revision::from_text("b"),
        }
    }

    fn claim_events(apply: &ApplyClaim, change: fn(&mut Value)) -> String {
        let sent = crate::controller::act::body(apply);
        let mut reply = sent.clone();
        change(&mut reply);
        let reply: Applied = serde_json::from_str(&reply.to_string()).unwrap();
        let claim_events = of_claim(&sent, apply, &reply.metadata, &reply.read.unwrap()).unwrap_or_default();
        let changed = "a webhook changed what was asked for, or a feature is off: ";
        claim_events
            .strip_prefix(changed)
            .map(str::to_owned)
            .unwrap_or(claim_events)
    }

    #[test]
    fn claim_that_lacks_what_was_asked_for_says_each_field() {
        for (row, change, expected) in ROWS {
            assert_eq!(claim_events(&apply(), *change), *expected, "{row}");
        }
        let plain = ApplyClaim {
            volume_attributes_class_name: None,
            ..apply()
        };
        let classed = |reply: &mut Value| reply["spec"]["volumeAttributesClassName"] = json!("slow");
        assert_eq!(claim_events(&plain, classed), "", "no class was asked for");
        let lowered = ApplyClaim {
            taken_back: Some("5Gi".parse().unwrap()),
            ..apply()
        };
        let expected = "storage 2Gi came back as 5Gi";
        assert_eq!(
            claim_events(&lowered, |reply| size(reply, "5Gi")),
            expected,
            "it was to be taken back"
        );
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
