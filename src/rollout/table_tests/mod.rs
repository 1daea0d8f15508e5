//! The rows of the design about the rollout and about failures, as tables. Each row compares the whole list of actions,
//! so that no other action is taken. [`words`] has the changes that the rows name.

mod advance;
mod budgets;
mod budgets_left;
mod claim_states;
mod early;
mod expansion;
mod failures;
mod idle;
mod idle_report;
mod immutable;
mod in_motion;
mod messages;
mod middle;
mod mutable;
mod next_pod;
mod node_expansion;
mod on_delete;
mod pods;
mod quiet;
mod quotas;
mod recover;
mod recreate;
mod recreate_deleted;
mod recreate_obstacles;
mod recreate_snapshots;
mod recreate_steps;
mod replies;
mod restart;
mod scaled_away;
mod scope;
mod settings_rules;
mod stagings;
pub(crate) mod words;

use super::assessment::At;
use super::fixtures::{apply, complete, rows, web};
use super::plan::plan;
use super::snapshot::Snapshot;
use super::{Action, EventNotice, SetReady, SetStaged};
use crate::api::SetVersion;
use crate::templates::{Phase, Ready};
use words::{Word, act, common};

/// Names this replica in the annotation `ready`, or removes the annotation.
fn nudge(web: &Snapshot, ordinal: Option<u32>) -> Action {
    let revision = web.target();
    Action::SetReady(SetReady {
        set: SetVersion {
            uid: "set-uid".to_owned(),
            resource_version: "100".to_owned(),
        },
        ready: ordinal.map(|ordinal| Ready { revision, ordinal }),
    })
}

/// All actions, each as a short text for its whole value: `grow 2` applies `data-web-2`, `nudge 2` names its Pod in the
/// annotation `ready`, and an Event is its reason.
fn done(web: &Snapshot) -> String {
    let texts = plan(web).actions.into_iter().map(|action| text(web, action));
    texts.collect::<Vec<_>>().join(", ")
}

fn text(web: &Snapshot, action: Action) -> String {
    match action {
        Action::Event(EventNotice { reason, .. }) => reason.as_str().to_owned(),
        Action::Evict(evict) => evict.pod.replace("web-", "evict "),
        Action::TakeSnapshot(take) => format!("snapshot {}", take.of.name),
        Action::MarkClaim(claim) => format!("mark {}", claim.name),
        Action::UnmarkClaim(claim) => format!("unmark {}", claim.name),
        Action::DeleteClaim(claim) => format!("delete {}", claim.name),
        Action::SetStagedAt(staged) => format!("staged-at {}", staged.at),
        Action::HoldStaged(_) => "hold".to_owned(),
        action if action == complete(web) => "complete".to_owned(),
        Action::SetStaged(SetStaged {
            change: Some(change), ..
        }) if change.phase == Phase::RollingOut => format!("back {}", change.replicas),
        action if action == nudge(web, None) => "nudge none".to_owned(),
        action => {
            let grown = web
                .set
                .ordinals()
                .chain(web.set.scaled_away())
                .find(|ordinal| action == apply(web, *ordinal));
            let nudged = web.set.ordinals().find(|ordinal| action == nudge(web, Some(*ordinal)));
            match (grown, nudged) {
                (Some(ordinal), _) => format!("grow {ordinal}"),
                (_, Some(ordinal)) => format!("nudge {ordinal}"),
                _ => format!("{action:?}"),
            }
        }
    }
}

/// Gives the Pod of the highest replica this revision. The update revision is `web-1`.
fn put_pod(web: &mut Snapshot, at: At) {
    let name = "web-2";
    match at {
        At::Absent => _ = web.pods.remove(name),
        At::Outdated => web.pods.get_mut(name).expect("a Pod").revision = "web-0".to_owned(),
        At::Updated => web.pods.get_mut(name).expect("a Pod").revision = "web-1".to_owned(),
    }
}

/// Pods change as well: these run the old revision.
fn old_pods(web: &mut Snapshot, ordinals: &[u32]) {
    for ordinal in ordinals {
        web.pods.get_mut(&format!("web-{ordinal}")).expect("a Pod").revision = "web-0".to_owned();
    }
}

/// Checks rows of why, a change of the fixture, and the actions.
fn check(table: &str) {
    check_with(web, table, common);
}

/// The same from this snapshot, with the words of this table.
fn check_with(snapshot: fn() -> Snapshot, table: &str, word: Word) {
    for [row, change, expected] in rows(table) {
        let mut web = snapshot();
        act(&mut web, change, word);
        assert_eq!(done(&web), expected, "{row}");
    }
}

fn all_done(web: &mut Snapshot) {
    act(web, "done 2 1 0", common);
}
