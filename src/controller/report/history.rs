//! Writes each target to the history: a ControllerRevision that the ClaimRollout owns.
//!
//! The owner reference is a controller reference, so that no StatefulSet or DaemonSet adopts the ControllerRevision,
//! not even with a selector that matches everything.

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use kube::api::{Api, ListParams, Patch, PostParams};
use kube::{Client, Resource, ResourceExt};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::{ApiOutcome, ReadyReason};
use crate::controller::calls::api_calls::{call, deletion, merge, outcome};
use crate::controller::crd::ClaimRollout;
use crate::controller::objects::set::SlimSet;
use crate::controller::read::{lists, metadata};
use crate::rollout::history::{HistoryStep, Kept, data, steps};
use crate::templates::{Revision, RevisionLabel, StagedChange, keys};

/// The default of `revisionHistoryLimit`, as Kubernetes has it for the revisions of the set.
const DEFAULT_LIMIT: i32 = 10;

/// A ControllerRevision without its data.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "ControllerRevision")]
pub(crate) struct StoredRevision {
    #[serde(deserialize_with = "metadata::without_managers")]
    metadata: ObjectMeta,
    #[serde(default)]
    revision: i64,
}

/// The reasons for which a target is reported that is not in the history.
const UNKEPT: [ReadyReason; 5] = [
    ReadyReason::PolicyMissing,
    ReadyReason::StagedBeforePolicy,
    ReadyReason::ListFails,
    ReadyReason::NotSupported,
    ReadyReason::ReCreateNotEnabled,
];

/// True iff the target may be missing in the history. The status contains it after the history was written, except while
/// nothing was rolled out, or while that write had no answer: then the controller remembers it.
pub(crate) fn is_due(rollout: &ClaimRollout, target: &RevisionLabel) -> bool {
    rollout.status.as_ref().is_none_or(|status| {
        let mut conditions = status.conditions.iter();
        let is_other = status.update_revision != target.revision.as_str()
            || status.staging.as_deref() != Some(target.staging.as_str());
        let is_unkept = |reason: &str| UNKEPT.iter().any(|unkept| unkept.as_str() == reason);
        is_other || conditions.any(|condition| is_unkept(&condition.reason))
    })
}

/// The number of retries if another object has the name. With the [`HISTORY_PAUSE`](crate::rollout::machine::HISTORY_PAUSE)
/// between them, they are longer than the garbage collector takes.
const TRIES: u32 = 20;

/// How often in a row another object had the name, with this time; 0 after the last retry. Without an answer, the write is
/// retried as long as it takes.
pub(crate) fn unkept(outcomes: &[ApiOutcome<()>], before: u32) -> u32 {
    if outcomes
        .iter()
        .any(|outcome| matches!(outcome, ApiOutcome::Unsure { .. }))
    {
        return before.max(1);
    }
    let is_taken = outcomes.iter().any(ApiOutcome::is_conflict);
    if is_taken && before < TRIES { before + 1 } else { 0 }
}

/// Makes the templates of this staged change the latest revision of the history. Returns the outcomes of the writes
/// in order, or the failure to read the history.
///
/// It writes nothing if the revision is the latest already. Nothing depends on a write that is denied.
///
/// While there were no more targets than revisions may be kept, the target is created without a read: nothing is to be
/// deleted, and a name that is taken shows that the target was kept before.
pub(crate) async fn keep(
    client: &Client,
    set: &SlimSet,
    rollout: &ClaimRollout,
    change: &StagedChange,
    current: &Revision,
) -> ApiOutcome<Vec<ApiOutcome<()>>> {
    let namespace = set.namespace().unwrap_or_default();
    let stored: Api<StoredRevision> = Api::namespaced(client.clone(), &namespace);
    let create = async |number| {
        let revisions: Api<ControllerRevision> = Api::namespaced(client.clone(), &namespace);
        let revision = controller_revision(set, rollout, change, number);
        done(call(revisions.create(&PostParams::default(), &revision)).await)
    };
    let limit = set.spec.revision_history_limit.unwrap_or(DEFAULT_LIMIT);
    if let Some(number) = number_of(rollout, limit) {
        let created = create(number).await;
        if !created.is_conflict() {
            return ApiOutcome::Done(vec![created]);
        }
    }
    let kept = match known(client, &stored, rollout).await {
        ApiOutcome::Done(kept) => kept,
        other => return other.and_then(|_| ApiOutcome::Done(Vec::new())),
    };
    let limit = usize::try_from(limit).unwrap_or(0);
    let mut outcomes = Vec::new();
    for step in steps(&kept, &change.revision(), current, limit) {
        outcomes.push(match step {
            HistoryStep::Add { number } => create(number).await,
            HistoryStep::Renumber { name, uid, number } => {
                let body = json!({
                    "metadata": {"uid": uid, "annotations": staged_by(change)},
                    "revision": number,
                });
                done(call(stored.patch(&name, &merge(), &Patch::Merge(&body))).await)
            }
            HistoryStep::Drop { name, uid } => done(call(stored.delete(&name, &deletion(Some(&uid), None))).await),
        });
    }
    ApiOutcome::Done(outcomes)
}

