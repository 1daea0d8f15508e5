//! Requests of the account of the controller.

use serde_json::{Value, json};

use super::row::{GuardRow, SETS, request};
use crate::api::settings::DEFAULT_CONTROLLER_ACCOUNT as CONTROLLER;
use crate::templates::user_keys::USER_KEYS;

/// A request of the account of the controller: the operation, the options, the StatefulSet before and after, and the
/// number of the validation that denies it.
type ControllerRow = (
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    Option<u8>,
);

/// A StatefulSet: `marked` has our finalizer, `partition=1` a partition, and so on.
pub(super) fn written(words: &str) -> Value {
    let mut set = json!({"metadata": {"name": "web", "uid": "u"}, "spec": {
        "replicas": 2, "template": {}, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
    }});
    for word in words.split(' ').filter(|word| *word != "plain") {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let finalizer = if key == "marked" {
            "claim-rollout.io/replacing"
        } else {
            "example.com/other"
        };
        let (place, value) = match key {
            "marked" | "other" => {
                let mut finalizers = set["metadata"]["finalizers"]
                    .take()
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                finalizers.push(json!(finalizer));
                (
                    "/metadata",
                    json!({"name": "web", "uid": "u", "finalizers": finalizers}),
                )
            }
            "retain" => (
                "/spec/persistentVolumeClaimRetentionPolicy/whenDeleted",
                json!("Retain"),
            ),
            "scaled" => ("/spec/persistentVolumeClaimRetentionPolicy/whenScaled", json!("Delete")),
            "image" => ("/spec/template", json!({"spec": {}})),
            "on-delete" => ("/spec/updateStrategy", json!({"type": "OnDelete"})),
            "recreate" => ("/spec/updateStrategy", json!({"type": "Recreate"})),
            "hold" => (
                "/spec/updateStrategy/rollingUpdate/partition",
                json!(crate::replace::HOLD),
            ),
            "replicas" => ("/spec/replicas", json!(value.parse::<i64>().expect(word))),
            "partition" => (
                "/spec/updateStrategy/rollingUpdate/partition",
                json!(value.parse::<i64>().expect(word)),
            ),
            _ => panic!("{word}"),
        };
        *set.pointer_mut(place).expect(place) = value;
    }
    set
}

