//! The preconditions: one world for each, with the reason, the message, and what was read.

use super::cluster::{Cluster, dependent, web};
use super::process::{Decision, Process, run, world};
use super::words::{act, write};
use super::{End, Ended, run_alone};
use crate::api::ReplacementReason;
use crate::replace::live::FINALIZER;
use crate::replace::step::{Fault, Step};
use crate::replace::world::{CountQuota, ReportOwner};
use crate::replace::{next, notice};
use crate::rollout::fixtures::{rows, staged_change, template};
use crate::templates::{ClaimTemplate, Phase, keys};
use serde_json::{Value, json};

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

/// The words of this table.
fn own(cluster: &mut Cluster, word: &str) {
    match word {
        "adds logs" => stage(cluster, vec![template("data", "2Gi"), template("logs", "1Gi")]),
        "removes logs" => {
            let more = vec![template("data", "1Gi"), template("logs", "1Gi")];
            cluster.change(|object| object["spec"]["volumeClaimTemplates"] = list(&more));
            stage(cluster, vec![template("data", "1Gi")]);
        }
        "web-0 outdated" => "web-0".clone_into(&mut cluster.pods[0].revision),
        "web-1 outdated" => "web-0".clone_into(&mut cluster.pods[1].revision),
        "web-2 outdated" => "web-0".clone_into(&mut cluster.pods[2].revision),
        "web-0 unready" => cluster.pods[0].ready = false,
        "web-1 not selected" => cluster.pods[1].selected = false,
        "web-1 not owned" => cluster.pods[1].controller = None,
        "web-2 not owned" => cluster.pods[2].controller = None,
        "one more Pod" => {
            let mut more = cluster.pods[0].clone();
            more.name = "web-3".to_owned();
            cluster.pods.push(more);
        }
        "big" => _ = cluster.change(|object| object["metadata"]["annotations"]["big"] = "x".repeat(900 * 1024).into()),
        "a Widget" => cluster.unknown.push("Widget w".to_owned()),
        "a PVC left" => cluster.lagging.push("data-web-3".to_owned()),
        "a PVC created again" => cluster.lagging.push("data-web-1".to_owned()),
        "full quota" => cluster.quotas = vec![quota(2), quota(3)],
        "protected" => cluster.denies = [Some("protected"), Some("and more")],
        "not to create" => cluster.denies = [None, Some("too long")],
        _ => match word.strip_prefix("webhook ") {
            Some("priority") => cluster.webhook = Some(|set| write(set, "/spec/template/spec/priority 1")),
            Some("strategy") => cluster.webhook = Some(|set| write(set, "/spec/updateStrategy/type OnDelete")),
            Some("fields") => {
                cluster.webhook = Some(|set| write(set, "/spec/updateStrategy/rollingUpdate/maxUnavailable 3"));
            }
            Some("more") => cluster.webhook = Some(|set| write(set, "/spec/added 1")),
            _ => act(cluster, word),
        },
    }
}

fn act_all(cluster: &mut Cluster, text: &str) {
    text.split("; ").for_each(|word| own(cluster, word));
}

