//! The answers of a cluster, as a list of objects: for the native code, and through a host for the guest.

use claim_rollout::admission::{CanI, CannotAsk, Get, Lookups};
use serde_json::Value;

/// Answers lookups from the objects beside a review: for the guest through its host, for the native code directly.
#[derive(Clone)]
pub(crate) struct Recorded(pub(crate) Vec<Value>);

impl Recorded {
    /// The object of this kind and name, if the review has objects; without objects every lookup fails.
    pub(crate) fn find(&self, api_version: &str, kind: &str, name: &str) -> Result<Option<&Value>, String> {
        if self.0.is_empty() {
            return Err("no list of objects was given (--claims)".to_owned());
        }
        let found = self.0.iter().find(|object| {
            object["apiVersion"] == api_version && object["kind"] == kind && object["metadata"]["name"] == name
        });
        Ok(found)
    }

    pub(crate) fn allows(&self, user: &str) -> Result<bool, String> {
        let review = self.0.iter().find(|review| review["spec"]["user"] == user);
        let allowed = review.and_then(|review| review["status"]["allowed"].as_bool());
        allowed.ok_or_else(|| "no SubjectAccessReview with a status was given for this user".to_owned())
    }
}

impl Lookups for Recorded {
    fn can_i(&mut self, question: &CanI<'_>) -> Result<bool, CannotAsk> {
        // The error text as a guest gets it, so that the answers can be compared byte for byte.
        self.allows(question.user).map_err(heard)
    }

    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        let found = self
            .find(question.api_version, question.kind, question.name)
            .map_err(heard)?;
        Ok(found.map(Value::to_string))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn heard(error: String) -> CannotAsk {
    CannotAsk(format!("Host error: Callback evaluation failure: {error}"))
}
