//! Look-ups through the policy's host.

use crate::admission::{CanI, CannotAsk, Lookups};
use crate::json::{Reader, write_string};

/// The policy-server that runs this guest.
pub(super) struct Host;

impl Lookups for Host {
    fn can_i(&mut self, question: &CanI<'_>) -> Result<bool, CannotAsk> {
        let payload = can_i_request(question);
        let answer = wapc_guest::host_call("kubewarden", "kubernetes", "can_i", payload.as_bytes())
            .map_err(|error| CannotAsk(error.to_string()))?;
        let answer = std::str::from_utf8(&answer).ok();
        answer
            .and_then(allowed)
            .ok_or_else(|| CannotAsk("the host's answer is no SubjectAccessReviewStatus".to_owned()))
    }
}

/// What a SubjectAccessReviewStatus says.
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

/// Kubewarden's CanIRequest. The SDK's own type comes with the whole of k8s-openapi.
fn can_i_request(question: &CanI<'_>) -> String {
    let mut json = String::from("{\"subject_access_review\":{\"groups\":[");
    for (index, group) in question.groups.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        write_string(group, &mut json);
    }
    json.push_str("],\"resource_attributes\":");
    let attributes = [
        ("group", question.group),
        ("namespace", question.namespace),
        ("resource", question.resource),
        ("verb", question.verb),
    ];
    for (index, (key, value)) in attributes.into_iter().enumerate() {
        json.push(if index == 0 { '{' } else { ',' });
        write_string(key, &mut json);
        json.push(':');
        write_string(value, &mut json);
    }
    json.push_str("},\"user\":");
    write_string(question.user, &mut json);
    // A right that was just taken away must not be used for another five seconds.
    json.push_str("},\"disable_cache\":true}");
    json
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use wasm_bindgen_test::wasm_bindgen_test;

    use super::{allowed, can_i_request};
    use crate::admission::CanI;

    fn request(user: &str, groups: &[&str]) -> Value {
        let question = CanI {
            user,
            groups: groups.to_vec(),
            namespace: "shop",
            group: "",
            resource: "persistentvolumeclaims",
            verb: "patch",
        };
        serde_json::from_str(&can_i_request(&question)).expect("JSON")
    }

    #[wasm_bindgen_test]
    fn the_question_is_a_can_i_request_of_kubewarden() {
        let attributes = json!({
            "group": "", "namespace": "shop", "resource": "persistentvolumeclaims", "verb": "patch",
        });
        let review = json!({"user": "alice", "groups": ["dev", "ops"], "resource_attributes": attributes});
        assert_eq!(
            request("alice", &["dev", "ops"]),
            json!({"subject_access_review": review, "disable_cache": true})
        );
    }

    #[wasm_bindgen_test]
    fn names_are_escaped_and_no_groups_are_an_empty_list() {
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
    fn of_the_answer_only_the_verdict_is_read_and_without_one_there_is_no_answer() {
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