/// The history of the ClaimRollout.
async fn known(client: &Client, stored: &Api<StoredRevision>, rollout: &ClaimRollout) -> ApiOutcome<Vec<Kept>> {
    let uid = rollout.uid().unwrap_or_default();
    let of_rollout = ListParams::default().labels(&format!("{}={uid}", keys::ROLLOUT));
    let ours = |stored: StoredRevision| belongs(&stored, &uid).then(|| kept(&stored));
    let listed = lists::objects(client, stored.resource_url(), of_rollout)
        .fold(ours)
        .await;
    outcome(listed.map(|listed| listed.kept))
}

/// The number of the target if it is higher than all others and none of them is to be deleted: each target is a
/// generation of the ClaimRollout, and gets its number or a lower one.
fn number_of(rollout: &ClaimRollout, limit: i32) -> Option<i64> {
    rollout.metadata.generation.filter(|number| *number <= i64::from(limit))
}

fn done<T>(outcome: ApiOutcome<T>) -> ApiOutcome<()> {
    outcome.and_then(|_| ApiOutcome::Done(()))
}

/// True iff the ClaimRollout owns the object. The label alone proves nothing: anybody can write it.
fn belongs(stored: &StoredRevision, rollout: &str) -> bool {
    let mut owners = stored.owner_references().iter();
    owners.any(|owner| owner.controller == Some(true) && owner.uid == rollout)
}

fn kept(stored: &StoredRevision) -> Kept {
    Kept {
        name: stored.name_any(),
        uid: stored.uid().unwrap_or_default(),
        number: stored.revision,
        revision: Revision::from_text(stored.labels().get(keys::REVISION).cloned().unwrap_or_default()),
    }
}

/// The annotations with the user who staged the change. They are no part of the immutable data, because another user
/// may stage the same templates later.
fn staged_by(change: &StagedChange) -> Value {
    json!({ keys::BY: change.by, keys::MANAGER: change.manager })
}

