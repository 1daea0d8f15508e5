//! Look-ups through the host of the policy, with the request types of the SDK.
//!
//! Own code makes the calls and reads the answers. The SDK reads `{}` as a SubjectAccessReviewStatus that denies, where
//! the policy reports that it could not ask; and it reads an object into a value, where the policy needs the text, which
//! it reads only once.

use kubewarden_policy_sdk::host_capabilities::kubernetes::{
    CanIRequest, GetResourceRequest, ResourceAttributes, SubjectAccessReview,
};
use serde::Serialize;

use crate::admission::{CanI, CannotAsk, Get, Lookups};
use crate::json::Reader;

/// The policy-server that runs this guest.
pub(super) struct Host;

impl Lookups for Host {
    fn can_i(&mut self, question: &CanI<'_>) -> Result<bool, CannotAsk> {
        let answer = call("can_i", &can_i_request(question)).map_err(CannotAsk)?;
        allowed(&answer).ok_or_else(|| CannotAsk("the host's answer is not a SubjectAccessReviewStatus".to_owned()))
    }

    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        match call("get_resource", &get_resource_request(question)) {
            Ok(object) => Ok(Some(object)),
            Err(error) if is_not_found(&error) => Ok(None),
            Err(error) => Err(CannotAsk(error)),
        }
    }
}

/// Calls the host.
fn call(operation: &str, request: &impl Serialize) -> Result<String, String> {
    let payload = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    let answer =
        wapc_guest::host_call("kubewarden", "kubernetes", operation, &payload).map_err(|error| error.to_string())?;
    String::from_utf8(answer).map_err(|_| "the host's answer is not UTF-8".to_owned())
}

/// True iff an object does not exist. The host returns errors only as text; the texts for a missing right or an unknown
/// kind differ from this one.
fn is_not_found(error: &str) -> bool {
    contains(error, "Cannot find ") && contains(error, " named '")
}

/// True iff a text contains a part. The search of the standard library takes 2 KB of the guest.
fn contains(text: &str, part: &str) -> bool {
    text.as_bytes()
        .windows(part.len())
        .any(|window| window == part.as_bytes())
}

/// `allowed` of a SubjectAccessReviewStatus.
fn allowed(status: &str) -> Option<bool> {
    let mut allowed = None;
    let mut reader = Reader::new(status);
    let read = reader.object(|reader, key| {
        if key == "allowed" {
            allowed = Some(reader.bool()?);
            return Ok(());
        }
        reader.skip()
    });
    read.and_then(|()| reader.end()).ok().and(allowed)
}

fn get_resource_request(question: &Get<'_>) -> GetResourceRequest {
    GetResourceRequest {
        api_version: question.api_version.to_owned(),
        kind: question.kind.to_owned(),
        name: question.name.to_owned(),
        namespace: question.namespace.map(str::to_owned),
        // The cache is five seconds old, and the request depends on claims and staged changes that changed within them.
        disable_cache: true,
        field_masks: None,
    }
}

/// The type has no field for `extra` and the uid: only the guard checks the scopes of a token.
fn can_i_request(question: &CanI<'_>) -> CanIRequest {
    let subresource = question.subresource;
    CanIRequest {
        subject_access_review: SubjectAccessReview {
            groups: Some(question.groups.iter().map(|group| (*group).to_owned()).collect()),
            resource_attributes: ResourceAttributes {
                group: Some(question.group.to_owned()),
                namespace: Some(question.namespace.to_owned()),
                resource: question.resource.to_owned(),
                subresource: (!subresource.is_empty()).then(|| subresource.to_owned()),
                verb: question.verb.to_owned(),
                ..ResourceAttributes::default()
            },
            user: question.user.to_owned(),
        },
        // A right that was just revoked must not be valid for five more seconds.
        disable_cache: true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use wasm_bindgen_test::wasm_bindgen_test;

    use super::{allowed, can_i_request, get_resource_request, is_not_found};
    use crate::admission::{CanI, Get};

    fn request(user: &str, groups: &[&str]) -> Value {
        let question = CanI {
            user,
            groups: groups.to_vec(),
            namespace: "shop",
            resource: "persistentvolumeclaims",
            verb: "patch",
            ..CanI::default()
        };
        serde_json::to_value(can_i_request(&question)).expect("JSON")
    }

    #[wasm_bindgen_test]
    fn right_is_asked_with_can_i_request() {
        let attributes = json!({
            "group": "", "name": null, "namespace": "shop", "resource": "persistentvolumeclaims", "subresource": null,
            "verb": "patch", "version": null,
        });
        let review = json!({"user": "alice", "groups": ["dev", "ops"], "resource_attributes": attributes});
        assert_eq!(
            request("alice", &["dev", "ops"]),
            json!({"subject_access_review": review, "disable_cache": true})
        );
    }

    #[wasm_bindgen_test]
    fn object_is_asked_with_get_resource_request() {
        let ask = |namespace| {
            let question = Get {
                api_version: "v1",
                kind: "PersistentVolumeClaim",
                namespace,
                name: "data\"-web-0",
            };
            serde_json::to_value(get_resource_request(&question)).expect("JSON")
        };
        let mut expected = json!({
            "api_version": "v1", "kind": "PersistentVolumeClaim", "name": "data\"-web-0", "namespace": "shop",
            "disable_cache": true, "field_masks": null,
        });
        assert_eq!(ask(Some("shop")), expected);
        expected["namespace"] = Value::Null;
        assert_eq!(ask(None), expected);
    }

    #[wasm_bindgen_test]
    fn not_found_differs_from_forbidden() {
        let missing =
            "Host error: Cannot find v1/PersistentVolumeClaim named 'data-web-0' inside of namespace 'Some(\"shop\")'";
        assert!(is_not_found(missing));
        for other in [
            "Cannot find v1/VolumeAttributesClass",
            "persistentvolumeclaims \"data-web-0\" is forbidden",
            "Policy has not been granted access to Kubernetes v1/PersistentVolumeClaim resources.",
        ] {
            assert!(!is_not_found(other), "{other}");
        }
    }

    #[wasm_bindgen_test]
    fn names_are_escaped_and_missing_groups_are_empty_list() {
        let odd = "a\"b\\c\n\u{1}\u{7f}é\u{2028}";
        let review = &request(odd, &[])["subject_access_review"];
        assert_eq!(review["user"], odd);
        assert_eq!(review["groups"], json!([]));
        assert_eq!(
            request("", &[odd, ""])["subject_access_review"]["groups"],
            json!([odd, ""])
        );
    }

    #[wasm_bindgen_test]
    fn answer_without_valid_verdict_is_none() {
        assert_eq!(
            allowed(r#"{"reason":"RBAC","allowed":true,"denied":false,"evaluationError":{"a":[1]}}"#),
            Some(true)
        );
        assert_eq!(allowed(r#"{"allowed":false}"#), Some(false));
        for text in [
            "{}",
            "null",
            "",
            r#"{"allowed":"true"}"#,
            r#"{"allowed":true"#,
            r#"{"allowed":true}}"#,
        ] {
            assert_eq!(allowed(text), None, "{text}");
        }
    }
}