const CONTROLLER_ROWS: [ControllerRow; 47] = [
    // CREATE, of the new StatefulSet only.
    ("CREATE", "", None, Some("marked"), None),
    ("CREATE", "", None, Some("marked partition=2"), None),
    ("CREATE", "", None, Some("plain"), Some(0)),
    ("CREATE", "", None, Some("other"), Some(0)),
    ("CREATE", "", None, Some("marked other"), Some(0)),
    ("CREATE", "dry", None, Some("plain"), Some(0)),
    // DELETE, of a marked StatefulSet and never with its Pods.
    ("DELETE", "Orphan", Some("marked"), None, None),
    ("DELETE", "Background", Some("marked"), None, Some(0)),
    ("DELETE", "", Some("marked"), None, Some(0)),
    ("DELETE", "Orphan", Some("plain"), None, Some(0)),
    ("DELETE", "Orphan dry", Some("plain"), None, None),
    ("DELETE", "Background dry", Some("plain"), None, Some(0)),
    // The finalizer.
    ("UPDATE", "", Some("plain"), Some("marked"), None),
    ("UPDATE", "", Some("marked"), Some("plain"), None),
    ("UPDATE", "", Some("marked other"), Some("marked"), Some(1)),
    ("UPDATE", "", Some("partition=1"), Some("marked partition=1"), Some(1)),
    ("UPDATE", "", Some("marked partition=1"), Some("partition=1"), None),
    // PVCs are retained meanwhile.
    ("UPDATE", "", Some("plain"), Some("marked retain"), None),
    ("UPDATE", "", Some("marked"), Some("marked retain"), None),
    ("UPDATE", "", Some("marked retain"), Some("plain"), None),
    ("UPDATE", "", Some("marked retain"), Some("marked"), Some(2)),
    ("UPDATE", "", Some("plain"), Some("retain"), Some(2)),
    ("UPDATE", "", Some("retain"), Some("plain"), Some(2)),
    ("UPDATE", "", Some("retain"), Some("marked"), Some(2)),
    ("UPDATE", "", Some("marked"), Some("marked scaled"), Some(2)),
    // The partition of the new StatefulSet.
    ("UPDATE", "", Some("marked hold"), Some("marked"), None),
    ("UPDATE", "", Some("marked hold"), Some("marked partition=2"), None),
    ("UPDATE", "", Some("marked partition=2"), Some("marked"), Some(2)),
    ("UPDATE", "", Some("marked"), Some("marked hold"), Some(2)),
    ("UPDATE", "", Some("hold"), Some("plain"), None),
    ("UPDATE", "", Some("partition=2"), Some("plain"), Some(2)),
    ("UPDATE", "", Some("marked partition=2"), Some("plain"), Some(2)),
    ("UPDATE", "", Some("marked"), Some("marked on-delete"), Some(2)),
    ("UPDATE", "", Some("marked on-delete"), Some("marked recreate"), None),
    ("UPDATE", "", Some("marked"), Some("marked recreate"), Some(2)),
    ("UPDATE", "", Some("on-delete"), Some("recreate"), Some(2)),
    // The replicas of a StatefulSet that somebody else created.
    ("UPDATE", "", Some("plain"), Some("replicas=3 hold"), None),
    ("UPDATE", "", Some("plain"), Some("replicas=3"), None),
    ("UPDATE", "", Some("plain"), Some("replicas=3 partition=3"), Some(2)),
    ("UPDATE", "", Some("plain"), Some("hold"), Some(2)),
    ("UPDATE", "", Some("on-delete"), Some("replicas=3 on-delete"), None),
    ("UPDATE", "", Some("partition=2"), Some("replicas=3"), Some(2)),
    ("UPDATE", "", Some("plain"), Some("replicas=1"), Some(2)),
    ("UPDATE", "", Some("marked"), Some("marked replicas=3"), Some(2)),
    ("UPDATE", "", Some("plain"), Some("replicas=3 image"), Some(2)),
    ("UPDATE", "", Some("marked"), Some("marked image"), Some(2)),
    ("UPDATE", "status", Some("marked"), Some("plain"), Some(0)),
];

