//! Workloads in which something comes back: replicas, requests of an earlier staging, classes.

use crate::sim::actors::action::UserAction;
use crate::sim::settings::ModelSettings;
use crate::sim::workload::Moment::{Now, Quiet, Written};
use crate::sim::workload::{ONE, Workload, of_three, one, parallel, with, workload};

pub(super) const RETURNS: [Workload; 5] = [
    // A driver that expands only what no Pod uses: one outage for all.
    workload(
        "scaled-to-zero-and-back",
        3,
        ONE,
        |world| world.driver.offline = true,
        &[
            (Now, UserAction::Target(one(3))),
            (Written(1), UserAction::Scale(0)),
            (Quiet, UserAction::Scale(3)),
        ],
    ),
    of_three(
        "replica-comes-back",
        &[
            (Now, UserAction::Scale(2)),
            (Quiet, UserAction::Target(one(3))),
            (Quiet, UserAction::Scale(3)),
        ],
    ),
    workload(
        "infeasible-and-then-smaller",
        3,
        ONE,
        |world| {
            parallel(world);
            (world.driver.limit, world.api.settings) = (4, ModelSettings::Recover);
        },
        &[(Now, UserAction::Target(one(6))), (Quiet, UserAction::Target(one(3)))],
    ),
    workload(
        "class-is-never-reached",
        3,
        ONE,
        |world| world.driver.bad_class = 2,
        &[
            (Now, UserAction::Target(with(3, 2, 0))),
            (Quiet, UserAction::Target(one(4))),
        ],
    ),
    of_three(
        "without-a-label",
        &[(Now, UserAction::Select(1, false)), (Now, UserAction::Both(one(3), 1))],
    ),
];
