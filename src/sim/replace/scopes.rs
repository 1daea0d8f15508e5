//! The scopes: what else happens while a StatefulSet is replaced.

use super::event::ReplaceScope;
use super::objects::{SmallAnswer, Surroundings};
use super::users::ReplaceAction as Action;
use super::world::Propagation;
use crate::replace::Part;

const NOTHING: Surroundings = Surroundings {
    other_bytes: false,
    mutates: false,
    unknown: false,
    deletes_claims: false,
    unguarded: false,
    backups: false,
    denies: false,
    slow: false,
    prompt: false,
    stopped: false,
    unread: None,
    answers_mark: None,
};

const UNKNOWN: Surroundings = Surroundings {
    unknown: true,
    ..NOTHING
};

const fn scope(
    name: &'static str,
    actions: &'static [Action],
    faults: u8,
    controllers: usize,
    surroundings: Surroundings,
) -> ReplaceScope {
    ReplaceScope {
        name,
        actions,
        faults,
        controllers,
        surroundings,
    }
}

/// One controller, and one fault.
const fn alone(name: &'static str, actions: &'static [Action], surroundings: Surroundings) -> ReplaceScope {
    scope(name, actions, 1, 1, surroundings)
}

/// All scopes.
pub(super) const SCOPES: &[ReplaceScope] = &[
    scope("crashes", &[], 2, 1, UNKNOWN),
    alone("writes", &[Action::Scale(3), Action::Label, Action::Image], NOTHING),
    alone("scaling", &[Action::Scale(1), Action::Scale(3), Action::Label], NOTHING),
    alone(
        "PVCs follow",
        &[Action::Label],
        Surroundings {
            deletes_claims: true,
            ..UNKNOWN
        },
    ),
    alone(
        "PVCs are to follow",
        &[Action::DeleteClaims, Action::DeletePod(1)],
        NOTHING,
    ),
    alone(
        "a webhook changes the Pod template",
        &[Action::Scale(1), Action::Scale(2)],
        Surroundings {
            mutates: true,
            ..NOTHING
        },
    ),
    alone(
        "the Pod template in other bytes",
        &[Action::Scale(3), Action::DeletePod(1)],
        Surroundings {
            other_bytes: true,
            ..NOTHING
        },
    ),
    alone(
        "a user deletes",
        &[
            Action::Delete(Propagation::Background),
            Action::Create {
                grown: false,
                replicas: 2,
            },
        ],
        NOTHING,
    ),
    alone(
        "a user deletes in foreground",
        &[Action::Delete(Propagation::Foreground)],
        NOTHING,
    ),
    alone(
        "a user deletes without the Pods",
        &[
            Action::Delete(Propagation::Orphan),
            Action::Create {
                grown: true,
                replicas: 2,
            },
        ],
        NOTHING,
    ),
    alone(
        "the guard is removed",
        &[Action::RemoveGuard, Action::Delete(Propagation::Foreground)],
        NOTHING,
    ),
    alone(
        "GitOps without replicas",
        &[Action::Create {
            grown: true,
            replicas: 1,
        }],
        NOTHING,
    ),
    alone(
        "GitOps with the old templates",
        &[
            Action::Create {
                grown: false,
                replicas: 2,
            },
            Action::Label,
        ],
        NOTHING,
    ),
    alone(
        "an owner operator",
        &[
            Action::Create {
                grown: true,
                replicas: 2,
            },
            Action::Label,
        ],
        NOTHING,
    ),
    alone("the quota is full", &[Action::FillQuota, Action::Scale(3)], NOTHING),
    alone(
        "the namespace",
        &[Action::DeleteNamespace, Action::CreateNamespace],
        NOTHING,
    ),
    scope(
        "any answer",
        &[Action::DeleteNamespace],
        2,
        1,
        Surroundings {
            denies: true,
            ..NOTHING
        },
    ),
    alone(
        "a user protects PVCs",
        &[Action::RetainClaims],
        Surroundings {
            deletes_claims: true,
            denies: true,
            ..NOTHING
        },
    ),
    scope(
        "a backup of the journal",
        &[
            Action::RestoreJournal,
            Action::Scale(1),
            Action::Delete(Propagation::Background),
        ],
        0,
        1,
        Surroundings {
            backups: true,
            ..NOTHING
        },
    ),
    alone(
        "the guard is removed, and time passes",
        &[Action::RemoveGuard],
        Surroundings { slow: true, ..NOTHING },
    ),
    scope(
        "the StatefulSet controller is stopped",
        &[],
        2,
        1,
        Surroundings {
            deletes_claims: true,
            slow: true,
            stopped: true,
            ..NOTHING
        },
    ),
    alone(
        "the guard cannot be read",
        &[],
        Surroundings {
            unread: Some(Part::Guard),
            ..NOTHING
        },
    ),
    scope(
        "the DELETED event cannot be read",
        &[],
        2,
        1,
        Surroundings {
            unread: Some(Part::LastVersion),
            ..NOTHING
        },
    ),
    alone(
        "the mark is denied",
        &[Action::Label],
        Surroundings {
            answers_mark: Some(SmallAnswer::Denied),
            ..NOTHING
        },
    ),
    alone(
        "the mark is answered with a conflict",
        &[Action::Label],
        Surroundings {
            answers_mark: Some(SmallAnswer::Conflict),
            ..NOTHING
        },
    ),
    scope(
        "two controllers that see everything, and a user who deletes",
        &[Action::Delete(Propagation::Background)],
        0,
        2,
        Surroundings {
            prompt: true,
            ..NOTHING
        },
    ),
    scope("two controllers", &[], 1, 2, NOTHING),
    scope("two controllers and a write", &[Action::Scale(3)], 0, 2, NOTHING),
    scope(
        "two controllers and a user who deletes",
        &[Action::Delete(Propagation::Background)],
        0,
        2,
        NOTHING,
    ),
];
