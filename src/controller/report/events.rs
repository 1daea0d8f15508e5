//! Publishes Events, once per cause.
//!
//! Their version is `v1`. `events.k8s.io/v1` does not allow a `lastTimestamp`, by which kubectl sorts: it would show
//! them before all other Events, ordered by name.

use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::ResourceExt;
use kube::api::{Api, PostParams};
use sha2::{Digest, Sha256};

use crate::api::{ApiOutcome, Seconds};
use crate::controller::calls::api_calls::{FIELD_MANAGER, call};
use crate::controller::calls::caller::Caller;
use crate::controller::clock::timestamp;
use crate::controller::objects::set::SlimSet;
use crate::controller::objects::set_kind::SetKind;
use crate::rollout::EventNotice;

/// The reporting component of our Events.
pub(crate) const REPORTER: &str = "claim-rollout.io/controller";

/// The maximum length of a message that the API server accepts, in bytes.
const MAX_MESSAGE: usize = 1024;

/// Publishes an Event on the set, and on the PVC if it concerns one.
///
/// The name of the Event contains a hash of its content. If this or another controller emits it again, it exists
/// already, for as long as the API server keeps Events. A failure is logged and not retried: the status contains the
/// same.
pub(crate) async fn emit(caller: &Caller, set: &SlimSet, notice: &EventNotice) {
    let namespace = set.namespace().unwrap_or_default();
    emit_on(caller, (set.kind, &namespace, &set.name_any()), notice).await;
}

/// The same for the set of this kind, namespace and name.
pub(crate) async fn emit_on(caller: &Caller, (kind, namespace, set): (SetKind, &str, &str), notice: &EventNotice) {
    let on_set = reference(kind.api_version(), "StatefulSet", namespace, set, &notice.set_uid);
    let claim = notice
        .claim
        .as_ref()
        .map(|(name, uid)| reference("v1", "PersistentVolumeClaim", namespace, name, uid));
    let subjects = [
        Some((on_set.clone(), claim.clone())),
        claim.map(|claim| (claim, Some(on_set))),
    ];
    for subject in subjects.into_iter().flatten() {
        emit_about(caller, subject, notice).await;
    }
}

/// The same for the first of these objects, which may be related to the second.
pub(crate) async fn emit_about(
    caller: &Caller,
    (regarding, related): (ObjectReference, Option<ObjectReference>),
    notice: &EventNotice,
) {
    let namespace = regarding.namespace.clone().unwrap_or_default();
    let api: Api<Event> = caller.namespaced(&namespace);
    let event = event(notice, &namespace, regarding, related, caller.now());
    match call(api.create(&PostParams::default(), &event)).await {
        ApiOutcome::Done(_) => caller.metrics.event(notice.reason),
        ApiOutcome::Conflict(_) => {}
        other => tracing::warn!(reason = notice.reason.as_str(), outcome = ?other, "failed to publish an Event"),
    }
}

pub(crate) fn reference(api_version: &str, kind: &str, namespace: &str, name: &str, uid: &str) -> ObjectReference {
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
    notice: &EventNotice,
    namespace: &str,
    regarding: ObjectReference,
    related: Option<ObjectReference>,
    now: Seconds,
) -> Event {
    let subject = regarding.uid.as_deref().unwrap_or_default();
    let hash = Sha256::digest([subject, notice.reason.as_str(), &notice.message].join("\0"));
    let digits: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let now = timestamp(now);
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{digits}", regarding.name.as_deref().unwrap_or_default())),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        first_timestamp: Some(Time(now)),
        last_timestamp: Some(Time(now)),
        count: Some(1),
        action: Some("RollOutClaims".to_owned()),
        reason: Some(notice.reason.as_str().to_owned()),
        message: Some(shorten(&notice.message)),
        type_: Some(
            if notice.reason.is_warning() {
                "Warning"
            } else {
                "Normal"
            }
            .to_owned(),
        ),
        source: Some(EventSource {
            component: Some(REPORTER.to_owned()),
            host: None,
        }),
        reporting_component: Some(REPORTER.to_owned()),
        reporting_instance: Some(FIELD_MANAGER.to_owned()),
        involved_object: regarding,
        related,
        ..Event::default()
    }
}

fn shorten(message: &str) -> String {
    message[..message.floor_char_boundary(MAX_MESSAGE)].to_owned()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{MAX_MESSAGE, SetKind, emit_on, event, reference, shorten};
    use crate::controller::fixtures::{caller, recording};
    use crate::rollout::{EventNotice, Reason};

    #[test]
    fn repeated_event_has_the_same_name() {
        let emit = |reason, message: &str| EventNotice::of_set("u", reason, message);
        let on = |name: &str, uid: &str| reference("apps/v1", "StatefulSet", "default", name, uid);
        let publish = |emit: &EventNotice, uid: &str, now| event(emit, "default", on("web", uid), None, now);
        let denied = emit(Reason::FailedToPatchPVC, "data-web-2: exceeded quota");
        let first = publish(&denied, "u", 1000);
        let again = publish(&denied, "u", 2000);
        assert_eq!(first.metadata.name, again.metadata.name);
        assert_eq!(first.type_.as_deref(), Some("Warning"));
        for (event, seconds) in [(&first, 1000), (&again, 2000)] {
            let time = event.last_timestamp.as_ref().map(|time| time.0);
            assert_eq!(time, Timestamp::from_second(seconds).ok());
            assert_eq!((&event.first_timestamp, event.count), (&event.last_timestamp, Some(1)));
        }
        let others = [
            publish(&denied, "another set of the name", 1000),
            publish(&emit(Reason::FailedToPatchPVC, "data-web-2: not found"), "u", 1000),
            publish(
                &emit(Reason::ClaimExpansionFailed, "data-web-2: exceeded quota"),
                "u",
                1000,
            ),
        ];
        for other in others {
            assert_ne!(other.metadata.name, first.metadata.name);
        }
    }

    #[test]
    fn long_message_is_cut_between_characters() {
        let long = format!("a{}", "é".repeat(MAX_MESSAGE));
        assert_eq!(shorten(&long).len(), MAX_MESSAGE - 1);
        assert_eq!(shorten("short"), "short");
    }

    /// Whichever of both objects a user describes.
    #[tokio::test]
    async fn event_about_a_pvc_is_shown_at_it_and_at_the_set() {
        for (claim, expected) in [
            (None, vec!["web"]),
            (Some("data-web-2"), vec!["web data-web-2", "data-web-2 web"]),
        ] {
            let (client, received) = recording(|request| Some((200, request.body.clone())));
            let emit = EventNotice {
                set_uid: "set-uid".to_owned(),
                claim: claim.map(|name| (name.to_owned(), "c".to_owned())),
                reason: Reason::ClaimReady,
                message: "m".to_owned(),
            };
            emit_on(&caller(&client, || 1000), (SetKind::Apps, "shop", "web"), &emit).await;
            let created = received.take().into_iter().map(|request| {
                let names = ["involvedObject", "related"].map(|object| request.body[object]["name"].as_str());
                names.into_iter().flatten().collect::<Vec<_>>().join(" ")
            });
            assert_eq!(created.collect::<Vec<_>>(), expected);
        }
    }
}
