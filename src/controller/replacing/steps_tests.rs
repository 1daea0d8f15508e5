//! The requests of each step, as an API server gets them.

use serde_json::{Value, json};

use super::{FINALIZER, HOLD, LiveSet, Reply, SetName, SetObjects, SetVersion, Step};
use crate::api::{ApiOutcome, ReplacementReason};
use crate::controller::fixtures::{answering, cluster, not_done, recording};
use crate::replace::world::ReportOwner;
use crate::replace::{End, Fault, Journal};
use crate::rollout::fixtures::{staged_change, template};
use crate::templates::keys;

/// The outcome of a step that is answered so.
async fn outcome(step: &Step, (code, body): (u16, Value)) -> ApiOutcome<Reply> {
    let cluster = cluster(answering(code, &body));
    let (set, objects) = (SetName::new("shop", "web"), objects("Delete", Some("5")));
    cluster.execute(&set, &objects, step).await
}

/// The requests of a step: method, path and body.
async fn sent(objects: &SetObjects, step: &Step) -> Vec<(String, Value)> {
    let reply = json!({"metadata": {"name": "web", "uid": "u", "resourceVersion": "9"}});
    let (client, received) = recording(move |_| Some((200, reply.clone())));
    cluster(client)
        .execute(&SetName::new("shop", "web"), objects, step)
        .await;
    let sent = received.take().into_iter();
    sent.map(|request| (format!("{}?{}", request.target(), request.query), request.body))
        .collect()
}

