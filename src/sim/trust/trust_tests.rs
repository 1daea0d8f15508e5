//! The search finds every hole, and nothing else.

use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};

use super::guard::{self, CelGuard};
use super::judges::{Hole, Judges};
use super::manifests::{REVISED, template};
use super::{TrustTally, play, search};
use crate::templates::{ClaimTemplate, Revision};

fn found(judges: &Judges, sequences: u64) -> Option<String> {
    (0..sequences).find_map(|seed| play(seed, judges, &mut TrustTally::default()).err())
}

#[test]
fn s18_no_sequence_changes_a_pvc() {
    for judges in [
        Judges::policy(None),
        Judges::guard(None).expect("the guard"),
        Judges::both(None, None).expect("both"),
    ] {
        let tried = search((0, 300, 1), &judges, &AtomicBool::new(false)).unwrap_or_else(|trace| panic!("{trace}"));
        assert_eq!(tried.sequences, 300);
        assert!(tried.stored > 120 && tried.stored < tried.requests, "{tried:?}");
        assert_eq!(tried.guarded > 30, judges.guard.is_some(), "{tried:?}");
    }
}

#[test]
fn s18_open_hole_is_found() {
    for hole in [Hole::Status, Hole::Owner] {
        for judges in [
            Judges::policy(Some(hole)),
            Judges::guard(Some(hole)).expect("the guard"),
        ] {
            assert!(
                found(&judges, 1_000).is_some_and(|trace| trace.contains("BROKEN S18")),
                "{hole:?} {judges:?}"
            );
        }
    }
}

#[test]
fn replaced_set_is_disturbed_through_a_hole_of_the_guard() {
    let guard = Judges::guard(Some(Hole::Replacing)).expect("the guard");
    let trace = found(&guard, 1_000).expect("a sequence");
    assert!(trace.contains("being replaced"), "{trace}");
}

#[test]
fn s18_hole_in_one_is_closed_by_the_other() {
    for hole in [Hole::Status, Hole::Owner] {
        for (of_policy, of_guard) in [(Some(hole), None), (None, Some(hole))] {
            let judges = Judges::both(of_policy, of_guard).expect("both");
            assert_eq!(found(&judges, 300), None, "{hole:?}");
        }
    }
}

