//! Executes the steps of a replacement.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::api::{Api, Patch, Request};
use serde_json::{Value, json};

use super::answer::delete;
use super::cluster::{Cluster, SetName, report_owner, sets_path};
use super::parts::orphan;
use crate::api::ApiOutcome;
use crate::controller::calls::api_calls::{call, deletion, merge, post, write_text};
use crate::controller::objects::rollout::SlimRollout;
use crate::replace::{FINALIZER, HOLD, LiveSet, Reply, SetObjects, SetVersion, Step};
use crate::templates::keys;

impl Cluster {
    /// Executes a step that writes.
    pub(super) async fn execute(&self, set: &SetName, objects: &SetObjects, step: &Step) -> ApiOutcome<Reply> {
        let version = objects.journal_version.as_deref();
        match step {
            Step::WriteJournal(journal) => {
                let written = self.write_journal(set, journal, version).await;
                written.and_then(|secret| match secret {
                    [Some(_), Some(_)] => ApiOutcome::Done(Reply::Journal(secret)),
                    _ => ApiOutcome::unsure("the answer is no Secret"),
                })
            }
            Step::DeleteJournal | Step::LeaveForeign(_) => self.delete_journal(set, version).await.and_then(nothing),
            Step::DisownReport => {
                self.patch_report(set, &json!({"metadata": {"ownerReferences": null}}))
                    .await
            }
            Step::OwnReport { uid } => self.patch_report(set, &owned(set, uid)).await,
            Step::Mark(seen)
            | Step::RestoreStrategy { set: seen, .. }
            | Step::RestoreStaged { set: seen, .. }
            | Step::RestoreManagers { set: seen, .. }
            | Step::ScaleUp { set: seen, .. } => self.patch(set, seen, patch_of(objects, step)).await,
            Step::Unmark {
                set: seen,
                generation,
                finalizers,
                when_deleted,
            } => {
                self.patch_if(set, unmarked(seen, *generation, finalizers, when_deleted.as_deref()))
                    .await
            }
            Step::Delete { uid, resource_version } => {
                let params = orphan(uid, resource_version.as_deref());
                let request = Request::new(sets_path(&set.namespace)).delete(&set.name, &params);
                self.send(request).await.and_then(deleted)
            }
            Step::LetGo(object) => {
                let request = Request::new(sets_path(&set.namespace)).replace(&set.name, &post(), bytes(object));
                let written = self.send(request).await.and_then(set_of);
                written.and_then(nothing)
            }
            Step::Create(object) => {
                let request = Request::new(sets_path(&set.namespace)).create(&post(), bytes(object));
                self.send(request).await.and_then(set_of)
            }
            Step::DeleteRevision { name, uid } => {
                let revisions: Api<ControllerRevision> = Api::namespaced(self.client.clone(), &set.namespace);
                let deleted = delete(&revisions, name, &deletion(Some(uid), None)).await;
                deleted.and_then(nothing)
            }
            Step::Read(_) | Step::Wait { .. } | Step::End(_) => nothing(()),
        }
    }

    /// Patches the version of the set that was read.
    async fn patch(&self, set: &SetName, seen: &SetVersion, mut body: Value) -> ApiOutcome<Reply> {
        body["metadata"]["uid"] = json!(seen.uid);
        body["metadata"]["resourceVersion"] = json!(seen.resource_version);
        let request = Request::new(sets_path(&set.namespace)).patch(&set.name, &merge(), &Patch::Merge(body));
        self.send(request).await.and_then(set_of)
    }

    /// Patches the set if the tests of the patch hold.
    async fn patch_if(&self, set: &SetName, patch: Value) -> ApiOutcome<Reply> {
        let patch = match serde_json::from_value(patch) {
            Ok(patch) => Patch::Json::<()>(patch),
            Err(error) => return ApiOutcome::denied("Invalid", error.to_string()),
        };
        let request = Request::new(sets_path(&set.namespace)).patch(&set.name, &merge(), &patch);
        self.send(request).await.and_then(set_of)
    }

    async fn patch_report(&self, set: &SetName, body: &Value) -> ApiOutcome<Reply> {
        let reports: Api<SlimRollout> = Api::namespaced(self.client.clone(), &set.namespace);
        let patched = call(reports.patch(&set.name, &merge(), &Patch::Merge(body))).await;
        patched.and_then(|SlimRollout(report)| match report.metadata.uid {
            Some(_) => ApiOutcome::Done(Reply::Report(report_owner(&report))),
            None => ApiOutcome::unsure("the answer is no ClaimRollout"),
        })
    }
}

/// The write of a step, for the log.
pub(super) fn write_of(set: &SetName, step: &Step) -> String {
    let SetName { namespace, name } = set;
    let of_set = |verb: &str, version: &str| write_text([verb, "statefulsets"], [namespace, name], version);
    match step {
        Step::Mark(seen)
        | Step::RestoreStrategy { set: seen, .. }
        | Step::RestoreStaged { set: seen, .. }
        | Step::RestoreManagers { set: seen, .. }
        | Step::ScaleUp { set: seen, .. } => of_set("patch", &seen.resource_version),
        Step::Unmark { .. } => of_set("patch", ""),
        Step::Delete { resource_version, .. } => of_set("delete", resource_version.as_deref().unwrap_or_default()),
        Step::LetGo(object) => of_set(
            "update",
            object["metadata"]["resourceVersion"].as_str().unwrap_or_default(),
        ),
        Step::Create(_) => of_set("create", ""),
        other => format!("{} of {namespace}/{name}", other.name()),
    }
}

