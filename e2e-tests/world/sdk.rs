//! The types of the Kubewarden SDK and of k8s-openapi as second readers: what they read of payloads, answers and lookups
//! is what this crate reads. policy-server decodes requests before a policy sees them, and so does this.

use anyhow::{Context as _, ensure};
use claim_rollout::admission::{self, CanI, CannotAsk, Get, Lookups};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::api::storage::v1::StorageClass;
use kubewarden_policy_sdk::request::ValidationRequest;
use kubewarden_policy_sdk::response::ValidationResponse;
use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The payload as the SDK reads it, under the names of an AdmissionReview; none if it reads no request.
fn reread(payload: &Value) -> Option<Value> {
    let ValidationRequest { request, settings } =
        ValidationRequest::<Value>::new(payload.to_string().as_bytes()).ok()?;
    // The SDK has no name of the resource: its GroupVersionResource has a field `kind` instead.
    let mut read = json!({
        "uid": request.uid, "kind": request.kind, "resource": payload["request"]["resource"],
        "operation": request.operation, "name": request.name, "namespace": request.namespace,
        "subResource": request.sub_resource, "requestKind": request.request_kind, "userInfo": request.user_info,
        "object": request.object, "oldObject": request.old_object, "dryRun": request.dry_run,
        "options": request.options,
    });
    // What the SDK fills in is no part of the request.
    read.as_object_mut()?
        .retain(|key, _| !payload["request"][key].is_null());
    let user = read.get_mut("userInfo").and_then(Value::as_object_mut);
    if let Some(user) = user {
        user.retain(|key, _| !payload["request"]["userInfo"][key].is_null());
    }
    Some(json!({"request": read, "settings": settings}))
}

/// True iff the SDK reads a request in this payload.
pub(crate) fn reads(payload: &[u8]) -> bool {
    serde_json::from_slice(payload).is_ok_and(|payload| reread(&payload).is_some())
}

/// Fails unless the answer to the payload is the same after the SDK has read the payload, and k8s-openapi what was looked
/// up; and unless the SDK reads the whole answer, and that to the settings.
pub(crate) fn compare(payload: &[u8], lookups: &mut dyn Lookups) -> anyhow::Result<()> {
    let Ok(payload) = serde_json::from_slice::<Value>(payload) else {
        return Ok(());
    };
    let answer = admission::validate(payload.to_string().as_bytes(), lookups);
    let answer = whole::<ValidationResponse>(&answer)?;
    whole::<SettingsValidationResponse>(&admission::validate_settings(
        payload["settings"].to_string().as_bytes(),
    ))?;
    let Some(read) = reread(&payload) else {
        return Ok(());
    };
    let again = admission::validate(read.to_string().as_bytes(), &mut Typed(lookups));
    let again: Value = serde_json::from_slice(&again)?;
    // This crate is stricter about a payload that is no request: serde also reads a struct from an array.
    let is_fault = answer["code"] == 400;
    ensure!(
        again == answer || is_fault,
        "after the SDK has read it: {again}, before: {answer}, for {payload}"
    );
    Ok(())
}

/// The answer. Fails unless the type has all of it.
fn whole<T: DeserializeOwned + Serialize>(answer: &[u8]) -> anyhow::Result<Value> {
    let text = || String::from_utf8_lossy(answer).into_owned();
    let read: T = serde_json::from_slice(answer).with_context(text)?;
    let (read, value) = (serde_json::to_value(read)?, serde_json::from_slice::<Value>(answer)?);
    ensure!(read == value, "the SDK reads {read} of {}", text());
    Ok(value)
}

/// Lookups whose objects k8s-openapi has read. One that it does not read, or that it corrects, stays as it is: it reads a
/// number as a quantity and an array as fields, and has a default for a required field.
struct Typed<'l>(&'l mut dyn Lookups);

fn typed<K: DeserializeOwned + Serialize>(object: String) -> String {
    let read = || {
        let read = serde_json::to_value(serde_json::from_str::<K>(&object).ok()?).ok()?;
        is_alike(&serde_json::from_str(&object).ok()?, &read).then(|| read.to_string())
    };
    read().unwrap_or(object)
}

/// True iff the second value has no field that the first one lacks, and each value has the type that it has there.
fn is_alike(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => after
            .iter()
            .all(|(key, after)| before.get(key).is_some_and(|before| is_alike(before, after))),
        (Value::Array(before), Value::Array(after)) => before.iter().zip(after).all(|(a, b)| is_alike(a, b)),
        (before, after) => std::mem::discriminant(before) == std::mem::discriminant(after),
    }
}

impl Lookups for Typed<'_> {
    fn can_i(&mut self, question: &CanI<'_>) -> Result<bool, CannotAsk> {
        self.0.can_i(question)
    }

    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        let found = self.0.get(question)?;
        Ok(found.map(|object| match (question.api_version, question.kind) {
            ("v1", "PersistentVolumeClaim") => typed::<PersistentVolumeClaim>(object),
            ("apps/v1", "StatefulSet") => typed::<StatefulSet>(object),
            ("storage.k8s.io/v1", "StorageClass") => typed::<StorageClass>(object),
            _ => object,
        }))
    }
}
