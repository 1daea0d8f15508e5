//! Rows C1, C3, U5 and N1 where somebody writes what only the policy may write, or makes a staged change roll out.

use serde_json::{Value, json};

use super::status::status;
use super::{Cluster, UID, annotated, decide_with, denial, edits, review, set, template, update};
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

/// A set for which alice staged 20Gi while claims stayed as they are.
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

/// What bob is answered who may change no claim, and what was asked about him.
pub(super) fn by_bob(mut review: Value, settings: &str) -> (Verdict, Vec<String>) {
    review["userInfo"]["username"] = "bob".into();
    let mut cluster = Cluster {
        answer: Ok(false),
        ..Cluster::of(vec![])
    };
    let verdict = decide_with(&review, settings, &mut cluster);
    (verdict, cluster.asked)
}

/// What bob does to a set that another controller owns and for which a change is staged.
#[test]
fn c3_on_an_owned_set_nothing_is_made_to_roll_out() {
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
    assert_eq!(
        verdict,
        Verdict::PASS,
        "nothing is staged: there is nothing to roll out"
    );
}

#[test]
fn c3_what_an_owned_set_had_staged_is_put_back() {
    let text = staged_under(UpdatePolicy::OnClaimDelete, "20Gi");
    let other = annotated(plain(), keys::STAGED, &staged_under(UpdatePolicy::InPlace, "99Gi"));
    for (sentence, old, new, expected) in [
        ("it comes", plain(), other.clone(), Edit::no_annotation(keys::STAGED)),
        (
            "it changes",
            waiting(),
            other,
            Edit::annotation(keys::STAGED, text.clone()),
        ),
        ("it goes", waiting(), plain(), Edit::annotation(keys::STAGED, text)),
    ] {
        let (verdict, _) = by_bob(update(&owned(old), &owned(new)), "{}");
        assert_eq!(edits(verdict), [expected], "{sentence}");
    }
}

/// Each last step of the ways by which what waits could reach existing claims.
#[test]
fn u5_whoever_makes_a_staged_change_roll_out_must_be_allowed_to() {
    let in_place = |set: Value| annotated(set, keys::UPDATE_POLICY, "InPlace");
    let rolling = annotated(plain(), keys::STAGED, &staged_under(UpdatePolicy::InPlace, "20Gi"));
    let stopped = annotated(rolling.clone(), keys::UPDATE_POLICY, "OnClaimDelete");
    for (sentence, old, new, is_asked) in [
        ("the annotation is set", waiting(), in_place(waiting()), true),
        (
            "it goes, and what was staged rules",
            stopped.clone(),
            rolling.clone(),
            true,
        ),
        (
            "it is made valid",
            annotated(rolling.clone(), keys::UPDATE_POLICY, "x"),
            in_place(rolling.clone()),
            true,
        ),
        ("the owner goes", owned(rolling.clone()), rolling.clone(), true),
        (
            "the owner goes and the annotation comes",
            owned(waiting()),
            in_place(waiting()),
            true,
        ),
        (
            "the owner goes, and claims stay as they are",
            owned(waiting()),
            waiting(),
            false,
        ),
        ("an owner comes", rolling.clone(), owned(rolling.clone()), false),
        ("it is stopped", rolling, stopped, false),
        (
            "the annotation of nothing staged goes",
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
            let says = "user bob cannot patch persistentvolumeclaims in namespace shop";
            assert_eq!((code, message.contains(says)), (403, true), "{sentence}: {message}");
        } else {
            assert_eq!(verdict, Verdict::PASS, "{sentence}");
        }
    }
}

#[test]
fn u5_recreate_asks_for_all_that_it_comes_to() {
    let new = annotated(set(&[template("data", "20Gi")]), keys::UPDATE_POLICY, "ReCreate");
    let mut cluster = Cluster::of(vec![]);
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
fn u5_replacing_takes_the_rights_on_statefulsets() {
    let new = annotated(plain(), keys::REPLACE_SET, "WhenComplete");
    let (verdict, asked) = by_bob(update(&plain(), &new), "{}");
    assert_eq!(
        (denial(verdict).0, asked.as_slice()),
        (403, ["bob dev,ops delete shop/statefulsets".to_owned()].as_slice())
    );
    let (verdict, asked) = by_bob(update(&new, &new), "{}");
    assert_eq!((verdict, asked.len()), (Verdict::PASS, 0), "it was there before");
}

#[test]
fn u1_phase_and_ready_are_ours_and_go_with_the_staged_change() {
    let told = |set: Value| annotated(annotated(set, keys::PHASE, "Staged"), keys::READY, "a.2");
    let old = told(waiting());
    let back = [
        Edit::annotation(keys::PHASE, "Staged".to_owned()),
        Edit::annotation(keys::READY, "a.2".to_owned()),
    ];
    let (verdict, _) = by_bob(update(&old, &waiting()), "{}");
    assert_eq!(edits(verdict), back, "dropped");
    let forged = annotated(annotated(old.clone(), keys::PHASE, "Complete"), keys::READY, "a.0");
    let (verdict, _) = by_bob(update(&old, &forged), "{}");
    assert_eq!(edits(verdict), back, "changed");
    let gone = [keys::PHASE, keys::READY].map(Edit::no_annotation);
    let (verdict, _) = by_bob(update(&plain(), &told(plain())), "{}");
    assert_eq!(edits(verdict), gone, "forged, with nothing staged");
}

#[test]
fn c1_a_staged_change_of_a_backup_becomes_the_templates() {
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
    let says =
        "claim-rollout: StatefulSet web gets the templates that were staged where it comes from: data 10Gi -> 20Gi";
    assert_eq!(remarks.warnings, [says]);

    for (sentence, settings, set, says) in [
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
            Some("that came along is removed"),
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
        assert_eq!(remarks.warnings.len(), usize::from(says.is_some()), "{sentence}");
        assert!(
            says.is_none_or(|says| remarks.warnings[0].contains(says)),
            "{sentence}: {remarks:?}"
        );
    }
}

#[test]
fn n1_what_only_the_policy_writes_is_denied_where_nothing_is_mutated() {
    let only = r#"{"mode":"ValidateOnly"}"#;
    for key in [keys::STAGED, keys::PHASE, keys::READY] {
        let came = annotated(plain(), key, "x");
        let changed = annotated(plain(), key, "y");
        for (sentence, review) in [
            ("created", review("CREATE", None, Some(&came))),
            ("brought", update(&plain(), &came)),
            ("changed", update(&came, &changed)),
            ("brought by the status", status(&plain(), &came)),
            ("brought on an owned set", update(&owned(plain()), &owned(came.clone()))),
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
fn an_unknown_key_of_our_domain_gets_a_warning() {
    for (key, value, says) in [
        (
            "claim-rollout.io/updatepolicy",
            "InPlace",
            "annotation claim-rollout.io/updatepolicy is not known",
        ),
        (
            keys::REPLACE_SET,
            "WhenComplete",
            "this version does not replace StatefulSets",
        ),
    ] {
        let new = annotated(plain(), key, value);
        for review in [update(&plain(), &new), review("CREATE", None, Some(&new))] {
            let mut cluster = Cluster::of(vec![]);
            let Verdict::Pass(remarks) = decide_with(&review, "{}", &mut cluster) else {
                panic!("{key}")
            };
            assert!(
                remarks.warnings[0].contains(says) && remarks.warnings.len() == 1,
                "{remarks:?}"
            );
        }
        let mut cluster = Cluster::of(vec![]);
        let again = decide_with(&update(&new, &new), "{}", &mut cluster);
        assert_eq!(again, Verdict::PASS, "said once: {key}");
    }
}
