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

/// All scopes.
pub(super) const SCOPES: &[ReplaceScope] = &[
    scope("crashes", &[], 2, 1, UNKNOWN),
    scope(
        "writes",
        &[Action::Scale(3), Action::Label, Action::Image],
        1,
        1,
        NOTHING,
    ),
    scope(
        "scaling",
        &[Action::Scale(1), Action::Scale(3), Action::Label],
        1,
        1,
        NOTHING,
    ),
    scope(
        "PVCs follow",
        &[Action::Label],
        1,
        1,
        Surroundings {
            deletes_claims: true,
            ..UNKNOWN
        },
    ),
    scope(
        "PVCs are to follow",
        &[Action::DeleteClaims, Action::DeletePod(1)],
        1,
        1,
        NOTHING,
    ),
    scope(
        "a webhook changes the Pod template",
        &[Action::Scale(1), Action::Scale(2)],
        1,
        1,
        Surroundings {
            mutates: true,
            ..NOTHING
        },
    ),
    scope(
        "the Pod template in other bytes",
        &[Action::Scale(3), Action::DeletePod(1)],
        1,
        1,
        Surroundings {
            other_bytes: true,
            ..NOTHING
        },
    ),
    scope(
        "a user deletes",
        &[
            Action::Delete(Propagation::Background),
            Action::Create {
                grown: false,
                replicas: 2,
            },
        ],
        1,
        1,
        NOTHING,
    ),
    scope(
        "a user deletes in foreground",
        &[Action::Delete(Propagation::Foreground)],
        1,
        1,
        NOTHING,
    ),
    scope(
        "a user deletes without the Pods",
        &[
            Action::Delete(Propagation::Orphan),
            Action::Create {
                grown: true,
                replicas: 2,
            },
        ],
        1,
        1,
        NOTHING,
    ),
    scope(
        "the guard is removed",
        &[Action::RemoveGuard, Action::Delete(Propagation::Foreground)],
        1,
        1,
        NOTHING,
    ),
    scope(
        "GitOps without replicas",
        &[Action::Create {
            grown: true,
            replicas: 1,
        }],
        1,
        1,
        NOTHING,
    ),
    scope(
        "GitOps with the old templates",
        &[
            Action::Create {
                grown: false,
                replicas: 2,
            },
            Action::Label,
        ],
        1,
        1,
        NOTHING,
    ),
    scope(
        "an owner operator",
        &[
            Action::Create {
                grown: true,
                replicas: 2,
            },
            Action::Label,
        ],
        1,
        1,
        NOTHING,
    ),
    scope(
        "the quota is full",
        &[Action::FillQuota, Action::Scale(3)],
        1,
        1,
        NOTHING,
    ),
    scope(
        "the namespace",
        &[Action::DeleteNamespace, Action::CreateNamespace],
        1,
        1,
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
    scope(
        "a user protects PVCs",
        &[Action::RetainClaims],
        1,
        1,
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
    scope(
        "the guard is removed, and time passes",
        &[Action::RemoveGuard],
        1,
        1,
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
    scope(
        "the guard cannot be read",
        &[],
        1,
        1,
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
    scope(
        "the mark is denied",
        &[Action::Label],
        1,
        1,
        Surroundings {
            answers_mark: Some(SmallAnswer::Denied),
            ..NOTHING
        },
    ),
    scope(
        "the mark is answered with a conflict",
        &[Action::Label],
        1,
        1,
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
