//! Every state of a claim, wherever its Pod is, with and without other Pods that change, for both ways to manage Pods.

use std::sync::Arc;

use super::{done, old_pods, put_pod};
use crate::json::Map;
use crate::rollout::fixtures::{gi, refused, state, web};
use crate::rollout::plan::plan;
use crate::rollout::replica::At;
use crate::rollout::snapshot::{Modify, PodManagement, Resize, Snapshot};
use crate::templates::ClaimTemplate;

/// What is done when the highest of three replicas is so, and the two below it are behind: with OrderedReady, and after a
/// slash with Parallel where that differs.
///
/// `2`: its claim is written; `1`: that of the next replica; `P`: its Pod is asked for again; nothing: nothing
/// is done. The other Pods run the update revision, or all are to be replaced.
const TABLE: &str = "
    claim            | Pod    | it alone | all Pods | told
    Pending          | Absent | 2        | 2        |
    Pending          | A      | 2        | 2        |
    Pending          | B      | 2        | 2        |
    Unbound          | Absent | 1        |          |
    Unbound          | A      |          |          |
    Unbound          | B      | /1       | /1       |
    Unbound at B     | Absent | 1        |          |
    Unbound at B     | A      |          |          |
    Unbound at B     | B      | /1       | /1       |
    Applied          | Absent |          |          |
    Applied          | A      |          |          |
    Applied          | B      |          |          |
    Expanding        | Absent |          |          |
    Expanding        | A      |          |          |
    Expanding        | B      |          |          |
    NodeExpanding    | Absent | 1        |          |
    NodeExpanding    | A      | P        | P        |
    NodeExpanding    | B      |          |          |
    Modifying        | Absent |          |          |
    Modifying        | A      |          |          |
    Modifying        | B      |          |          |
    Infeasible       | Absent | /1       | /1       | ClaimExpansionFailed
    Infeasible       | A      | /1       | /1       | ClaimExpansionFailed
    Infeasible       | B      | /1       | /1       | ClaimExpansionFailed
    Refused          | Absent | /1       | /1       | FailedToPatchPVC
    Refused          | A      | /1       | /1       | FailedToPatchPVC
    Refused          | B      | /1       | /1       | FailedToPatchPVC
    Refused, due     | Absent | 2/2 1    | 2/2 1    | FailedToPatchPVC
    Refused, due     | A      | 2/2 1    | 2/2 1    | FailedToPatchPVC
    Refused, due     | B      | 2/2 1    | 2/2 1    | FailedToPatchPVC
    Refused, differs | Absent | /1       | /1       | FailedToPatchPVC
    Refused, differs | A      | /1       | /1       | FailedToPatchPVC
    Refused, differs | B      | /1       | /1       | FailedToPatchPVC
    Foreign          | Absent | /1       | /1       | ClaimForeign
    Foreign          | A      | /1       | /1       | ClaimForeign
    Foreign          | B      | /1       | /1       | ClaimForeign
    Terminating      | Absent | 1        |          |
    Terminating      | A      | P        | P        |
    Terminating      | B      | 1        | 1        |
    Missing          | Absent | 1        |          |
    Missing          | A      |          |          |
    Missing          | B      | 1        | 1        |
    Done             | Absent | 1        |          |
    Done             | A      | P        | P        |
    Done             | B      | 1        | 1        |
";

/// The state of the highest claim, and what brings it there.
type State = (&'static str, fn(&mut Snapshot));

const STATES: [State; 15] = [
    ("Pending", |_| {}),
    ("Unbound", |web| web.claim("data-web-2").bound = false),
    ("Unbound at B", |web| web.applied("data-web-2").bound = false),
    ("Applied", |web| _ = web.applied("data-web-2")),
    ("Expanding", |web| web.applied("data-web-2").resizing = true),
    ("NodeExpanding", |web| {
        web.applied("data-web-2").resize = Some(Resize::NodePending);
    }),
    ("Modifying", |web| {
        web.done("data-web-2");
        web.claim("data-web-2").modify = Some(Modify::InProgress);
        web.claim("data-web-2").class = Some("fast".to_owned());
    }),
    ("Infeasible", |web| {
        web.applied("data-web-2").resize = Some(Resize::ControllerInfeasible);
    }),
    ("Refused", |web| refused(web, 1000)),
    ("Refused, due", |web| refused(web, 900)),
    ("Refused, differs", |web| {
        let slow = r#"{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteMany"]}}"#;
        web.claim("data-web-2").spec = Arc::new(ClaimTemplate::read(slow).unwrap().spec);
    }),
    ("Foreign", |web| web.claim("data-web-2").labels = Map::new()),
    ("Terminating", |web| web.claim("data-web-2").terminating = true),
    ("Missing", |web| _ = web.claims.remove("data-web-2")),
    ("Done", |web| web.done("data-web-2")),
];

/// What is done, in the words of the table, and what is told.
fn cell(change: fn(&mut Snapshot), pod: At, old: &[u32], pod_management: PodManagement) -> (String, String) {
    let mut web = web();
    web.set.pod_management = pod_management;
    old_pods(&mut web, old);
    put_pod(&mut web, pod);
    change(&mut web);
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
fn a_claim_that_has_not_grown_is_being_modified_only_where_its_class_is_another_and_somebody_works_on_it() {
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
fn every_state_of_a_claim_wherever_its_pod_is() {
    let mut table = String::from("\n    claim            | Pod    | it alone | all Pods | told\n");
    for (name, change) in STATES {
        for pod in [At::Absent, At::Outdated, At::Updated] {
            let mut notices = Vec::new();
            let cells = [&[][..], &[1, 0]].map(|old| {
                let (ordered, events) = cell(change, pod, old, PodManagement::OrderedReady);
                let (parallel, also_told) = cell(change, pod, old, PodManagement::Parallel);
                notices.extend([events, also_told]);
                if ordered == parallel {
                    ordered
                } else {
                    format!("{ordered}/{parallel}")
                }
            });
            notices.dedup();
            let [alone, all] = cells;
            let line = format!(
                "    {name:<16} | {:<6} | {alone:<8} | {all:<8} | {}",
                format!("{pod:?}"),
                notices.join(" or "),
            );
            table += line.trim_end();
            table += "\n";
        }
        let mut web = web();
        change(&mut web);
        let expected = name.split([',', ' ']).next().unwrap_or_default();
        assert_eq!(state(&web, "data-web-2").as_str(), expected);
        assert_eq!(plan(&web).progress.claims.len(), if name == "Done" { 2 } else { 3 });
    }
    for (found, expected) in table.lines().zip(TABLE.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(table, TABLE);
}

/// Somebody has grown it by hand: it has what is wished, and is not counted as brought to the wish before it was.
#[test]
fn claim_that_is_large_enough_is_compatible_and_not_updated() {
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
