//! What counts as progress: a PVC or a Pod comes to a state that it had not reached before in this rollout.

use super::words::{act, common, pod};
use crate::api::Seconds;
use crate::rollout::Plan;
use crate::rollout::fixtures::{owner, trouble, web};
use crate::rollout::milestones::Milestones;
use crate::rollout::plan::plan;
use crate::rollout::snapshot::{Previous, Resize, Snapshot};

/// How often the controller reconciles.
const EVERY: Seconds = 60;

/// One decision, and its report.
fn reconcile(web: &mut Snapshot) -> Plan {
    let plan = plan(web);
    let progress = &plan.progress;
    let claims = progress.claims.iter().map(|claim| {
        let state = (claim.state.to_string(), claim.reason.clone(), claim.message.clone());
        (claim.name.clone(), state)
    });
    web.milestones = progress.milestones.clone();
    web.previous = Some(Previous {
        revision: progress.update_revision.clone(),
        staging: progress.staging.clone(),
        started: Some(progress.started),
        claims: claims.collect(),
        moved: progress.moved,
        ready: progress.ready.reason.to_owned(),
    });
    plan
}

/// The change in each minute, counted from 0.
type Minute = fn(&mut Snapshot, u64);

/// After how many minutes the rollout is stalled, of thirty.
fn stalls(begin: &str, change: Minute) -> Option<u64> {
    let mut web = web();
    act(&mut web, begin, common);
    reconcile(&mut web);
    (0..30).find(|minute| {
        web.now += EVERY;
        change(&mut web, *minute);
        reconcile(&mut web).progress.stalled.reason == "ProgressDeadlineExceeded"
    })
}

fn is_odd(minute: u64) -> bool {
    !minute.is_multiple_of(2)
}

fn fails_now_and_then(web: &mut Snapshot, minute: u64) {
    let troubles = is_odd(minute).then(|| trouble("ModifyVolumeError"));
    web.claim("data-web-2").troubles = troubles.into_iter().collect();
}

/// A backup mounts a PVC, in a Pod that is made anew each minute.
fn backup(web: &mut Snapshot, _: u64) {
    web.add_pod(0);
    let mut pod = web.pods["web-0"].clone();
    "backup".clone_into(&mut pod.name);
    pod.controller = Some(owner("Job", "backup", "job-uid"));
    (pod.created, pod.ready_since) = (web.now, Some(web.now));
    web.pods.insert(pod.name.clone(), pod);
}

/// What happens: the begin, the changes in each minute, and the minute in which the rollout is stalled.
type Row = (&'static str, &'static str, Minute, Option<u64>);

const ROWS: &[Row] = &[
    ("nothing", "applied 2", |_, _| {}, Some(9)),
    (
        "nothing, after a report with a time that has not come yet",
        "applied 2",
        |web, minute| {
            let moved = web.previous.as_mut().filter(|_| minute == 0);
            _ = moved.map(|previous| previous.moved = Some(web.now + 3600));
        },
        Some(10),
    ),
    (
        "a driver that fails and tries again: external-resizer 1.14",
        "modifying 2",
        fails_now_and_then,
        Some(9),
    ),
    (
        "an expansion that fails and begins anew",
        "expanding 2",
        |web, minute| web.claim("data-web-2").resizing = is_odd(minute),
        // It was Applied for the first time after a minute.
        Some(10),
    ),
    (
        "the controller starts anew each minute, and the driver fails and tries again",
        "modifying 2",
        |web, minute| {
            web.milestones = Milestones::default();
            fails_now_and_then(web, minute);
        },
        Some(9),
    ),
    ("a Job mounts a PVC now and then", "applied 2", backup, Some(9)),
    (
        "a Pod that the rollout does not wait for is Ready and not Ready in turns",
        "applied 2",
        |web, minute| pod(web, 0).ready_since = is_odd(minute).then_some(web.now),
        Some(9),
    ),
    (
        "the Pod that the rollout waits for is Ready and not Ready in turns",
        "done 2, old 1 0, unready 2",
        |web, minute| {
            web.set.min_ready_seconds = 90;
            pod(web, 2).ready_since = is_odd(minute).then_some(web.now);
        },
        // It gets minReadySeconds besides.
        Some(10),
    ),
    (
        "a new Pod cannot be scheduled, so that its PVC has no volume",
        "applied 2, unbound 2, no capacity 2, unready 2",
        |_, _| {},
        Some(9),
    ),
    (
        "an old Pod takes an hour to end",
        "done 2, old 2 1 0, ending at 2 4600",
        |_, _| {},
        None,
    ),
    (
        "the size after nine minutes, and the file system after nine more",
        "expanding 2",
        |web, minute| {
            let claim = web.claim("data-web-2");
            claim.resize = (minute >= 8).then_some(Resize::NodePending);
            if minute == 16 {
                web.done("data-web-2");
                web.claim("data-web-2").resize = None;
            }
        },
        Some(26),
    ),
    (
        "one Pod after the other, eight minutes each",
        "done 2 1 0, old 2 1 0",
        |web, minute| {
            if minute.is_multiple_of(8) && minute < 24 {
                let name = format!("web-{}", 2 - minute / 8);
                "web-1".clone_into(&mut web.pods.get_mut(&name).unwrap().revision);
            }
        },
        // Nobody executes the write that completes it.
        Some(26),
    ),
    (
        "the rollout is paused for long, and then goes on",
        "applied 2, paused",
        |web, minute| web.set.paused = minute < 15,
        Some(25),
    ),
];

#[test]
fn only_a_state_not_reached_before_is_progress() {
    for (row, begin, change, expected) in ROWS {
        assert_eq!(stalls(begin, *change), *expected, "{row}");
    }
}

/// `status.lastProgressTime` changes with progress alone, so that a report without progress is not written.
#[test]
fn time_of_progress_stays_without_progress() {
    for paused in [false, true] {
        let mut web = web();
        web.set.paused = paused;
        web.applied("data-web-2").resizing = true;
        let first = reconcile(&mut web).progress;
        web.now += EVERY;
        let second = reconcile(&mut web).progress;
        assert_eq!(first, second, "paused: {paused}");
    }
}

/// Another staging begins anew.
#[test]
fn other_staging_reaches_everything_anew() {
    let mut web = web();
    web.applied("data-web-2");
    reconcile(&mut web);
    web.now += EVERY;
    let known = web.milestones.clone();
    web.set.staged.as_mut().unwrap().staging = crate::rollout::fixtures::staging("xz246");
    let progress = reconcile(&mut web).progress;
    assert_eq!(progress.moved, Some(web.now));
    assert_ne!(progress.milestones.label, known.label);
}
