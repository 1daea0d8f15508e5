//! The answers of a cluster, as a list of objects: for the native code, and through a host for the guest.

use claim_rollout::admission::{CanI, CannotAsk, Get, Lookups};
use serde_json::Value;

/// Answers lookups from the objects beside a review: for the guest through its host, for the native code directly.
#[derive(Clone)]
pub(crate) struct Recorded(pub(crate) Vec<Value>);

/// Without objects, every lookup of an object fails. Of the SubjectAccessReviews, the first one that was recorded for the
/// user and the right has the answer; `*` stands for any. The error text is as a guest gets it, so that the answers can be
/// compared byte for byte.
impl Lookups for Recorded {
    fn can_i(&mut self, question: &CanI<'_>) -> Result<bool, CannotAsk> {
        let asked = [
            ("namespace", question.namespace),
            ("verb", question.verb),
            ("group", question.group),
            ("resource", question.resource),
            ("subresource", question.subresource),
        ];
        let review = self.0.iter().find(|review| {
            let recorded = &review["spec"]["resourceAttributes"];
            let is_it =
                |(name, asked): &(&str, &str)| ["*", asked].contains(&recorded[*name].as_str().unwrap_or_default());
            review["spec"]["user"] == question.user && asked.iter().all(is_it)
        });
        let allowed = review.and_then(|review| review["status"]["allowed"].as_bool());
        allowed.ok_or_else(|| heard("no SubjectAccessReview with a status was given for this user"))
    }

    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        if self.0.is_empty() {
            return Err(heard("no list of objects was given (--objects)"));
        }
        let found = self.0.iter().find(|object| {
            let (of, metadata) = ([&object["apiVersion"], &object["kind"]], &object["metadata"]);
            let is_here = metadata["namespace"].as_str() == question.namespace;
            of == [question.api_version, question.kind] && is_here && metadata["name"] == question.name
        });
        Ok(found.map(Value::to_string))
    }
}

fn heard(error: &str) -> CannotAsk {
    CannotAsk(format!("Host error: Callback evaluation failure: {error}"))
}
