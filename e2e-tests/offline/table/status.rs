//! Row S1: a status update also stores annotations and owners, without the right to update StatefulSets.

use claim_rollout::templates::{Phase, UpdatePolicy};
use serde_json::json;

use super::case::{Case, update};
use super::objects::{CONTROLLER, Object, access, staged_change, web};

pub(super) fn cases() -> Vec<Case> {
    [annotations(), owners()].into_iter().flatten().collect()
}

fn status(sentence: impl Into<String>, old: &Object, new: &Object) -> Case {
    update("S1", sentence, old, new).asking("/subResource", "status").shipped()
}

/// Every annotation of our domain is put back, whatever its value.
fn annotations() -> Vec<Case> {
    let forged = staged_change(&web().size("500Ti"), UpdatePolicy::InPlace, Phase::RollingOut);
    let rolling = web().staged(&web().size("20Gi"));
    let beside = rolling.clone().beside("RollingOut", "x.2");
    let mut cases = vec![
        status("templates and a staged change in a status", &rolling, &web().size("1Gi")).expects("mutate kept"),
        status("the status ends the waiting", &beside, &beside.clone().beside("Complete", "x.0")).expects("mutate phase=RollingOut ready=x.2"),
        status("only the status", &rolling, &rolling.clone().with("/status/replicas", 2)).expects("pass"),
        status("the status with another annotation", &rolling, &rolling.clone().with("/metadata/annotations/example.com~1note", "x")).expects("pass"),
        status("the controller writes a status", &web(), &rolling).by(CONTROLLER).expects("pass"),
    ];
    for (key, value, removed, put_back) in [
        ("staged", &*forged, "-staged", "kept"),
        ("phase", "Complete", "-phase", "phase=Complete"),
        ("ready", "x.0", "-ready", "ready=x.0"),
        ("staged-at", "x", "-staged-at", "staged-at=x"),
        ("update-policy", "InPlace", "-annotation:claim-rollout.io/update-policy", "annotation:claim-rollout.io/update-policy=InPlace"),
        ("paused", "false", "-annotation:claim-rollout.io/paused", "annotation:claim-rollout.io/paused=false"),
        ("other", "x", "-annotation:claim-rollout.io/other", "annotation:claim-rollout.io/other=x"),
    ] {
        let noted = web().note(key, value);
        cases.push(status(format!("a status brings {key}"), &web(), &noted).expects(format!("mutate {removed}")));
        cases.push(status(format!("a status drops {key}"), &noted, &web()).expects(format!("mutate {put_back}")));
    }
    cases
}

/// A status update that takes the owner away can start a rollout.
fn owners() -> Vec<Case> {
    let rolling = web().staged(&web().size("20Gi"));
    let lazy = web().staged_change(&web().size("20Gi"), UpdatePolicy::OnClaimDelete, Phase::RollingOut);
    let stopped = rolling.clone().policy("OnClaimDelete");
    let freed = |sentence: &str, set: &Object| status(sentence, &set.clone().owned(), set);
    let mut cases = vec![
        freed("the owner goes, and claims stay as they are", &stopped).expects("pass"),
        freed("the owner goes, and claims stay as they are by the staged change", &lazy).expects("pass"),
        freed("the owner goes, and nothing is staged", &web()).expects("pass"),
        freed("the owner goes, and the staged change is forged", &web().note("staged", "{}")).expects("pass"),
        status("the owner stays", &lazy.clone().in_place().owned(), &lazy.clone().in_place().owned()).expects("pass"),
        status("an owner comes", &rolling, &rolling.clone().owned()).expects("pass"),
        freed("the owner goes, whose sets are managed", &rolling).settings(json!({"ownedSets": "Stage"})).expects("pass"),
        freed("the owner goes where templates are mutable", &rolling).settings(json!({"mode": "ValidateOnly"})).expects("pass"),
    ];
    for (sentence, set) in [
        ("the owner goes, and claims follow by the staged change", &rolling),
        ("the owner goes, and claims follow by the annotation", &lazy.in_place()),
    ] {
        for (may, expected) in [(true, "pass who"), (false, "deny 403 who \"user alice cannot patch\"")] {
            cases.push(freed(&format!("{sentence} ({may})"), set).cluster(vec![access("alice", may)]).expects(expected));
        }
    }
    cases
}
