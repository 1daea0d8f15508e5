//! Answers the lookups of a policy: an API server, or none.

use claim_rollout::admission::{CanI, CannotAsk, Get, Lookups};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::{Api as KubeResources, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::json;
use tokio::runtime::Handle;

use super::questions::{GetResource, Subject};

/// Answers lookups on a thread that may block. The guest gets the errors.
pub(crate) trait Api: Send + Sync {
    /// The whole object, as JSON.
    fn get_resource(&self, question: &GetResource) -> Result<String, String>;

    /// The status of a SubjectAccessReview, as JSON.
    fn can_i(&self, question: &Subject) -> Result<String, String>;
}

/// No API server: a policy-server outside of a cluster.
pub(crate) struct NoApi;

impl Api for NoApi {
    fn get_resource(&self, _: &GetResource) -> Result<String, String> {
        Err("kube::Client was not initialized properly".to_owned())
    }

    fn can_i(&self, _: &Subject) -> Result<String, String> {
        Err("kube::Client was not initialized properly".to_owned())
    }
}

/// Answers the guest what a test answers the native code.
pub(super) struct AsNative<L>(pub(super) L);

/// The text that the host gives, without what the guest puts before it.
fn plain(CannotAsk(text): CannotAsk) -> String {
    text.rsplit_once("evaluation failure: ")
        .map_or(text.clone(), |(_, text)| text.to_owned())
}

/// The error for an object that does not exist.
fn missing(question: &GetResource) -> String {
    let GetResource {
        api_version,
        kind,
        name,
        namespace,
        ..
    } = question;
    format!("Cannot find {api_version}/{kind} named '{name}' inside of namespace '{namespace:?}'")
}

impl<L: Lookups + Clone + Send + Sync> Api for AsNative<L> {
    fn get_resource(&self, question: &GetResource) -> Result<String, String> {
        let asked = Get {
            api_version: &question.api_version,
            kind: &question.kind,
            namespace: question.namespace.as_deref(),
            name: &question.name,
        };
        let found = self.0.clone().get(&asked).map_err(plain)?;
        found.ok_or_else(|| missing(question))
    }

    fn can_i(&self, question: &Subject) -> Result<String, String> {
        let right = &question.resource_attributes;
        let asked = CanI {
            user: &question.user,
            groups: question.groups.iter().flatten().map(String::as_str).collect(),
            namespace: right.namespace.as_deref().unwrap_or_default(),
            group: right.group.as_deref().unwrap_or_default(),
            resource: &right.resource,
            subresource: right.subresource.as_deref().unwrap_or_default(),
            verb: &right.verb,
            ..CanI::default()
        };
        let allowed = self.0.clone().can_i(&asked).map_err(plain)?;
        Ok(json!({"allowed": allowed}).to_string())
    }
}

/// An API server, called with the rights of this client.
pub(crate) struct KubeApi {
    client: kube::Client,
    runtime: Handle,
}

impl KubeApi {
    /// Answers with this client, on the runtime of the caller.
    pub(crate) fn new(client: kube::Client) -> Self {
        Self {
            client,
            runtime: Handle::current(),
        }
    }
}

impl Api for KubeApi {
    fn get_resource(&self, question: &GetResource) -> Result<String, String> {
        let (group, version) = question
            .api_version
            .rsplit_once('/')
            .unwrap_or(("", &question.api_version));
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &question.kind));
        let objects: KubeResources<DynamicObject> = match &question.namespace {
            Some(namespace) => KubeResources::namespaced_with(self.client.clone(), namespace, &kind),
            None => KubeResources::all_with(self.client.clone(), &kind),
        };
        let found = self
            .runtime
            .block_on(objects.get_opt(&question.name))
            .map_err(|error| error.to_string())?;
        serde_json::to_string(&found.ok_or_else(|| missing(question))?).map_err(|error| error.to_string())
    }

    fn can_i(&self, question: &Subject) -> Result<String, String> {
        let attributes = &question.resource_attributes;
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(question.user.clone()),
                groups: question.groups.clone(),
                resource_attributes: Some(ResourceAttributes {
                    group: attributes.group.clone(),
                    name: attributes.name.clone(),
                    namespace: attributes.namespace.clone(),
                    resource: Some(attributes.resource.clone()),
                    subresource: attributes.subresource.clone(),
                    verb: Some(attributes.verb.clone()),
                    version: attributes.version.clone(),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let reviews: KubeResources<SubjectAccessReview> = KubeResources::all(self.client.clone());
        let answer = self.runtime.block_on(reviews.create(&PostParams::default(), &review));
        let status = answer
            .map_err(|error| error.to_string())?
            .status
            .ok_or("expected a status, but found none")?;
        serde_json::to_string(&status).map_err(|error| error.to_string())
    }
}
