//! Keeps each wish as a ControllerRevision that belongs to the ClaimRollout.
//!
//! Its owner is a controller reference. So no StatefulSet or DaemonSet takes it for one of its own, whatever their
//! selectors match: those that match everything too.

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use kube::api::{Api, DeleteParams, ListParams, Patch, PostParams, Preconditions};
use kube::{Client, Resource, ResourceExt};
use serde::Deserialize;
use serde_json::{Value, json};

use super::act::{Outcome, call, merge};
use super::crd::ClaimRollout;
use super::slim::Set;
use crate::rollout::history::{Kept, Step, data, steps};
use crate::rollout::{Idle, Seconds};
use crate::templates::{Revision, StagedChange, keys};

/// How many are kept where the set does not say, as of its own revisions.
const DEFAULT_LIMIT: i32 = 10;

/// A ControllerRevision without its data.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "ControllerRevision")]
struct Stored {
    metadata: ObjectMeta,
    #[serde(default)]
    revision: i64,
}

/// True iff the wish may not be in the history yet: the status names it only afterwards, or while it was not believed.
pub(super) fn is_due(rollout: &ClaimRollout, target: &Revision) -> bool {
    let missing = Idle::PolicyMissing { unread: None };
    rollout.status.as_ref().is_none_or(|status| {
        let mut conditions = status.conditions.iter();
        status.update_revision != target.as_str() || conditions.any(|condition| condition.reason == missing.as_str())
    })
}

/// How often a wish is tried again whose name another object has, and seconds between two times: longer than the garbage
/// collector takes, and no longer than a look is worth that nothing depends on.
const TRIES: u32 = 20;
pub(super) const PAUSE: Seconds = 30;

/// How often in a row another object had the name of the wish, this time included; after so many times it is left to it.
pub(super) fn unkept(outcomes: &[Outcome<()>], before: u32) -> u32 {
    let is_taken = outcomes.contains(&Outcome::Conflict);
    if is_taken && before < TRIES { before + 1 } else { 0 }
}

/// Makes the wish of this record the latest of the history. Done with what came of each write, in their order; otherwise
/// the history could not be read.
///
/// Nothing is written if it is the latest already. A write that is refused keeps nobody from anything.
pub(super) async fn keep(
    client: &Client,
    set: &Set,
    rollout: &ClaimRollout,
    change: &StagedChange,
    current: &Revision,
) -> Outcome<Vec<Outcome<()>>> {
    let namespace = set.namespace().unwrap_or_default();
    let stored: Api<Stored> = Api::namespaced(client.clone(), &namespace);
    let kept = match known(&stored, rollout).await {
        Outcome::Done(kept) => kept,
        other => return other.and_then(|_| Outcome::Done(Vec::new())),
    };
    let limit = set.spec.revision_history_limit.unwrap_or(DEFAULT_LIMIT);
    let limit = usize::try_from(limit).unwrap_or(0);
    let mut outcomes = Vec::new();
    for step in steps(&kept, &change.revision(), current, limit) {
        outcomes.push(match step {
            Step::Add { number } => {
                let revisions: Api<ControllerRevision> = Api::namespaced(client.clone(), &namespace);
                let revision = controller_revision(set, rollout, change, number);
                done(call(revisions.create(&PostParams::default(), &revision)).await)
            }
            Step::Renumber { name, uid, number } => {
                let body = json!({
                    "metadata": {"uid": uid, "annotations": who(change)},
                    "revision": number,
                });
                done(call(stored.patch(&name, &merge(), &Patch::Merge(&body))).await)
            }
            Step::Drop { name, uid } => {
                let params = DeleteParams::default().preconditions(Preconditions {
                    uid: Some(uid),
                    resource_version: None,
                });
                done(call(stored.delete(&name, &params)).await)
            }
        });
    }
    Outcome::Done(outcomes)
}

