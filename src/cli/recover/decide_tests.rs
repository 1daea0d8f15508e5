use std::collections::BTreeMap;

use super::{GrownClaim, RecoverInputs, decide};
use crate::api::Settings;
use crate::claims::Claim;
use crate::claims::progress::{Resize, Trouble};
use crate::cli::recover::answer::CureKind;
use crate::rollout::fixtures::{gi, staged_change, template, web};
use crate::templates::rules::Shrink;
use crate::templates::{Phase, UpdatePolicy, keys};

/// Three replicas of 1Gi. 1Ti is staged, and the driver reports that PVC 2 cannot have it. `shrink` is `Recover`.
pub(crate) fn failed(change: impl FnOnce(&mut RecoverInputs)) -> RecoverInputs {
    let mut web = web();
    web.stage(vec![template("data", "1Ti")]);
    let claims = web.claims.iter().map(|(name, view)| {
        let (view, allocated, status) = (view.clone(), None, None);
        (
            name.clone(),
            GrownClaim {
                view,
                allocated,
                status,
            },
        )
    });
    let mut inputs = RecoverInputs {
        claims: claims.collect(),
        set: web.set,
        settings: Settings {
            shrink: Shrink::Recover,
            ..Settings::default()
        },
        denied: BTreeMap::new(),
        minor: Some(37),
    };
    fails(&mut inputs, "data-web-2");
    change(&mut inputs);
    inputs
}

fn view<'i>(inputs: &'i mut RecoverInputs, name: &str) -> &'i mut Claim {
    &mut inputs.claims.get_mut(name).expect("a claim of the fixture").view
}

/// Our apply requests 1Ti, which the driver cannot do.
fn fails(inputs: &mut RecoverInputs, name: &str) {
    let label = inputs.set.staged.as_ref().expect("a staged change").label();
    let claim = inputs.claims.get_mut(name).expect("a claim of the fixture");
    claim.allocated = Some(gi(1024));
    claim.status = Some("ControllerResizeInfeasible".to_owned());
    let view = &mut claim.view;
    view.labels.insert(keys::REVISION.to_owned(), label.to_string());
    (view.request, view.size_is_ours) = (gi(1024), true);
    view.resize = Some(Resize::ControllerInfeasible);
    view.troubles = vec![Trouble {
        reason: "ControllerResizeError".to_owned(),
        message: "more than the driver can do".to_owned(),
    }];
}

fn reaches(inputs: &mut RecoverInputs, name: &str) {
    let view = view(inputs, name);
    (view.request, view.capacity) = (gi(1024), Some(gi(1024)));
}

/// Only our commands and the sizes, in short: `web` in `default` is left out.
fn short(command: &str) -> String {
    let size = || {
        command
            .split('"')
            .filter(|word| word.ends_with('i'))
            .collect::<Vec<_>>()
            .join(" ")
    };
    match command.split(' ').collect::<Vec<_>>()[..] {
        ["kubectl", "patch", "statefulset", "web", "-n", "default", kind, ..] => format!("stage {kind} {}", size()),
        ["kubectl", "patch", "pvc", name, "-n", "default", ..] => format!("patch {name} {}", size()),
        ["kubectl", "delete", "pod", name, "-n", "default"] => format!("restart {name}"),
        ["claim-rollout", ours, "web", "-n", "default"] => ours.to_owned(),
        _ => panic!("{command}"),
    }
}

/// The change of the fixture, the cures with their commands, and a part of each note.
pub(crate) type Row = (
    &'static str,
    fn(&mut RecoverInputs),
    &'static [(CureKind, &'static [&'static str])],
    &'static [&'static str],
);

const WITHDRAW: (CureKind, &[&str]) = (CureKind::Withdraw, &["withdraw"]);

