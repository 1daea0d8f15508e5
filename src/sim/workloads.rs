//! What users do: every workload.

use super::api::Meddles;
use super::inhabitants::people::Deed;
use super::objects::{Target, Want};
use super::workload::When::{self, Now, Quiet, Written};
use super::workload::Workload;
use super::world::World;
use crate::templates::UpdatePolicy;

/// One template of this size.
pub(crate) const fn one(size: u8) -> Target {
    Target {
        wants: [Want::size(size), Want::size(0)],
        templates: 1,
    }
}

/// Two templates of these sizes.
pub(crate) const fn two(first: u8, second: u8) -> Target {
    Target {
        wants: [Want::size(first), Want::size(second)],
        templates: 2,
    }
}

const fn with(size: u8, class: u8, tier: u8) -> Target {
    Target {
        wants: [Want { size, class, tier }, Want::size(0)],
        templates: 1,
    }
}

const ONE: &[Want] = &[Want::size(1)];
const TWO: &[Want] = &[Want::size(1), Want::size(2)];

/// Every workload.
pub(crate) const ALL: &[Workload] = &[
    workload("grow", 3, ONE, |_| {}, &[(Now, Deed::Target(one(3)))]),
    workload("grow-two-templates", 3, TWO, |_| {}, &[(Now, Deed::Target(two(3, 4)))]),
    workload("grow-with-image", 3, ONE, |_| {}, &[(Now, Deed::Both(one(3), 1))]),
    workload(
        "grow-two-templates-with-image",
        2,
        TWO,
        node,
        &[(Now, Deed::Both(two(3, 3), 1))],
    ),
    workload("remount", 3, ONE, remount, &[(Now, Deed::Both(one(3), 1))]),
    workload("min-ready", 2, ONE, min_ready, &[(Now, Deed::Both(one(3), 1))]),
    workload(
        "canary",
        3,
        ONE,
        canary,
        &[(Now, Deed::Both(one(3), 1)), (Quiet, Deed::Partition(0))],
    ),
    workload(
        "class-and-label",
        2,
        ONE,
        |_| {},
        &[(Now, Deed::Target(with(2, 1, 1))), (Quiet, Deed::Target(with(3, 0, 0)))],
    ),
    workload(
        "newcomers",
        2,
        ONE,
        |_| {},
        &[
            (Now, Deed::Policy(Some(UpdatePolicy::OnClaimDelete))),
            (Now, Deed::Target(one(3))),
            (Quiet, Deed::Scale(3)),
            (Quiet, Deed::Policy(Some(UpdatePolicy::InPlace))),
        ],
    ),
    workload(
        "scale-up-on-the-way",
        2,
        ONE,
        |_| {},
        &[(Now, Deed::Target(one(3))), (Written(1), Deed::Scale(4))],
    ),
    workload(
        "scale-to-zero-and-back",
        3,
        ONE,
        |_| {},
        &[
            (Now, Deed::Target(one(3))),
            (Written(1), Deed::Scale(0)),
            (Quiet, Deed::Scale(3)),
        ],
    ),
    workload(
        "second-wish",
        3,
        ONE,
        |_| {},
        &[
            (Now, Deed::Target(one(3))),
            (Written(1), Deed::Target(one(4))),
            (Written(3), Deed::Reapply),
        ],
    ),
    workload(
        "withdraw-on-the-way",
        3,
        ONE,
        |_| {},
        &[(Now, Deed::Both(one(3), 1)), (Written(1), Deed::Withdraw)],
    ),
    workload(
        "give-up-on-the-way",
        3,
        ONE,
        |_| {},
        &[
            (Now, Deed::Both(one(3), 1)),
            (Written(1), Deed::Policy(Some(UpdatePolicy::OnClaimDelete))),
        ],
    ),
    workload(
        "do-not-wait",
        3,
        ONE,
        remount,
        &[(Now, Deed::Both(one(3), 1)), (Written(1), Deed::Async(true))],
    ),
    workload(
        "policy-away-on-the-way",
        3,
        ONE,
        |_| {},
        &[
            (Now, Deed::Both(one(3), 1)),
            (Written(1), Deed::Registered(false)),
            (Written(2), Deed::Registered(true)),
        ],
    ),
    workload(
        "drained-on-the-way",
        3,
        ONE,
        since_1_37,
        &[
            (Now, Deed::Both(one(3), 1)),
            (Written(1), Deed::Drain(1)),
            (Written(2), Deed::Fail(0)),
        ],
    ),
    workload(
        "scale-on-the-way",
        3,
        ONE,
        |_| {},
        &[
            (Now, Deed::Both(one(3), 1)),
            (Written(1), Deed::Scale(5)),
            (Written(2), Deed::Scale(2)),
        ],
    ),
    workload(
        "quota",
        3,
        ONE,
        |world| world.api.quota = 5,
        &[(Now, Deed::Target(one(3))), (Quiet, Deed::Quota(20))],
    ),
    workload(
        "parallel-with-one-refused",
        3,
        ONE,
        parallel,
        &[
            (Now, Deed::Select(2, false)),
            (Now, Deed::Target(one(3))),
            (Quiet, Deed::Select(2, true)),
        ],
    ),
    workload(
        "infeasible",
        3,
        ONE,
        |world| world.driver.limit = 2,
        &[(Now, Deed::Target(one(3))), (Quiet, Deed::Limit(9))],
    ),
    workload(
        "each-first-attempt-fails",
        3,
        ONE,
        |world| {
            parallel(world);
            world.driver.fails_first = true;
        },
        &[(Now, Deed::Target(with(3, 1, 0)))],
    ),
    workload(
        "fails-before-the-remount",
        3,
        ONE,
        |world| {
            remount(world);
            world.driver.fails_first = true;
        },
        &[(Now, Deed::FillDisk(0)), (Now, Deed::Both(one(3), 1))],
    ),
    workload(
        "label-is-taken-away",
        3,
        ONE,
        parallel,
        &[
            (Now, Deed::Meddle(Meddles::Label)),
            (Now, Deed::Target(one(3))),
            (Quiet, Deed::Meddle(Meddles::No)),
        ],
    ),
    workload(
        "size-is-put-back",
        3,
        ONE,
        |_| {},
        &[
            (Now, Deed::Meddle(Meddles::Size)),
            (Now, Deed::Both(one(3), 1)),
            (Quiet, Deed::Meddle(Meddles::No)),
        ],
    ),
    workload(
        "class-is-dropped",
        2,
        ONE,
        |_| {},
        &[
            (Now, Deed::Meddle(Meddles::Class)),
            (Now, Deed::Target(with(3, 1, 0))),
            (Quiet, Deed::Meddle(Meddles::No)),
            (Quiet, Deed::Target(with(3, 2, 0))),
        ],
    ),
    workload(
        "take-back",
        3,
        ONE,
        |world| (world.driver.limit, world.recover) = (3, true),
        &[(Now, Deed::Target(one(5))), (Quiet, Deed::Target(one(3)))],
    ),
    workload(
        "withdraw-and-take-back",
        3,
        ONE,
        |world| (world.driver.limit, world.recover) = (3, true),
        &[
            (Now, Deed::Target(one(5))),
            (Quiet, Deed::Withdraw),
            (Quiet, Deed::Target(one(3))),
            (Written(5), Deed::Withdraw),
        ],
    ),
    workload(
        "claim-deleted",
        3,
        ONE,
        |_| {},
        &[
            (Now, Deed::Target(one(3))),
            (Written(1), Deed::DeleteClaim(1)),
            (Written(1), Deed::DeletePod(1)),
        ],
    ),
    workload(
        "set-made-anew",
        3,
        ONE,
        |_| {},
        &[
            (Now, Deed::Target(one(3))),
            (Written(1), Deed::DeleteSet(true)),
            (Quiet, Deed::CreateSet(3)),
            (Quiet, Deed::Target(one(4))),
        ],
    ),
    workload(
        "record-of-another-set",
        3,
        ONE,
        |_| {},
        &[
            (Now, Deed::Target(one(3))),
            (Written(1), Deed::DeleteSet(true)),
            (Quiet, Deed::CreateSet(2)),
            (Now, Deed::Registered(false)),
            (Now, Deed::Replay),
        ],
    ),
    workload(
        "policy-away",
        2,
        ONE,
        |_| {},
        &[
            (Now, Deed::Target(one(3))),
            (Quiet, Deed::Registered(false)),
            (Quiet, Deed::Scale(3)),
            (Quiet, Deed::Scale(4)),
        ],
    ),
    workload(
        "autoscaler",
        3,
        ONE,
        |_| {},
        &[
            (Now, Deed::Size(1, 5)),
            (Now, Deed::Target(one(3))),
            (Written(1), Deed::Size(2, 6)),
            (Quiet, Deed::Target(one(4))),
        ],
    ),
    workload(
        "disk-full",
        3,
        ONE,
        |_| {},
        &[(Now, Deed::FillDisk(0)), (Now, Deed::Target(one(3)))],
    ),
    workload(
        "disk-full-and-image",
        3,
        ONE,
        |_| {},
        &[(Now, Deed::FillDisk(0)), (Now, Deed::Both(one(3), 1))],
    ),
    workload(
        "disk-full-in-the-middle",
        3,
        ONE,
        remount,
        &[(Now, Deed::FillDisk(1)), (Now, Deed::Both(one(3), 1))],
    ),
    workload(
        "disk-full-at-the-top",
        3,
        ONE,
        since_1_37,
        &[(Now, Deed::FillDisk(2)), (Now, Deed::Both(one(3), 1))],
    ),
    workload(
        "disks-full",
        3,
        ONE,
        |_| {},
        &[
            (Now, Deed::FillDisk(2)),
            (Now, Deed::FillDisk(0)),
            (Now, Deed::Both(one(3), 1)),
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
        &[(Now, Deed::FillDisk(0)), (Now, Deed::Both(one(3), 1))],
    ),
    workload(
        "disk-fills-in-parallel",
        3,
        ONE,
        parallel,
        &[(Now, Deed::Both(one(3), 1)), (Written(1), Deed::FillDisk(0))],
    ),
    workload(
        "paused",
        3,
        ONE,
        |_| {},
        &[
            (Now, Deed::Target(one(3))),
            (Written(1), Deed::Pause(true)),
            (Quiet, Deed::Pause(false)),
        ],
    ),
    workload(
        "paused-with-image",
        3,
        ONE,
        |_| {},
        &[
            (Now, Deed::Both(one(3), 1)),
            (Written(1), Deed::Pause(true)),
            (Quiet, Deed::Pause(false)),
        ],
    ),
    workload(
        "by-hand",
        2,
        ONE,
        |_| {},
        &[
            (Now, Deed::OnDelete(true)),
            (Now, Deed::Both(one(3), 1)),
            (Quiet, Deed::DeletePod(1)),
            (Quiet, Deed::DeletePod(0)),
            (Quiet, Deed::OnDelete(false)),
        ],
    ),
    workload(
        "retention",
        3,
        ONE,
        retention,
        &[
            (Now, Deed::Target(one(3))),
            (Written(1), Deed::Scale(2)),
            (Quiet, Deed::Scale(3)),
        ],
    ),
    workload(
        "names-collide",
        2,
        TWO,
        |world| world.api.sibling = true,
        &[(Now, Deed::Target(two(3, 4))), (Quiet, Deed::Sibling(false))],
    ),
    workload(
        "two-at-a-time",
        3,
        ONE,
        two_at_a_time,
        &[(Now, Deed::Both(one(3), 1)), (Written(2), Deed::Target(one(4)))],
    ),
    workload(
        "first-consumer",
        2,
        ONE,
        first_consumer,
        &[(Now, Deed::Target(one(3))), (Now, Deed::Scale(4))],
    ),
    workload(
        "no-volume",
        3,
        ONE,
        parallel,
        &[
            (Now, Deed::Limit(0)),
            (Now, Deed::DeleteClaim(2)),
            (Now, Deed::DeletePod(2)),
            (Quiet, Deed::Target(one(3))),
        ],
    ),
    workload(
        "image-there-and-back",
        2,
        ONE,
        node,
        &[
            (Now, Deed::Both(one(3), 1)),
            (Now, Deed::Image(0)),
            (Now, Deed::Both(one(4), 2)),
            (Now, Deed::Image(0)),
        ],
    ),
];

const fn workload(
    name: &'static str,
    replicas: u8,
    wants: &'static [Want],
    edit: fn(&mut World),
    script: &'static [(When, Deed)],
) -> Workload {
    Workload {
        name,
        replicas,
        wants,
        edit,
        script,
    }
}

fn node(world: &mut World) {
    world.driver.needs_node = true;
}

fn remount(world: &mut World) {
    (world.driver.needs_node, world.driver.needs_remount) = (true, true);
}

fn first_consumer(world: &mut World) {
    world.driver.first_consumer = true;
}

fn min_ready(world: &mut World) {
    world.api.edit_set(|set| set.spec.min_ready = 5);
}

fn canary(world: &mut World) {
    world.api.edit_set(|set| set.spec.partition = 1);
}

fn since_1_37(world: &mut World) {
    world.api.upgrade();
}

fn two_at_a_time(world: &mut World) {
    world.api.edit_set(|set| set.spec.in_motion = 2);
}

fn parallel(world: &mut World) {
    world.api.edit_set(|set| set.spec.parallel = true);
}

fn retention(world: &mut World) {
    world
        .api
        .edit_set(|set| (set.spec.when_scaled, set.spec.when_deleted) = (true, true));
}

impl Workload {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|workload| workload.name == name)
    }
}
