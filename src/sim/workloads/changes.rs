//! Workloads in which users change the set, and nothing is in the way.

use crate::sim::actors::action::UserAction;
use crate::sim::workload::Moment::{Now, Quiet, Written};
use crate::sim::workload::{
    ONE, TWO, Workload, canary, min_ready, node, of_three, one, remount, since_1_37, two, with, workload,
};
use crate::templates::UpdatePolicy;

pub(super) const CHANGES: [Workload; 18] = [
    of_three("grow", &[(Now, UserAction::Target(one(3)))]),
    workload(
        "grow-two-templates",
        3,
        TWO,
        |_| {},
        &[(Now, UserAction::Target(two(3, 4)))],
    ),
    of_three("grow-with-image", &[(Now, UserAction::Both(one(3), 1))]),
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
    of_three(
        "scale-to-zero-and-back",
        &[
            (Now, UserAction::Target(one(3))),
            (Written(1), UserAction::Scale(0)),
            (Quiet, UserAction::Scale(3)),
        ],
    ),
    of_three(
        "second-target",
        &[
            (Now, UserAction::Target(one(3))),
            (Written(1), UserAction::Target(one(4))),
            (Written(3), UserAction::Reapply),
        ],
    ),
    of_three(
        "withdraw-on-the-way",
        &[(Now, UserAction::Both(one(3), 1)), (Written(1), UserAction::Withdraw)],
    ),
    of_three(
        "give-up-on-the-way",
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
    of_three(
        "policy-away-on-the-way",
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
    of_three(
        "scale-on-the-way",
        &[
            (Now, UserAction::Both(one(3), 1)),
            (Written(1), UserAction::Scale(5)),
            (Written(2), UserAction::Scale(2)),
        ],
    ),
];
