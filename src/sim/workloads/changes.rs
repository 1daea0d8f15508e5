//! Workloads in which users change the set, and nothing is in the way.

use crate::sim::actors::action::UserAction;
use crate::sim::workload::Moment::{Now, Quiet, Written};
use crate::sim::workload::{
    ONE, TWO, Workload, canary, min_ready, node, one, remount, since_1_37, two, with, workload,
};
use crate::templates::UpdatePolicy;

pub(super) const CHANGES: [Workload; 18] = [
    workload("grow", 3, ONE, |_| {}, &[(Now, UserAction::Target(one(3)))]),
    workload(
        "grow-two-templates",
        3,
        TWO,
        |_| {},
        &[(Now, UserAction::Target(two(3, 4)))],
    ),
    workload("grow-with-image", 3, ONE, |_| {}, &[(Now, UserAction::Both(one(3), 1))]),
    workload(
        "grow-two-templates-with-image",
        2,
        TWO,
        node,
        &[(Now, UserAction::Both(two(3, 3), 1))],
    ),
    workload("remount", 3, ONE, remount, &[(Now, UserAction::Both(one(3), 1))]),
    workload("min-ready", 2, ONE, min_ready, &[(Now, UserAction::Both(one(3), 1))]),
    workload(
        "canary",
        3,
        ONE,
        canary,
        &[(Now, UserAction::Both(one(3), 1)), (Quiet, UserAction::Partition(0))],
    ),
    workload(
        "class-and-label",
        2,
        ONE,
        |_| {},
        &[
            (Now, UserAction::Target(with(2, 1, 1))),
            (Quiet, UserAction::Target(with(3, 0, 0))),
        ],
    ),
    workload(
        "newcomers",
        2,
        ONE,
        |_| {},
        &[
            (Now, UserAction::Policy(Some(UpdatePolicy::OnClaimDelete))),
            (Now, UserAction::Target(one(3))),
            (Quiet, UserAction::Scale(3)),
            (Quiet, UserAction::Policy(Some(UpdatePolicy::InPlace))),
        ],
    ),
    workload(
        "scale-up-on-the-way",
        2,
        ONE,
        |_| {},
        &[(Now, UserAction::Target(one(3))), (Written(1), UserAction::Scale(4))],
    ),
    workload(
        "scale-to-zero-and-back",
        3,
        ONE,
        |_| {},
        &[
            (Now, UserAction::Target(one(3))),
            (Written(1), UserAction::Scale(0)),
            (Quiet, UserAction::Scale(3)),
        ],
    ),
    workload(
        "second-target",
        3,
        ONE,
        |_| {},
        &[
            (Now, UserAction::Target(one(3))),
            (Written(1), UserAction::Target(one(4))),
            (Written(3), UserAction::Reapply),
        ],
    ),
    workload(
        "withdraw-on-the-way",
        3,
        ONE,
        |_| {},
        &[(Now, UserAction::Both(one(3), 1)), (Written(1), UserAction::Withdraw)],
    ),
    workload(
        "give-up-on-the-way",
        3,
        ONE,
        |_| {},
        &[
            (Now, UserAction::Both(one(3), 1)),
            (Written(1), UserAction::Policy(Some(UpdatePolicy::OnClaimDelete))),
        ],
    ),
    workload(
        "do-not-wait",
        3,
        ONE,
        remount,
        &[
            (Now, UserAction::Both(one(3), 1)),
            (Written(1), UserAction::Async(true)),
        ],
    ),
    workload(
        "policy-away-on-the-way",
        3,
        ONE,
        |_| {},
        &[
            (Now, UserAction::Both(one(3), 1)),
            (Written(1), UserAction::Registered(false)),
            (Written(2), UserAction::Registered(true)),
        ],
    ),
    workload(
        "drained-on-the-way",
        3,
        ONE,
        since_1_37,
        &[
            (Now, UserAction::Both(one(3), 1)),
            (Written(1), UserAction::Drain(1)),
            (Written(2), UserAction::Fail(0)),
        ],
    ),
    workload(
        "scale-on-the-way",
        3,
        ONE,
        |_| {},
        &[
            (Now, UserAction::Both(one(3), 1)),
            (Written(1), UserAction::Scale(5)),
            (Written(2), UserAction::Scale(2)),
        ],
    ),
];