fn set(when_deleted: &str) -> LiveSet {
    let staged = staged_change(vec![template("data", "2Gi")]).write().expect("JSON");
    LiveSet::new(json!({
        "metadata": {"namespace": "shop", "name": "web", "uid": "set-uid", "resourceVersion": "7", "generation": 3,
            "finalizers": ["example.com/other"], "annotations": {(keys::STAGED): staged}},
        "spec": {"replicas": 3, "updateStrategy": {"type": "RollingUpdate"},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": when_deleted}},
    }))
}

fn objects(when_deleted: &str, journal_version: Option<&str>) -> SetObjects {
    SetObjects {
        set: Some(set(when_deleted)),
        journal_version: journal_version.map(str::to_owned),
        report: ReportOwner::Nobody,
        ..SetObjects::default()
    }
}

fn seen() -> SetVersion {
    SetVersion {
        uid: "set-uid".to_owned(),
        resource_version: "7".to_owned(),
    }
}

const SET: &str = "/apis/apps/v1/namespaces/shop/statefulsets/web";

/// A patch of a set names the uid and the version that it was decided for, and one field.
#[tokio::test]
async fn patch_of_a_set_names_uid_and_version() {
    let retain = json!({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain"}});
    let both = json!([FINALIZER, "example.com/other"]);
    let held = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": HOLD}});
    let mut patches = 0;
    for (step, when_deleted) in all_steps()
        .into_iter()
        .flat_map(|step| [(step.clone(), "Delete"), (step, "Retain")])
    {
        let (metadata, spec) = match &step {
            Step::Mark(_) if when_deleted == "Delete" => (json!({"finalizers": both}), retain.clone()),
            Step::Mark(_) => (json!({"finalizers": both}), Value::Null),
            Step::RestoreStrategy { strategy, .. } => (json!({}), json!({"updateStrategy": strategy})),
            Step::RestoreStaged { staged, .. } => (json!({"annotations": {(keys::STAGED): staged}}), Value::Null),
            Step::RestoreManagers { managed_fields, .. } => (json!({"managedFields": managed_fields}), Value::Null),
            Step::ScaleUp { replicas, .. } => (json!({}), json!({"replicas": replicas, "updateStrategy": held})),
            _ => continue,
        };
        patches += 1;
        let all = sent(&objects(when_deleted, None), &step).await;
        let [(request, body)] = &all[..] else {
            panic!("{step:?}: {all:?}");
        };
        assert_eq!(*request, format!("PATCH {SET}?&fieldManager=claim-rollout"), "{step:?}");
        let mut expected = json!({"metadata": metadata});
        (expected["metadata"]["uid"], expected["metadata"]["resourceVersion"]) = ("set-uid".into(), "7".into());
        if !spec.is_null() {
            expected["spec"] = spec;
        }
        assert_eq!(*body, expected, "{step:?}");
    }
    assert_eq!(patches, 10, "two of each kind");
}

fn unmark(when_deleted: Option<&str>) -> Step {
    Step::Unmark {
        set: seen(),
        generation: 3,
        finalizers: [FINALIZER, "example.com/other"].map(str::to_owned).into(),
        when_deleted: when_deleted.map(str::to_owned),
    }
}

/// A status that is written again and again does not prevent it, a change of the spec or of the finalizers does.
#[tokio::test]
async fn unmark_tests_what_it_was_decided_for() {
    let test = |field: &str, value: Value| json!({"op": "test", "path": format!("/metadata/{field}"), "value": value});
    for when_deleted in [None, Some("Delete")] {
        let others = json!({"op": "replace", "path": "/metadata/finalizers", "value": ["example.com/other"]});
        let mut patch = vec![
            test("uid", "set-uid".into()),
            test("generation", 3.into()),
            test("finalizers", json!([FINALIZER, "example.com/other"])),
            others,
        ];
        if let Some(when) = when_deleted {
            let path = "/spec/persistentVolumeClaimRetentionPolicy/whenDeleted";
            patch.insert(0, test("resourceVersion", "7".into()));
            patch.push(json!({"op": "add", "path": path, "value": when}));
        }
        let all = sent(&objects("Retain", None), &unmark(when_deleted)).await;
        let request = format!("PATCH {SET}?&fieldManager=claim-rollout");
        assert_eq!(all, [(request, patch.into())], "{when_deleted:?}");
    }
}

/// A DELETE leaves the dependents, and names the uid, and the version while it is not being deleted.
#[tokio::test]
async fn delete_of_a_set_names_uid_and_leaves_pods() {
    for version in [Some("7"), None] {
        let step = Step::Delete {
            uid: "set-uid".to_owned(),
            resource_version: version.map(str::to_owned),
        };
        let all = sent(&objects("Retain", None), &step).await;
        let mut preconditions = json!({"uid": "set-uid"});
        if let Some(version) = version {
            preconditions["resourceVersion"] = version.into();
        }
        let body = json!({"preconditions": preconditions, "propagationPolicy": "Orphan"});
        assert_eq!(all, [(format!("DELETE {SET}?"), body)]);
    }
}

/// The journal is written and deleted as it was read.
#[tokio::test]
async fn journal_is_written_in_the_version_that_was_read() {
    let journal = Journal::prepare(&set("Delete"), None, 0).expect("a staged change");
    let write = Step::WriteJournal(Box::new(journal));
    for (version, method) in [(None, "POST"), (Some("5"), "PUT")] {
        let all = sent(&objects("Delete", version), &write).await;
        let [(request, body)] = &all[..] else {
            panic!("{all:?}");
        };
        assert!(
            request.starts_with(&format!("{method} /api/v1/namespaces/home/secrets")),
            "{request}"
        );
        assert_eq!(body["metadata"]["resourceVersion"], json!(version), "{body}");
        assert_eq!(body["type"], "claim-rollout.io/journal");
    }
    for (step, version) in [(Step::DeleteJournal, "5"), (Step::DeleteJournal, "6")] {
        let all = sent(&objects("Delete", Some(version)), &step).await;
        let [(request, body)] = &all[..] else {
            panic!("{all:?}");
        };
        assert!(
            request.starts_with("DELETE /api/v1/namespaces/home/secrets/claim-rollout-journal-"),
            "{request}"
        );
        assert_eq!(body["preconditions"], json!({"resourceVersion": version}), "{body}");
    }
}

/// The object that is let go and the one that is created are sent as they were decided, by the field manager of ours.
#[tokio::test]
async fn set_is_let_go_and_created_as_decided() {
    let object = json!({"metadata": {"name": "web", "uid": "set-uid", "resourceVersion": "7"}});
    let parent = SET.trim_end_matches("/web");
    for (step, request) in [
        (
            Step::LetGo(object.clone()),
            format!("PUT {SET}?&fieldManager=claim-rollout"),
        ),
        (
            Step::Create(object.clone()),
            format!("POST {parent}?&fieldManager=claim-rollout"),
        ),
    ] {
        let all = sent(&objects("Retain", None), &step).await;
        assert_eq!(all, [(request, object.clone())], "{step:?}");
    }
}

/// The ClaimRollout and the ControllerRevision.
#[tokio::test]
async fn other_objects_are_written_by_name() {
    let report = "PATCH /apis/claim-rollout.io/v1alpha1/namespaces/shop/claimrollouts/web?&fieldManager=claim-rollout";
    let owner = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "new"}]);
    let owned = json!({"metadata": {"ownerReferences": owner}, "spec": {"setRef": {"uid": "new"}}});
    let revision = "DELETE /apis/apps/v1/namespaces/shop/controllerrevisions/web-b?";
    for (step, request, body) in [
        (
            Step::DisownReport,
            report,
            json!({"metadata": {"ownerReferences": null}}),
        ),
        (Step::OwnReport { uid: "new".to_owned() }, report, owned),
        (
            Step::DeleteRevision {
                name: "web-b".to_owned(),
                uid: "revision".to_owned(),
            },
            revision,
            json!({"preconditions": {"uid": "revision"}}),
        ),
    ] {
        let all = sent(&objects("Retain", None), &step).await;
        assert_eq!(all, [(request.to_owned(), body)], "{step:?}");
    }
    assert_eq!(sent(&objects("Retain", None), &Step::End(End::Nothing)).await, []);
}

