//! Every row of the design's sections on the rollout and on failures, as tables. A row compares the whole list of actions,
//! so that nothing else is done.

mod asked;
mod budgets;
mod claim_states;
mod edges;
mod expansion;
mod failures;
mod idle;
mod in_motion;
mod kep_table;
mod lag;
mod middle;
mod on_delete;
mod quiet;
mod quotas;
mod recover;
mod replies;
mod restart;
mod words;

use super::fixtures::{apply, complete, web};
use super::plan::plan;
use super::replica::At;
use super::snapshot::Snapshot;
use super::{Action, EventNotice, SetReady};
use crate::templates::Ready;

/// The Pod of this replica is asked for again; nobody's, if none is named.
fn nudge(web: &Snapshot, ordinal: Option<u32>) -> Action {
    let revision = web.target();
    Action::SetReady(SetReady {
        set_uid: "set-uid".to_owned(),
        resource_version: "100".to_owned(),
        ready: ordinal.map(|ordinal| Ready { revision, ordinal }),
    })
}

/// Everything that is done, each action as the one word that stands for its whole value: `grow 2` is the apply that brings
/// `data-web-2` to the wish, `nudge 2` has its Pod asked for again. What is told is named by its reason.
fn done(web: &Snapshot) -> String {
    let words = plan(web).actions.into_iter().map(|action| match action {
        Action::Event(EventNotice { reason, .. }) => reason.as_str().to_owned(),
        Action::Evict(evict) => evict.pod.replace("web-", "evict "),
        action if action == complete(web) => "complete".to_owned(),
        action if action == nudge(web, None) => "nudge nobody".to_owned(),
        action => {
            let grown = web.set.ordinals().find(|ordinal| action == apply(web, *ordinal));
            let nudged = web.set.ordinals().find(|ordinal| action == nudge(web, Some(*ordinal)));
            match (grown, nudged) {
                (Some(ordinal), _) => format!("grow {ordinal}"),
                (_, Some(ordinal)) => format!("nudge {ordinal}"),
                _ => format!("{action:?}"),
            }
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Puts the Pod of the highest replica where a table says. The update revision is then `web-1`.
fn put_pod(web: &mut Snapshot, at: At) {
    let name = "web-2";
    match at {
        At::Absent => _ = web.pods.remove(name),
        At::Outdated => web.pods.get_mut(name).expect("a Pod").revision = "web-0".to_owned(),
        At::Updated => web.pods.get_mut(name).expect("a Pod").revision = "web-1".to_owned(),
    }
}

/// The Pods change as well: these run the old revision.
fn old_pods(web: &mut Snapshot, ordinals: &[u32]) {
    for ordinal in ordinals {
        web.pods.get_mut(&format!("web-{ordinal}")).expect("a Pod").revision = "web-0".to_owned();
    }
}

/// What is seen, and what is done.
type Row = (&'static str, fn(&mut Snapshot), &'static str);

fn check(rows: &[Row]) {
    for (sentence, change, expected) in rows {
        let mut web = web();
        change(&mut web);
        assert_eq!(done(&web), *expected, "{sentence}");
    }
}

/// The rollout is in its middle: the highest replica is done.
fn middle(web: &mut Snapshot) {
    web.done("data-web-2");
}

/// So it is with Pods that change as well: the highest one was replaced.
fn middle_of_pods(web: &mut Snapshot) {
    middle(web);
    old_pods(web, &[1, 0]);
}

fn all_done(web: &mut Snapshot) {
    for name in ["data-web-2", "data-web-1", "data-web-0"] {
        web.done(name);
    }
}

fn unready(web: &mut Snapshot, ordinal: u32) {
    web.pods.get_mut(&format!("web-{ordinal}")).unwrap().ready_since = None;
}
