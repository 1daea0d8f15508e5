//! Converts whole objects to the input of the decisions, for commands such as `claim-rollout plan`.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::blockers::{SlimLimitRange, SlimQuota};
use super::claim::SlimClaim;
use super::pod::SlimPod;
use super::set::SlimSet;
use super::views;
use crate::claims;
use crate::claims::limits::SizeLimits;
use crate::claims::quota;
use crate::gate::SetView;
use crate::rollout::{PodView, Sibling};

/// An object that cannot be converted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ObjectError {
    /// The object does not have the shape of its kind.
    #[error("expected a {kind}, but found: {source}")]
    Shape {
        /// The kind.
        kind: &'static str,
        /// The cause.
        source: serde_json::Error,
    },
    /// The object has an invalid value.
    #[error(transparent)]
    View(#[from] views::ViewError),
}

/// The StatefulSet as the decision reads it.
///
/// # Errors
/// [`ObjectError`] if it cannot be converted.
pub(crate) fn set(object: &Value) -> Result<SetView, ObjectError> {
    Ok(views::set(&shaped::<SlimSet>("StatefulSet", object)?)?)
}

/// The PersistentVolumeClaim as the decision reads it.
///
/// # Errors
/// [`ObjectError`] if it cannot be converted.
pub(crate) fn claim(object: &Value) -> Result<claims::Claim, ObjectError> {
    Ok(views::claim(&shaped::<SlimClaim>("PersistentVolumeClaim", object)?)?)
}

/// The Pod as the decision reads it; none if it has ended.
///
/// # Errors
/// [`ObjectError`] if it cannot be converted.
pub(crate) fn pod(object: &Value) -> Result<Option<PodView>, ObjectError> {
    Ok(views::pod(&shaped::<SlimPod>("Pod", object)?))
}

/// The ResourceQuota as the decision reads it; no resources if they are not [known](unknown_quota).
///
/// # Errors
/// [`ObjectError`] if it cannot be converted.
pub(crate) fn quota(object: &Value) -> Result<Vec<quota::Quota>, ObjectError> {
    Ok(shaped::<SlimQuota>("ResourceQuota", object)?
        .resources()
        .unwrap_or_default())
}

/// Why the resources of a ResourceQuota are not known, if they are not.
pub(crate) fn unknown_quota(object: &Value) -> Option<&'static str> {
    let quota = shaped::<SlimQuota>("ResourceQuota", object);
    quota.map_or(Some("cannot be read"), |quota| quota.resources().err())
}

/// The sizes that a LimitRange allows for a PVC.
///
/// # Errors
/// [`ObjectError`] if it cannot be converted.
pub(crate) fn limits(object: &Value) -> Result<SizeLimits, ObjectError> {
    Ok(shaped::<SlimLimitRange>("LimitRange", object)?.limits())
}

/// The name and the template names of another StatefulSet of the namespace.
///
/// # Errors
/// [`ObjectError`] if it cannot be converted.
pub(crate) fn sibling(object: &Value) -> Result<Sibling, ObjectError> {
    let set = shaped::<SlimSet>("StatefulSet", object)?;
    Ok(Sibling {
        templates: set.template_names(),
        set: set.metadata.name.unwrap_or_default(),
    })
}

fn shaped<K: DeserializeOwned>(kind: &'static str, object: &Value) -> Result<K, ObjectError> {
    K::deserialize(object).map_err(|source| ObjectError::Shape { kind, source })
}
