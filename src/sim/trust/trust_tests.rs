//! The search finds every hole, and nothing else.

use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};

use super::guard::{self, CelGuard};
use super::judges::{Hole, Judges};
use super::manifests::{REVISED, template};
use super::{TrustTally, play, search};
use crate::templates::{ClaimTemplate, Revision};

fn found(judges: &Judges) -> Option<String> {
    (0..1_000).find_map(|seed| play(seed, judges, &mut TrustTally::default()).err())
}

#[test]
fn s18_no_sequence_changes_a_pvc() {
    for judges in [
        Judges::policy(None),
        Judges::guard(None).expect("the guard"),
        Judges::both(None, None).expect("both"),
    ] {
        let tried = search((0, 1_000, 1), &judges, &AtomicBool::new(false)).unwrap_or_else(|trace| panic!("{trace}"));
        assert_eq!(tried.sequences, 1_000);
        assert!(tried.stored > 400 && tried.stored < tried.requests, "{tried:?}");
        assert_eq!(tried.guarded > 100, judges.guard.is_some(), "{tried:?}");
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
                found(&judges).is_some_and(|trace| trace.contains("BROKEN S18")),
                "{hole:?} {judges:?}"
            );
        }
    }
}

#[test]
fn s18_hole_in_one_is_closed_by_the_other() {
    for hole in [Hole::Status, Hole::Owner] {
        for (of_policy, of_guard) in [(Some(hole), None), (None, Some(hole))] {
            let judges = Judges::both(of_policy, of_guard).expect("both");
            assert_eq!(found(&judges), None, "{hole:?}");
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
    let rows: [Row; 9] = [
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
    assert_eq!(guard::manifests().expect("manifests").len(), 4);
}

#[test]
fn staged_revision_of_alice_is_constant() {
    let templates = ClaimTemplate::list_from_value(json!([template("20Gi")])).expect("a template");
    assert_eq!(Revision::of(&templates).as_str(), REVISED);
}