/// A request about a StatefulSet of bob, and its outcome.
type Row = (&'static str, &'static str, Value, Value, Option<&'static str>);

#[test]
fn guard_in_model_denies_as_api_server() {
    let with = |annotations: Value| json!({"metadata": {"name": "web", "annotations": annotations}});
    let (staged, right, phase) = (
        json!({"claim-rollout.io/staged": "{}"}),
        Some("validation 1"),
        Some("validation 2"),
    );
    let finalizer = json!({"metadata": {"name": "web", "finalizers": ["claim-rollout.io/replacing"]}});
    let replacing = |note: &str, withdraw: &str| {
        let mut set = finalizer.clone();
        set["metadata"]["annotations"] = json!({"a": note});
        if !withdraw.is_empty() {
            set["metadata"]["annotations"]["claim-rollout.io/withdraw"] = withdraw.into();
        }
        set
    };
    let right_now = Some("claim-rollout-replacing: validation 2");
    let rows: [Row; 12] = [
        ("UPDATE", "", with(json!({"a": "1"})), with(json!({"a": "2"})), None),
        (
            "UPDATE",
            "status",
            with(json!({})),
            with(json!({"claim-rollout.io/paused": "true"})),
            Some("validation 0"),
        ),
        ("UPDATE", "", with(json!({})), with(staged.clone()), right),
        ("UPDATE", "", with(staged.clone()), with(json!({})), None),
        (
            "UPDATE",
            "",
            with(json!({})),
            with(json!({"claim-rollout.io/phase": "Complete"})),
            phase,
        ),
        ("CREATE", "", Value::Null, with(staged), right),
        ("CREATE", "", Value::Null, with(json!({})), None),
        ("DELETE", "", finalizer.clone(), Value::Null, Some("validation 0")),
        ("DELETE", "", with(json!({})), Value::Null, None),
        ("UPDATE", "", replacing("1", ""), replacing("2", ""), None),
        ("UPDATE", "", replacing("1", ""), replacing("1", "x"), right_now),
        ("UPDATE", "", replacing("1", "x"), replacing("1", ""), right_now),
    ];
    let guard = CelGuard::of(&guard::manifests().expect("manifests")).expect("the guard");
    for (operation, subresource, old, object, expected) in rows {
        let request = json!({
            "resource": {"group": "apps", "version": "v1", "resource": "statefulsets"}, "subResource": subresource,
            "namespace": "shop", "operation": operation, "userInfo": {"username": "bob"},
        });
        let denial = guard.denial(&request, &object, &old);
        let is_expected = match (&denial, expected) {
            (Some(denial), Some(expected)) => denial.ends_with(expected),
            (denial, expected) => denial.is_none() && expected.is_none(),
        };
        assert!(is_expected, "{operation} {subresource} {old} {object}: {denial:?}");
    }
}

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
fn written(words: &str) -> Value {
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

#[test]
fn guard_in_model_allows_a_replacement_and_no_more() {
    let guard = CelGuard::of(&guard::manifests().expect("manifests")).expect("the guard");
    for (operation, options, old, object, expected) in CONTROLLER_ROWS {
        let subresource = if options == "status" { options } else { "" };
        let policy = options
            .split(' ')
            .next()
            .filter(|policy| !["", "dry", "status"].contains(policy));
        let request = json!({
            "resource": {"group": "apps", "version": "v1", "resource": "statefulsets"}, "subResource": subresource,
            "namespace": "shop", "operation": operation, "dryRun": options.ends_with("dry"),
            "options": policy.map_or(json!({}), |policy| json!({"propagationPolicy": policy})),
            "userInfo": {"username": crate::api::settings::DEFAULT_CONTROLLER_ACCOUNT},
        });
        let [old_set, new_set] = [old, object].map(|words| words.map_or(Value::Null, written));
        let denial = guard.denial(&request, &new_set, &old_set);
        let expected = expected.map(|number| format!("claim-rollout-controller-statefulsets: validation {number}"));
        assert_eq!(denial, expected, "{operation} {options}: {old:?} to {object:?}");
    }
}

/// The ClaimRollout of this name, while a replacement is in this phase and reports these replicas.
fn replacing(name: &str, phase: &str, replicas: Option<i64>) -> Value {
    let mut rollout = json!({"metadata": {"name": name}, "status": {"replacement": {"phase": phase}}});
    if let Some(replicas) = replicas {
        rollout["status"]["replacement"]["replicas"] = replicas.into();
    }
    rollout
}

/// The replicas with which somebody creates `web`, the phase and the replicas that the ClaimRollout reports, and whether
/// the guard denies it.
type CreateRow = (Option<i64>, &'static str, Option<i64>, bool);

const CREATE_ROWS: [CreateRow; 12] = [
    (None, "InProgress", Some(3), true),
    (Some(1), "InProgress", Some(3), true),
    (Some(2), "Stalled", Some(3), true),
    (Some(0), "Stalled", Some(1), true),
    (Some(3), "InProgress", Some(3), false),
    (Some(4), "Stalled", Some(3), false),
    (None, "InProgress", Some(1), false),
    (Some(0), "InProgress", Some(0), false),
    // It has ended, or did not begin.
    (None, "Replaced", Some(3), false),
    (None, "Refused", Some(3), false),
    (None, "InProgress", None, false),
    (None, "Stalled", None, false),
];

#[test]
fn create_with_fewer_replicas_is_denied_meanwhile() {
    let guard = CelGuard::of(&guard::manifests().expect("manifests")).expect("the guard");
    let denial = |user: &str, replicas: Option<i64>, rollouts: &[Value]| {
        let request = json!({
            "resource": {"group": "apps", "version": "v1", "resource": "statefulsets"}, "subResource": "",
            "namespace": "shop", "operation": "CREATE", "options": {}, "userInfo": {"username": user},
        });
        let mut set = written(if user == "bob" { "plain" } else { "marked" });
        set["spec"] = replicas.map_or(json!({}), |replicas| json!({ "replicas": replicas }));
        guard.denial_among(rollouts, &request, &set, &Value::Null)
    };
    let controller = crate::api::settings::DEFAULT_CONTROLLER_ACCOUNT;
    for (replicas, phase, reported, is_denied) in CREATE_ROWS {
        let what = format!("{replicas:?} {phase} {reported:?}");
        let expected = is_denied.then(|| "claim-rollout-creating: validation 0".to_owned());
        let [web, other] = ["web", "other"].map(|name| replacing(name, phase, reported));
        let fresh = json!({"metadata": {"name": "web-2"}});
        assert_eq!(denial("bob", replicas, std::slice::from_ref(&web)), expected, "{what}");
        assert_eq!(denial("bob", replicas, &[other.clone(), fresh.clone()]), None, "{what}");
        assert_eq!(denial(controller, replicas, std::slice::from_ref(&web)), None, "{what}");
        assert_eq!(denial("bob", replicas, &[other, fresh, web]), expected, "{what}");
    }
    let begins = json!({"metadata": {"name": "web"}});
    assert_eq!(denial("bob", None, &[begins]), None, "nothing is reported");
    assert_eq!(denial("bob", None, &[]), None, "no ClaimRollout");
}

#[test]
fn guard_in_model_is_deployed_guard() {
    let kustomization: Value =
        serde_saphyr::from_str(include_str!("../../../deploy/guard/kustomization.yaml")).expect("YAML");
    let files: Vec<&str> = guard::MANIFESTS.iter().map(|(file, _)| *file).collect();
    let mut deployed: Vec<&str> = kustomization["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    deployed.sort_unstable_by_key(|file| files.iter().position(|known| known == file));
    assert_eq!(deployed, files);
    assert_eq!(guard::manifests().expect("manifests").len(), 5);
}

#[test]
fn staged_revision_of_alice_is_constant() {
    let templates = ClaimTemplate::list_from_value(json!([template("20Gi")])).expect("a template");
    assert_eq!(Revision::of(&templates).as_str(), REVISED);
}