fn nothing<T>(_: T) -> ApiOutcome<Reply> {
    ApiOutcome::Done(Reply::Nothing)
}

/// The set in a reply. Another success comes from somebody else than the API server.
fn set_of(reply: Value) -> ApiOutcome<Reply> {
    if reply["kind"] == "StatefulSet" {
        return ApiOutcome::Done(Reply::Set(LiveSet::new(reply)));
    }
    ApiOutcome::unsure("the answer is no StatefulSet")
}

/// The set in the reply to a DELETE, or a status if no object is left.
fn deleted(reply: Value) -> ApiOutcome<Reply> {
    if reply["kind"] == "Status" && reply["status"] == "Success" {
        return nothing(());
    }
    set_of(reply)
}

fn bytes(object: &Value) -> Vec<u8> {
    object.to_string().into_bytes()
}

/// The owner reference and the `setRef` of the new set.
fn owned(set: &SetName, uid: &str) -> Value {
    let owner = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": set.name, "uid": uid}]);
    json!({"metadata": {"ownerReferences": owner}, "spec": {"setRef": {"uid": uid}}})
}

/// The patch that removes our finalizer, with what must be as it was read.
fn unmarked(seen: &SetVersion, generation: i64, finalizers: &[String], when_deleted: Option<&str>) -> Value {
    let others: Vec<&String> = finalizers.iter().filter(|one| *one != FINALIZER).collect();
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": seen.uid}),
        json!({"op": "test", "path": "/metadata/generation", "value": generation}),
        json!({"op": "test", "path": "/metadata/finalizers", "value": finalizers}),
        json!({"op": "replace", "path": "/metadata/finalizers", "value": others}),
    ];
    if let Some(when_deleted) = when_deleted {
        let version = json!({"op": "test", "path": "/metadata/resourceVersion", "value": seen.resource_version});
        patch.insert(0, version);
        let path = "/spec/persistentVolumeClaimRetentionPolicy/whenDeleted";
        patch.push(json!({"op": "add", "path": path, "value": when_deleted}));
    }
    patch.into()
}

/// The patch of a set, without its version.
fn patch_of(objects: &SetObjects, step: &Step) -> Value {
    match step {
        Step::Mark(_) => {
            let finalizers = objects.set.iter().flat_map(LiveSet::finalizers).chain([FINALIZER]);
            let mut body = json!({"metadata": {"finalizers": finalizers.collect::<BTreeSet<_>>()}});
            if objects.set.as_ref().and_then(LiveSet::when_deleted) == Some("Delete") {
                body["spec"] = json!({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain"}});
            }
            body
        }
        Step::RestoreStrategy { strategy, .. } => json!({"spec": {"updateStrategy": strategy}}),
        Step::RestoreStaged { staged, .. } => json!({"metadata": {"annotations": {keys::STAGED: staged}}}),
        Step::RestoreManagers { managed_fields, .. } => json!({"metadata": {"managedFields": managed_fields}}),
        Step::ScaleUp { replicas, .. } => scaled_up(objects, *replicas),
        _ => Value::Null,
    }
}

/// The replicas of the old set, and a partition that keeps its Pods.
fn scaled_up(objects: &SetObjects, replicas: i64) -> Value {
    let has_partition = objects.set.as_ref().is_some_and(LiveSet::has_partition);
    let mut body = json!({"spec": {"replicas": replicas}});
    if has_partition {
        body["spec"]["updateStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": HOLD}});
    }
    body
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{FINALIZER, SetVersion, unmarked};

    #[test]
    fn unmark_keeps_the_other_finalizers_and_tests_what_was_read() -> anyhow::Result<()> {
        let retention = |when: &str| json!({"whenDeleted": when, "whenScaled": "Retain"});
        let set = |generation: u32, finalizers: &[&str], when: &str| {
            json!({"metadata": {"uid": "u", "resourceVersion": "8", "generation": generation, "finalizers": finalizers},
                "spec": {"persistentVolumeClaimRetentionPolicy": retention(when)}})
        };
        let seen = [FINALIZER.to_owned(), "other".to_owned()];
        let both = [FINALIZER, "other"];
        for (live, version, when_deleted, expected) in [
            (set(3, &both, "Retain"), "8", None, Some(set(3, &["other"], "Retain"))),
            // A status was written.
            (set(3, &both, "Retain"), "7", None, Some(set(3, &["other"], "Retain"))),
            (
                set(3, &both, "Retain"),
                "8",
                Some("Delete"),
                Some(set(3, &["other"], "Delete")),
            ),
            // Somebody may have asked for `Retain`.
            (set(3, &both, "Retain"), "7", Some("Delete"), None),
            (set(4, &both, "Retain"), "8", None, None),
            (set(3, &[FINALIZER, "other", "orphan"], "Retain"), "8", None, None),
            (set(3, &["other"], "Retain"), "8", None, None),
        ] {
            let version = SetVersion {
                uid: "u".to_owned(),
                resource_version: version.to_owned(),
            };
            let patch: json_patch::Patch = serde_json::from_value(unmarked(&version, 3, &seen, when_deleted))?;
            let mut found: Value = live.clone();
            let patched = json_patch::patch(&mut found, &patch).ok().map(|()| found);
            assert_eq!(patched, expected, "{live} {when_deleted:?}");
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "steps_tests.rs"]
mod requests;
