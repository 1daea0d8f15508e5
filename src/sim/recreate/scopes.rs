//! The scopes: how many replicas and controllers, and what users may do.

use super::objects::AnewAction;

/// A scope, all of whose states are visited.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnewScope {
    pub(super) name: &'static str,
    pub(super) replicas: usize,
    pub(super) is_parallel: bool,
    pub(super) asks_snapshot: bool,
    /// The number of controllers.
    pub(super) processes: usize,
    /// Writes fail in every way.
    pub(super) has_failures: bool,
    /// The staged change is a growth in place, and a PVC was restored into another class before.
    pub(super) grows: bool,
    /// The clock of the controllers is an hour ahead.
    pub(super) is_clock_ahead: bool,
    /// How many actions users take.
    pub(super) actions: u8,
    pub(super) users: &'static [AnewAction],
}

const CRASHES: AnewScope = AnewScope {
    name: "crashes",
    replicas: 2,
    is_parallel: false,
    asks_snapshot: false,
    processes: 1,
    has_failures: false,
    grows: false,
    is_clock_ahead: false,
    actions: 0,
    users: &[],
};

pub(super) const SCOPES: &[AnewScope] = &[
    CRASHES,
    AnewScope {
        name: "three replicas",
        replicas: 3,
        is_parallel: true,
        ..CRASHES
    },
    AnewScope {
        name: "snapshots",
        asks_snapshot: true,
        ..CRASHES
    },
    AnewScope {
        name: "the only replica",
        replicas: 1,
        ..CRASHES
    },
    AnewScope {
        name: "the only replica with a snapshot",
        replicas: 1,
        asks_snapshot: true,
        ..CRASHES
    },
    AnewScope {
        name: "two controllers",
        processes: 2,
        ..CRASHES
    },
    AnewScope {
        name: "two controllers, and the user pauses",
        processes: 2,
        actions: 1,
        users: &[AnewAction::Pause, AnewAction::SwitchOff],
        ..CRASHES
    },
    AnewScope {
        name: "Pods fail and are deleted",
        is_parallel: true,
        actions: 2,
        users: &[
            AnewAction::FailPod(0),
            AnewAction::FailPod(1),
            AnewAction::DeletePod(0),
            AnewAction::DeletePod(1),
        ],
        ..CRASHES
    },
    AnewScope {
        name: "PVCs are deleted and taken over",
        actions: 2,
        users: &[
            AnewAction::DeleteClaim(0),
            AnewAction::DeleteClaim(1),
            AnewAction::TakeClaimOver(0),
            AnewAction::TakeClaimOver(1),
        ],
        ..CRASHES
    },
    AnewScope {
        name: "the user pauses and switches it off",
        actions: 2,
        users: &[
            AnewAction::Pause,
            AnewAction::Continue,
            AnewAction::SwitchOff,
            AnewAction::DeleteClaim(1),
        ],
        ..CRASHES
    },
    AnewScope {
        name: "the user pauses or withdraws",
        actions: 1,
        users: &[AnewAction::Pause, AnewAction::Withdraw],
        ..CRASHES
    },
    AnewScope {
        name: "the budget",
        actions: 2,
        users: &[AnewAction::UseBudget, AnewAction::FreeBudget],
        ..CRASHES
    },
    AnewScope {
        name: "the policy is removed",
        actions: 1,
        users: &[AnewAction::RemovePolicy],
        ..CRASHES
    },
    AnewScope {
        name: "writes fail",
        has_failures: true,
        ..CRASHES
    },
    AnewScope {
        name: "writes fail, of the only replica with a snapshot",
        replicas: 1,
        asks_snapshot: true,
        has_failures: true,
        actions: 1,
        users: &[AnewAction::Pause, AnewAction::Withdraw, AnewAction::Wait],
        ..CRASHES
    },
    AnewScope {
        name: "hours pass, and the class of snapshots changes",
        replicas: 1,
        asks_snapshot: true,
        actions: 2,
        users: &[AnewAction::Wait, AnewAction::OtherClass],
        ..CRASHES
    },
    AnewScope {
        name: "withdrawn and staged again",
        actions: 3,
        users: &[
            AnewAction::Withdraw,
            AnewAction::StageAgain,
            AnewAction::DeleteClaim(1),
            AnewAction::Wait,
        ],
        ..CRASHES
    },
    AnewScope {
        name: "withdrawn and staged again, with a snapshot",
        replicas: 1,
        asks_snapshot: true,
        actions: 3,
        users: &[AnewAction::Withdraw, AnewAction::StageAgain, AnewAction::Wait],
        ..CRASHES
    },
    AnewScope {
        name: "the policy is removed, and the report",
        actions: 3,
        users: &[AnewAction::RemovePolicy, AnewAction::DeleteReport, AnewAction::Wait],
        ..CRASHES
    },
    AnewScope {
        name: "the policy is removed, and the clock is ahead",
        is_clock_ahead: true,
        actions: 1,
        users: &[AnewAction::RemovePolicy],
        ..CRASHES
    },
    AnewScope {
        name: "a PVC is made in the second in which the staging is seen",
        is_parallel: true,
        actions: 3,
        users: &[
            AnewAction::RemovePolicy,
            AnewAction::DeleteClaim(1),
            AnewAction::DeletePod(1),
        ],
        ..CRASHES
    },
    AnewScope {
        name: "a growth, and a PVC of another class",
        grows: true,
        actions: 1,
        users: &[AnewAction::Pause, AnewAction::Withdraw],
        ..CRASHES
    },
];
