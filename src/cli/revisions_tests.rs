use serde_json::{Value, json};

use super::RevisionHistory;
use crate::rollout::fixtures::staged_change;
use crate::templates::{ClaimTemplate, Revision, StagedChange};

pub(crate) fn template(size: &str) -> Value {
    json!({"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": size}}}})
}

pub(crate) fn revision(size: &str) -> String {
    let templates = ClaimTemplate::list_from_value(json!([template(size)])).expect("templates");
    Revision::of(&templates).to_string()
}

/// A set of 1Gi, with this size staged.
pub(crate) fn set(staged: Option<&str>) -> Value {
    let change = staged.map(|size| {
        let templates = ClaimTemplate::list_from_value(json!([template(size)])).expect("templates");
        let change = StagedChange {
            manager: "helm".to_owned(),
            ..staged_change(templates)
        };
        change.write().expect("a staged change")
    });
    json!({
        "metadata": {
            "name": "web", "namespace": "shop", "uid": "set-uid", "resourceVersion": "7",
            "annotations": change.map_or(json!({}), |change| json!({"claim-rollout.io/staged": change})),
        },
        "spec": {"replicas": 3, "volumeClaimTemplates": [template("1Gi")]},
    })
}

/// A ControllerRevision as the controller stores it.
pub(crate) fn stored(number: i64, size: &str) -> Value {
    json!({
        "metadata": {
            "name": format!("web-claims-{}", revision(size)), "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"claim-rollout.io/by": "bob", "claim-rollout.io/manager": "kubectl"},
        },
        "data": {"spec": {"volumeClaimTemplates": [template(size)]}},
        "revision": number,
    })
}

pub(crate) fn history(staged: Option<&str>, kept: &[Value]) -> RevisionHistory {
    RevisionHistory::of(&set(staged), kept).expect("a history")
}

/// Number, user and manager, phase, place, changes.
fn lines(history: &RevisionHistory) -> Vec<String> {
    let changes = history.changes();
    let line = |(entry, changes): (&super::HistoryEntry, &Vec<String>)| {
        let number = entry.number.map_or("-".to_owned(), |number| number.to_string());
        let phase = entry.phase.map_or("-".to_owned(), |phase| phase.to_string());
        format!(
            "{number} {}/{} {phase} {} {}",
            entry.by,
            entry.manager,
            if entry.is_live { "Live" } else { "Kept" },
            changes.join(", ")
        )
    };
    history.entries.iter().zip(&changes).map(line).collect()
}

#[test]
fn history_has_live_first_and_staged_last() {
    let kept = [stored(2, "3Gi"), stored(1, "2Gi")];
    assert_eq!(
        lines(&history(Some("3Gi"), &kept)),
        [
            "0 / - Live data 1Gi",
            "1 bob/kubectl - Kept data 1Gi -> 2Gi",
            "2 alice/helm RollingOut Kept data 2Gi -> 3Gi"
        ]
    );
    assert_eq!(
        lines(&history(Some("4Gi"), &kept)).last().map(String::as_str),
        Some("- alice/helm RollingOut Kept data 3Gi -> 4Gi"),
        "the controller has not read it yet"
    );
    assert_eq!(
        lines(&history(Some("2Gi"), &kept)).last().map(String::as_str),
        Some("1 alice/helm RollingOut Kept data 3Gi -> 2Gi"),
        "staged again, and not numbered anew yet"
    );
    assert_eq!(lines(&history(None, &[])), ["0 / - Live data 1Gi"]);
}

#[test]
fn history_names_an_added_and_a_removed_template_once() {
    let mut renamed = stored(1, "1Gi");
    renamed["data"]["spec"]["volumeClaimTemplates"][0]["metadata"]["name"] = json!("log");
    let changes = history(None, &[renamed]).changes();
    assert_eq!(changes[1], ["log added", "data removed"]);
}

#[test]
fn history_shows_a_live_revision_once() {
    let history = history(None, &[stored(1, "1Gi"), stored(2, "2Gi")]);
    assert_eq!(
        history.entries.iter().map(|entry| entry.is_live).collect::<Vec<_>>(),
        [true, false]
    );
}

#[test]
fn history_leaves_out_unreadable_revisions() {
    let mut broken = stored(1, "2Gi");
    broken["data"]["spec"]["volumeClaimTemplates"] = json!("none");
    assert_eq!(history(None, &[broken]).entries.len(), 1);
}

#[test]
fn find_by_revision_or_number() {
    let history = history(Some("3Gi"), &[stored(1, "2Gi"), stored(2, "3Gi")]);
    let found = |asked: &str| history.find(asked).map(|entry| entry.number);
    assert_eq!(found(&revision("2Gi")), Some(Some(1)));
    assert_eq!(found("2"), Some(Some(2)));
    assert_eq!(found("0"), Some(Some(0)));
    assert_eq!(found("9"), None);
}
