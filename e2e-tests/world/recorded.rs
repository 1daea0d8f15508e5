//! The answers of a cluster, as a list of objects: for the native code, and through a host for the guest.

use claim_rollout::admission::{CanI, CannotAsk, Get, Lookups};
use serde_json::Value;

/// Answers lookups from the objects beside a review: for the guest through its host, for the native code directly.
#[derive(Clone)]
pub(crate) struct Recorded(pub(crate) Vec<Value>);

/// The attributes of a right, by their names in a SubjectAccessReview.
pub(crate) struct AskedRight<'a>(pub(crate) [(&'static str, &'a str); 5]);

impl Recorded {
    /// The object of this kind and name in this namespace, if the review has objects; without objects every lookup fails.
    pub(crate) fn find(
        &self,
        (api_version, kind): (&str, &str),
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<&Value>, String> {
        if self.0.is_empty() {
            return Err("no list of objects was given (--objects)".to_owned());
        }
        let found = self.0.iter().find(|object| {
            let (of, metadata) = ([&object["apiVersion"], &object["kind"]], &object["metadata"]);
            of == [api_version, kind] && metadata["namespace"].as_str() == namespace && metadata["name"] == name
        });
        Ok(found)
    }

    /// The answer to a SubjectAccessReview: that of the first one that was recorded for the user and the right. `*` stands
    /// for any.
    pub(crate) fn allows(&self, user: &str, right: &AskedRight<'_>) -> Result<bool, String> {
        let review = self.0.iter().find(|review| {
            let recorded = &review["spec"]["resourceAttributes"];
            review["spec"]["user"] == user
                && right.0.iter().all(|(name, asked)| {
                    let recorded = recorded[name].as_str().unwrap_or_default();
                    recorded == "*" || recorded == *asked
                })
        });
        let allowed = review.and_then(|review| review["status"]["allowed"].as_bool());
        allowed.ok_or_else(|| "no SubjectAccessReview with a status was given for this user".to_owned())
    }
}

impl Lookups for Recorded {
    fn can_i(&mut self, question: &CanI<'_>) -> Result<bool, CannotAsk> {
        // The error text as a guest gets it, so that the answers can be compared byte for byte.
        let right = AskedRight([
            ("namespace", question.namespace),
            ("verb", question.verb),
            ("group", question.group),
            ("resource", question.resource),
            ("subresource", question.subresource),
        ]);
        self.allows(question.user, &right).map_err(heard)
    }

    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        let found = self
            .find((question.api_version, question.kind), question.namespace, question.name)
            .map_err(heard)?;
        Ok(found.map(Value::to_string))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn heard(error: String) -> CannotAsk {
    CannotAsk(format!("Host error: Callback evaluation failure: {error}"))
}