pub(crate) const ROWS: [Row; 24] = [
    (
        "one failed: the least above its capacity",
        |_| {},
        &[(CureKind::Stage, &["stage --type=json 1025Mi"]), WITHDRAW],
        &[],
    ),
    (
        "capacities differ: above the largest of those that request more",
        |inputs| {
            fails(inputs, "data-web-1");
            view(inputs, "data-web-1").capacity = Some(gi(7));
        },
        &[(CureKind::Stage, &["stage --type=json 7169Mi"]), WITHDRAW],
        &[],
    ),
    (
        "a PVC that requests no more may have any size",
        |inputs| {
            let view = view(inputs, "data-web-0");
            (view.request, view.capacity) = (gi(1), Some(gi(40)));
        },
        &[(CureKind::Stage, &["stage --type=json 1025Mi"]), WITHDRAW],
        &[],
    ),
    (
        "a new capacity is above another one",
        |inputs| {
            inputs.set.live = vec![template("data", "2Gi")];
            view(inputs, "data-web-2").capacity = Some(gi(2));
            let view = view(inputs, "data-web-1");
            (view.request, view.capacity) = (gi(3), "2049Mi".parse().ok());
        },
        &[(CureKind::Stage, &["stage --type=json 2050Mi"]), WITHDRAW],
        &[],
    ),
    (
        "another has reached it, and keeps it",
        |inputs| reaches(inputs, "data-web-1"),
        &[(CureKind::Stage, &["stage --type=json 1025Mi"]), WITHDRAW],
        &[],
    ),
    (
        "the live size failed",
        |inputs| inputs.set.live = vec![template("data", "1Ti")],
        &[],
        &["no smaller size of template data can be staged"],
    ),
    (
        "all have reached it",
        |inputs| {
            for name in ["data-web-0", "data-web-1", "data-web-2"] {
                reaches(inputs, name);
            }
        },
        &[],
        &[],
    ),
    (
        "the live size is above all capacities: a withdrawal asks for it",
        |inputs| inputs.set.live = vec![template("data", "3Gi")],
        &[WITHDRAW],
        &[],
    ),
    (
        "the staged change has a label, which stays",
        |inputs| {
            let mut data = template("data", "1Ti");
            data.labels.insert("tier".to_owned(), "gold".to_owned());
            inputs.set.staged = Some(staged_change(vec![data]));
        },
        &[(CureKind::Stage, &["stage --type=merge 1025Mi"]), WITHDRAW],
        &[],
    ),
    (
        "the rollout is paused",
        |inputs| inputs.set.paused = true,
        &[
            (CureKind::Stage, &["stage --type=json 1025Mi", "resume"]),
            (CureKind::Withdraw, &["withdraw", "resume"]),
        ],
        &[],
    ),
    (
        "the setting is Deny: by hand, and not again",
        |inputs| inputs.settings.shrink = Shrink::Deny,
        &[(CureKind::Patch, &["withdraw", "patch data-web-2 1025Mi"])],
        &["without the setting shrink: Recover"],
    ),
    (
        "nothing is staged any more",
        |inputs| inputs.set.staged = None,
        &[(CureKind::Patch, &["patch data-web-2 1025Mi"])],
        &["No change is staged"],
    ),
    (
        "existing PVCs do not follow",
        |inputs| inputs.set.update_policy = Some(UpdatePolicy::OnClaimDelete),
        &[(CureKind::Patch, &["patch data-web-2 1025Mi"])],
        &["Only PVCs created from now on"],
    ),
    (
        "the rollout is complete",
        |inputs| inputs.set.staged.as_mut().expect("staged").phase = Phase::Complete,
        &[(CureKind::Patch, &["withdraw", "patch data-web-2 1025Mi"])],
        &["the staged change is Complete"],
    ),
    (
        "somebody else asked for the size",
        |inputs| view(inputs, "data-web-2").size_is_ours = false,
        &[(CureKind::Patch, &["withdraw", "patch data-web-2 1025Mi"])],
        &[],
    ),
    (
        "one of two was grown by somebody else",
        |inputs| {
            fails(inputs, "data-web-1");
            view(inputs, "data-web-1").size_is_ours = false;
        },
        &[
            (CureKind::Stage, &["stage --type=json 1025Mi"]),
            WITHDRAW,
            (CureKind::Patch, &["patch data-web-1 1025Mi"]),
        ],
        &[],
    ),
    (
        "a smaller size is staged already",
        |inputs| inputs.set.staged = Some(staged_change(vec![template("data", "2Gi")])),
        &[],
        &["PVC data-web-2: the rollout will take it back"],
    ),
    (
        "the least is requested already",
        |inputs| view(inputs, "data-web-2").request = "1025Mi".parse().expect("a size"),
        &[],
        &["PVC data-web-2 requests 1025Mi, and the API server accepts no smaller size"],
    ),
    (
        "the driver tries again",
        |inputs| view(inputs, "data-web-2").resize = Some(Resize::ControllerInProgress),
        &[(CureKind::Stage, &["stage --type=json 1025Mi"]), WITHDRAW],
        &[],
    ),
    (
        "the file system has not grown",
        |inputs| view(inputs, "data-web-2").resize = Some(Resize::NodeInfeasible),
        &[(CureKind::RestartPod, &["restart web-2"])],
        &[],
    ),
    (
        "the API server denies a write",
        |inputs| {
            view(inputs, "data-web-2").capacity = Some(gi(1024));
            inputs
                .denied
                .insert("data-web-1".to_owned(), "exceeded quota".to_owned());
        },
        &[(CureKind::Retry, &["retry"])],
        &[],
    ),
    (
        "somebody lowered the PVC, and it has what it asks for now: to try again does not help",
        |inputs| {
            let view = view(inputs, "data-web-2");
            (view.request, view.capacity, view.size_is_ours) = (gi(2), Some(gi(2)), false);
            let why = "somebody lowered it".to_owned();
            inputs.denied.insert("data-web-2".to_owned(), why);
        },
        &[],
        &[],
    ),
    (
        "Kubernetes is older",
        |inputs| inputs.minor = Some(33),
        &[(CureKind::Stage, &["stage --type=json 1025Mi"]), WITHDRAW],
        &["before Kubernetes 1.34"],
    ),
    (
        "the PVC is of another StatefulSet",
        |inputs| {
            let owner = crate::rollout::fixtures::owner("StatefulSet", "db", "other");
            view(inputs, "data-web-2").owners.push(owner);
        },
        &[],
        &[],
    ),
];

