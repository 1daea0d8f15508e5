//! Requests that bring or change a staged change, or make one roll out, and the rights that each needs.

use serde_json::{Value, json};

use super::row::{GuardRow, SETS, request};
use crate::templates::keys;
use crate::templates::user_keys::USER_KEYS;

/// The user, the namespace, the StatefulSet before and after, and the validation that denies.
type StagedRow = (
    &'static str,
    &'static str,
    Option<&'static str>,
    &'static str,
    Option<u8>,
);

const PATCH: Option<u8> = Some(1);
const RECREATE: Option<u8> = Some(2);
const REPLACE: Option<u8> = Some(3);
const PHASE: Option<u8> = Some(4);

/// A StatefulSet: `staged=InPlace` has a staged change of that policy, `policy=InPlace` the annotation, and so on.
fn set(words: &str) -> Value {
    let mut set = json!({"metadata": {"name": "web", "annotations": {"a": "b"}}});
    for word in words.split(' ').filter(|word| *word != "plain") {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let metadata = &mut set["metadata"];
        let (key, value) = match key {
            "staged" => (keys::STAGED, format!(r#"{{"updatePolicy":"{value}"}}"#)),
            "spelt" => (keys::STAGED, format!(r#"{{ "updatePolicy" : "{value}" }}"#)),
            "escaped" => (keys::STAGED, r#"{"updatePolicy":"Re\u0043reate"}"#.to_owned()),
            "policy" => (keys::UPDATE_POLICY, value.to_owned()),
            "replace" => (keys::REPLACE_SET, value.to_owned()),
            "phase" => (keys::PHASE, value.to_owned()),
            "paused" => (keys::PAUSED, "true".to_owned()),
            "note" => ("a", value.to_owned()),
            "owner" => {
                metadata["ownerReferences"] =
                    json!([{"apiVersion": "v1", "kind": value, "name": "o", "uid": "o", "controller": true}]);
                continue;
            }
            "owners" => {
                let owner = |number| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": number});
                let count = value.parse::<u32>().expect(word);
                metadata["ownerReferences"] = (0..count).map(owner).collect();
                continue;
            }
            _ => panic!("{word}"),
        };
        metadata["annotations"][key] = value.into();
    }
    set
}

const ROWS: [StagedRow; 63] = [
    // Unrelated edits and escapes.
    ("bob", "shop", Some("plain"), "note=c", None),
    ("bob", "shop", None, "plain", None),
    ("bob", "shop", Some("staged=InPlace"), "plain", None),
    ("bob", "shop", Some("staged=InPlace"), "staged=InPlace paused", None),
    ("bob", "shop", Some("staged=InPlace"), "staged=InPlace policy=OnClaimDelete", None),
    ("bob", "shop", Some("staged=ReCreate"), "staged=ReCreate policy=OnDelete", None),
    ("mallory", "shop", Some("staged=ReCreate replace=WhenComplete"), "staged=ReCreate replace=WhenComplete note=c", None),
    ("mallory", "shop", Some("staged=ReCreate replace=WhenComplete"), "staged=ReCreate replace=Never", None),
    ("mallory", "shop", Some("staged=ReCreate replace=WhenComplete"), "staged=ReCreate", None),
    ("mallory", "shop", Some("staged=ReCreate replace=WhenComplete"), "replace=WhenComplete", None),
    ("mallory", "shop", Some("staged=InPlace replace=WhenComplete"), "staged=InPlace replace=WhenComplete policy=OnClaimDelete", None),
    // The right to patch PVCs, in the namespace of the request.
    ("bob", "shop", Some("plain"), "staged=InPlace", PATCH),
    ("bob", "mine", Some("plain"), "staged=InPlace", None),
    ("mallory", "mine", Some("plain"), "staged=InPlace", PATCH),
    ("mallory", "shop", Some("plain"), "staged=InPlace", None),
    ("all but patch persistentvolumeclaims", "shop", Some("plain"), "staged=InPlace", PATCH),
    ("bob", "shop", None, "staged=InPlace", PATCH),
    ("bob", "shop", Some("staged=InPlace"), "staged=OnClaimDelete", PATCH),
    ("bob", "shop", Some("staged=InPlace policy=OnClaimDelete"), "staged=InPlace policy=InPlace", PATCH),
    ("bob", "shop", Some("staged=InPlace policy=OnClaimDelete"), "staged=InPlace policy=inplace", PATCH),
    ("bob", "shop", Some("staged=InPlace policy=OnClaimDelete"), "staged=InPlace", PATCH),
    ("bob", "shop", Some("policy=OnClaimDelete"), "plain", None),
    // An owner goes.
    ("bob", "shop", Some("staged=InPlace owner=ConfigMap"), "staged=InPlace", PATCH),
    ("bob", "shop", Some("staged=InPlace owner=ConfigMap"), "staged=InPlace owner=Secret", PATCH),
    ("bob", "shop", Some("staged=InPlace owner=ConfigMap"), "plain", None),
    ("bob", "shop", Some("staged=InPlace"), "staged=InPlace owner=ConfigMap", None),
    ("bob", "shop", Some("staged=InPlace"), "staged=InPlace owners=100", None),
    ("bob", "shop", Some("staged=InPlace owner=ConfigMap"), "staged=InPlace owners=101", PATCH),
    ("bob", "shop", Some("staged=InPlace owners=101"), "staged=InPlace", PATCH),
    ("bob", "shop", Some("staged=InPlace"), "staged=InPlace owners=101", PATCH),
    // ReCreate, by the annotation or else by the staged change.
    ("mallory", "shop", Some("plain"), "staged=InPlace policy=ReCreate", RECREATE),
    ("mallory", "shop", Some("plain"), "staged=ReCreate", RECREATE),
    ("mallory", "shop", Some("plain"), "spelt=ReCreate", RECREATE),
    ("mallory", "shop", Some("plain"), "escaped", RECREATE),
    ("mallory", "shop", Some("plain"), "staged=ReCreate policy=InPlace", None),
    ("mallory", "shop", Some("plain"), "policy=ReCreate", None),
    ("mallory", "shop", None, "staged=ReCreate", RECREATE),
    ("mallory", "shop", Some("policy=ReCreate"), "staged=InPlace policy=ReCreate", RECREATE),
    ("mallory", "shop", Some("staged=InPlace"), "staged=InPlace policy=ReCreate", RECREATE),
    ("mallory", "shop", Some("staged=ReCreate policy=InPlace"), "staged=ReCreate", RECREATE),
    ("mallory", "shop", Some("staged=ReCreate"), "staged=ReCreate policy=InPlace", None),
    ("mallory", "shop", Some("staged=ReCreate owner=ConfigMap"), "staged=ReCreate", RECREATE),
    ("all but delete persistentvolumeclaims", "shop", Some("plain"), "staged=ReCreate", RECREATE),
    ("all but create pods/eviction", "shop", Some("plain"), "staged=ReCreate", RECREATE),
    ("all but create pods", "shop", Some("plain"), "staged=ReCreate", None),
    ("all but delete statefulsets", "shop", Some("plain"), "staged=ReCreate", None),
    // A replacement.
    ("mallory", "shop", Some("plain"), "replace=WhenComplete", REPLACE),
    ("mallory", "shop", Some("replace=Never"), "replace=WhenComplete", REPLACE),
    ("mallory", "shop", None, "replace=WhenComplete", REPLACE),
    ("mallory", "shop", Some("plain"), "replace=Never", None),
    ("mallory", "shop", Some("replace=WhenComplete owner=ConfigMap"), "replace=WhenComplete", REPLACE),
    ("mallory", "shop", Some("plain"), "staged=InPlace phase=Complete replace=WhenComplete", REPLACE),
    ("mallory", "shop", Some("replace=WhenComplete"), "staged=InPlace phase=Complete replace=WhenComplete", REPLACE),
    ("mallory", "shop", Some("staged=OnClaimDelete replace=WhenComplete"), "staged=OnClaimDelete policy=InPlace replace=WhenComplete", REPLACE),
    ("mallory", "shop", Some("replace=WhenComplete"), "policy=InPlace replace=WhenComplete", None),
    ("all but delete statefulsets", "shop", Some("plain"), "replace=WhenComplete", REPLACE),
    ("all but create statefulsets", "shop", Some("plain"), "replace=WhenComplete", REPLACE),
    ("all but patch statefulsets", "shop", Some("plain"), "replace=WhenComplete", None),
    ("all but delete persistentvolumeclaims", "shop", Some("replace=WhenComplete"), "staged=InPlace replace=WhenComplete", None),
    // The annotations beside a staged change.
    ("bob", "shop", Some("plain"), "phase=Complete", PHASE),
    ("mallory", "shop", Some("staged=InPlace"), "staged=InPlace phase=Complete", PHASE),
    ("mallory", "shop", Some("staged=InPlace"), "staged=InPlace policy=OnClaimDelete phase=Staged", None),
    ("mallory", "shop", Some("staged=InPlace"), "staged=InPlace policy=OnClaimDelete phase=Done", PHASE),
];

pub(super) fn rows() -> Vec<GuardRow> {
    let denied = |number: u8| format!("claim-rollout-staged: validation {number}");
    let of_rows = ROWS.into_iter().map(|(user, namespace, old, object, expected)| {
        let operation = if old.is_none() { "CREATE" } else { "UPDATE" };
        let mut request = request(user, operation, "", SETS);
        request["namespace"] = namespace.into();
        GuardRow {
            what: format!("{user} in {namespace}: {old:?} to {object}"),
            request,
            old: old.map_or(Value::Null, set),
            object: set(object),
            rollouts: Vec::new(),
            expected: expected.map(denied),
        }
    });
    let (with, without) = (
        |key: &str| {
            let mut set = set("plain");
            set["metadata"]["annotations"][key] = "true".into();
            set
        },
        set("plain"),
    );
    let own = [keys::STAGED, keys::STAGED_AT, keys::PHASE, keys::READY, keys::WITHDRAW];
    let ours = USER_KEYS.iter().map(|known| known.key).chain(own);
    let of_status = ours.chain(["example.com/note"]).flat_map(|key| {
        let expected = key.starts_with(keys::PREFIX).then(|| denied(0));
        let row = |what: &str, old: Value, object: Value| GuardRow {
            what: format!("{key} is {what} through the status"),
            request: request("all but nothing", "UPDATE", "status", SETS),
            old,
            object,
            rollouts: Vec::new(),
            expected: expected.clone(),
        };
        [
            row("set", without.clone(), with(key)),
            row("removed", with(key), without.clone()),
        ]
    });
    of_rows.chain(of_status.collect::<Vec<_>>()).collect()
}
