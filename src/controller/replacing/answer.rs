//! What is learned from an answer. Admission webhooks deny writes with any code and any body, and proxies answer in place
//! of the API server: so a 404 is knowledge only where a read gets it, and where it names the object.

use std::fmt::Debug;

use kube::Resource;
use kube::api::{Api, DeleteParams};
use kube::core::Status;
use serde::de::DeserializeOwned;

use crate::api::ApiOutcome;
use crate::controller::calls::api_calls::call;

/// Deletes an object. The API server answers with what is left of it, or with a success.
pub(super) async fn delete<K>(api: &Api<K>, name: &str, params: &DeleteParams) -> ApiOutcome<()>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    call(api.delete(name, params)).await.and_then(|reply| {
        if reply.either(|left| left.meta().uid.is_some(), |status| status.is_success()) {
            ApiOutcome::Done(())
        } else {
            // It comes from somebody else than the API server.
            ApiOutcome::unsure("the answer to the DELETE is neither an object nor a success")
        }
    })
}

/// Reads an object, by its resource and name. None if the API server answers that it does not exist.
///
/// # Errors
/// The message of a read that failed.
pub(super) async fn read<T>(
    (resource, name): (&str, &str),
    read: impl Future<Output = kube::Result<T>>,
) -> Result<Option<T>, String> {
    let outcome = call(async {
        match read.await {
            Err(kube::Error::Api(status)) if is_absent(&status, resource, name) => Ok(None),
            other => other.map(Some),
        }
    });
    existing(resource, outcome.await)
}

/// True iff the API server answers that the object of this name does not exist.
fn is_absent(status: &Status, resource: &str, name: &str) -> bool {
    let mut details = status.details.iter();
    status.code == 404
        && status.reason == "NotFound"
        && details.any(|details| details.kind == resource && details.name == name)
}

/// What was read, if it is known to exist.
///
/// # Errors
/// The message of a read that failed.
pub(super) fn existing<T>(resource: &str, outcome: ApiOutcome<T>) -> Result<T, String> {
    match outcome {
        ApiOutcome::Done(found) => Ok(found),
        ApiOutcome::NotFound(_) => Err(format!(
            "failed to read {resource}: 404 from something else than the API server"
        )),
        other => Err(format!("failed to read {resource}: {}", other.why())),
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
