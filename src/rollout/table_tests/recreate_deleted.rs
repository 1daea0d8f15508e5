//! `ReCreate` after a PVC was deleted, and after a crash there: the next step, whatever has changed meanwhile.

use super::recreate_steps::{deleted, evicted, marked, may_evict, parallel, two};
use std::sync::Arc;

use super::recreate::{Row, adds_logs, check_rows, created_anew, of_class, reclassed};
use super::unready;
use crate::api::Settings;
use crate::rollout::fixtures::template;
use crate::rollout::volume_snapshot::EvictionAnswer;
use crate::templates::rules::Frozen;
use crate::templates::{Phase, UpdatePolicy};

const DELETED: &[Row] = &[
    (
        "deleted, and the Pods were read by a watch",
        |web| {
            deleted(web, "data-web-2");
            web.recreate.live = None;
        },
        "ask live",
        "",
    ),
    ("deleted", |web| deleted(web, "data-web-2"), "evict 2", ""),
    (
        "deleted, and now a template is added",
        |web| {
            adds_logs(web);
            deleted(web, "data-web-2");
        },
        "",
        "Pod web-2 is evicted when the staged template logs is live",
    ),
    (
        "deleted, and the controller was never asked about the eviction",
        |web| {
            deleted(web, "data-web-2");
            web.recreate.eviction = None;
        },
        "evict 2",
        "",
    ),
    (
        "deleted, and now another Pod is not Ready: the Pod runs on",
        |web| {
            deleted(web, "data-web-2");
            unready(web, 0);
        },
        "",
        "web-2 waits to be re-created: Pod web-2 is evicted when all others are there: Pod web-0 is not Ready",
    ),
    (
        "deleted, and the eviction was denied",
        |web| {
            deleted(web, "data-web-2");
            web.not_evicted = Some(("the budget".to_owned(), 1001));
        },
        "",
        "web-2 waits to be re-created: failed to evict Pod web-2: the budget",
    ),
    (
        "deleted, and the retry of the eviction is due",
        |web| {
            deleted(web, "data-web-2");
            web.not_evicted = Some(("the budget".to_owned(), 1000));
        },
        "evict 2",
        "",
    ),
    (
        "deleted, and now paused: it is finished",
        |web| {
            deleted(web, "data-web-2");
            web.set.paused = true;
        },
        "evict 2",
        "Paused",
    ),
    (
        "deleted, and now InPlace: it is finished",
        |web| {
            deleted(web, "data-web-2");
            let mut settings = Settings::clone(&web.settings);
            settings.immutable_fields = Frozen::ForNewClaims;
            web.settings = Arc::new(settings);
            web.set.update_policy = Some(UpdatePolicy::InPlace);
        },
        "apply data-web-1 1Gi, evict 2",
        "",
    ),
    (
        "deleted by somebody else: no reason to evict",
        |web| web.claim("data-web-2").terminating = true,
        "",
        "waiting: data-web-2 is Terminating: is being deleted",
    ),
    (
        "deleted, but the PVC does not belong to the set",
        |web| {
            deleted(web, "data-web-2");
            web.take_over("data-web-2");
        },
        "",
        "",
    ),
    (
        "the watch of PVCs is late: this Pod uses the next one",
        |web| {
            deleted(web, "data-web-2");
            web.pods.get_mut("web-2").expect("a Pod").created = 961;
        },
        "",
        "web-2 waits to be re-created: data-web-2 is being deleted",
    ),
    (
        "the Pod was created in the second of the deletion: no watch is that late",
        |web| {
            deleted(web, "data-web-2");
            web.pods.get_mut("web-2").expect("a Pod").created = 960;
        },
        "evict 2",
        "",
    ),
    (
        "the Pod was created in the second of the deletion: the watch may be late",
        |web| {
            deleted(web, "data-web-2");
            web.claim("data-web-2").deleted = Some(980);
            web.pods.get_mut("web-2").expect("a Pod").created = 980;
        },
        "",
        "web-2 waits to be re-created: data-web-2 is being deleted",
    ),
    (
        "evicted: the Pod ends",
        evicted,
        "",
        "web-2 waits to be re-created: data-web-2 is being deleted, to be created anew; it waits for Pod web-2",
    ),
    (
        "the Pod has ended, and a finalizer keeps the PVC",
        |web| {
            deleted(web, "data-web-2");
            web.claim("data-web-2").finalizers.push("example.com/keep".to_owned());
            web.pods.remove("web-2");
        },
        "",
        "web-2 waits to be re-created: data-web-2 is being deleted, to be created anew; it waits for finalizer \
         example.com/keep",
    ),
    (
        "the Pod and the PVC do not exist",
        |web| {
            web.claims.remove("data-web-2");
            web.pods.remove("web-2");
            may_evict(web, 1);
        },
        "",
        "waiting: Pod web-2 does not exist",
    ),
    (
        "the PVC exists again, and is not bound",
        |web| {
            created_anew(web, 2);
            web.claim("data-web-2").bound = false;
            web.pods.remove("web-2");
            may_evict(web, 1);
        },
        "",
        "waiting: Pod web-2 does not exist",
    ),
    (
        "the PVC exists again, and the watch shows the Pod of before",
        |web| {
            let pod = web.pods["web-2"].clone();
            created_anew(web, 2);
            web.pods.insert("web-2".to_owned(), pod);
            may_evict(web, 1);
        },
        "",
        "web-1 waits to be re-created: Pod web-2 is older than its PVC",
    ),
    (
        "the Pod runs, and is not Ready",
        |web| {
            created_anew(web, 2);
            unready(web, 2);
            may_evict(web, 1);
        },
        "",
        "web-1 waits to be re-created: Pod web-2 is not Ready",
    ),
    (
        "the Pod is Ready: the next replica",
        |web| {
            created_anew(web, 2);
            may_evict(web, 1);
        },
        "mark data-web-1",
        "",
    ),
    (
        "one PVC of two is marked",
        |web| {
            two(web);
            marked(web, "data-web-2");
        },
        "mark logs-web-2",
        "",
    ),
    (
        "both are marked",
        |web| {
            two(web);
            marked(web, "data-web-2");
            marked(web, "logs-web-2");
        },
        "delete data-web-2",
        "",
    ),
    (
        "one of two is deleted",
        |web| {
            two(web);
            deleted(web, "data-web-2");
            marked(web, "logs-web-2");
        },
        "delete logs-web-2",
        "",
    ),
    (
        "one of two is deleted, and now paused: the replica is finished",
        |web| {
            two(web);
            deleted(web, "data-web-2");
            web.set.paused = true;
        },
        "mark logs-web-2",
        "",
    ),
    (
        "both are deleted",
        |web| {
            two(web);
            deleted(web, "data-web-2");
            deleted(web, "logs-web-2");
        },
        "evict 2",
        "",
    ),
    (
        "one of two needs it: the other one is kept",
        |web| {
            two(web);
            for ordinal in 0..3 {
                created_anew(web, ordinal);
                let mut logs = template("logs", "1Gi");
                logs.spec = of_class("slow", "1Gi").spec;
                web.set.live[1] = logs;
            }
            web.recreate.eviction = Some(("web-2-new".to_owned(), EvictionAnswer::Allowed));
        },
        "mark logs-web-2",
        "",
    ),
    (
        "all are created anew, and the last Pod is not Ready: not complete",
        |web| {
            for ordinal in 0..3 {
                created_anew(web, ordinal);
            }
            unready(web, 0);
        },
        "",
        "RollingOut: 3 of 3 replicas are ready; waiting: Pod web-0 is not Ready",
    ),
    (
        "all are created anew, and all Pods are Ready",
        |web| {
            for ordinal in 0..3 {
                created_anew(web, ordinal);
            }
        },
        "complete",
        "",
    ),
    (
        "complete, and a Pod fails later",
        |web| {
            for ordinal in 0..3 {
                created_anew(web, ordinal);
            }
            web.phase(Phase::Complete);
            unready(web, 0);
        },
        "ClaimRolloutComplete",
        "Complete",
    ),
    (
        "aborted with InPlace: the mark is removed",
        |web| {
            marked(web, "data-web-2");
            web.set.update_policy = Some(UpdatePolicy::InPlace);
            web.stage(vec![of_class("slow", "2Gi")]);
            for ordinal in 0..3 {
                web.applied(&format!("data-web-{ordinal}")).capacity = Some(crate::rollout::fixtures::gi(2));
            }
            web.phase(Phase::Complete);
        },
        "unmark data-web-2, ClaimRolloutComplete",
        "",
    ),
];

#[test]
fn recreate_after_a_deletion_takes_the_next_step() {
    check_rows(reclassed, DELETED);
    check_rows(parallel, DELETED);
}
