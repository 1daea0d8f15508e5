//! The settings for the SDK.

use kubewarden_policy_sdk::settings::Validatable;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::admission;

/// Any JSON: an error of `Deserialize` would stop at the first fault, and the SDK would return it with the whole text.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct GivenSettings(Box<RawValue>);

impl Validatable for GivenSettings {
    fn validate(&self) -> Result<(), String> {
        admission::settings_fault(self.0.get().as_bytes()).map_or(Ok(()), Err)
    }
}
