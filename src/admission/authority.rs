//! Whether the requester may do by hand what the request comes to.

use super::lookups::{CanI, Lookups};
use super::message;
use super::review::Review;
use super::settings::{Authority, Settings};
use super::verdict::Denial;
use crate::templates::UpdatePolicy;
use crate::templates::show::{cut, shown};

/// The longest part of what the cluster answers.
const MAX_ANSWER: usize = 160;

/// Something that RBAC allows or not, and why the request comes to it.
pub(super) struct Right {
    verb: &'static str,
    group: &'static str,
    resource: &'static str,
    subresource: &'static str,
    why: &'static str,
}

const PATCH_CLAIMS: Right = Right {
    verb: "patch",
    group: "",
    resource: "persistentvolumeclaims",
    subresource: "",
    why: "a change of volumeClaimTemplates changes them",
};
const DELETE_CLAIMS: Right = Right {
    verb: "delete",
    why: "the update policy ReCreate deletes them",
    ..PATCH_CLAIMS
};
const EVICT_PODS: Right = Right {
    verb: "create",
    resource: "pods",
    subresource: "eviction",
    why: "the update policy ReCreate evicts Pods",
    ..PATCH_CLAIMS
};
const DELETE_SETS: Right = Right {
    verb: "delete",
    group: "apps",
    resource: "statefulsets",
    subresource: "",
    why: "replace-set: WhenComplete deletes the StatefulSet and creates it anew",
};
const CREATE_SETS: Right = Right {
    verb: "create",
    ..DELETE_SETS
};

/// What `replace-set: WhenComplete` comes to.
pub(super) const REPLACE: &[Right] = &[DELETE_SETS, CREATE_SETS];

/// What a change of templates comes to under an update policy. One that waits for PVCs to come can reach existing ones
/// as soon as somebody switches, so it takes the same right.
pub(super) const fn rollout(policy: UpdatePolicy) -> &'static [Right] {
    match policy {
        UpdatePolicy::OnClaimDelete | UpdatePolicy::InPlace => &[PATCH_CLAIMS],
        UpdatePolicy::ReCreate => &[PATCH_CLAIMS, DELETE_CLAIMS, EVICT_PODS],
    }
}

/// Denies the request unless its requester has all of these rights in the namespace (`authority`).
pub(super) fn check(
    review: &Review<'_>,
    settings: &Settings,
    rights: &[Right],
    lookups: &mut dyn Lookups,
) -> Result<(), Denial> {
    if settings.authority == Authority::TrustSetEditors {
        return Ok(());
    }
    for right in rights {
        let question = CanI {
            user: &review.user,
            uid: &review.user_uid,
            groups: review.groups.iter().map(|group| &**group).collect(),
            extra: review.user_extra,
            namespace: review.namespace(),
            group: right.group,
            resource: right.resource,
            subresource: right.subresource,
            verb: right.verb,
        };
        let slash = if right.subresource.is_empty() { "" } else { "/" };
        let what = format!("{} {}{slash}{}", right.verb, right.resource, right.subresource);
        let user = shown(question.user);
        let message = match lookups.can_i(&question) {
            Ok(true) => continue,
            Ok(false) => format!(
                "user {user} cannot {what} in namespace {}, and {}; grant that (ClusterRole edit has it), or set \
                 authority: TrustSetEditors in the policy's settings",
                shown(question.namespace),
                right.why
            ),
            Err(error) => format!(
                "cannot ask whether user {user} may {what} ({}); grant the policy the host capability kubernetes/can_i, \
                 or set authority: TrustSetEditors in its settings",
                cut(&error.0, MAX_ANSWER)
            ),
        };
        return Err(Denial::forbidden(message::denial(&message)));
    }
    Ok(())
}