/// What the history of the ClaimRollout holds.
async fn known(stored: &Api<Stored>, rollout: &ClaimRollout) -> Outcome<Vec<Kept>> {
    if is_new(rollout) {
        return Outcome::Done(Vec::new());
    }
    let uid = rollout.uid().unwrap_or_default();
    let of_rollout = ListParams::default().labels(&format!("{}={uid}", keys::ROLLOUT));
    call(stored.list(&of_rollout)).await.and_then(|listed| {
        let ours = listed.items.iter().filter(|stored| belongs(stored, &uid));
        Outcome::Done(ours.map(kept).collect())
    })
}

/// True iff nothing can be in the history of the ClaimRollout, but for what a controller wrote that ended in between: that
/// name is taken then, and the history is read when it is tried again.
fn is_new(rollout: &ClaimRollout) -> bool {
    rollout.metadata.generation == Some(1) && rollout.status.is_none()
}

fn done<T>(outcome: Outcome<T>) -> Outcome<()> {
    outcome.and_then(|_| Outcome::Done(()))
}

/// True iff the ClaimRollout owns it. Anybody can write a label.
fn belongs(stored: &Stored, rollout: &str) -> bool {
    let mut owners = stored.owner_references().iter();
    owners.any(|owner| owner.controller == Some(true) && owner.uid == rollout)
}

fn kept(stored: &Stored) -> Kept {
    Kept {
        name: stored.name_any(),
        uid: stored.uid().unwrap_or_default(),
        number: stored.revision,
        revision: Revision::from_text(stored.labels().get(keys::REVISION).cloned().unwrap_or_default()),
    }
}

/// Who staged it. In annotations: the data can never change, and the next who stages the same may be another.
fn who(change: &StagedChange) -> Value {
    json!({ keys::BY: change.by, keys::MANAGER: change.manager })
}

fn controller_revision(set: &Set, rollout: &ClaimRollout, change: &StagedChange, number: i64) -> ControllerRevision {
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
    use serde_json::{Value, json};

    use super::{Outcome, Revision, TRIES, is_due, is_new, unkept};
    use crate::controller::fixtures;

    #[test]
    fn history_of_a_new_rollout_is_not_read() {
        for (generation, status, expected) in [(1, Value::Null, true), (2, Value::Null, false), (1, json!({}), false)] {
            let rollout = fixtures::rollout(&json!({"name": "web", "generation": generation}), &status);
            assert_eq!(is_new(&rollout), expected, "{generation} {status}");
        }
    }

    #[test]
    fn wish_is_tried_again_while_another_object_has_its_name() {
        let gone = || Outcome::Gone;
        for (why, outcomes, before, expected) in [
            ("kept", vec![Outcome::Done(())], 0, 0),
            ("kept at last", vec![Outcome::Done(()), gone()], 3, 0),
            ("taken", vec![Outcome::Conflict], 0, 1),
            ("taken again", vec![Outcome::Conflict, Outcome::Done(())], 1, 2),
            ("taken for the last time", vec![Outcome::Conflict], TRIES, 0),
            ("nothing to write", vec![], 5, 0),
        ] {
            assert_eq!(unkept(&outcomes, before), expected, "{why}");
        }
    }

    #[test]
    fn wish_is_due_until_it_was_reported_and_believed() {
        let reported = |revision: &str, reason: &str| {
            let time = "2026-01-01T00:00:00Z";
            let ready = json!({"type": "Ready", "status": "False", "reason": reason, "message": "", "lastTransitionTime": time});
            json!({"updateRevision": revision, "conditions": [ready]})
        };
        for (status, expected) in [
            (Value::Null, true),
            (reported("a", "RollingOut"), true),
            (reported("b", "RollingOut"), false),
            (reported("b", "PolicyMissing"), true),
        ] {
            let rollout = fixtures::rollout(&json!({"name": "web"}), &status);
            assert_eq!(is_due(&rollout, &Revision::from_text("b")), expected, "{status}");
        }
    }
}
