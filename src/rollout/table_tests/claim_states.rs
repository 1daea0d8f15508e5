//! Every state of a claim, for every revision of its Pod, with and without other Pods that change, with OrderedReady
//! and Parallel.

use super::words::{act, common};
use super::{done, old_pods, put_pod};
use crate::gate::PodManagement;
use crate::rollout::assessment::At;
use crate::rollout::fixtures::{gi, rows, state, web};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::Modify;

/// The actions when the highest of three replicas is in this state and the two below it are outdated: with
/// OrderedReady, and after a slash with Parallel where that differs.
///
/// `2`: its claim is written; `1`: the claim of the next replica is written; `P`: its Pod is named in `ready`; empty:
/// no action. The other Pods run the update revision, or all are to be replaced. The rows of Pending, Applied, Missing and
/// Done are the table of KEP-4650: a claim that is outdated, updated, absent, and updated and ready.
const TABLE: &str = "
    claim            | Pod      | it alone | all Pods | Event
    Pending          | Absent   | 2        | 2        |
    Pending          | Outdated | 2        | 2        |
    Pending          | Updated  | 2        | 2        |
    Unbound          | Absent   | 1        |          |
    Unbound          | Outdated |          |          |
    Unbound          | Updated  | /1       | /1       |
    Unbound updated  | Absent   | 1        |          |
    Unbound updated  | Outdated |          |          |
    Unbound updated  | Updated  | /1       | /1       |
    Refused, lost    | Absent   | 1        | 1        | FailedToPatchPVC
    Refused, lost    | Outdated | /1       | /1       | FailedToPatchPVC
    Refused, lost    | Updated  | /1       | /1       | FailedToPatchPVC
    Refused, lost B  | Absent   | 1        | 1        | FailedToPatchPVC
    Refused, lost B  | Outdated | /1       | /1       | FailedToPatchPVC
    Refused, lost B  | Updated  | /1       | /1       | FailedToPatchPVC
    Applied          | Absent   |          |          |
    Applied          | Outdated |          |          |
    Applied          | Updated  |          |          |
    Expanding        | Absent   |          |          |
    Expanding        | Outdated |          |          |
    Expanding        | Updated  |          |          |
    NodeExpanding    | Absent   | 1        |          |
    NodeExpanding    | Outdated | P        | P        |
    NodeExpanding    | Updated  |          |          |
    Modifying        | Absent   |          |          |
    Modifying        | Outdated |          |          |
    Modifying        | Updated  |          |          |
    Infeasible       | Absent   | /1       | /1       | ClaimExpansionFailed
    Infeasible       | Outdated | /1       | /1       | ClaimExpansionFailed
    Infeasible       | Updated  | /1       | /1       | ClaimExpansionFailed
    Refused          | Absent   | /1       | /1       | FailedToPatchPVC
    Refused          | Outdated | /1       | /1       | FailedToPatchPVC
    Refused          | Updated  | /1       | /1       | FailedToPatchPVC
    Refused, due     | Absent   | 2/2 1    | 2/2 1    | FailedToPatchPVC
    Refused, due     | Outdated | 2/2 1    | 2/2 1    | FailedToPatchPVC
    Refused, due     | Updated  | 2/2 1    | 2/2 1    | FailedToPatchPVC
    Refused, differs | Absent   | /1       | /1       | FailedToPatchPVC
    Refused, differs | Outdated | /1       | /1       | FailedToPatchPVC
    Refused, differs | Updated  | /1       | /1       | FailedToPatchPVC
    Foreign          | Absent   | /1       |          | ClaimForeign
    Foreign          | Outdated | P        | P        | ClaimForeign
    Foreign          | Updated  | /1       | /1       | ClaimForeign
    Terminating      | Absent   | 1        |          |
    Terminating      | Outdated | P        | P        |
    Terminating      | Updated  | 1        | 1        |
    Missing          | Absent   | 1        |          |
    Missing          | Outdated |          |          |
    Missing          | Updated  | 1        | 1        |
    Done             | Absent   | 1        |          |
    Done             | Outdated | P        | P        |
    Done             | Updated  | 1        | 1        |
