//! Staged changes that cannot be decoded: invalid, or of a newer version.

use super::status::status;
use super::trust::{ASKED, by_bob, owned, plain, staged_under, waiting};
use super::{FakeCluster, annotated, decide_with, denial, edits, set, template, update};
use crate::admission::{Edit, Verdict};
use crate::templates::{UpdatePolicy, keys};

const NEWER: &str = r#"{"rings":[1],"version":2}"#;

#[test]
fn unreadable_staged_change_is_removed_with_warning() {
    let text = staged_under(UpdatePolicy::InPlace, "20Gi");
    for (sentence, unreadable, cause) in [
        (
            "an unknown field",
            text.replace("\"version\":1", "\"version\":1,\"x\":1"),
            "an unknown field",
        ),
        (
            "an unknown phase",
            text.replace("RollingOut", "Done"),
            "an unknown phase",
        ),
        (
            "a foreign uid",
            text.replace(super::UID, "another"),
            "the uid is of another StatefulSet",
        ),
        (
            "another hash",
            text.replace("20Gi", "99Gi"),
            "the revision is not of these templates",
        ),
        (
            "an older version",
            text.replace("\"version\":1", "\"version\":0"),
            "expected version 1",
        ),
        ("no number", r#"{"version":"2"}"#.to_owned(), "expected version 1"),
        ("no JSON", "x".to_owned(), "no JSON object"),
        ("too long", " ".repeat(9000), "at most 8192 bytes"),
    ] {
        let old = annotated(plain(), keys::STAGED, &unreadable);
        let edited = annotated(old.clone(), "note", "x");
        let Verdict::Stage(found, remarks) = by_bob(update(&old, &edited), "{}").0 else {
            panic!("{sentence}")
        };
        assert_eq!(found, [Edit::no_annotation(keys::STAGED)], "{sentence}");
        let warning = remarks.warnings.join("\n");
        assert!(
            warning.contains("annotation claim-rollout.io/staged is removed") && warning.contains(cause),
            "{warning}"
        );
        // No warning for a request that adds or removes the annotation.
        let brought = by_bob(update(&plain(), &old), "{}").0;
        assert_eq!(edits(brought), [Edit::no_annotation(keys::STAGED)], "{sentence}");
        assert_eq!(by_bob(update(&old, &plain()), "{}").0, Verdict::PASS, "{sentence}");
    }
}

#[test]
fn newer_staged_change_is_kept() {
    let old = annotated(annotated(plain(), keys::STAGED, NEWER), keys::PHASE, "Halted");
    let put_back = |key, value: &str| Edit::annotation(key, value.to_owned());
    let mut without = plain();
    without["spec"]["replicas"] = 5.into();
    let mut scaled = old.clone();
    scaled["spec"]["replicas"] = 5.into();
    for (sentence, new, expected) in [
        ("an unrelated edit", scaled, vec![]),
        (
            "an escape",
            annotated(old.clone(), keys::UPDATE_POLICY, "OnClaimDelete"),
            vec![],
        ),
        (
            "the staged change is removed",
            without,
            vec![put_back(keys::PHASE, "Halted"), put_back(keys::STAGED, NEWER)],
        ),
        (
            "the staged change is edited",
            annotated(old.clone(), keys::STAGED, "{}"),
            vec![put_back(keys::STAGED, NEWER)],
        ),
    ] {
        let (verdict, asked) = by_bob(update(&old, &new), "{}");
        let found = if expected.is_empty() {
            vec![]
        } else {
            edits(verdict.clone())
        };
        assert_eq!((found, asked), (expected.clone(), vec![]), "{sentence}");
        assert_eq!(verdict == Verdict::PASS, expected.is_empty(), "{sentence}");
    }
    let brought = by_bob(update(&plain(), &annotated(plain(), keys::STAGED, NEWER)), "{}").0;
    assert_eq!(
        edits(brought),
        [Edit::no_annotation(keys::STAGED)],
        "added by the request"
    );
}

#[test]
fn newer_staged_change_is_not_replaced() {
    let old = annotated(plain(), keys::STAGED, NEWER);
    let grown = annotated(set(&[template("data", "20Gi")]), keys::STAGED, NEWER);
    let mut cluster = FakeCluster::of(vec![]);
    let (code, message) = denial(decide_with(&update(&old, &grown), "{}", &mut cluster));
    assert_eq!((code, message.contains("a newer version")), (403, true), "{message}");
}

#[test]
fn newer_staged_change_rolls_out_only_with_right() {
    let old = annotated(plain(), keys::STAGED, NEWER);
    let in_place = annotated(old.clone(), keys::UPDATE_POLICY, "InPlace");
    let stopped = annotated(old.clone(), keys::UPDATE_POLICY, "OnClaimDelete");
    for (sentence, review) in [
        ("the annotation is set", update(&old, &in_place)),
        ("the annotation is removed", update(&stopped, &old)),
        ("the owner is removed", update(&owned(old.clone()), &old)),
        (
            "the owner is removed in a status update",
            status(&owned(old.clone()), &old),
        ),
    ] {
        let (verdict, asked) = by_bob(review.clone(), "{}");
        assert_eq!((denial(verdict).0, asked), (403, vec![ASKED.to_owned()]), "{sentence}");
        let allowed = decide_with(&review, "{}", &mut FakeCluster::of(vec![]));
        assert_eq!(allowed, Verdict::PASS, "{sentence}");
    }
    assert_eq!(
        by_bob(update(&waiting(), &waiting()), "{}").0,
        Verdict::PASS,
        "a staged change of this version"
    );
}
