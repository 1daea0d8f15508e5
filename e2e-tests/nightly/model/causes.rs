//! The answers of an API server, as the model names them.

use claim_rollout::sim::dialogue::{ApiAnswer, DenialCause};
use kube::core::Status;

/// Codes and parts of messages, with their causes.
const TABLE: &[(u16, &str, DenialCause)] = &[
    (403, "exceeded quota", DenialCause::Quota),
    (
        403,
        "only dynamically provisioned pvc can be resized",
        DenialCause::NotExpandable,
    ),
    (
        403,
        "Only bound persistent volume claims can be expanded",
        DenialCause::Immutable,
    ),
    (422, "spec is immutable after creation", DenialCause::Immutable),
    // `ValidateStatefulSetUpdate` in `pkg/apis/apps/validation/validation.go`: since 1.37, and before.
    (422, "spec.volumeClaimTemplates: Invalid value", DenialCause::Immutable),
    (
        422,
        "updates to statefulset spec for fields other than",
        DenialCause::Immutable,
    ),
    (422, "field can not be less than status.capacity", DenialCause::Shrink),
    (
        422,
        "when status.currentVolumeAttributesClassName is not nil",
        DenialCause::Class,
    ),
    (
        422,
        "only allowed for updateStrategy 'RollingUpdate'",
        DenialCause::Strategy,
    ),
    (400, "denied the request", DenialCause::Webhook),
    (403, "denied the request", DenialCause::Webhook),
];

/// The answer. An unknown one is returned unchanged.
pub(super) fn answer(status: &Status) -> String {
    let another = status
        .details
        .iter()
        .flat_map(|details| &details.causes)
        .any(|cause| cause.field == "metadata.uid");
    let known = TABLE
        .iter()
        .find(|(code, part, _)| *code == status.code && status.message.contains(part));
    let answer = match (status.code, known) {
        (404, _) => ApiAnswer::NotFound,
        (409, _) => ApiAnswer::Conflict,
        (422, _) if another => ApiAnswer::NotFound,
        (_, Some((_, _, cause))) => ApiAnswer::Refused(*cause),
        (code, None) => return format!("{code} {}", status.message.lines().next().unwrap_or_default()),
    };
    format!("{answer:?}")
}
