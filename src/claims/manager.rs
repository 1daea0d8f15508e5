//! Entries of `metadata.managedFields`: which of them own the size and the VolumeAttributesClass of a PVC.

use crate::json::{Reader, member};

/// One entry of `metadata.managedFields`: whether it owns size and VolumeAttributesClass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manager {
    /// The entry is an apply of ours.
    pub is_us: bool,
    /// The entry owns `spec.resources.requests.storage`.
    pub size: bool,
    /// The entry owns `spec.volumeAttributesClassName`.
    pub class: bool,
}

impl Manager {
    /// The field manager of the controller.
    pub const OURS: &str = "claim-rollout";

    /// Reads the JSON text of an entry. What is no entry owns nothing: users can write most of it.
    #[must_use]
    pub fn read(entry: &str) -> Self {
        let at = |path: &[&str]| {
            let mut keys = path.iter();
            keys.try_fold(entry, |value, key| member(value, key).ok().flatten())
        };
        let is = |key, text| at(&[key]).is_some_and(|value| Reader::new(value).string().is_ok_and(|is| is == text));
        Self {
            is_us: is("manager", Self::OURS) && is("operation", "Apply"),
            size: at(&["fieldsV1", "f:spec", "f:resources", "f:requests", "f:storage"]).is_some(),
            class: at(&["fieldsV1", "f:spec", "f:volumeAttributesClassName"]).is_some(),
        }
    }
}