/// Every step that writes.
fn all_steps() -> Vec<Step> {
    let journal = Journal::prepare(&set("Delete"), None, 0).expect("a staged change");
    let fault = Fault {
        reason: ReplacementReason::SetAbsent,
        message: String::new(),
    };
    let object = || json!({"metadata": {"name": "web"}});
    vec![
        Step::WriteJournal(Box::new(journal)),
        Step::DisownReport,
        Step::Mark(seen()),
        Step::Delete {
            uid: "set-uid".to_owned(),
            resource_version: None,
        },
        Step::LetGo(object()),
        Step::Create(object()),
        Step::ScaleUp {
            set: seen(),
            replicas: 3,
        },
        Step::DeleteRevision {
            name: "web-b".to_owned(),
            uid: "revision".to_owned(),
        },
        Step::RestoreStrategy {
            set: seen(),
            strategy: json!({"rollingUpdate": null}),
        },
        Step::RestoreStaged {
            set: seen(),
            staged: "text".to_owned(),
        },
        Step::RestoreManagers {
            set: seen(),
            managed_fields: json!([{"manager": "kubectl"}]),
        },
        Step::OwnReport { uid: "new".to_owned() },
        Step::LeaveForeign(fault),
        Step::DeleteJournal,
        Step::Unmark {
            set: seen(),
            generation: 3,
            finalizers: Vec::new(),
            when_deleted: None,
        },
    ]
}

/// No code and no body but that of the API server counts as done. The search of the model takes every other answer for one
/// event: the write is not done, or done without an answer, and everything is read again.
#[tokio::test]
async fn step_answered_by_others_is_not_done() {
    let success = json!({"kind": "Status", "status": "Success"});
    for step in all_steps() {
        let is_delete = matches!(
            step,
            Step::Delete { .. } | Step::DeleteRevision { .. } | Step::LeaveForeign(_) | Step::DeleteJournal
        );
        for answer in not_done() {
            // The API server answers a DELETE like this, too.
            let is_like_done = is_delete && answer == (202, success.clone());
            let found = outcome(&step, answer.clone()).await;
            let is_done = matches!(found, ApiOutcome::Done(_));
            assert_eq!(is_done, is_like_done, "{}: {answer:?}: {found:?}", step.name());
        }
    }
}

/// What the API server answers.
#[tokio::test]
async fn step_answered_by_the_api_server_is_done() {
    let reply = |kind: &str| json!({"kind": kind, "metadata": {"name": "web", "uid": "u", "resourceVersion": "9"}});
    for step in all_steps() {
        let kind = match step {
            Step::WriteJournal(_) | Step::LeaveForeign(_) | Step::DeleteJournal => "Secret",
            Step::DisownReport | Step::OwnReport { .. } => "PartialObjectMetadata",
            Step::DeleteRevision { .. } => "ControllerRevision",
            _ => "StatefulSet",
        };
        for code in [200, 201, 202] {
            let found = outcome(&step, (code, reply(kind))).await;
            assert!(
                matches!(found, ApiOutcome::Done(_)),
                "{} {code}: {found:?}",
                step.name()
            );
        }
    }
}