";

/// The state of the highest claim, and the change that leads to it.
const STATES: &str = "
    Pending          |
    Unbound          | unbound 2
    Unbound updated  | applied 2, unbound 2
    Refused, lost    | lost 2
    Refused, lost B  | applied 2, lost 2
    Applied          | applied 2
    Expanding        | expanding 2
    NodeExpanding    | node pending 2
    Modifying        | modifying 2
    Infeasible       | infeasible 2
    Refused          | denied at 1000
    Refused, due     | denied at 900
    Refused, differs | another access mode 2
    Foreign          | foreign 2
    Terminating      | terminating 2
    Missing          | missing 2
    Done             | done 2
";

/// The actions, as in the table, and the Events.
fn cell(change: &str, pod: At, old: &[u32], pod_management: PodManagement) -> (String, String) {
    let mut web = web();
    web.set.pod_management = pod_management;
    old_pods(&mut web, old);
    put_pod(&mut web, pod);
    act(&mut web, change, common);
    let (mut acts, mut events) = (Vec::new(), Vec::new());
    for word in done(&web).split(", ") {
        match word {
            "" => {}
            "grow 2" => acts.push("2"),
            "grow 1" => acts.push("1"),
            "nudge 2" => acts.push("P"),
            other => events.push(other.to_owned()),
        }
    }
    (acts.join(" "), events.join(" "))
}

#[test]
fn claim_not_grown_is_modifying_only_with_a_new_class() {
    let found = |class: Option<&str>, modify: Option<Modify>| {
        let mut web = web();
        let claim = web.applied("data-web-2");
        (claim.class, claim.modify) = (class.map(str::to_owned), modify);
        state(&web, "data-web-2").as_str()
    };
    assert_eq!(found(Some("fast"), Some(Modify::InProgress)), "Modifying");
    assert_eq!(found(Some("fast"), None), "Applied");
    assert_eq!(found(None, Some(Modify::InProgress)), "Applied");
}

#[test]
fn claim_states_lead_to_the_actions_of_the_table() {
    let mut table = String::from("\n    claim            | Pod      | it alone | all Pods | Event\n");
    for [name, change] in rows(STATES) {
        for pod in [At::Absent, At::Outdated, At::Updated] {
            let mut notices = Vec::new();
            let cells = [&[][..], &[1, 0]].map(|old| {
                let (ordered, events) = cell(change, pod, old, PodManagement::OrderedReady);
                let (parallel, other_events) = cell(change, pod, old, PodManagement::Parallel);
                notices.extend([events, other_events]);
                if ordered == parallel {
                    ordered
                } else {
                    format!("{ordered}/{parallel}")
                }
            });
            notices.dedup();
            let [alone, all] = cells;
            let line = format!(
                "    {name:<16} | {:<8} | {alone:<8} | {all:<8} | {}",
                format!("{pod:?}"),
                notices.join(" or "),
            );
            table += line.trim_end();
            table += "\n";
        }
        let mut web = web();
        act(&mut web, change, common);
        let expected = name.split([',', ' ']).next().unwrap_or_default();
        assert_eq!(state(&web, "data-web-2").as_str(), expected);
        assert_eq!(plan(&web).progress.claims.len(), if name == "Done" { 2 } else { 3 });
    }
    for (found, expected) in table.lines().zip(TABLE.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(table, TABLE);
}

/// Somebody has grown the claim by hand: it has the desired size, and is not updated before it was written.
#[test]
fn claim_grown_by_hand_is_compatible_not_updated() {
    let mut web = web();
    let claim = web.claim("data-web-2");
    (claim.request, claim.capacity) = (gi(2), Some(gi(2)));
    let by_template = &plan(&web).progress.by_template[0];
    let counts = [by_template.updated, by_template.ready];
    assert_eq!(
        (counts, by_template.compatible, by_template.compatible_ready),
        ([0, 0], 1, 1)
    );
}
