//! Look-ups through the policy's host.

use serde::{Deserialize, Serialize};

use crate::admission::{CanI, CannotAsk, Lookups};

/// The policy-server that runs this guest.
pub(super) struct Host;

/// Kubewarden's CanIRequest. The SDK's own type comes with the whole of k8s-openapi.
#[derive(Serialize)]
struct CanIRequest<'a> {
    subject_access_review: SubjectAccessReview<'a>,
    disable_cache: bool,
}

#[derive(Serialize)]
struct SubjectAccessReview<'a> {
    groups: &'a [&'a str],
    resource_attributes: ResourceAttributes<'a>,
    user: &'a str,
}

#[derive(Serialize)]
struct ResourceAttributes<'a> {
    group: &'a str,
    namespace: &'a str,
    resource: &'a str,
    verb: &'a str,
}

/// What is read of a SubjectAccessReviewStatus.
#[derive(Deserialize)]
struct Status {
    allowed: bool,
}

impl Lookups for Host {
    fn can_i(&mut self, question: &CanI<'_>) -> Result<bool, CannotAsk> {
        let request = CanIRequest {
            subject_access_review: SubjectAccessReview {
                groups: &question.groups,
                resource_attributes: ResourceAttributes {
                    group: question.group,
                    namespace: question.namespace,
                    resource: question.resource,
                    verb: question.verb,
                },
                user: question.user,
            },
            // A right that was just taken away must not be used for another five seconds.
            disable_cache: true,
        };
        let cannot = |why: &dyn std::fmt::Display| CannotAsk(why.to_string());
        let payload = serde_json::to_vec(&request).map_err(|error| cannot(&error))?;
        let answer =
            wapc_guest::host_call("kubewarden", "kubernetes", "can_i", &payload).map_err(|error| cannot(&error))?;
        let status: Status = serde_json::from_slice(&answer)
            .map_err(|_| CannotAsk("the host's answer is no SubjectAccessReviewStatus".to_owned()))?;
        Ok(status.allowed)
    }
}
