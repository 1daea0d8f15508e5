//! Failures: the state, the condition, the Event and the retry.

use std::sync::Arc;

use super::done;
use super::words::{act, common};
use crate::gate::PodManagement;
use crate::rollout::fixtures::{apply, complete, events, gi, refused, rows, web, writes};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::Snapshot;
use crate::rollout::{Previous, Reason};
use crate::templates::{ClaimTemplate, Phase, ProgressDeadline};

/// Sets the spec of the highest claim, as in a template.
fn asks(web: &mut Snapshot, spec: &str) {
    let text = format!(r#"{{"metadata":{{"name":"data"}},"spec":{spec}}}"#);
    web.claim("data-web-2").spec = Arc::new(ClaimTemplate::read(&text).unwrap().spec);
}

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match (word, numbers) {
        ("ReadWriteMany", []) => asks(web, r#"{"accessModes":["ReadWriteMany"]}"#),
        ("Block", []) => asks(web, r#"{"accessModes":["ReadWriteOnce"],"volumeMode":"Block"}"#),
        ("another staging", []) => web.previous.as_mut().unwrap().staging = None,
        ("deadline", [seconds]) => web.set.progress_deadline = ProgressDeadline(*seconds),
        _ => common(web, word, numbers),
    }
}

/// A change of the claim; its state and reason, the reason of the condition `Stalled`, the actions, and the requeue.
const ROWS: &str = "
    denied at 1000    | Refused Forbidden      | ClaimRefused    | FailedToPatchPVC         | 4
    denied at 999     | Refused Forbidden      | ClaimRefused    | FailedToPatchPVC         | 3
    denied at 996     | Refused Forbidden      | ClaimRefused    | grow 2, FailedToPatchPVC | 300
    ReadWriteMany     | Refused Differs        | ClaimRefused    | FailedToPatchPVC         | 300
    Block             | Refused Differs        | ClaimRefused    | FailedToPatchPVC         | 300
    infeasible 2      | Infeasible Infeasible  | ClaimInfeasible | ClaimExpansionFailed     | 300
    node infeasible 2 | Infeasible Infeasible  | ClaimInfeasible | ClaimExpansionFailed     | 300
    applied 2, class fast 2, modify Infeasible 2 | Infeasible Infeasible | ClaimInfeasible | ClaimExpansionFailed \
        | 300
    foreign 2         | Foreign OwnedByAnother | ClaimForeign    | ClaimForeign             | 300
";

#[test]
fn failure_stalls_the_rollout_and_emits_one_event() {
    for [change, state, stalled, expected, requeue] in rows(ROWS) {
        let mut web = web();
        act(&mut web, change, word);
        assert_eq!(done(&web), expected, "{state}");
        let found = plan(&web);
        let progress = &found.progress;
        let claim = &progress.claims[0];
        assert_eq!(format!("{} {}", claim.state, claim.reason), state);
        assert_eq!(
            (progress.stalled.holds, progress.stalled.reason),
            (true, stalled),
            "{state}"
        );
        let requeue = requeue.parse().ok();
        assert_eq!((found.requeue_after, found.settled), (requeue, false), "{state}");
        // One Event for each cause.
        let reported = Previous {
            claims: [(
                claim.name.clone(),
                (claim.state.to_string(), claim.reason.clone(), claim.message.clone()),
            )]
            .into(),
            ..web.previous.clone().unwrap()
        };
        web.previous = Some(reported);
        assert_eq!(events(&web), [], "{state}");
        web.previous.as_mut().unwrap().claims.get_mut("data-web-2").unwrap().2 = "another cause".to_owned();
        assert_eq!(events(&web).len(), 1, "{state}");
        // With Parallel the claim stops no other.
        web.set.pod_management = PodManagement::Parallel;
        assert!(writes(&web).contains(&apply(&web, 1)), "{state}");
    }
}

/// The state and reason in the report, a change; the state and reason now, and the actions.
const REPORTED: &str = "
    Refused Invalid          |                 | Refused Invalid   | grow 2
    Refused Invalid          | denied at 1000  | Refused Forbidden | FailedToPatchPVC
    Refused Invalid          | paused          | Pending Paused    |
    Refused Invalid          | another staging | Pending Waiting   | grow 2, ClaimsStaged
    // The claim or a budget shows these, and does not any more.
    Refused WaitsForBudget   |                 | Pending Waiting   | grow 2
    Refused Differs          |                 | Pending Waiting   | grow 2
    Refused CreatedOtherwise |                 | Pending Waiting   | grow 2
    Refused Lost             |                 | Pending Waiting   | grow 2
    Infeasible Infeasible    |                 | Pending Waiting   | grow 2
";

#[test]
fn denial_in_the_report_counts_until_the_next_answer() {
    for [reported, change, expected, actions] in rows(REPORTED) {
        let mut web = web();
        let (state, cause) = reported.split_once(' ').unwrap();
        let row = (state.to_owned(), cause.to_owned(), "no".to_owned());
        web.previous.as_mut().unwrap().claims = [("data-web-2".to_owned(), row)].into();
        act(&mut web, change, word);
        let claim = &plan(&web).progress.claims[0];
        let found = format!("{} {}", claim.state, claim.reason);
        assert_eq!((&*found, &*done(&web)), (expected, actions), "{reported}");
    }
}

#[test]
fn claim_with_extra_fields_follows() {
    for spec in [
        r#"{"accessModes":["ReadWriteOnce"],"storageClassName":"slow","volumeMode":"Filesystem"}"#,
        r#"{"accessModes":["ReadWriteOnce"],"dataSource":{"kind":"VolumeSnapshot","name":"s"}}"#,
    ] {
        let mut web = web();
        asks(&mut web, spec);
        assert_eq!(done(&web), "grow 2", "{spec}");
    }
}

#[test]
fn claim_with_a_difference_is_reported_with_both_values() {
    let mut web = web();
    asks(&mut web, r#"{"accessModes":["ReadWriteMany"]}"#);
    web.claim("data-web-2").request = gi(2);
    web.claim("data-web-1").request = gi(2);
    let message = "data-web-2: the template has spec.accessModes [\"ReadWriteOnce\"], but the PVC has \
                   [\"ReadWriteMany\"], which cannot change in place";
    assert_eq!(events(&web), [(Reason::FailedToPatchPVC, message.to_owned())]);
    let template = &plan(&web).progress.by_template[0];
    assert_eq!((template.compatible, template.compatible_ready), (1, 0));
}

/// Only one controller remembers a denied apply. Another would report something else, and the two would overwrite each
/// other's reports forever.
#[test]
fn denied_apply_does_not_matter_while_kept_back() {
    let gates: [fn(&mut Snapshot); 2] = [|web| web.set.partition = 3, |web| web.set.paused = true];
    for gate in gates {
        let mut web = web();
        gate(&mut web);
        let never = plan(&web);
        refused(&mut web, 996);
        assert_eq!(plan(&web), never);
    }
}

/// The annotations of the set are written at the end, and when a Pod waits. PVCs are patched anyway.
#[test]
fn denied_write_to_the_set_stalls_and_stops_no_pvc() {
    let mut web = web();
    web.write_refused = Some(("denied by a policy".to_owned(), 1030));
    let found = plan(&web);
    assert_eq!(
        (done(&web).as_str(), found.requeue_after),
        ("grow 2, ClaimRolloutStalled", Some(30))
    );
    let stalled = found.progress.stalled;
    let message = "Failed to update the StatefulSet: denied by a policy";
    assert_eq!((stalled.reason, stalled.message.as_str()), ("WriteRefused", message));
    for ordinal in 0..3 {
        web.done(&format!("data-web-{ordinal}"));
    }
    web.previous.as_mut().unwrap().ready = "WriteRefused".to_owned();
    assert_eq!(writes(&web), [], "no retry before its time");
    web.now = 1030;
    assert_eq!(writes(&web), [complete(&web)]);
}

/// It could not be tried again: nothing would end the condition.
#[test]
fn denied_write_to_the_set_does_not_matter_while_kept_back() {
    let gates: [fn(&mut Snapshot); 2] = [|web| web.set.partition = 3, |web| web.set.paused = true];
    for gate in gates {
        let mut web = web();
        gate(&mut web);
        let never = plan(&web).progress;
        web.write_refused = Some(("denied by a policy".to_owned(), 1030));
        assert_eq!(plan(&web).progress, never);
    }
}

/// Tools that wait for the phase would read that nothing is left to do.
#[test]
fn completion_that_cannot_be_taken_back_writes_no_pvc() {
    let mut web = web();
    web.phase(Phase::Complete);
    let taken_back = writes(&web);
    assert!(
        taken_back.len() > 1 && taken_back.contains(&apply(&web, 2)),
        "{taken_back:?}"
    );
    web.write_refused = Some(("denied by a policy".to_owned(), 1030));
    assert_eq!(writes(&web), []);
    web.now = 1030;
    assert_eq!(writes(&web), taken_back, "both are tried again");
}

/// A replica came back and its PVC was updated, before the denied write that takes the completion back was retried.
#[test]
fn denied_write_not_needed_any_more_is_not_reported() {
    let mut web = web();
    web.write_refused = Some(("denied by a policy".to_owned(), 1030));
    for ordinal in 0..3 {
        web.done(&format!("data-web-{ordinal}"));
    }
    assert_eq!(plan(&web).progress.ready.reason, "WriteRefused", "it is not complete");
    web.phase(Phase::Complete);
    let found = plan(&web);
    assert_eq!((found.progress.ready.reason, found.settled), ("Complete", true));
}

/// The message of a quota contains the present usage: the cause is the same.
#[test]
fn same_cause_with_other_numbers_emits_one_event() {
    let quota =
        |used: &str| format!("exceeded quota: q, requested: requests.storage=1Gi, used: requests.storage={used}");
    for (message, known, emitted_again) in [
        (quota("4Gi"), quota("3500Mi"), false),
        (quota("4Gi"), quota("4Gi").replace("quota: q", "quota: r"), true),
        ("no such class gold".to_owned(), "no such class silver".to_owned(), true),
    ] {
        let mut web = web();
        refused(&mut web, 1000);
        web.refusals.get_mut("data-web-2-uid").unwrap().message = message.clone();
        let claim = ("Refused".to_owned(), "Forbidden".to_owned(), known.clone());
        web.previous
            .as_mut()
            .unwrap()
            .claims
            .insert("data-web-2".to_owned(), claim);
        assert_eq!(!events(&web).is_empty(), emitted_again, "{message} after {known}");
    }
}

/// The last progress, and whether the rollout is stalled. The deadline is 600 seconds unless the user sets one.
#[test]
fn rollout_without_progress_stalls_at_its_deadline() {
    for (row, change, stalled) in [
        ("a claim at 950, and it is 1549", "now 1549", false),
        ("a claim at 950, and it is 1550", "now 1550", true),
        (
            "a Pod that the rollout does not wait for has become Ready since",
            "Pod ready since 0 1540",
            true,
        ),
        ("the user sets a deadline", "deadline 700", false),
        ("the rollout is paused", "paused", false),
        ("nothing was reported before", "nothing reported", false),
    ] {
        let mut web = web();
        web.applied("data-web-2").resizing = true;
        web.now = 1550;
        act(&mut web, change, word);
        let found = plan(&web).progress.stalled;
        assert_eq!(found.holds, stalled, "{row}");
        if stalled {
            let message = "No progress for 600 seconds: 0 of 3 replicas are ready; data-web-2 is Expanding: ";
            assert!(found.message.starts_with(message), "{}", found.message);
            assert_eq!(events(&web), [(Reason::ClaimRolloutStalled, found.message)]);
        } else {
            assert_eq!(
                events(&web)
                    .iter()
                    .find(|events| events.0 == Reason::ClaimRolloutStalled),
                None,
                "{row}"
            );
        }
    }
}

#[test]
fn progress_deadline_requeues() {
    let mut web = web();
    web.applied("data-web-2").resizing = true;
    web.now = 1500;
    assert_eq!(plan(&web).requeue_after, Some(50));
}
