//! Workloads with obstacles: quotas, drivers that fail, webhooks, full disks, deleted objects.

use crate::sim::actors::action::UserAction;
use crate::sim::api::WebhookEdit;
use crate::sim::settings::ModelSettings;
use crate::sim::workload::Moment::{Now, Quiet, Written};
use crate::sim::workload::{
    ONE, Workload, of_three, one, parallel, remount, since_1_37, two_at_a_time, with, workload,
};

pub(super) const OBSTACLES: [Workload; 36] = [
    workload(
        "quota",
        3,
        ONE,
        |world| world.api.quota = 5,
        &[(Now, UserAction::Target(one(3))), (Quiet, UserAction::Quota(20))],
    ),
    // The node has yet to finish 3 Gi of a PVC that was lowered: the quota counts them, and has room for the rest.
    workload(
        "quota-counts-what-was-lowered",
        3,
        ONE,
        |world| {
            remount(world);
            world.api.quota = 12;
        },
        &[
            (Now, UserAction::Target(one(3))),
            (Quiet, UserAction::Withdraw),
            (Now, UserAction::Size(2, 2)),
            (Now, UserAction::Both(one(4), 1)),
        ],
    ),
    workload(
        "parallel-with-one-foreign",
        3,
        ONE,
        parallel,
        &[
            (Now, UserAction::Own(2, true)),
            (Now, UserAction::Target(one(3))),
            (Quiet, UserAction::Own(2, false)),
        ],
    ),
    workload(
        "infeasible",
        3,
        ONE,
        |world| world.driver.limit = 2,
        &[(Now, UserAction::Target(one(3))), (Quiet, UserAction::Limit(9))],
    ),
    // What the message asks for: withdraw, and lower the PVC by hand. The same templates are staged again later.
    workload(
        "lowered-and-staged-again",
        3,
        ONE,
        |world| world.driver.limit = 2,
        &[
            (Now, UserAction::Target(one(3))),
            (Quiet, UserAction::Withdraw),
            (Now, UserAction::Size(2, 2)),
            (Quiet, UserAction::Limit(9)),
            (Now, UserAction::Target(one(3))),
        ],
    ),
    workload(
        "lowered-and-not-withdrawn",
        3,
        ONE,
        |world| world.driver.limit = 2,
        &[
            (Now, UserAction::Target(one(3))),
            (Quiet, UserAction::Size(2, 2)),
            (Quiet, UserAction::Limit(9)),
        ],
    ),
    workload(
        "each-first-attempt-fails",
        3,
        ONE,
        |world| {
            parallel(world);
            world.driver.fails_first = true;
        },
        &[(Now, UserAction::Target(with(3, 1, 0)))],
    ),
    workload(
        "fails-before-the-remount",
        3,
        ONE,
        |world| {
            remount(world);
            world.driver.fails_first = true;
        },
        &[(Now, UserAction::FillDisk(0)), (Now, UserAction::Both(one(3), 1))],
    ),
    workload(
        "label-is-taken-away",
        3,
        ONE,
        parallel,
        &[
            (Now, UserAction::Webhook(WebhookEdit::Label)),
            (Now, UserAction::Target(one(3))),
            (Quiet, UserAction::Webhook(WebhookEdit::No)),
        ],
    ),
    workload(
        "webhook-is-down",
        3,
        ONE,
        |world| {
            parallel(world);
            two_at_a_time(world);
        },
        &[
            (Now, UserAction::Webhook(WebhookEdit::Down)),
            (Now, UserAction::Target(one(3))),
            (Quiet, UserAction::Target(one(4))),
        ],
    ),
    of_three(
        "no-reports",
        &[(Now, UserAction::Reports(false)), (Now, UserAction::Target(one(3)))],
    ),
    of_three(
        "size-is-put-back",
        &[
            (Now, UserAction::Webhook(WebhookEdit::Size)),
            (Now, UserAction::Both(one(3), 1)),
            (Quiet, UserAction::Webhook(WebhookEdit::No)),
        ],
    ),
    workload(
        "class-is-dropped",
        2,
        ONE,
        |_| {},
        &[
            (Now, UserAction::Webhook(WebhookEdit::Class)),
            (Now, UserAction::Target(with(3, 1, 0))),
            (Quiet, UserAction::Webhook(WebhookEdit::No)),
            (Quiet, UserAction::Target(with(3, 2, 0))),
        ],
    ),
    workload(
        "take-back",
        3,
        ONE,
        |world| (world.driver.limit, world.api.settings) = (3, ModelSettings::Recover),
        &[(Now, UserAction::Target(one(5))), (Quiet, UserAction::Target(one(3)))],
    ),
    workload(
        "withdraw-and-take-back",
        3,
        ONE,
        |world| (world.driver.limit, world.api.settings) = (3, ModelSettings::Recover),
        &[
            (Now, UserAction::Target(one(5))),
            (Quiet, UserAction::Withdraw),
            (Quiet, UserAction::Target(one(3))),
            (Written(5), UserAction::Withdraw),
        ],
    ),
    of_three(
        "claim-deleted",
        &[
            (Now, UserAction::Target(one(3))),
            (Written(1), UserAction::DeleteClaim(1)),
            (Written(1), UserAction::DeletePod(1)),
        ],
    ),
    of_three(
        "set-created-again",
        &[
            (Now, UserAction::Target(one(3))),
            (Written(1), UserAction::DeleteSet(true)),
            (Quiet, UserAction::CreateSet(3)),
            (Quiet, UserAction::Target(one(4))),
        ],
    ),
    of_three(
        "staged-change-of-another-set",
        &[
            (Now, UserAction::Target(one(3))),
            (Written(1), UserAction::DeleteSet(true)),
            (Quiet, UserAction::CreateSet(2)),
            (Now, UserAction::Registered(false)),
            (Now, UserAction::Replay),
        ],
    ),
    workload(
        "policy-away",
        2,
        ONE,
        |_| {},
        &[
            (Now, UserAction::Target(one(3))),
            (Quiet, UserAction::Registered(false)),
            (Quiet, UserAction::Scale(3)),
            (Quiet, UserAction::Scale(4)),
        ],
    ),
    of_three(
        "autoscaler",
        &[
            (Now, UserAction::Size(1, 5)),
            (Now, UserAction::Target(one(3))),
            (Written(1), UserAction::Size(2, 6)),
            (Quiet, UserAction::Target(one(4))),
        ],
    ),
    of_three(
        "disk-full",
        &[(Now, UserAction::FillDisk(0)), (Now, UserAction::Target(one(3)))],
    ),
    of_three(
        "disk-full-and-image",
        &[(Now, UserAction::FillDisk(0)), (Now, UserAction::Both(one(3), 1))],
    ),
    workload(
        "disk-full-in-the-middle",
        3,
        ONE,
        remount,
        &[(Now, UserAction::FillDisk(1)), (Now, UserAction::Both(one(3), 1))],
    ),
    workload(
        "disk-full-at-the-top",
        3,
        ONE,
        since_1_37,
        &[(Now, UserAction::FillDisk(2)), (Now, UserAction::Both(one(3), 1))],
    ),
    of_three(
        "disks-full",
        &[
            (Now, UserAction::FillDisk(2)),
            (Now, UserAction::FillDisk(0)),
            (Now, UserAction::Both(one(3), 1)),
        ],
    ),
    workload(
        "disk-full-in-parallel",
        3,
        ONE,
        |world| {
            parallel(world);
            since_1_37(world);
        },
        &[(Now, UserAction::FillDisk(0)), (Now, UserAction::Both(one(3), 1))],
    ),
    workload(
        "disk-fills-in-parallel",
        3,
        ONE,
        parallel,
        &[
            (Now, UserAction::Both(one(3), 1)),
            (Written(1), UserAction::FillDisk(0)),
        ],
    ),
    of_three(
        "paused",
        &[
            (Now, UserAction::Target(one(3))),
            (Written(1), UserAction::Pause(true)),
            (Quiet, UserAction::Pause(false)),
        ],
    ),
    of_three(
        "paused-with-image",
        &[
            (Now, UserAction::Both(one(3), 1)),
            (Written(1), UserAction::Pause(true)),
            (Quiet, UserAction::Pause(false)),
        ],
    ),
    workload(
        "by-hand",
        2,
        ONE,
        |_| {},
        &[
            (Now, UserAction::OnDelete(true)),
            (Now, UserAction::Both(one(3), 1)),
            (Quiet, UserAction::DeletePod(1)),
            (Quiet, UserAction::DeletePod(0)),
            (Quiet, UserAction::OnDelete(false)),
        ],
    ),
    of_three(
        "report-is-deleted",
        &[
            (Now, UserAction::OnDelete(true)),
            (Now, UserAction::Both(one(3), 1)),
            (Quiet, UserAction::Pause(true)),
            (Now, UserAction::DeletePod(1)),
            (Quiet, UserAction::DeleteReport),
            (Quiet, UserAction::Pause(false)),
        ],
    ),
    of_three(
        "newer-policy-on-the-way",
        &[
            (Now, UserAction::Both(one(3), 1)),
            (Written(1), UserAction::Newer(true)),
            (Quiet, UserAction::Scale(4)),
            (Quiet, UserAction::Newer(false)),
        ],
    ),
    workload(
        "account-is-unknown",
        3,
        ONE,
        |world| world.api.known = false,
        &[(Now, UserAction::Both(one(3), 1)), (Quiet, UserAction::Target(one(4)))],
    ),
    of_three(
        "writes-to-the-set-are-denied",
        &[
            (Now, UserAction::Webhook(WebhookEdit::Sets)),
            (Now, UserAction::Both(one(3), 1)),
            (Quiet, UserAction::Target(one(4))),
        ],
    ),
    of_three(
        "report-is-deleted-at-the-end",
        &[(Now, UserAction::Target(one(3))), (Quiet, UserAction::DeleteReport)],
    ),
    workload(
        "conflict-without-end",
        3,
        ONE,
        parallel,
        &[
            (Now, UserAction::Webhook(WebhookEdit::Overtaken)),
            (Now, UserAction::Target(one(3))),
            (Quiet, UserAction::Target(one(4))),
        ],
    ),
];