/// A PVC: the words change one that is as the controller leaves it.
type ClaimRow = (&'static str, Option<&'static str>, Option<&'static str>, Option<u8>);

/// A PVC: `marked` is to be deleted, `at=2` has that revision, and so on.
fn claim(words: &str) -> Value {
    let mut claim = json!({"metadata": {"name": "data", "uid": "u", "labels": {"claim-rollout.io/revision": "1"}, "annotations": {}},
        "spec": {"volumeName": "pv", "resources": {"requests": {"storage": "1Gi"}}}});
    for word in words.split(' ').filter(|word| *word != "plain") {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let (place, key) = match key {
            "marked" => ("/metadata/annotations", "claim-rollout.io/recreated-for"),
            "at" => ("/metadata/labels", "claim-rollout.io/revision"),
            "label" => ("/metadata/labels", "tier"),
            "note" => ("/metadata/annotations", "example.com/note"),
            "finalizer" => ("/metadata", "finalizers"),
            "size" => ("/spec/resources/requests", "storage"),
            "class" => ("/spec", "volumeAttributesClassName"),
            "volume" => ("/spec", "volumeName"),
            _ => panic!("{word}"),
        };
        claim.pointer_mut(place).expect(place)[key] = value.into();
    }
    claim
}

const CLAIM_ROWS: [ClaimRow; 16] = [
    ("UPDATE", Some("plain"), Some("size=2Gi"), None),
    ("UPDATE", Some("plain"), Some("class=gold"), None),
    ("UPDATE", Some("plain"), Some("at=2 label=a note=a"), None),
    ("UPDATE", Some("plain"), Some("label=a"), Some(2)),
    ("UPDATE", Some("plain"), Some("note=a"), Some(2)),
    ("UPDATE", Some("plain"), Some("marked=1"), None),
    ("UPDATE", Some("plain"), Some("marked=1 note=a"), Some(2)),
    ("UPDATE", Some("plain"), Some("finalizer=a"), Some(1)),
    ("UPDATE", Some("plain"), Some("volume=other"), Some(3)),
    ("UPDATE status", Some("plain"), Some("plain"), Some(0)),
    ("CREATE", None, Some("plain"), Some(0)),
    // DELETE, of a marked PVC by its uid.
    ("DELETE u", Some("marked=1"), None, None),
    ("DELETE", Some("marked=1"), None, Some(0)),
    ("DELETE other", Some("marked=1"), None, Some(0)),
    ("DELETE u", Some("plain"), None, Some(0)),
    ("DELETE u", Some("note=marked"), None, Some(0)),
];

pub(super) fn rows() -> Vec<GuardRow> {
    let of_sets = CONTROLLER_ROWS
        .into_iter()
        .map(|(operation, options, old, object, expected)| {
            let subresource = if options == "status" { options } else { "" };
            let policy = options
                .split(' ')
                .next()
                .filter(|policy| !["", "dry", "status"].contains(policy));
            let mut request = request(CONTROLLER, operation, subresource, SETS);
            request["dryRun"] = options.ends_with("dry").into();
            request["options"] = policy.map_or(json!({}), |policy| json!({"propagationPolicy": policy}));
            let [old_set, object_set] = [old, object].map(|words| words.map_or(Value::Null, written));
            GuardRow {
                what: format!("{operation} {options}: {old:?} to {object:?}"),
                request,
                old: old_set,
                object: object_set,
                rollouts: Vec::new(),
                expected: expected.map(|number| format!("claim-rollout-controller-statefulsets: validation {number}")),
            }
        });
    let of_claims = CLAIM_ROWS.into_iter().map(|(how, old, object, expected)| {
        let (operation, rest) = how.split_once(' ').unwrap_or((how, ""));
        let subresource = if rest == "status" { rest } else { "" };
        let mut request = request(CONTROLLER, operation, subresource, ("", "persistentvolumeclaims"));
        if operation == "DELETE" && !rest.is_empty() {
            request["options"] = json!({"preconditions": {"uid": rest}});
        }
        let [old_claim, object_claim] = [old, object].map(|words| words.map_or(Value::Null, claim));
        GuardRow {
            what: format!("a PVC: {how}: {old:?} to {object:?}"),
            request,
            old: old_claim,
            object: object_claim,
            rollouts: Vec::new(),
            expected: expected
                .map(|number| format!("claim-rollout-controller-persistentvolumeclaims: validation {number}")),
        }
    });
    of_sets.chain(of_claims).chain(of_annotations()).collect()
}

/// Of our annotations it may change those that no user writes.
fn of_annotations() -> Vec<GuardRow> {
    let own = ["phase", "ready", "staged", "staged-at"];
    let users = USER_KEYS
        .iter()
        .map(|known| known.key.trim_start_matches("claim-rollout.io/"));
    let others = users.chain(["withdraw", "anything"]).map(|key| (key, Some(1)));
    let mut rows = Vec::new();
    for (key, expected) in own.map(|key| (key, None)).into_iter().chain(others) {
        let with = |value: &str| json!({"metadata": {"name": "web", "uid": "u", "annotations": {format!("claim-rollout.io/{key}"): value}}});
        let without = json!({"metadata": {"name": "web", "uid": "u", "annotations": {"a": "b"}}});
        let without = || without.clone();
        let mut carried = written("marked");
        carried["metadata"]["annotations"] = with("x")["metadata"]["annotations"].clone();
        for (what, operation, old, object, expected) in [
            ("set", "UPDATE", without(), with("x"), expected),
            ("changed", "UPDATE", with("x"), with("y"), expected),
            ("removed", "UPDATE", with("x"), without(), expected),
            ("carried over", "CREATE", Value::Null, carried, None),
        ] {
            let mut object = object;
            if operation == "UPDATE" && what != "removed" {
                object["metadata"]["annotations"]["a"] = "b".into();
            }
            let mut old = old;
            if operation == "UPDATE" {
                old["metadata"]["annotations"]["a"] = "b".into();
            }
            rows.push(GuardRow {
                what: format!("the controller: {key} is {what}"),
                request: request(CONTROLLER, operation, "", SETS),
                old,
                object,
                rollouts: Vec::new(),
                expected: expected
                    .map(|number: u8| format!("claim-rollout-controller-statefulsets: validation {number}")),
            });
        }
    }
    rows
}
