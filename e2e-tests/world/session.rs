//! The lookups for a review in the format that kwctl records and replays: in their order, each with its answer.

use claim_rollout::admission::{self, CanI, CannotAsk, Get, Lookups};
use claim_rollout::webhook::engine::payload;
use claim_rollout::webhook::{AdmissionResponse, AdmissionReview};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::recorded::Recorded;

/// The response of the native code to a review, and the file for `--replay-host-capabilities-interactions`; none if there
/// was no lookup.
pub(crate) fn respond(
    review: &AdmissionReview<'_>,
    settings: &RawValue,
    cluster: Recorded,
) -> anyhow::Result<(AdmissionResponse, Option<String>)> {
    let session = Vec::new();
    let mut recorder = Recorder { cluster, session };
    let response = review.respond(&admission::validate(&payload(review.request, settings), &mut recorder));
    let asks = !recorder.session.is_empty();
    let session = asks.then(|| serde_saphyr::to_string(&recorder.session)).transpose()?;
    Ok((response, session))
}

/// An entry of a file for `--replay-host-capabilities-interactions`.
#[derive(Serialize)]
#[serde(tag = "type")]
enum Interaction {
    Exchange { request: String, response: Response },
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Response {
    Success { payload: String },
    Error { message: String },
}

/// Answers what the policy asks, and notes it in the form of kwctl.
struct Recorder {
    cluster: Recorded,
    session: Vec<Interaction>,
}

impl Recorder {
    fn note(&mut self, kind: &str, request: &Value, response: Response) {
        let request = serde_saphyr::to_string(request).expect("YAML");
        let request = format!("!{kind}\n{request}");
        self.session.push(Interaction::Exchange { request, response });
    }
}

/// The text that the host gave, without what the guest puts before it.
fn error(CannotAsk(text): &CannotAsk) -> Response {
    let text = text
        .rsplit_once("evaluation failure: ")
        .map_or(&**text, |(_, text)| text);
    Response::Error {
        message: text.to_owned(),
    }
}

impl Lookups for Recorder {
    fn can_i(&mut self, question: &CanI<'_>) -> Result<bool, CannotAsk> {
        let answer = self.cluster.can_i(question);
        let attributes = json!({
            "group": question.group, "namespace": question.namespace, "resource": question.resource,
            "subresource": Some(question.subresource).filter(|name| !name.is_empty()), "verb": question.verb,
        });
        let review = json!({"groups": question.groups, "resource_attributes": attributes, "user": question.user});
        let response = match &answer {
            Ok(allowed) => Response::Success {
                payload: json!({"allowed": allowed}).to_string(),
            },
            Err(cannot) => error(cannot),
        };
        let request = json!({"request": review, "disable_cache": true});
        self.note("KubernetesCanI", &request, response);
        answer
    }

    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        let answer = self.cluster.get(question);
        let Get {
            api_version,
            kind,
            namespace,
            name,
        } = question;
        let response = match &answer {
            Ok(Some(object)) => Response::Success {
                payload: object.clone(),
            },
            Ok(None) => Response::Error {
                message: format!("Cannot find {api_version}/{kind} named '{name}' inside of namespace '{namespace:?}'"),
            },
            Err(cannot) => error(cannot),
        };
        let request = json!({
            "api_version": api_version, "kind": kind, "name": name, "namespace": namespace, "disable_cache": true,
        });
        self.note("KubernetesGetResource", &request, response);
        answer
    }
}
