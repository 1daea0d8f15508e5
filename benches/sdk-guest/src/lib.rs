//! The peer of the benchmarks: the same decision with the methods of the SDK and the official policies. It decodes the
//! whole review into a tree and both objects into types, and serialises the answer from these.
//!
//! It calls [`admit`], the decision of our policy, so that both guests do the same work and differ only in how they read
//! and write. Parts that the decision reads as JSON are serialised; the large ones only if the templates change.
//! The allocator is that of the standard library. There are no lookups, as in the requests of the benchmark.

mod review;

use claim_rollout::admission::{Denial, Edit, NoCluster, Remarks, Settings, Verdict, admit};
use k8s_openapi::api::apps::v1::StatefulSet;
use kubewarden_policy_sdk::{
    protocol_version_guest, request::ValidationRequest, response::ValidationResponse, settings::Validatable,
    validate_settings,
};
use serde_json::Value;
use wapc_guest::{CallResult, register_function};

/// Any JSON; `claim_rollout` reads and checks it.
#[derive(Default, serde::Deserialize, serde::Serialize)]
#[serde(transparent)]
struct GivenSettings(Value);

impl GivenSettings {
    fn read(&self) -> Result<Settings, String> {
        Settings::read(&self.0.to_string())
    }
}

impl Validatable for GivenSettings {
    fn validate(&self) -> Result<(), String> {
        self.read().map(drop)
    }
}

/// Called once per instance by the host.
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("validate_settings", validate_settings::<GivenSettings>);
    register_function("protocol_version", protocol_version_guest);
}

fn validate(payload: &[u8]) -> CallResult {
    let ValidationRequest { settings, request } = ValidationRequest::<GivenSettings>::new(payload)?;
    let settings = settings.read()?;
    let (request, [new, old]) = review::typed(request)?;
    let verdict = {
        let texts = review::Texts::of([&new, &old])?;
        admit(&review::of(&request, [&new, &old], &texts), &settings, &mut NoCluster)
    };
    let answer = match verdict {
        Verdict::Deny(Denial { code, message }) => ValidationResponse {
            message: Some(message),
            code: Some(code),
            ..answer(false, Remarks::default())
        },
        Verdict::Pass(remarks) => answer(true, remarks),
        Verdict::Stage(edits, remarks) => ValidationResponse {
            mutated_object: Some(serde_json::to_value(edited(new, old, edits)?)?),
            ..answer(true, remarks)
        },
    };
    Ok(serde_json::to_vec(&answer)?)
}

fn answer(accepted: bool, Remarks { warnings, audit }: Remarks) -> ValidationResponse {
    let audit = audit.into_iter().map(|(key, value)| (key.to_owned(), value));
    ValidationResponse {
        accepted,
        message: None,
        code: None,
        mutated_object: None,
        audit_annotations: (audit.len() > 0).then(|| audit.collect()),
        warnings: (!warnings.is_empty()).then_some(warnings),
    }
}

/// The object with its edits. The requests of the benchmark have no other edits.
fn edited(mut new: StatefulSet, old: StatefulSet, edits: Vec<Edit>) -> Result<StatefulSet, String> {
    let mut live = old.spec.and_then(|spec| spec.volume_claim_templates);
    for edit in edits {
        match edit {
            Edit::RestoreTemplates => {
                let spec = new.spec.as_mut().ok_or("request.object: expected a spec")?;
                spec.volume_claim_templates = live.take();
            }
            Edit::SetAnnotation(key, value) => {
                let annotations = new.metadata.annotations.get_or_insert_default();
                annotations.insert(key.into_owned(), value);
            }
            Edit::RemoveAnnotation(key) => {
                if let Some(annotations) = &mut new.metadata.annotations {
                    annotations.remove(&*key);
                }
            }
            other => return Err(format!("an edit that the benchmark does not have: {other:?}")),
        }
    }
    Ok(new)
}
