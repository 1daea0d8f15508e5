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
    read.ok().and(allowed)
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
