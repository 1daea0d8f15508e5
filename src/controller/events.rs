//! Events, said once per cause.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt};
use sha2::{Digest, Sha256};

use super::act::{Outcome, call};
use super::metrics::Metrics;
use super::slim::Set;
use super::{Clock, FIELD_MANAGER};
use crate::rollout::Tell;

/// Who we are in Events.
pub(super) const REPORTER: &str = "claim-rollout.io/controller";

/// The longest note that the API server takes, in bytes.
const MAX_NOTE: usize = 1024;

/// Says it on the set, and on the claim where it concerns one.
///
/// The name of the Event is a hash of what it says: said again, by this controller or by another one, it exists already
/// for as long as the API server keeps Events. A lost Event is logged and not repeated: the status says the same.
pub(super) async fn publish(client: &Client, metrics: &Metrics, clock: Clock, set: &Set, tell: &Tell) {
    let namespace = set.namespace().unwrap_or_default();
    let on_set = reference("apps/v1", "StatefulSet", &namespace, &set.name_any(), &tell.set_uid);
    let claim = tell
        .claim
        .as_ref()
        .map(|(name, uid)| reference("v1", "PersistentVolumeClaim", &namespace, name, uid));
    let api: Api<Event> = Api::namespaced(client.clone(), &namespace);
    let subjects = [
        Some((on_set.clone(), claim.clone())),
        claim.map(|claim| (claim, Some(on_set))),
    ];
    for (regarding, related) in subjects.into_iter().flatten() {
        let event = event(tell, &namespace, regarding, related, clock());
        match call(api.create(&PostParams::default(), &event)).await {
            Outcome::Done(_) => metrics.event(tell.reason),
            Outcome::Conflict => {}
            other => tracing::warn!(reason = tell.reason.as_str(), outcome = ?other, "an Event was lost"),
        }
    }
}

fn reference(api_version: &str, kind: &str, namespace: &str, name: &str, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(api_version.to_owned()),
        kind: Some(kind.to_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}

fn event(
    tell: &Tell,
    namespace: &str,
    regarding: ObjectReference,
    related: Option<ObjectReference>,
    now: u64,
) -> Event {
    let subject = regarding.uid.as_deref().unwrap_or_default();
    let hash = Sha256::digest([subject, tell.reason.as_str(), &tell.message].join("\0"));
    let digits: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let now = i64::try_from(now)
        .ok()
        .and_then(|now| Timestamp::from_second(now).ok())
        .unwrap_or_default();
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{digits}", regarding.name.as_deref().unwrap_or_default())),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        event_time: Some(MicroTime(now)),
        action: Some("RollOutClaims".to_owned()),
        reason: Some(tell.reason.as_str().to_owned()),
        note: Some(shorten(&tell.message)),
        type_: Some(if tell.reason.is_warning() { "Warning" } else { "Normal" }.to_owned()),
        reporting_controller: Some(REPORTER.to_owned()),
        reporting_instance: Some(FIELD_MANAGER.to_owned()),
        regarding: Some(regarding),
        related,
        ..Event::default()
    }
}

fn shorten(message: &str) -> String {
    let mut end = message.len().min(MAX_NOTE);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message[..end].to_owned()
}
