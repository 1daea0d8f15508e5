//! Puts changed templates of a StatefulSet back and keeps them in an annotation, with the methods of the SDK and the
//! official policies: it decodes the whole review into a tree and both objects into types, and serialises the answer
//! from these.
//!
//! It does not check the change, and writes no verifiable staged change: less work than our policy.

use k8s_openapi::api::apps::v1::StatefulSet;
use kubewarden_policy_sdk::{
    accept_request, mutate_request, protocol_version_guest, request::ValidationRequest, settings::Validatable,
    validate_settings,
};
use wapc_guest::{CallResult, register_function};

#[derive(Default, serde::Deserialize, serde::Serialize)]
struct Settings {}

impl Validatable for Settings {
    fn validate(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Called once per instance by the host.
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("validate_settings", validate_settings::<Settings>);
    register_function("protocol_version", protocol_version_guest);
}

fn validate(payload: &[u8]) -> CallResult {
    let review = ValidationRequest::<Settings>::new(payload)?;
    let mut new: StatefulSet = serde_json::from_value(review.request.object)?;
    let old: StatefulSet = serde_json::from_value(review.request.old_object)?;
    let (Some(asked), Some(live)) = (new.spec.as_mut(), old.spec) else {
        return accept_request();
    };
    if asked.volume_claim_templates == live.volume_claim_templates {
        return accept_request();
    }
    let wanted = std::mem::replace(&mut asked.volume_claim_templates, live.volume_claim_templates);
    let annotations = new.metadata.annotations.get_or_insert_default();
    annotations.insert("claim-rollout.io/staged".to_owned(), serde_json::to_string(&wanted)?);
    annotations.insert("claim-rollout.io/phase".to_owned(), "RollingOut".to_owned());
    mutate_request(serde_json::to_value(new)?)
}