#[test]
fn cures_are_the_smallest_changes() {
    for (row, change, cures, notes) in ROWS {
        let recovery = decide(&failed(change), "claim-rollout");
        let found: Vec<(CureKind, Vec<String>)> = recovery
            .cures
            .iter()
            .map(|cure| (cure.kind, cure.commands.iter().map(|command| short(command)).collect()))
            .collect();
        let expected: Vec<(CureKind, Vec<String>)> = cures
            .iter()
            .map(|(kind, commands)| (*kind, commands.iter().map(|&command| command.to_owned()).collect()))
            .collect();
        assert_eq!(found, expected, "{row}: {:?}", recovery.notes);
        assert_eq!(recovery.notes.len(), notes.len(), "{row}: {:?}", recovery.notes);
        for (found, expected) in recovery.notes.iter().zip(notes) {
            assert!(found.contains(expected), "{row}: {found}");
        }
    }
}

#[test]
fn summary_names_the_worst() {
    let summary = |change: fn(&mut RecoverInputs)| decide(&failed(change), "claim-rollout").summary;
    type SummaryRow = (fn(&mut RecoverInputs), &'static str);
    let rows: [SummaryRow; 5] = [
        (|_| {}, "the growth of 1 of 3 PVCs failed"),
        (
            |inputs| view(inputs, "data-web-2").resize = Some(Resize::NodePending),
            "1 of 3 volumes have grown, but their file systems have not",
        ),
        (
            |inputs| {
                reaches(inputs, "data-web-2");
                inputs
                    .denied
                    .insert("data-web-1".to_owned(), "exceeded quota".to_owned());
            },
            "the API server denies the write of 1 of 3 PVCs",
        ),
        (
            |inputs| {
                let view = view(inputs, "data-web-2");
                (view.resize, view.troubles) = (None, Vec::new());
            },
            "1 of 3 PVCs still grow and none failed: nothing to do but to wait",
        ),
        (
            |inputs| reaches(inputs, "data-web-2"),
            "no growth failed: nothing to do",
        ),
    ];
    for (change, expected) in rows {
        assert_eq!(summary(change), format!("StatefulSet web: {expected}"));
    }
}

/// The policy and the controller agree with the size: every PVC can follow it, and none can follow a smaller one.
#[test]
fn staged_size_is_the_smallest_that_is_accepted() {
    use crate::claims::compatible::recoverable;
    use crate::rollout::lowered::SIZE_STEP;
    use crate::templates::Quantity;

    for capacities in [[1, 1, 1], [1, 2, 3], [5, 3, 4], [9, 1, 9]] {
        let inputs = failed(|inputs| {
            for (ordinal, capacity) in capacities.into_iter().enumerate() {
                let name = format!("data-web-{ordinal}");
                fails(inputs, &name);
                view(inputs, &name).capacity = Some(gi(capacity));
            }
        });
        let recovery = decide(&inputs, "claim-rollout");
        let command = recovery.cures.iter().find(|cure| cure.kind == CureKind::Stage);
        let size = short(&command.expect("a cure").commands[0]);
        let size: Quantity = size.rsplit(' ').next().expect("a size").parse().expect("a size");
        let follow = |size: Quantity| {
            let mut data = template("data", "1Gi");
            data.storage = Some(size);
            inputs
                .claims
                .values()
                .all(|claim| recoverable(&data, &claim.view).is_none())
        };
        assert!(follow(size), "{capacities:?}: {size}");
        let less = Quantity::from_bytes(size.bytes().expect("bytes") - SIZE_STEP);
        assert!(!follow(less), "{capacities:?}: {less}");
    }
}
