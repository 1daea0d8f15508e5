//! Workloads at the limits of what is rolled out: names, retention, numbers, classes that wait, PVCs without a volume.

use crate::sim::actors::action::UserAction;
use crate::sim::workload::Moment::{Now, Quiet, Written};
use crate::sim::workload::{
    ONE, TWO, Workload, first_consumer, node, one, parallel, retention, two, two_at_a_time, workload,
};

pub(super) const LIMITS: [Workload; 6] = [
    workload(
        "retention",
        3,
        ONE,
        retention,
        &[
            (Now, UserAction::Target(one(3))),
            (Written(1), UserAction::Scale(2)),
            (Quiet, UserAction::Scale(3)),
        ],
    ),
    workload(
        "names-collide",
        2,
        TWO,
        |world| world.api.sibling = true,
        &[
            (Now, UserAction::Target(two(3, 4))),
            (Quiet, UserAction::Sibling(false)),
        ],
    ),
    workload(
        "two-at-a-time",
        3,
        ONE,
        two_at_a_time,
        &[
            (Now, UserAction::Both(one(3), 1)),
            (Written(2), UserAction::Target(one(4))),
        ],
    ),
    workload(
        "first-consumer",
        2,
        ONE,
        first_consumer,
        &[(Now, UserAction::Target(one(3))), (Now, UserAction::Scale(4))],
    ),
    workload(
        "no-volume",
        3,
        ONE,
        parallel,
        &[
            (Now, UserAction::Limit(0)),
            (Now, UserAction::DeleteClaim(2)),
            (Now, UserAction::DeletePod(2)),
            (Quiet, UserAction::Target(one(3))),
        ],
    ),
    workload(
        "image-there-and-back",
        2,
        ONE,
        node,
        &[
            (Now, UserAction::Both(one(3), 1)),
            (Now, UserAction::Image(0)),
            (Now, UserAction::Both(one(4), 2)),
            (Now, UserAction::Image(0)),
        ],
    ),
];