fn controller_revision(
    set: &SlimSet,
    rollout: &ClaimRollout,
    change: &StagedChange,
    number: i64,
) -> ControllerRevision {
    let revision = change.revision();
    let texts = |pairs: [(&str, &str); 2]| Some(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    ControllerRevision {
        metadata: ObjectMeta {
            name: Some(format!("{}-claims-{revision}", set.name_any())),
            namespace: set.namespace(),
            labels: texts([
                (keys::REVISION, revision.as_str()),
                (keys::ROLLOUT, &rollout.uid().unwrap_or_default()),
            ]),
            annotations: texts([(keys::BY, &change.by), (keys::MANAGER, &change.manager)]),
            owner_references: rollout.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some(RawExtension(data(&change.templates).into())),
        revision: number,
    }
}

#[cfg(test)]
mod tests {
    use kube::ResourceExt as _;
    use serde_json::{Value, json};

    use super::{
        ApiOutcome, SlimSet, StagedChange, StoredRevision, TRIES, belongs, controller_revision, is_due, keep,
        number_of, unkept,
    };
    use crate::controller::fixtures;
    use crate::rollout::fixtures::label;
    use crate::templates::{Phase, Staging, UpdatePolicy};

    #[test]
    fn number_of_a_target_is_its_generation_up_to_the_limit() {
        for (generation, limit, expected) in [(1, 10, Some(1)), (10, 10, Some(10)), (11, 10, None), (1, 0, None)] {
            let rollout = fixtures::rollout(&json!({"name": "web", "generation": generation}), &Value::Null);
            assert_eq!(number_of(&rollout, limit), expected, "{generation} of {limit}");
        }
    }

    #[test]
    fn history_is_what_the_claim_rollout_controls() {
        for (what, owners, expected) in [
            ("its own", json!([{"uid": "r", "controller": true}]), true),
            (
                "beside another owner",
                json!([{"uid": "x"}, {"uid": "r", "controller": true}]),
                true,
            ),
            ("owned, not controlled", json!([{"uid": "r"}]), false),
            (
                "controlled by another",
                json!([{"uid": "x", "controller": true}]),
                false,
            ),
            ("by nobody: anybody can write the label", json!([]), false),
        ] {
            let mut owners = owners;
            for owner in owners.as_array_mut().unwrap() {
                let name = json!({"apiVersion": "claim-rollout.io/v1alpha1", "kind": "ClaimRollout", "name": "web"});
                owner.as_object_mut().unwrap().extend(name.as_object().unwrap().clone());
            }
            let metadata = json!({"name": "x", "labels": {"claim-rollout.io/rollout": "r"}, "ownerReferences": owners});
            let stored: StoredRevision = serde_json::from_value(json!({ "metadata": metadata })).unwrap();
            assert_eq!(belongs(&stored, "r"), expected, "{what}");
        }
    }

    /// A revision of the history `r`, or of somebody who only wrote its label.
    fn revision(name: &str, owner: &str) -> Value {
        let owners = json!([{"apiVersion": "claim-rollout.io/v1alpha1", "kind": "ClaimRollout", "name": "web",
            "uid": owner, "controller": true}]);
        let labels = json!({"claim-rollout.io/rollout": "r", "claim-rollout.io/revision": name});
        let metadata = json!({"name": name, "uid": format!("{name}-uid"), "labels": labels, "ownerReferences": owners});
        json!({"metadata": metadata, "revision": 1})
    }

    #[tokio::test]
    async fn history_deletes_its_own_revisions_alone() {
        let (client, received) = fixtures::recording(|request| {
            let items = json!([revision("ours", "r"), revision("of-another", "x")]);
            let answer = match &*request.method {
                "GET" => json!({"metadata": {}, "items": items}),
                "DELETE" => json!({"kind": "Status", "status": "Success"}),
                _ => request.body.clone(),
            };
            Some((200, answer))
        });
        let metadata = json!({"name": "web", "namespace": "shop"});
        let set = json!({"metadata": metadata, "spec": {"revisionHistoryLimit": 0}});
        let set: SlimSet = serde_json::from_str(&set.to_string()).unwrap();
        let rollout = fixtures::rollout(&json!({"name": "web", "uid": "r", "generation": 5}), &Value::Null);
        let current = change().revision();
        let kept = keep(&client, &set, &rollout, &change(), &current).await;
        let done = || ApiOutcome::Done(());
        assert_eq!(
            kept,
            ApiOutcome::Done(vec![done(), done()]),
            "one is added, one is deleted"
        );
        let path = "/apis/apps/v1/namespaces/shop/controllerrevisions/ours";
        let mut deleted = received.take();
        deleted.retain(|request| request.method == "DELETE");
        let [request] = &deleted[..] else { panic!("{deleted:?}") };
        let preconditions = &request.body["preconditions"];
        assert_eq!((&*request.path, preconditions), (path, &json!({"uid": "ours-uid"})));
    }

    fn change() -> StagedChange {
        StagedChange {
            replicas: 0,
            by: "alice".to_owned(),
            manager: "kubectl".to_owned(),
            phase: Phase::RollingOut,
            staging: Staging::read("xz245").expect("a staging"),
            templates: Vec::new(),
            uid: "u".to_owned(),
            update_policy: UpdatePolicy::InPlace,
        }
    }

    /// Otherwise, OpenShift asks for a right on the finalizers of ClaimRollouts.
    #[test]
    fn owner_of_kept_target_does_not_block_its_deletion() {
        let set = serde_json::from_value(json!({"metadata": {"name": "web", "namespace": "default"}})).unwrap();
        let rollout = fixtures::rollout(&json!({"name": "web", "uid": "r"}), &Value::Null);
        let kept = controller_revision(&set, &rollout, &change(), 1);
        let owners: Vec<_> = kept.owner_references().iter().collect();
        let [owner] = owners[..] else { panic!("{owners:?}") };
        assert_eq!(
            (&*owner.uid, owner.controller, owner.block_owner_deletion),
            ("r", Some(true), None)
        );
    }

    #[test]
    fn target_is_retried_while_another_object_has_its_name() {
        let not_found = || ApiOutcome::NotFound("404".to_owned());
        let taken = || ApiOutcome::Conflict("409".to_owned());
        let unsure = || ApiOutcome::unsure("500");
        for (why, outcomes, before, expected) in [
            ("kept", vec![ApiOutcome::Done(())], 0, 0),
            ("kept at last", vec![ApiOutcome::Done(()), not_found()], 3, 0),
            ("taken", vec![taken()], 0, 1),
            ("taken again", vec![taken(), ApiOutcome::Done(())], 1, 2),
            ("taken for the last time", vec![taken()], TRIES, 0),
            ("nothing to write", vec![], 5, 0),
            ("no answer", vec![unsure()], 0, 1),
            ("no answer again", vec![ApiOutcome::Done(()), unsure()], TRIES, TRIES),
        ] {
            assert_eq!(unkept(&outcomes, before), expected, "{why}");
        }
    }

    #[test]
    fn target_is_due_until_it_was_reported_with_a_policy() {
        let reported = |revision: &str, staging: &str, reason: &str| {
            let time = "2026-01-01T00:00:00Z";
            let ready = json!({"type": "Ready", "status": "False", "reason": reason, "message": "", "lastTransitionTime": time});
            json!({"updateRevision": revision, "staging": staging, "conditions": [ready]})
        };
        for (status, expected) in [
            (Value::Null, true),
            (reported("a", "xz245", "RollingOut"), true),
            (reported("b", "xz245", "RollingOut"), false),
            (reported("b", "xz246", "RollingOut"), true),
            (reported("b", "xz245", "PolicyMissing"), true),
            (reported("b", "xz245", "ListFails"), true),
            (reported("b", "xz245", "ReCreateNotEnabled"), true),
            (reported("b", "xz245", "ClaimRefused"), false),
        ] {
            let rollout = fixtures::rollout(&json!({"name": "web"}), &status);
            assert_eq!(is_due(&rollout, &label("b")), expected, "{status}");
        }
    }
}