/// A change of the fixture, the parts that are read, the reason and the message.
const ROWS: &str = "
    foreign finalizer | \
        | ForeignFinalizer: the StatefulSet has the finalizer example.com/clean: who set it would clean up when it is \
            deleted
    rolling out | | RolloutNotComplete: not every PVC is updated and ready
    adds logs; web-1 unready | Guard Dependents | PodNotReady: Pod web-1 is not Ready
    // It can be created again: the Pod template mounts nothing new.
    adds logs; web-1 missing | Guard Dependents | PodNotReady: Pod web-1 is missing
    // Nothing is added, so that Kubernetes may replace Pods.
    removes logs; web-1 outdated | Guard Dependents | PodNotUpdated: Pod web-1 has revision web-0, not web-a
    /spec/updateStrategy/rollingUpdate/partition 1; control | \
        | PartitionSet: the partition is 1: set it to 0, so that every Pod has one revision
    big | | TooLarge: the StatefulSet takes 923495 bytes, but the journal holds 921600
    /spec/minReadySeconds 1 | \
        | StatusOutdated: the StatefulSet controller has not seen the last change of the StatefulSet
    /metadata/creationTimestamp 2026-01-01T00:59:01Z | \
        | TooYoung: the StatefulSet is younger than a minute; it is replaced after that
    no guard | Guard \
        | GuardMissing: the guard is not installed: it denies that others delete the StatefulSet meanwhile; apply \
            deploy/guard, or set guard.enabled in the chart
    a Widget | Guard Dependents \
        | OtherDependents: Widget w is owned by the StatefulSet and would lose its owner for ever
    a PVC left | Guard Dependents \
        | ClaimOutdated: the replica of data-web-3 was scaled away, and the PVC does not have what is staged: scale \
            up, so that it gets it, or delete it
    a PVC created again | Guard Dependents \
        | ClaimOutdated: data-web-1 does not have what is staged, because it was created again: the controller updates \
            it first; without one, give the PVC the size and the class yourself
    web-1 ending | Guard Dependents | PodTerminating: Pod web-1 is being deleted
    web-1 not selected | Guard Dependents \
        | PodNotSelected: the selector does not match the labels of Pod web-1, so that it would not be adopted
    web-1 not selected; web-1 not owned | Guard Dependents \
        | PodNotSelected: the selector does not match the labels of Pod web-1, so that it would not be adopted
    web-1 outdated | Guard Dependents | PodNotUpdated: Pod web-1 has revision web-0, not web-a
    web-1 unready | Guard Dependents | PodNotReady: Pod web-1 is not Ready
    web-1 missing | Guard Dependents | PodNotReady: Pod web-1 is missing
    web-2 not owned | Guard Dependents | PodNotReady: Pod web-2 is missing
    /spec/ordinals/start 5; /status/observedGeneration 2 | Guard Dependents | PodNotReady: Pod web-5 is missing
    one more Pod | Guard Dependents | ScalingDown: 4 Pods exist, but the StatefulSet has 3 replicas
    full quota | Guard Dependents Quotas \
        | QuotaFull: ResourceQuota sets allows 3 StatefulSets and 3 exist: raise it by one, because the old one may \
            count for a moment after it is deleted
    protected | Guard Dependents Quotas DryRuns | DeleteDenied: DELETE would be denied: protected
    not to create | Guard Dependents Quotas DryRuns | CreateDenied: CREATE would be denied: too long
    webhook priority | Guard Dependents Quotas DryRuns \
        | CreateChanges: a webhook changes spec.template of a new StatefulSet, so that its Pods would restart
    webhook strategy | Guard Dependents Quotas DryRuns \
        | CreateChanges: a webhook changes spec.updateStrategy of a new StatefulSet, so that its Pods would restart
    RollingUpdate; settle; webhook fields | Guard Dependents Quotas DryRuns \
        | CreateChanges: a webhook changes spec.updateStrategy of a new StatefulSet, so that its Pods would restart
    webhook more | Guard Dependents Quotas DryRuns \
        | CreateChanges: a webhook changes spec.added of a new StatefulSet, so that its Pods would restart
";

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
    for (row, mounts, change) in [
        (
            "no Pod has the update revision",
            false,
            "web-0 outdated; web-1 outdated; web-2 outdated",
        ),
        ("a Pod could not be created", true, "web-1 missing"),
        ("and another is not Ready", true, "web-1 missing; web-0 unready"),
    ] {
        let mut cluster = web();
        own(&mut cluster, "adds logs");
        if mounts {
            mount(&mut cluster, "containers", "logs");
        }
        act_all(&mut cluster, change);
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
    for [change, parts, expected] in rows(ROWS) {
        let mut cluster = web();
        act_all(&mut cluster, change);
        let before = format!("{cluster:?}");
        let run = run_alone(&mut cluster);
        let reads: Vec<String> = parts.split_whitespace().map(|part| format!("read {part}")).collect();
        assert_eq!(run.steps, reads, "{expected}");
        let Ended::End(End::Refused(fault)) = run.ended else {
            panic!("{expected}: {:?}", run.ended);
        };
        assert_eq!(text(&fault), expected);
        assert_eq!(format!("{cluster:?}"), before, "{expected}");
    }
}

/// With the mark, a journal and a ClaimRollout without an owner: all of it is undone, the set first. An outdated status
/// is awaited: `status_outdated_by_the_mark_is_awaited`.
#[test]
fn precondition_lost_after_the_mark_undoes_it() {
    let awaited = |row: &[&str; 3]| row[2].starts_with("StatusOutdated");
    for [change, _, expected] in rows(ROWS).into_iter().filter(|row| !awaited(row)) {
        let mut cluster = dependent();
        let managers = cluster.live().managed_fields_without("");
        let mut process = Process::default();
        for _ in 0..3 {
            process.go_on(&mut cluster);
        }
        cluster.control();
        assert!(cluster.is_marked() && cluster.live().when_deleted() == Some("Retain"));
        act_all(&mut cluster, change);
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
            act(cluster, "/metadata/labels/team red");
            cluster.denies = [None, Some("too long")];
        }
    });
    let dry_runs = run.steps.iter().filter(|step| *step == "read DryRuns").count();
    let Ended::End(End::Refused(fault)) = &run.ended else {
        panic!("{run:?}");
    };
    assert_eq!((dry_runs, fault.reason.as_str()), (2, "CreateDenied"), "{run:?}");
}
