//! Rows C1, C3, U5 and N1: requests that write annotations of the policy, or make a staged change roll out.

use serde_json::{Value, json};

use super::status::status;
use super::{FakeCluster, UID, annotated, decide_with, denial, edits, review, set, template, update};
use crate::admission::{Edit, Verdict};
use crate::templates::{ClaimTemplate, Phase, StagedChange, UpdatePolicy, keys};

const LIVE: &str = "10Gi";
pub(super) const ASKED: &str = "bob dev,ops patch shop/persistentvolumeclaims";

pub(super) fn staged_under(policy: UpdatePolicy, size: &str) -> String {
    let change = StagedChange {
        by: "alice".to_owned(),
        manager: "helm".to_owned(),
        phase: Phase::RollingOut,
        templates: ClaimTemplate::list_from_value(json!([template("data", size)])).expect("a template"),
        uid: UID.to_owned(),
        update_policy: policy,
    };
    change.write().expect("short")
}

pub(super) fn plain() -> Value {
    set(&[template("data", LIVE)])
}

/// A set for which alice staged 20Gi under `OnClaimDelete`.
pub(super) fn waiting() -> Value {
    annotated(
        plain(),
        keys::STAGED,
        &staged_under(UpdatePolicy::OnClaimDelete, "20Gi"),
    )
}

