//! Compares the reply to a write with what was sent.
//!
//! A webhook may change a write, and the API server drops fields of a disabled feature. The policy puts its
//! annotations back unless its setting `controllerAccounts` contains the account. A controller that ignored the reply
//! would repeat the write at every reconcile, for ever.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::claims::Claim;
use crate::rollout::ApplyClaim;

/// The cause of an undone write to a StatefulSet, besides the reasons of the API server.
pub(super) const CAUSE: &str = "WriteUndone";

/// A label or an annotation that differs in the reply.
struct Mismatch<'s> {
    /// `label` or `annotation`
    kind: &'static str,
    key: &'s str,
    sent: Option<&'s str>,
    found: Option<&'s str>,
}

/// The labels and annotations that were sent and differ in the reply.
fn mismatches<'s>(sent: &'s Value, reply: &'s ObjectMeta) -> impl Iterator<Item = Mismatch<'s>> {
    let maps = [
        ("label", "labels", reply.labels.as_ref()),
        ("annotation", "annotations", reply.annotations.as_ref()),
    ];
    maps.into_iter().flat_map(|(kind, map, reply)| {
        let sent = sent["metadata"][map].as_object().into_iter().flatten();
        let mismatches = sent.map(move |(key, value)| Mismatch {
            kind,
            key,
            sent: value.as_str(),
            found: reply.and_then(|reply| reply.get(key)).map(String::as_str),
        });
        mismatches.filter(|mismatch| mismatch.sent != mismatch.found)
    })
}

/// The first annotation of a write to a StatefulSet that differs in the reply; none if all are equal.
pub(crate) fn of_set(sent: &Value, reply: &ObjectMeta) -> Option<String> {
    let mismatch = mismatches(sent, reply).next()?;
    Some(format!("the {} {}", mismatch.kind, mismatch.key))
}

/// The fields of an apply to a PersistentVolumeClaim that differ in the reply; none if all are equal.
///
/// A larger size is no difference, because volumes have sizes in steps, unless the apply takes a growth back.
pub(crate) fn of_claim(sent: &Value, apply: &ApplyClaim, reply: &ObjectMeta, claim: &Claim) -> Option<String> {
    let row = |field: &str, sent: &str, found: Option<&str>| match found.unwrap_or_default() {
        "" => format!("{field} {sent} came back empty"),
        found => format!("{field} {sent} came back as {found}"),
    };
    let of_metadata = |mismatch: Mismatch<'_>| {
        let field = format!("{} {}", mismatch.kind, mismatch.key);
        row(&field, mismatch.sent.unwrap_or_default(), mismatch.found)
    };
    let mut rows: Vec<String> = mismatches(sent, reply).map(of_metadata).collect();
    let (sent, found) = (apply.storage, claim.request);
    if found < sent || apply.taken_back.is_some() && found != sent {
        rows.push(row("storage", &sent.to_string(), Some(&found.to_string())));
    }
    let sent = apply.volume_attributes_class_name.as_deref().unwrap_or_default();
    if !sent.is_empty() && claim.class.as_deref() != Some(sent) {
        rows.push(row("volumeAttributesClassName", sent, claim.class.as_deref()));
    }
    let changed = "a webhook changed what was asked for, or a feature is off";
    (!rows.is_empty()).then(|| format!("{changed}: {}", rows.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ApplyClaim, of_claim, of_set};
    use crate::controller::fixtures::changed;
    use crate::controller::objects::claim::SlimClaim;
    use crate::rollout::fixtures::{label, rows};
    use crate::templates::ClaimName;

    #[test]
    fn reply_without_sent_annotation_is_undone() {
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

    /// A change of the reply, where and to what, and the message.
    const ROWS: &str = r#"
        nothing                       | /kind                                              | "PersistentVolumeClaim" |
        more                          | /metadata/labels/other                             | "x"      |
        the same size in another unit | /spec/resources/requests/storage                   | "2048Mi" |
        a larger size                 | /spec/resources/requests/storage                   | "3Gi"    |
        a smaller size                | /spec/resources/requests/storage                   | "1Gi"    | storage 2Gi came back as 1Gi
        our label                     | /metadata/labels                                   | {"tier": "a"} | label claim-rollout.io/revision b.xz245 came back empty
        every label                   | /metadata/labels                                   | null     | label claim-rollout.io/revision b.xz245 came back empty, label tier a came back empty
        a label of the template       | /metadata/labels/tier                              | "b"      | label tier a came back as b
        an annotation                 | /metadata/annotations                              | null     | annotation note n came back empty
        no class                      | /spec/volumeAttributesClassName                    | null     | volumeAttributesClassName fast came back empty
        another class                 | /spec/volumeAttributesClassName                    | "slow"   | volumeAttributesClassName fast came back as slow
    "#;

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
            label: label("b"),
        }
    }

    fn message(apply: &ApplyClaim, place: &str, json: &str) -> String {
        let sent = crate::controller::write::requests::body(apply);
        let reply = changed(sent.clone(), place, json);
        let reply: SlimClaim = serde_json::from_str(&reply.to_string()).unwrap();
        let message = of_claim(&sent, apply, &reply.metadata, &reply.read.unwrap()).unwrap_or_default();
        let why = "a webhook changed what was asked for, or a feature is off: ";
        message.strip_prefix(why).map(str::to_owned).unwrap_or(message)
    }

    #[test]
    fn claim_with_other_values_lists_each_field() {
        for [row, place, json, expected] in rows(ROWS) {
            assert_eq!(message(&apply(), place, json), expected, "{row}");
        }
        let plain = ApplyClaim {
            volume_attributes_class_name: None,
            ..apply()
        };
        let classed = message(&plain, "/spec/volumeAttributesClassName", "\"slow\"");
        assert_eq!(classed, "", "no class was asked for");
        let lowered = ApplyClaim {
            taken_back: Some("5Gi".parse().unwrap()),
            ..apply()
        };
        let kept = message(&lowered, "/spec/resources/requests/storage", "\"5Gi\"");
        assert_eq!(kept, "storage 2Gi came back as 5Gi", "it was to be taken back");
    }
}
