//! Row U1 with `shrink: Recover`: a withdrawal stages the live templates, which undoes a growth that was not reached.

use serde_json::Value;

use super::{FakeCluster, UID, annotated, decide_with, set, staged_change, template, update};
use crate::admission::{CannotAsk, Edit, Verdict};
use crate::templates::{Phase, StagedChange, UpdatePolicy, keys};

const RECOVER: &str = r#"{"shrink":"Recover","defaultUpdatePolicy":"InPlace"}"#;
const ASKED: &str = "alice dev,ops patch shop/persistentvolumeclaims";
const STAYS: &str = "claim-rollout: withdrew data 10Gi -> 20Gi; updated PVCs stay as they are";

/// A set whose staged change has these sizes of `data` and `log`, in this phase, under this policy.
fn staged(sizes: [&str; 2], phase: Phase, policy: UpdatePolicy) -> Value {
    let text = staged_change(&[template("data", sizes[0]), template("log", sizes[1])], phase);
    let mut change = StagedChange::read(&text, UID).expect("valid");
    change.update_policy = policy;
    let live = set(&[template("data", "10Gi"), template("log", "1Gi")]);
    annotated(live, keys::STAGED, &change.write().expect("short"))
}

fn revision(set: &Value) -> String {
    let text = set["metadata"]["annotations"][keys::STAGED].as_str().expect("staged");
    StagedChange::read(text, UID).expect("valid").revision().to_string()
}

fn withdrawal(old: &Value) -> Value {
    update(old, &annotated(old.clone(), keys::WITHDRAW, &revision(old)))
}

/// The edits that stage the live templates.
fn taken_back() -> Vec<Edit> {
    let text = staged_change(&[template("data", "10Gi"), template("log", "1Gi")], Phase::RollingOut);
    vec![
        Edit::annotation(keys::STAGED, text),
        Edit::annotation(keys::PHASE, "RollingOut".to_owned()),
        Edit::no_annotation(keys::WITHDRAW),
    ]
}

fn dropped() -> Vec<Edit> {
    vec![Edit::no_annotation(keys::STAGED), Edit::no_annotation(keys::WITHDRAW)]
}

/// The edits, the warnings and the lookups.
fn decided(review: &Value, settings: &str, answer: Result<bool, CannotAsk>) -> (Vec<Edit>, Vec<String>, Vec<String>) {
    let mut cluster = FakeCluster {
        answer,
        ..FakeCluster::of(vec![])
    };
    let Verdict::Stage(edits, remarks) = decide_with(review, settings, &mut cluster) else {
        panic!("expected Stage: {review}")
    };
    assert_eq!(remarks.audit[0].0, "withdrawn", "{review}");
    (edits, remarks.warnings, cluster.asked)
}

#[test]
fn u1_withdrawn_growth_is_undone_if_allowed() {
    use Phase::{Complete, RollingOut};
    use UpdatePolicy::{InPlace, OnClaimDelete};
    let deny = r#"{"defaultUpdatePolicy":"InPlace"}"#;
    for (sentence, sizes, phase, policy, settings, expected) in [
        (
            "the first template grows",
            ["20Gi", "1Gi"],
            RollingOut,
            InPlace,
            RECOVER,
            true,
        ),
        (
            "the second template grows",
            ["10Gi", "2Gi"],
            RollingOut,
            InPlace,
            RECOVER,
            true,
        ),
        ("the setting is Deny", ["20Gi", "1Gi"], RollingOut, InPlace, deny, false),
        (
            "the rollout is complete",
            ["20Gi", "1Gi"],
            Complete,
            InPlace,
            RECOVER,
            false,
        ),
        (
            "claims are not updated",
            ["20Gi", "1Gi"],
            RollingOut,
            OnClaimDelete,
            RECOVER,
            false,
        ),
        (
            "the live templates are staged",
            ["10Gi", "1Gi"],
            RollingOut,
            InPlace,
            RECOVER,
            false,
        ),
    ] {
        let old = staged(sizes, phase, policy);
        let (edits, warnings, asked) = decided(&withdrawal(&old), settings, Ok(true));
        assert_eq!(edits, if expected { taken_back() } else { dropped() }, "{sentence}");
        assert_eq!(asked.len(), usize::from(expected), "{sentence}: {asked:?}");
        let end = "sizes that PVCs have not reached are taken back";
        assert_eq!(warnings[0].ends_with(end), expected, "{sentence}: {warnings:?}");
        assert_eq!(warnings.len(), 1 + usize::from(expected), "{sentence}: {warnings:?}");
    }
}

#[test]
fn u1_withdrawal_without_right_undoes_nothing() {
    let old = staged(["20Gi", "1Gi"], Phase::RollingOut, UpdatePolicy::InPlace);
    for answer in [Ok(false), Err(CannotAsk("no capability".to_owned()))] {
        let (edits, warnings, asked) = decided(&withdrawal(&old), RECOVER, answer.clone());
        assert_eq!((edits, asked), (dropped(), vec![ASKED.to_owned()]), "{answer:?}");
        let [stays, why] = &warnings[..] else {
            panic!("{warnings:?}")
        };
        assert_eq!(stays, STAYS, "{answer:?}");
        let keeps = "claim-rollout: PVC requests stay as they are: ";
        assert!(why.starts_with(keeps) && why.contains("user alice"), "{why}");
    }
}

#[test]
fn u1_withdrawal_is_not_repeated() {
    let old = staged(["10Gi", "1Gi"], Phase::RollingOut, UpdatePolicy::InPlace);
    let mut cluster = FakeCluster::of(vec![]);
    let scaled = annotated(old.clone(), "note", "x");
    assert_eq!(
        decide_with(&update(&old, &scaled), RECOVER, &mut cluster),
        Verdict::PASS
    );
    assert_eq!(cluster.asked, Vec::<String>::new());
}

#[test]
fn u1_withdrawal_with_on_claim_delete_undoes_nothing() {
    let old = staged(["20Gi", "1Gi"], Phase::RollingOut, UpdatePolicy::InPlace);
    let mut review = withdrawal(&old);
    review["object"] = annotated(review["object"].clone(), keys::UPDATE_POLICY, "OnClaimDelete");
    let (edits, warnings, asked) = decided(&review, RECOVER, Ok(true));
    assert_eq!((edits, asked.len()), (dropped(), 0));
    assert_eq!(warnings, [STAYS]);
}