pub(super) fn owned(mut set: Value) -> Value {
    set["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "controller": true}]);
    set
}

/// The verdict for bob, who may not patch claims, and the checks of authority.
pub(super) fn by_bob(mut review: Value, settings: &str) -> (Verdict, Vec<String>) {
    review["userInfo"]["username"] = "bob".into();
    let mut cluster = FakeCluster {
        answer: Ok(false),
        ..FakeCluster::of(vec![])
    };
    let verdict = decide_with(&review, settings, &mut cluster);
    (verdict, cluster.asked)
}

#[test]
fn c3_owned_set_does_not_start_rollout() {
    let old = owned(waiting());
    let put_back = |key: &'static str| vec![Edit::no_annotation(key)];
    for (key, value, expected) in [
        (keys::UPDATE_POLICY, "InPlace", put_back(keys::UPDATE_POLICY)),
        (keys::UPDATE_POLICY, "nonsense", put_back(keys::UPDATE_POLICY)),
        (keys::UPDATE_POLICY, "OnClaimDelete", vec![]),
        (keys::UPDATE_POLICY, "OnDelete", vec![]),
        (keys::SYNC, "Async", put_back(keys::SYNC)),
        (keys::REPLACE_SET, "WhenComplete", put_back(keys::REPLACE_SET)),
        (keys::PAUSED, "true", vec![]),
        (keys::WITHDRAW, "x", vec![]),
        (keys::PHASE, "Complete", put_back(keys::PHASE)),
        (keys::READY, "x.1", put_back(keys::READY)),
    ] {
        let (verdict, asked) = by_bob(update(&old, &annotated(old.clone(), key, value)), "{}");
        let found = match verdict {
            Verdict::Pass(_) => vec![],
            verdict => edits(verdict),
        };
        assert_eq!((found, asked), (expected, vec![]), "{key}: {value}");
    }
    let switched = annotated(owned(plain()), keys::UPDATE_POLICY, "InPlace");
    let (verdict, _) = by_bob(update(&owned(plain()), &switched), "{}");
    assert_eq!(verdict, Verdict::PASS, "nothing is staged");
}

#[test]
fn c3_staged_change_of_owned_set_is_restored() {
    let text = staged_under(UpdatePolicy::OnClaimDelete, "20Gi");
    let other = annotated(plain(), keys::STAGED, &staged_under(UpdatePolicy::InPlace, "99Gi"));
    for (sentence, old, new, expected) in [
        ("added", plain(), other.clone(), Edit::no_annotation(keys::STAGED)),
        (
            "changed",
            waiting(),
            other,
            Edit::annotation(keys::STAGED, text.clone()),
        ),
        ("removed", waiting(), plain(), Edit::annotation(keys::STAGED, text)),
    ] {
        let (verdict, _) = by_bob(update(&owned(old), &owned(new)), "{}");
        assert_eq!(edits(verdict), [expected], "{sentence}");
    }
}

/// Each request that could make a staged change reach existing claims.
#[test]
fn u5_start_of_rollout_needs_right() {
    let in_place = |set: Value| annotated(set, keys::UPDATE_POLICY, "InPlace");
    let rolling = annotated(plain(), keys::STAGED, &staged_under(UpdatePolicy::InPlace, "20Gi"));
    let stopped = annotated(rolling.clone(), keys::UPDATE_POLICY, "OnClaimDelete");
    for (sentence, old, new, is_asked) in [
        ("the annotation is set", waiting(), in_place(waiting()), true),
        (
            "the annotation is removed, and the staged policy applies",
            stopped.clone(),
            rolling.clone(),
            true,
        ),
        (
            "the annotation becomes valid",
            annotated(rolling.clone(), keys::UPDATE_POLICY, "x"),
            in_place(rolling.clone()),
            true,
        ),
        ("the owner is removed", owned(rolling.clone()), rolling.clone(), true),
        (
            "the owner is removed and the annotation is set",
            owned(waiting()),
            in_place(waiting()),
            true,
        ),
        (
            "the owner is removed under OnClaimDelete",
            owned(waiting()),
            waiting(),
            false,
        ),
        ("an owner is added", rolling.clone(), owned(rolling.clone()), false),
        ("the rollout is stopped", rolling, stopped, false),
        (
            "the annotation is removed with nothing staged",
            in_place(plain()),
            plain(),
            false,
        ),
    ] {
        let (verdict, asked) = by_bob(update(&old, &new), "{}");
        let expected: &[&str] = if is_asked { &[ASKED] } else { &[] };
        assert_eq!(asked, expected, "{sentence}");
        if is_asked {
            let (code, message) = denial(verdict);
            let cause = "user bob cannot patch persistentvolumeclaims in namespace shop";
            assert_eq!((code, message.contains(cause)), (403, true), "{sentence}: {message}");
        } else {
            assert_eq!(verdict, Verdict::PASS, "{sentence}");
        }
    }
}

#[test]
fn u5_recreate_needs_all_its_rights() {
    let new = annotated(set(&[template("data", "20Gi")]), keys::UPDATE_POLICY, "ReCreate");
    let mut cluster = FakeCluster::of(vec![]);
    let verdict = decide_with(
        &update(&plain(), &new),
        r#"{"allowReCreate":true,"pvcChecks":"Off"}"#,
        &mut cluster,
    );
    assert!(matches!(verdict, Verdict::Stage(..)), "{verdict:?}");
    let alice = "alice dev,ops";
    let asked = [
        format!("{alice} patch shop/persistentvolumeclaims"),
        format!("{alice} delete shop/persistentvolumeclaims"),
        format!("{alice} create shop/pods/eviction"),
    ];
    assert_eq!(cluster.asked, asked);
}

#[test]
fn u1_phase_and_ready_are_restored_or_removed() {
    let marked = |set: Value| annotated(annotated(set, keys::PHASE, "Staged"), keys::READY, "a.2");
    let old = marked(waiting());
    let back = [
        Edit::annotation(keys::PHASE, "Staged".to_owned()),
        Edit::annotation(keys::READY, "a.2".to_owned()),
    ];
    let (verdict, _) = by_bob(update(&old, &waiting()), "{}");
    assert_eq!(edits(verdict), back, "dropped");
    let forged = annotated(annotated(old.clone(), keys::PHASE, "Complete"), keys::READY, "a.0");
    let (verdict, _) = by_bob(update(&old, &forged), "{}");
    assert_eq!(edits(verdict), back, "changed");
    let removed = [keys::PHASE, keys::READY].map(Edit::no_annotation);
    let (verdict, _) = by_bob(update(&plain(), &marked(plain())), "{}");
    assert_eq!(edits(verdict), removed, "forged, with nothing staged");
}

#[test]
fn c1_staged_change_from_backup_becomes_templates() {
    let text = staged_under(UpdatePolicy::InPlace, "20Gi").replace(UID, "another");
    let restored = annotated(annotated(plain(), keys::STAGED, &text), keys::PHASE, "RollingOut");
    let create = |settings: &str, set: &Value| by_bob(review("CREATE", None, Some(set)), settings);
    let removed = [keys::STAGED, keys::PHASE].map(Edit::no_annotation);

    let (verdict, asked) = create("{}", &restored);
    let Verdict::Stage(found, remarks) = verdict else {
        panic!("{verdict:?}")
    };
    let [Edit::SetTemplates(templates), rest @ ..] = found.as_slice() else {
        panic!("{found:?}")
    };
    let templates = ClaimTemplate::read_list(templates).expect("templates");
    assert_eq!(templates[0].storage.expect("a size").to_string(), "20Gi");
    assert_eq!((rest, asked.len()), (removed.as_slice(), 0));
    let warning = "claim-rollout: StatefulSet web gets the staged templates it was created with: data 10Gi -> 20Gi";
    assert_eq!(remarks.warnings, [warning]);

    for (sentence, settings, set, warning) in [
        (
            "beyond a ceiling",
            r#"{"maxStorage":{"*":"15Gi"}}"#,
            restored.clone(),
            Some("at most 15Gi"),
        ),
        (
            "unreadable",
            "{}",
            annotated(restored.clone(), keys::STAGED, "x"),
            Some("is removed"),
        ),
        (
            "the same templates",
            "{}",
            {
                let mut same = restored;
                same["spec"]["volumeClaimTemplates"] = json!([template("data", "20Gi")]);
                same
            },
            None,
        ),
    ] {
        let (verdict, _) = create(settings, &set);
        let Verdict::Stage(found, remarks) = verdict else {
            panic!("{sentence}: {verdict:?}")
        };
        assert_eq!(found, removed, "{sentence}");
        assert_eq!(remarks.warnings.len(), usize::from(warning.is_some()), "{sentence}");
        assert!(
            warning.is_none_or(|text| remarks.warnings[0].contains(text)),
            "{sentence}: {remarks:?}"
        );
    }
}

#[test]
fn n1_policy_annotations_in_validate_only_are_denied() {
    let only = r#"{"mode":"ValidateOnly"}"#;
    for key in [keys::STAGED, keys::PHASE, keys::READY] {
        let came = annotated(plain(), key, "x");
        let changed = annotated(plain(), key, "y");
        for (sentence, review) in [
            ("created", review("CREATE", None, Some(&came))),
            ("added", update(&plain(), &came)),
            ("changed", update(&came, &changed)),
            ("added in a status update", status(&plain(), &came)),
            ("added on an owned set", update(&owned(plain()), &owned(came.clone()))),
        ] {
            let (verdict, _) = by_bob(review, only);
            let (code, message) = denial(verdict);
            assert_eq!((code, message.contains(key)), (403, true), "{sentence}: {message}");
        }
        assert_eq!(by_bob(update(&came, &plain()), only).0, Verdict::PASS, "removed: {key}");
        assert_eq!(by_bob(update(&came, &came), only).0, Verdict::PASS, "kept: {key}");
    }
}

#[test]
fn unknown_key_of_our_domain_gets_warning() {
    let new = annotated(plain(), "claim-rollout.io/updatepolicy", "InPlace");
    for review in [update(&plain(), &new), review("CREATE", None, Some(&new))] {
        let Verdict::Pass(remarks) = decide_with(&review, "{}", &mut FakeCluster::of(vec![])) else {
            panic!("{review}")
        };
        let warning = "claim-rollout: annotation claim-rollout.io/updatepolicy is not known and has no effect";
        assert_eq!(remarks.warnings, [warning]);
    }
    let again = decide_with(&update(&new, &new), "{}", &mut FakeCluster::of(vec![]));
    assert_eq!(again, Verdict::PASS, "only one warning");
}
