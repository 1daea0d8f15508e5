//! `claim-rollout.io/restart`: which Pod is evicted.

use super::{Row, check, old_pods, unready};
use crate::claims::progress::Resize;
use crate::rollout::fixtures::{owner, web};
use crate::rollout::snapshot::{PodView, Snapshot};
use crate::rollout::{Action, plan};
use crate::templates::Restart;

fn pod<'w>(web: &'w mut Snapshot, name: &str) -> &'w mut PodView {
    web.pods.get_mut(name).expect("a Pod")
}
/// The file system of this PVC pends since this second of the first day; the present second is 1000.
fn pends(web: &mut Snapshot, name: &str, since: u64) {
    web.set.restart = Restart::WhenNodeExpansionPends;
    let claim = web.applied(name);
    claim.resize = Some(Resize::NodePending);
    claim.file_system_resize_pending = Some(format!("1970-01-01T00:{:02}:{:02}Z", since / 60, since % 60));
}

const ROWS: &[Row] = &[
    (
        "the file system has pended for a minute",
        |web| pends(web, "data-web-2", 940),
        "evict 2",
    ),
    (
        "the file system has pended for less than a minute",
        |web| pends(web, "data-web-2", 941),
        "",
    ),
    (
        "restart is Never",
        |web| {
            pends(web, "data-web-2", 940);
            web.set.restart = Restart::Never;
        },
        "",
    ),
    (
        "the Pod was created since",
        |web| {
            pends(web, "data-web-2", 940);
            pod(web, "web-2").created = 941;
        },
        "",
    ),
    (
        "the rollout is paused",
        |web| {
            pends(web, "data-web-2", 940);
            web.set.paused = true;
        },
        "",
    ),
    (
        "the StatefulSet controller has not seen the last change",
        |web| {
            pends(web, "data-web-2", 940);
            web.set.status_is_current = false;
        },
        "",
    ),
    (
        "another Pod is not Ready",
        |web| {
            pends(web, "data-web-2", 940);
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "another Pod does not exist",
        |web| {
            pends(web, "data-web-2", 940);
            web.pods.remove("web-0");
        },
        "",
    ),
    (
        "another Pod has not been Ready for long enough",
        |web| {
            pends(web, "data-web-2", 940);
            web.set.min_ready_seconds = 30;
            pod(web, "web-0").ready_since = Some(980);
        },
        "",
    ),
    (
        "the Pod itself is not Ready: its disk may be full",
        |web| {
            pends(web, "data-web-2", 940);
            unready(web, 2);
        },
        "evict 2",
    ),
    (
        "the Pod is being deleted",
        |web| {
            pends(web, "data-web-2", 940);
            pod(web, "web-2").deleted = Some(1030);
        },
        "grow 1",
    ),
    (
        "Kubernetes replaces the Pod anyway",
        |web| {
            pends(web, "data-web-2", 940);
            old_pods(web, &[2]);
        },
        "nudge 2",
    ),
    (
        "a foreign Pod has the name",
        |web| {
            pends(web, "data-web-2", 940);
            pod(web, "web-2").controller = Some(owner("StatefulSet", "other", "other-uid"));
        },
        "grow 1",
    ),
    (
        "the last eviction was denied: the retry is not due",
        |web| {
            pends(web, "data-web-2", 940);
            web.not_evicted = Some(("budget".to_owned(), 1001));
        },
        "",
    ),
    (
        "the last eviction was denied: the retry is due",
        |web| {
            pends(web, "data-web-2", 940);
            web.not_evicted = Some(("budget".to_owned(), 1000));
        },
        "evict 2",
    ),
    (
        "two pend: one at a time, the highest ordinal first",
        |web| {
            pends(web, "data-web-2", 940);
            pends(web, "data-web-1", 940);
        },
        "evict 2",
    ),
    (
        "two pend, and the Pod of the lower one is not Ready: no other may go",
        |web| {
            pends(web, "data-web-2", 940);
            pends(web, "data-web-0", 940);
            unready(web, 0);
        },
        "evict 0",
    ),
    (
        "the higher one has pended for less than a minute",
        |web| {
            pends(web, "data-web-2", 941);
            pends(web, "data-web-0", 940);
        },
        "evict 0",
    ),
    (
        "the driver reports infeasible: an eviction changes nothing",
        |web| {
            pends(web, "data-web-2", 940);
            web.applied("data-web-2").resize = Some(Resize::ControllerInfeasible);
        },
        "ClaimExpansionFailed",
    ),
    (
        "the time is invalid",
        |web| {
            pends(web, "data-web-2", 940);
            web.applied("data-web-2").file_system_resize_pending = Some(String::new());
        },
        "",
    ),
];

#[test]
fn pods_with_pending_expansion_are_evicted_one_by_one() {
    check(ROWS);
}

#[test]
fn eviction_names_the_pod_and_its_claim() {
    let mut web = web();
    pends(&mut web, "data-web-2", 940);
    let actions = plan(&web).actions;
    let [Action::Evict(evict)] = &actions[..] else {
        panic!("expected an eviction and nothing else, but found {actions:?}");
    };
    let named = [&evict.pod, &evict.uid, &evict.claim.0, &evict.claim.1];
    assert_eq!(named, ["web-2", "web-2-uid", "data-web-2", "data-web-2-uid"]);
}

#[test]
fn eviction_due_later_requeues() {
    let mut web = web();
    pends(&mut web, "data-web-2", 985);
    assert_eq!(plan(&web).requeue_after, Some(45));
    pends(&mut web, "data-web-2", 940);
    web.not_evicted = Some(("budget".to_owned(), 1010));
    assert_eq!(plan(&web).requeue_after, Some(10));
}

#[test]
fn claim_shows_why_its_pod_is_not_evicted() {
    for (restart, resize, is_shown) in [
        (Restart::WhenNodeExpansionPends, Resize::NodePending, true),
        (Restart::WhenNodeExpansionPends, Resize::ControllerInfeasible, false),
        // Another Pod was to be evicted.
        (Restart::Never, Resize::NodePending, false),
    ] {
        let mut web = web();
        pends(&mut web, "data-web-2", 940);
        web.set.restart = restart;
        web.claim("data-web-2").resize = Some(resize);
        web.not_evicted = Some(("budget".to_owned(), 1010));
        let claims = plan(&web).progress.claims;
        let claim = claims.iter().find(|claim| claim.name == "data-web-2").expect("a PVC");
        let found = claim.message.ends_with("; failed to evict its Pod: budget");
        assert_eq!(found, is_shown, "{restart:?} {resize:?}: {}", claim.message);
    }
}
