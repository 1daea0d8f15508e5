//! `ReCreate`: every obstacle before the first step for a replica.

use super::recreate::{Row, adds_logs, check_rows, of_class, reclassed};
use std::sync::Arc;

use super::unready;
use crate::claims::progress::Resize;
use crate::rollout::fixtures::owner;
use crate::rollout::snapshot::Sibling;
use crate::rollout::volume_snapshot::EvictionAnswer;
use crate::templates::Strategy;

const OBSTACLES: &[Row] = &[
    (
        "another Pod is not Ready",
        |web| unready(web, 0),
        "",
        "RollingOut: 0 of 3 replicas are ready; web-2 waits to be re-created: Pod web-0 is not Ready",
    ),
    (
        "another Pod does not exist",
        |web| _ = web.pods.remove("web-1"),
        "",
        "web-2 waits to be re-created: Pod web-1 does not exist",
    ),
    (
        "another Pod is of another set",
        |web| web.pods.get_mut("web-1").expect("a Pod").controller = Some(owner("StatefulSet", "b", "b-uid")),
        "ClaimForeign, ClaimRolloutStalled",
        "web-2 is not re-created: data-web-1 is Foreign: mounted by Pod web-1 of another StatefulSet",
    ),
    (
        "another Pod is being deleted",
        |web| web.pods.get_mut("web-1").expect("a Pod").deleted = Some(1030),
        "",
        "web-2 waits to be re-created: Pod web-1 is being deleted",
    ),
    (
        "another Pod is not available yet",
        |web| {
            web.set.min_ready_seconds = 30;
            web.pods.get_mut("web-1").expect("a Pod").ready_since = Some(980);
        },
        "",
        "web-2 waits to be re-created: Pod web-1 has not been Ready for 30 seconds yet",
    ),
    (
        "another Pod is one of a late watch: its PVC is new",
        |web| web.claim("data-web-1").created = 900,
        "",
        "web-2 waits to be re-created: Pod web-1 is older than its PVC",
    ),
    (
        "another PVC is missing",
        |web| _ = web.claims.remove("data-web-0"),
        "",
        "web-2 waits to be re-created: data-web-0 is Missing",
    ),
    (
        "another PVC is being deleted, not by us",
        |web| web.claim("data-web-0").terminating = true,
        "",
        "web-2 waits to be re-created: data-web-0 is Terminating",
    ),
    (
        "another PVC is not bound",
        |web| {
            web.claim("data-web-0").spec = Arc::new(of_class("fast", "1Gi").spec);
            web.claim("data-web-0").bound = false;
        },
        "",
        "web-2 waits to be re-created: data-web-0 is Unbound",
    ),
    (
        "another PVC is being expanded",
        |web| {
            web.claim("data-web-0").spec = Arc::new(of_class("fast", "1Gi").spec);
            web.applied("data-web-0").resize = Some(Resize::ControllerInProgress);
            web.stage(vec![of_class("fast", "2Gi")]);
            _ = web.applied("data-web-0");
        },
        "",
        "web-2 waits to be re-created: data-web-0 is Expanding",
    ),
    (
        "another PVC does not belong to the set: reported before anything is deleted",
        |web| {
            web.take_over("data-web-0");
        },
        "ClaimForeign, ClaimRolloutStalled",
        "web-2 is not re-created: data-web-0 is Foreign: owned by Backup b",
    ),
    (
        "the PVC does not belong to the set",
        |web| web.take_over("data-web-2"),
        "ClaimForeign",
        "ClaimForeign: data-web-2: owned by Backup b",
    ),
    (
        "the PVC can be that of another set",
        |web| {
            web.siblings = vec![Sibling {
                set: "b".to_owned(),
                templates: vec!["data-web".to_owned()],
            }];
            web.set.name = "web".to_owned();
        },
        "mark data-web-2",
        "",
    ),
    (
        "a Job uses the PVC",
        |web| {
            let mut backup = web.pods["web-2"].clone();
            (backup.name, backup.uid) = ("backup".to_owned(), "backup-uid".to_owned());
            backup.controller = Some(owner("Job", "backup", "job-uid"));
            _ = web.pods.insert("backup".to_owned(), backup);
        },
        "",
        "web-2 waits to be re-created: Pod backup uses data-web-2 as well",
    ),
    (
        "the Pod is being deleted",
        |web| web.pods.get_mut("web-2").expect("a Pod").deleted = Some(1030),
        "",
        "web-2 waits to be re-created: the Pod is being deleted",
    ),
    (
        "the Pod itself is not Ready: all others are",
        |web| unready(web, 2),
        "mark data-web-2",
        "",
    ),
    (
        "there is no Pod: nothing is to be evicted",
        |web| _ = web.pods.remove("web-2"),
        "mark data-web-2",
        "",
    ),
    (
        "the status of the set is old",
        |web| web.set.status_is_current = false,
        "",
        "web-2 waits to be re-created: the StatefulSet controller has not seen the last change",
    ),
    (
        "a template is added too",
        adds_logs,
        "ClaimRolloutStalled",
        "ReCreateStopped: web-2 is not re-created: the staged change also adds template logs",
    ),
    (
        "the update strategy is OnDelete",
        |web| web.set.strategy = Strategy::OnDelete,
        "",
        "OnDelete: ",
    ),
    (
        "the update strategy is OnDelete, and the Pod was deleted by hand",
        |web| {
            web.set.strategy = Strategy::OnDelete;
            web.pods.get_mut("web-2").expect("a Pod").created = 960;
        },
        "ClaimRolloutStalled",
        "ReCreateStopped: web-2 is not re-created: it needs the update strategy RollingUpdate",
    ),
    (
        "the update strategy is Recreate",
        |web| web.set.strategy = Strategy::Recreate,
        "ClaimRolloutStalled",
        "ReCreateStopped: web-2 is not re-created: it needs the update strategy RollingUpdate",
    ),
    ("paused", |web| web.set.paused = true, "", "Paused: "),
    (
        "the last step was denied: the retry is not due",
        |web| web.recreate.denied = Some(("failed to delete data-web-2: no".to_owned(), 1001)),
        "ClaimRolloutStalled",
        "ReCreateStopped: web-2 is not re-created: failed to delete data-web-2: no",
    ),
    (
        "the last step was denied: the retry is due",
        |web| web.recreate.denied = Some(("failed to delete data-web-2: no".to_owned(), 1000)),
        "mark data-web-2",
        "",
    ),
    (
        "the eviction was not asked for",
        |web| web.recreate.eviction = None,
        "ask eviction of web-2",
        "",
    ),
    (
        "the eviction was asked for another Pod",
        |web| web.recreate.eviction = Some(("web-1-uid".to_owned(), EvictionAnswer::Allowed)),
        "ask eviction of web-2",
        "",
    ),
    (
        "a PodDisruptionBudget allows no eviction",
        |web| {
            let answer = EvictionAnswer::NotNow("429 violates the budget".to_owned());
            web.recreate.eviction = Some(("web-2-uid".to_owned(), answer));
        },
        "",
        "RollingOut: 0 of 3 replicas are ready; web-2 waits to be re-created: no eviction now: 429 violates the budget",
    ),
    (
        "the right to evict is missing",
        |web| {
            let answer = EvictionAnswer::Denied("cannot create pods/eviction".to_owned());
            web.recreate.eviction = Some(("web-2-uid".to_owned(), answer));
        },
        "ClaimRolloutStalled",
        "ReCreateStopped: web-2 is not re-created: failed to evict Pod web-2: cannot create pods/eviction",
    ),
    (
        "the only replica",
        |web| web.set.replicas = 1,
        "ClaimRolloutStalled",
        "ReCreateStopped: web-0 is not re-created: this is the only replica, and its data would be lost: set the \
         annotation claim-rollout.io/recreate-snapshot",
    ),
];

#[test]
fn recreate_with_an_obstacle_deletes_nothing() {
    check_rows(reclassed, OBSTACLES);
}
