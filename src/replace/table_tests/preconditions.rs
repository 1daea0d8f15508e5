//! The preconditions: one world for each, with the reason, the message, and what was read.

use super::cluster::{Cluster, dependent, staged, web};
use super::process::{Decision, Process, run, world};
use super::{Change, End, Ended, run_alone};
use crate::api::ReplacementReason;
use crate::replace::live::FINALIZER;
use crate::replace::step::{Fault, Part, Step};
use crate::replace::world::{CountQuota, ReportOwner};
use crate::replace::{next, notice};
use crate::rollout::fixtures::{staged_change, template};
use crate::templates::{ClaimTemplate, Phase, keys};
use serde_json::{Value, json};

/// A change of the fixture, the parts that are read, the reason and the message.
type Row = (fn(&mut Cluster), &'static [Part], &'static str);

const NONE: &[Part] = &[];
const GUARD: &[Part] = &[Part::Guard];
const PODS: &[Part] = &[Part::Guard, Part::Dependents];
const QUOTAS: &[Part] = &[Part::Guard, Part::Dependents, Part::Quotas];
const ALL: &[Part] = &[Part::Guard, Part::Dependents, Part::Quotas, Part::DryRuns];

fn partition(cluster: &mut Cluster, partition: i64) {
    cluster.change(|object| object["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = partition.into());
    cluster.control();
}

pub(super) fn created(cluster: &mut Cluster, time: &str) {
    cluster.change(|object| object["metadata"]["creationTimestamp"] = time.into());
}

fn quota(used: u64) -> CountQuota {
    CountQuota {
        name: "sets".to_owned(),
        hard: 3,
        used,
    }
}

fn list(templates: &[ClaimTemplate]) -> Value {
    let texts: Vec<String> = templates.iter().map(ClaimTemplate::text).collect();
    serde_json::from_str(&format!("[{}]", texts.join(","))).expect("JSON")
}

/// Stages these templates; the rollout is complete.
fn stage(cluster: &mut Cluster, templates: Vec<ClaimTemplate>) {
    let mut change = staged_change(templates);
    (change.phase, change.uid) = (Phase::Complete, "uid-1".to_owned());
    let text = change.write().expect("a short text");
    cluster.change(|object| object["metadata"]["annotations"][keys::STAGED] = text.clone().into());
    cluster.control();
}

/// A container of this list in the Pod template mounts this volume.
fn mount(cluster: &mut Cluster, containers: &str, volume: &str) {
    let mounts = json!([{"name": volume, "mountPath": "/mnt"}]);
    cluster.change(|object| object["spec"]["template"]["spec"][containers][0]["volumeMounts"] = mounts.clone());
    cluster.control();
}

const ROWS: &[Row] = &[
    (
        |cluster| _ = cluster.change(|object| object["metadata"]["finalizers"] = json!(["example.com/clean"])),
        NONE,
        "ForeignFinalizer: the StatefulSet has the finalizer example.com/clean: who set it would clean up when it is \
         deleted",
    ),
    (
        |cluster| {
            cluster.change(|object| {
                object["metadata"]["annotations"][keys::STAGED] = staged("2Gi", Phase::RollingOut, "uid-1").into();
            });
        },
        NONE,
        "RolloutNotComplete: not every PVC is updated and ready",
    ),
    (
        |cluster| {
            stage(cluster, vec![template("data", "2Gi"), template("logs", "1Gi")]);
            cluster.pods[1].ready = false;
        },
        PODS,
        "PodNotReady: Pod web-1 is not Ready",
    ),
    // It can be created again: the Pod template mounts nothing new.
    (
        |cluster| {
            stage(cluster, vec![template("data", "2Gi"), template("logs", "1Gi")]);
            drop(cluster.pods.remove(1));
        },
        PODS,
        "PodNotReady: Pod web-1 is missing",
    ),
    // Nothing is added, so that Kubernetes may replace Pods.
    (
        |cluster| {
            let more = vec![template("data", "1Gi"), template("logs", "1Gi")];
            cluster.change(|object| object["spec"]["volumeClaimTemplates"] = list(&more));
            stage(cluster, vec![template("data", "1Gi")]);
            cluster.pods[1].revision = "web-0".to_owned();
        },
        PODS,
        "PodNotUpdated: Pod web-1 has revision web-0, not web-a",
    ),
    (
        |cluster| partition(cluster, 1),
        NONE,
        "PartitionSet: the partition is 1: set it to 0, so that every Pod has one revision",
    ),
    (
        |cluster| _ = cluster.change(|object| object["metadata"]["annotations"]["big"] = "x".repeat(900 * 1024).into()),
        NONE,
        "TooLarge: the StatefulSet takes 923495 bytes, but the journal holds 921600",
    ),
    (
        |cluster| _ = cluster.change(|object| object["spec"]["minReadySeconds"] = 1.into()),
        NONE,
        "StatusOutdated: the StatefulSet controller has not seen the last change of the StatefulSet",
    ),
    (
        |cluster| created(cluster, "2026-01-01T00:59:01Z"),
        NONE,
        "TooYoung: the StatefulSet is younger than a minute; it is replaced after that",
    ),
    (
        |cluster| cluster.guard = false,
        GUARD,
        "GuardMissing: the guard is not installed: it denies that others delete the StatefulSet meanwhile; apply \
         deploy/guard, or set guard.enabled in the chart",
    ),
    (
        |cluster| cluster.unknown.push("Widget w".to_owned()),
        PODS,
        "OtherDependents: Widget w is owned by the StatefulSet and would lose its owner for ever",
    ),
    (
        |cluster| cluster.lagging.push("data-web-3".to_owned()),
        PODS,
        "ClaimOutdated: the replica of data-web-3 was scaled away, and the PVC does not have what is staged: scale up, so \
         that it gets it, or delete it",
    ),
    (
        |cluster| cluster.pods[1].terminating = true,
        PODS,
        "PodTerminating: Pod web-1 is being deleted",
    ),
    (
        |cluster| cluster.pods[1].selected = false,
        PODS,
        "PodNotSelected: the selector does not match the labels of Pod web-1, so that it would not be adopted",
    ),
    (
        |cluster| (cluster.pods[1].selected, cluster.pods[1].controller) = (false, None),
        PODS,
        "PodNotSelected: the selector does not match the labels of Pod web-1, so that it would not be adopted",
    ),
    (
        |cluster| cluster.pods[1].revision = "web-0".to_owned(),
        PODS,
        "PodNotUpdated: Pod web-1 has revision web-0, not web-a",
    ),
    (
        |cluster| cluster.pods[1].ready = false,
        PODS,
        "PodNotReady: Pod web-1 is not Ready",
    ),
    (
        |cluster| drop(cluster.pods.remove(1)),
        PODS,
        "PodNotReady: Pod web-1 is missing",
    ),
    (
        |cluster| cluster.pods[2].controller = None,
        PODS,
        "PodNotReady: Pod web-2 is missing",
    ),
    (
        |cluster| {
            cluster.change(|object| object["spec"]["ordinals"]["start"] = 5.into());
            cluster.change(|object| object["status"]["observedGeneration"] = 2.into());
        },
        PODS,
        "PodNotReady: Pod web-5 is missing",
    ),
    (
        |cluster| {
            let mut more = cluster.pods[0].clone();
            more.name = "web-3".to_owned();
            cluster.pods.push(more);
        },
        PODS,
        "ScalingDown: 4 Pods exist, but the StatefulSet has 3 replicas",
    ),
    (
        |cluster| cluster.quotas = vec![quota(2), quota(3)],
        QUOTAS,
        "QuotaFull: ResourceQuota sets allows 3 StatefulSets and 3 exist: raise it by one, because the old one may \
         count for a moment after it is deleted",
    ),
    (
        |cluster| cluster.denies = [Some("protected"), Some("and more")],
        ALL,
        "DeleteDenied: DELETE would be denied: protected",
    ),
    (
        |cluster| cluster.denies = [None, Some("too long")],
        ALL,
        "CreateDenied: CREATE would be denied: too long",
    ),
    (
        |cluster| {
            cluster.webhook = Some(|object| object["spec"]["template"]["spec"]["priority"] = 1.into());
        },
        ALL,
        "CreateChanges: a webhook changes spec.template of a new StatefulSet, so that its Pods would restart",
    ),
    (
        |cluster| cluster.webhook = Some(|object| object["spec"]["updateStrategy"]["type"] = "OnDelete".into()),
        ALL,
        "CreateChanges: a webhook changes spec.updateStrategy of a new StatefulSet, so that its Pods would restart",
    ),
    (
        |cluster| {
            cluster.change(|object| object["spec"]["updateStrategy"] = json!({"type": "RollingUpdate"}));
            cluster.settle();
            cluster.webhook =
                Some(|object| object["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = 3.into());
        },
        ALL,
        "CreateChanges: a webhook changes spec.updateStrategy of a new StatefulSet, so that its Pods would restart",
    ),
    (
        |cluster| cluster.webhook = Some(|object| object["spec"]["added"] = 1.into()),
        ALL,
        "CreateChanges: a webhook changes spec.added of a new StatefulSet, so that its Pods would restart",
    ),
];

/// No Pod could be created with the new set.
#[test]
fn set_whose_pods_mount_a_removed_volume_is_kept() {
    for (containers, mounts, expected) in [
        ("containers", "data", "VolumeMissing"),
        ("containers", "logs", "allowed"),
        ("containers", "of a webhook", "allowed"),
        ("initContainers", "data", "VolumeMissing"),
        ("initContainers", "logs", "allowed"),
    ] {
        let mut cluster = web();
        stage(&mut cluster, vec![template("logs", "1Gi")]);
        if containers == "initContainers" {
            cluster.change(|object| object["spec"]["template"]["spec"][containers] = json!([{"name": "init"}]));
        }
        mount(&mut cluster, containers, mounts);
        let decision = Process::default().decide(&cluster, &mut Vec::new());
        let found = match decision {
            Decision::End(notice::Ended::Refused(fault)) => fault.reason.as_str(),
            Decision::Write(Step::WriteJournal(_)) => "allowed",
            other => panic!("{other:?}"),
        };
        assert_eq!(found, expected, "{mounts}");
    }
}

/// While a template is added, Pods may wait at the gate; one that is missing comes back with the new set.
#[test]
fn set_with_an_added_template_is_replaced() {
    let adds = |cluster: &mut Cluster| stage(cluster, vec![template("data", "2Gi"), template("logs", "1Gi")]);
    let rows: [(&str, Change); 3] = [
        ("no Pod has the update revision", |cluster| {
            cluster
                .pods
                .iter_mut()
                .for_each(|pod| pod.revision = "web-0".to_owned());
        }),
        ("a Pod could not be created", |cluster| {
            mount(cluster, "containers", "logs");
            drop(cluster.pods.remove(1));
        }),
        ("and another is not Ready", |cluster| {
            mount(cluster, "containers", "logs");
            drop(cluster.pods.remove(1));
            cluster.pods[0].ready = false;
        }),
    ];
    for (row, change) in rows {
        let mut cluster = web();
        adds(&mut cluster);
        change(&mut cluster);
        let mut process = Process::default();
        let mut reads = Vec::new();
        let decision = process.decide(&cluster, &mut reads);
        assert!(
            matches!(decision, Decision::Write(Step::WriteJournal(_))),
            "{row}: {decision:?}"
        );
    }
}

fn text(fault: &Fault) -> String {
    format!("{}: {}", fault.reason, fault.message)
}

/// Nothing is written.
#[test]
fn precondition_not_met_writes_nothing() {
    for (change, parts, expected) in ROWS {
        let mut cluster = web();
        change(&mut cluster);
        let before = format!("{cluster:?}");
        let run = run_alone(&mut cluster);
        let reads: Vec<String> = parts.iter().map(|part| format!("read {part:?}")).collect();
        assert_eq!(run.steps, reads, "{expected}");
        let Ended::End(End::Refused(fault)) = run.ended else {
            panic!("{expected}: {:?}", run.ended);
        };
        assert_eq!(text(&fault), *expected);
        assert_eq!(format!("{cluster:?}"), before, "{expected}");
    }
}

/// With the mark, a journal and a ClaimRollout without an owner: all of it is undone, the set first. An outdated status
/// is awaited: `status_outdated_by_the_mark_is_awaited`.
#[test]
fn precondition_lost_after_the_mark_undoes_it() {
    for (change, _, expected) in ROWS.iter().filter(|row| !row.2.starts_with("StatusOutdated")) {
        let mut cluster = dependent();
        let managers = cluster.live().managed_fields_without("");
        let mut process = Process::default();
        for _ in 0..3 {
            process.go_on(&mut cluster);
        }
        cluster.control();
        assert!(cluster.is_marked() && cluster.live().when_deleted() == Some("Retain"));
        change(&mut cluster);
        cluster.change(|object| {
            object["status"]["observedGeneration"] = object["metadata"]["generation"].clone();
            let finalizers = object["metadata"]["finalizers"].as_array_mut().expect("a list");
            if !finalizers.iter().any(|one| one == FINALIZER) {
                finalizers.push(FINALIZER.into());
            }
        });
        let run = run_alone(&mut cluster);
        let steps = run.steps.iter().filter(|step| !step.starts_with("read"));
        let steps: Vec<&str> = steps.map(String::as_str).collect();
        assert_eq!(
            steps,
            ["Unmark", "RestoreManagers", "DeleteJournal", "OwnReport"],
            "{expected}"
        );
        let Ended::End(End::Refused(fault)) = run.ended else {
            panic!("{expected}: {:?}", run.ended);
        };
        // The undoing is a change that the StatefulSet controller has yet to see.
        let reason = expected.split(':').next().expect("a reason");
        let reasons = [reason, "StatusOutdated"];
        assert!(reasons.contains(&fault.reason.as_str()), "{expected}: {fault:?}");
        assert!(!cluster.is_marked(), "{expected}");
        assert_eq!(cluster.live().when_deleted(), Some("Delete"), "{expected}");
        assert_eq!(cluster.live().managed_fields_without(""), managers, "{expected}");
        assert_eq!(cluster.journal, None, "{expected}");
        assert_eq!(cluster.report, ReportOwner::Set("uid-1".to_owned()), "{expected}");
    }
}

/// The settings, and a write that the API server denied.
#[test]
fn precondition_of_the_caller_is_a_refusal() {
    let cluster = web();
    let mut denied = world(&cluster, &Process::default());
    let fault = Fault::new(ReplacementReason::StepDenied, "the step Mark was denied");
    denied.denied = Some(fault.clone());
    assert_eq!(next(&denied), Step::End(End::Refused(fault)));
    let mut allowed = world(&cluster, &Process::default());
    allowed.allowed = Err("shrink".to_owned());
    let fault = Fault::new(ReplacementReason::StagedChangeNotAllowed, "shrink");
    assert_eq!(next(&allowed), Step::End(End::Refused(fault)));
}

/// What the API server answers to dry runs depends on the whole StatefulSet, so they are made again after a change.
#[test]
fn dry_runs_are_made_again_after_a_change() {
    let mut cluster = web();
    let run = run(&mut cluster, &mut Process::default(), |cluster, _, number| {
        if number == 2 {
            cluster.change(|set| set["metadata"]["labels"]["team"] = "red".into());
            cluster.denies = [None, Some("too long")];
        }
    });
    let dry_runs = run.steps.iter().filter(|step| *step == "read DryRuns").count();
    let Ended::End(End::Refused(fault)) = &run.ended else {
        panic!("{run:?}");
    };
    assert_eq!((dry_runs, fault.reason.as_str()), (2, "CreateDenied"), "{run:?}");
}
