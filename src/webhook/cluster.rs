//! The lookups of a decision, answered by the API server with the rights of the account of the webhook. All end at the
//! deadline of the decision.

use std::time::Duration;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};

use crate::admission::{CanI, CannotAsk, Get, Lookups};

/// One lookup may take so long, or a third of the time that is left: a decision makes several, and the user waits for it.
const LOOKUP: Duration = Duration::from_secs(1);

/// A client of the API server for lookups.
#[derive(Clone)]
pub struct ApiServer {
    client: Client,
    runtime: Handle,
}

/// Look-ups from a thread that may block, until a deadline.
struct Asking {
    cluster: ApiServer,
    deadline: Instant,
}

/// Asks the API server whether a user may do something.
///
/// # Errors
/// If the API server does not answer, or denies the question.
pub(crate) async fn may(client: &Client, spec: SubjectAccessReviewSpec) -> kube::Result<bool> {
    let review = SubjectAccessReview {
        spec,
        ..SubjectAccessReview::default()
    };
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

impl ApiServer {
    /// Look-ups with this client, on the current runtime.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            client,
            runtime: Handle::current(),
        }
    }

    /// The lookups of a decision with this deadline.
    #[must_use]
    pub fn until(&self, deadline: Instant) -> Box<dyn Lookups> {
        Box::new(Asking {
            cluster: self.clone(),
            deadline,
        })
    }
}

impl Asking {
    /// Waits for the answer until the timeout or the deadline.
    fn wait<T>(&self, call: impl Future<Output = kube::Result<T>>) -> Result<T, CannotAsk> {
        let now = Instant::now();
        if now >= self.deadline {
            return Err(CannotAsk("the deadline has passed".to_owned()));
        }
        let time = lookup_time(self.deadline - now);
        let late = || {
            CannotAsk(format!(
                "the API server did not answer within {:.1} s",
                time.as_secs_f32()
            ))
        };
        let answer = self
            .cluster
            .runtime
            .block_on(async { timeout_at(now + time, call).await });
        answer.map_err(|_| late())?.map_err(|error| match error {
            kube::Error::Api(status) => CannotAsk(status.message.clone()),
            other => CannotAsk(other.to_string()),
        })
    }
}

/// The timeout of one lookup, if so much time is left for the decision.
fn lookup_time(left: Duration) -> Duration {
    left.min(LOOKUP.max(left / 3))
}

impl Lookups for Asking {
    fn can_i(&mut self, question: &CanI<'_>) -> Result<bool, CannotAsk> {
        let owned = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let extra = question.extra.map(serde_json::from_str).transpose();
        let extra = extra.map_err(|error| CannotAsk(format!("userInfo.extra: {error}")))?;
        let attributes = ResourceAttributes {
            namespace: owned(question.namespace),
            group: Some(question.group.to_owned()),
            resource: owned(question.resource),
            subresource: owned(question.subresource),
            verb: owned(question.verb),
            ..ResourceAttributes::default()
        };
        let spec = SubjectAccessReviewSpec {
            user: Some(question.user.to_owned()),
            uid: owned(question.uid),
            groups: Some(question.groups.iter().map(|&group| group.to_owned()).collect()),
            extra: extra.flatten(),
            resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        };
        self.wait(may(&self.cluster.client, spec))
    }

    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        let (group, version) = question
            .api_version
            .rsplit_once('/')
            .unwrap_or(("", question.api_version));
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, question.kind));
        let client = self.cluster.client.clone();
        let objects: Api<DynamicObject> = match question.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &kind),
            None => Api::all_with(client, &kind),
        };
        let found = self.wait(async {
            match objects.get(question.name).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(Err(status)),
                answer => answer.map(Ok),
            }
        });
        match found? {
            Ok(object) => serde_json::to_string(&object)
                .map(Some)
                .map_err(|error| CannotAsk(error.to_string())),
            // If the API server serves the kind, the details name the object.
            Err(status) if status.details.is_some() && status.is_not_found() => Ok(None),
            // For example because the API server is too old.
            Err(_) => Err(CannotAsk(format!(
                "the API server does not serve {} {}",
                question.api_version, question.kind
            ))),
        }
    }
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
