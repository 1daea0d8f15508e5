//! `claim-rollout.io/restart`: which Pod is evicted.

use super::check_with;
use super::words::{common, pends, pod};
use crate::claims::progress::Resize;
use crate::rollout::fixtures::{owner, web};
use crate::rollout::snapshot::Snapshot;
use crate::rollout::{Action, plan};
use crate::templates::Restart;

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match (word, numbers) {
        ("Never", []) => web.set.restart = Restart::Never,
        ("not evicted", [retry]) => web.not_evicted = Some(("budget".to_owned(), (*retry).into())),
        ("foreign Pod", []) => pod(web, 2).controller = Some(owner("StatefulSet", "other", "other-uid")),
        _ => common(web, word, numbers),
    }
}

const ROWS: &str = "
    the file system has pended for a minute                 | pends 2 940                        | evict 2
    the file system has pended for less than a minute       | pends 2 941                        |
    restart is Never                                        | pends 2 940, Never                 |
    the Pod was created since                               | pends 2 940, Pod created 2 941     |
    the rollout is paused                                   | pends 2 940, paused                |
    the StatefulSet controller has not seen the last change | pends 2 940, outdated status       |
    another Pod is not Ready                                | pends 2 940, unready 0             | grow 0
    another Pod does not exist                              | pends 2 940, no Pod 0              |
    another Pod has not been Ready for long enough | pends 2 940, min ready 30, Pod ready since 0 980 |
    the Pod itself is not Ready: its disk may be full       | pends 2 940, unready 2             | evict 2
    the Pod is being deleted                                | pends 2 940, ending 2              | grow 1
    Kubernetes replaces the Pod anyway                      | pends 2 940, old 2                 | nudge 2
    a foreign Pod has the name                              | pends 2 940, foreign Pod           | grow 1
    the last eviction was denied: the retry is not due      | pends 2 940, not evicted 1001      |
    the last eviction was denied: the retry is due          | pends 2 940, not evicted 1000      | evict 2
    two pend: one at a time, the highest ordinal first      | pends 2 940, pends 1 940           | evict 2
    two pend, and the Pod of the lower one is not Ready: no other may go | pends 2 940, pends 0 940, unready 0 \
        | evict 0
    the higher one has pended for less than a minute        | pends 2 941, pends 0 940           | evict 0
    the driver reports infeasible: an eviction changes nothing | pends 2 940, infeasible 2 | ClaimExpansionFailed
    the time is invalid                                     | pends 2 940, file system pending 2 |
";

#[test]
fn pods_with_pending_expansion_are_evicted_one_by_one() {
    check_with(web, ROWS, word);
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
