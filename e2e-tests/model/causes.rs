//! What an API server answers, in the words of the model.

use claim_rollout::sim::dialogue::{Answer, Cause};
use kube::core::Status;

/// Parts of messages that say why, with their codes.
const TABLE: &[(u16, &str, Cause)] = &[
    (403, "exceeded quota", Cause::Quota),
    (
        403,
        "only dynamically provisioned pvc can be resized",
        Cause::NotExpandable,
    ),
    (
        403,
        "Only bound persistent volume claims can be expanded",
        Cause::Immutable,
    ),
    (422, "spec is immutable after creation", Cause::Immutable),
    (422, "spec.volumeClaimTemplates: Invalid value", Cause::Immutable),
    (422, "field can not be less than status.capacity", Cause::Shrink),
    (
        422,
        "when status.currentVolumeAttributesClassName is not nil",
        Cause::Class,
    ),
    (422, "only allowed for updateStrategy 'RollingUpdate'", Cause::Strategy),
    (400, "denied the request", Cause::Webhook),
    (403, "denied the request", Cause::Webhook),
];

/// The answer; one that the model does not know is told as it is.
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
        (404, _) => Answer::Gone,
        (409, _) => Answer::Conflict,
        (422, _) if another => Answer::Gone,
        (_, Some((_, _, cause))) => Answer::Refused(*cause),
        (code, None) => return format!("{code} {}", status.message.lines().next().unwrap_or_default()),
    };
    format!("{answer:?}")
}
