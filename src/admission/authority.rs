//! Whether the requester has the rights to do by hand what the request causes.

use super::lookups::{CanI, Lookups};
use super::message;
use super::settings::{Authority, Settings};
use crate::templates::UpdatePolicy;
use crate::templates::show::{cut, shown_name};
use crate::wire::{Denial, Review};

/// The longest error of the cluster in a message.
const MAX_ANSWER: usize = 160;

/// A right that RBAC grants, and what needs it.
pub(super) struct Right {
    verb: &'static str,
    group: &'static str,
    resource: &'static str,
    subresource: &'static str,
    needed_by: &'static str,
}

const PATCH_CLAIMS: Right = Right {
    verb: "patch",
    group: "",
    resource: "persistentvolumeclaims",
    subresource: "",
    needed_by: "a change of volumeClaimTemplates",
};
const DELETE_CLAIMS: Right = Right {
    verb: "delete",
    needed_by: "the update policy ReCreate",
    ..PATCH_CLAIMS
};
const EVICT_PODS: Right = Right {
    verb: "create",
    resource: "pods",
    subresource: "eviction",
    ..DELETE_CLAIMS
};
const DELETE_SETS: Right = Right {
    verb: "delete",
    group: "apps",
    resource: "statefulsets",
    subresource: "",
    needed_by: "replace-set: WhenComplete",
};
const CREATE_SETS: Right = Right {
    verb: "create",
    ..DELETE_SETS
};

/// The rights for `replace-set: WhenComplete`, and for added and removed templates, which need it.
pub(super) const REPLACE: &[Right] = &[DELETE_SETS, CREATE_SETS];

/// The rights for a change of templates under an update policy. Under `OnClaimDelete`, a later switch of the policy
/// applies the change to existing claims, so it needs the same right as `InPlace`.
pub(super) const fn rollout(policy: UpdatePolicy) -> &'static [Right] {
    match policy {
        UpdatePolicy::OnClaimDelete | UpdatePolicy::InPlace => &[PATCH_CLAIMS],
        UpdatePolicy::ReCreate => &[PATCH_CLAIMS, DELETE_CLAIMS, EVICT_PODS],
    }
}

/// Denies the request unless its requester has all these rights in the namespace (setting `authority`).
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
        let user = shown_name(question.user);
        let message = match lookups.can_i(&question) {
            Ok(true) => continue,
            Ok(false) => format!(
                "user {user} cannot {what} in namespace {}, which {} needs; grant that (ClusterRole edit has it), or \
                 set authority: TrustSetEditors in the policy's settings",
                shown_name(question.namespace),
                right.needed_by
            ),
            Err(error) => format!(
                "failed to check whether user {user} may {what} ({}); grant the policy the host capability \
                 kubernetes/can_i, or set authority: TrustSetEditors in its settings",
                cut(&error.0, MAX_ANSWER)
            ),
        };
        return Err(Denial::forbidden(message::denial(&message)));
    }
    Ok(())
}
