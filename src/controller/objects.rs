//! From whole objects to what the decision reads, for whoever does not get them by a watch: `claim-rollout plan`.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::obstacles::Quota;
use super::slim::{Claim, Pod, Set};
use super::views;
use crate::claims;
use crate::claims::quota;
use crate::rollout::{PodView, SetView, Sibling};

/// Why an object cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ObjectError {
    /// It has not the shape of its kind.
    #[error("expected a {kind}, but found: {source}")]
    Shape {
        /// Its kind.
        kind: &'static str,
        /// Where it differs.
        source: serde_json::Error,
    },
    /// Something in it has no meaning.
    #[error(transparent)]
    View(#[from] views::ViewError),
}

/// What the decision reads of a StatefulSet.
///
/// # Errors
/// [`ObjectError`] if it is none.
pub(crate) fn set(object: &Value) -> Result<SetView, ObjectError> {
    Ok(views::set(&shaped::<Set>("StatefulSet", object)?)?)
}

/// What the decision reads of a PersistentVolumeClaim.
///
/// # Errors
/// [`ObjectError`] if it is none.
pub(crate) fn claim(object: &Value) -> Result<claims::Claim, ObjectError> {
    Ok(views::claim(&shaped::<Claim>("PersistentVolumeClaim", object)?)?)
}

/// What the decision reads of a Pod; nothing of one that has ended.
///
/// # Errors
/// [`ObjectError`] if it is none.
pub(crate) fn pod(object: &Value) -> Result<Option<PodView>, ObjectError> {
    Ok(views::pod(&shaped::<Pod>("Pod", object)?))
}

/// What the decision reads of a ResourceQuota.
///
/// # Errors
/// [`ObjectError`] if it is none.
pub(crate) fn quota(object: &Value) -> Result<Vec<quota::Quota>, ObjectError> {
    Ok(shaped::<Quota>("ResourceQuota", object)?.resources())
}

/// What the decision reads of another StatefulSet of the namespace.
///
/// # Errors
/// [`ObjectError`] if it is none.
pub(crate) fn sibling(object: &Value) -> Result<Sibling, ObjectError> {
    let set = shaped::<Set>("StatefulSet", object)?;
    Ok(Sibling {
        templates: set.template_names(),
        set: set.metadata.name.unwrap_or_default(),
    })
}

fn shaped<K: DeserializeOwned>(kind: &'static str, object: &Value) -> Result<K, ObjectError> {
    K::deserialize(object).map_err(|source| ObjectError::Shape { kind, source })
}
