//! The words of the tables: what somebody does, as in `marked; /spec/replicas 4`, and the names of our steps.

use serde_json::{Value, json};

use super::cluster::{Cluster, manifest, staged};
use crate::replace::journal::{Journal, Stage};
use crate::replace::live::FINALIZER;
use crate::replace::step::Step;
use crate::replace::world::ReportOwner;
use crate::rollout::fixtures::owner;
use crate::templates::{Phase, keys};

/// Does what the words of the text stand for, one after the other.
pub(super) fn act(cluster: &mut Cluster, text: &str) {
    for word in text.split("; ").filter(|word| !word.is_empty()) {
        match word {
            "settle" => cluster.settle(),
            "control" => cluster.control(),
            "Prepared" => journal(cluster, |prepared, _| prepared),
            "Releasing" => journal(cluster, |prepared, cluster| release(&prepared, cluster)),
            "Created" => journal(cluster, |prepared, cluster| release(&prepared, cluster).created()),
            "no set" => cluster.set = None,
            "another set" => cluster.store(manifest("2Gi"), "kubectl"),
            "no journal" => cluster.journal = None,
            "no guard" => cluster.guard = false,
            "no ClaimRollout" => cluster.report = ReportOwner::NoReport,
            "disowned" => cluster.report = ReportOwner::Nobody,
            "namespace ends" => cluster.namespace_ends = true,
            "kept managers" => cluster.keeps_managers = true,
            "web-1 missing" => cluster.pods.retain(|pod| pod.name != "web-1"),
            "web-1 unready" => cluster.pods[1].ready = false,
            "web-1 ending" => cluster.pods[1].terminating = true,
            "web-1 of others" => cluster.pods[1].controller = Some(owner("Other", "o", "other")),
            "web-1 not adopted" => cluster.not_adopted.push("web-1"),
            "other bytes" => cluster.writes_other_bytes = true,
            "another Pod template" => cluster.late_webhook = Some(other_template),
            _ => _ = cluster.change(|set| write(set, word)),
        }
    }
}

/// Puts a journal of the present set at this stage.
fn journal(cluster: &mut Cluster, stage: fn(Journal, &Cluster) -> Journal) {
    let prepared = Journal::prepare(cluster.live(), None, 0).expect("a staged change");
    cluster.journal = Some((1, stage(prepared, cluster)));
}

fn release(journal: &Journal, cluster: &Cluster) -> Journal {
    journal.release(cluster.live(), Vec::new(), cluster.namespace, &cluster.secret())
}

/// Something changes the Pod template of each new set.
fn other_template(set: &mut Value) {
    write(set, "/spec/template/spec/priority 1");
    write(set, "/spec/template/spec/containers/0/image b");
}

/// Changes the StatefulSet: a JSON pointer with the value there, or a word.
pub(super) fn write(set: &mut Value, word: &str) {
    if let Some((pointer, value)) = word.split_once(' ').filter(|(pointer, _)| pointer.starts_with('/')) {
        let field = pointer[1..].split('/').fold(set, |object, key| match object {
            Value::Array(list) => &mut list[key.parse::<usize>().expect("an index")],
            object => &mut object[key],
        });
        *field = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        return;
    }
    let metadata = &mut set["metadata"];
    match word {
        "marked" => metadata["finalizers"] = json!([FINALIZER]),
        "in foreground" => metadata["finalizers"] = json!(["foregroundDeletion", FINALIZER]),
        "orphaning" => metadata["finalizers"] = json!(["orphan"]),
        "without finalizers" => metadata["finalizers"] = json!([]),
        "foreign finalizer" => metadata["finalizers"] = json!(["example.com/clean"]),
        "deleted" => metadata["deletionTimestamp"] = "2026-01-01T01:00:00Z".into(),
        "paused" => metadata["annotations"][keys::PAUSED] = "true".into(),
        "Never" => metadata["annotations"][keys::REPLACE_SET] = "Never".into(),
        "OnClaimDelete" => {
            metadata["annotations"][keys::UPDATE_POLICY] = "OnClaimDelete".into();
            metadata["annotations"][keys::PHASE] = "Staged".into();
        }
        "rolling out" => stage(metadata, "2Gi", Phase::RollingOut),
        "staged" => stage(metadata, "3Gi", Phase::RollingOut),
        "staged and complete" => stage(metadata, "3Gi", Phase::Complete),
        "withdrawn" => {
            let annotations = metadata["annotations"].as_object_mut().expect("annotations");
            annotations.retain(|key, _| ![keys::STAGED, keys::PHASE].contains(&&**key));
        }
        "owned" => {
            let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "of", "uid": "of-uid"});
            metadata["ownerReferences"] = json!([owner]);
        }
        "Delete applied" => applied(set, "Delete"),
        "Retain applied" => {
            write(set, "/spec/persistentVolumeClaimRetentionPolicy/whenDeleted Retain");
            applied(set, "Retain");
        }
        "Retain applied by Argo CD" => {
            write(set, "/spec/persistentVolumeClaimRetentionPolicy/whenDeleted Retain");
            let field = json!({"f:persistentVolumeClaimRetentionPolicy": {"f:whenDeleted": {}}});
            manage(set, &field);
        }
        "depends" => set["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] = "Delete".into(),
        "OnDelete" | "Recreate" | "RollingUpdate" => set["spec"]["updateStrategy"] = json!({ "type": word }),
        _ => panic!("{word:?} is no word of the tables"),
    }
}

/// The set has this change of its own.
fn stage(metadata: &mut Value, size: &str, phase: Phase) {
    let text = staged(size, phase, metadata["uid"].as_str().unwrap_or_default());
    metadata["annotations"][keys::STAGED] = text.into();
    metadata["annotations"][keys::PHASE] = phase.as_str().into();
}

/// `kubectl apply` notes what it has applied.
fn applied(set: &mut Value, when_deleted: &str) {
    let manifest = json!({"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": when_deleted}}});
    let last_applied = "kubectl.kubernetes.io/last-applied-configuration";
    set["metadata"]["annotations"][last_applied] = manifest.to_string().into();
}

/// Argo CD manages this field, too.
pub(super) fn manage(set: &mut Value, field: &Value) {
    let entry = json!({"manager": "argocd", "operation": "Apply", "fieldsV1": {"f:spec": field}});
    let entries = set["metadata"]["managedFields"].as_array_mut();
    entries.expect("a list").push(entry);
}

/// The name of a step, with the stage of a journal.
pub(super) const fn name(step: &Step) -> &'static str {
    match step {
        Step::WriteJournal(journal) => match journal.stage {
            Stage::Prepared => "WriteJournal(Prepared)",
            Stage::Releasing => "WriteJournal(Releasing)",
            Stage::Created => "WriteJournal(Created)",
        },
        step => step.name(),
    }
}
