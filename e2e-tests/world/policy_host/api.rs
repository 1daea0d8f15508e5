//! Answers the lookups of a policy: an API server, or none.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::{Api as KubeResources, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::Value;
use tokio::runtime::Handle;

use super::questions::{GetResource, Subject};

/// Answers lookups on a thread that may block. The guest gets the errors.
pub(crate) trait Api: Send + Sync {
    /// The whole object.
    fn get_resource(&self, question: &GetResource) -> Result<Value, String>;

    /// The status of a SubjectAccessReview.
    fn can_i(&self, question: &Subject) -> Result<Value, String>;
}

/// No API server: a policy-server outside of a cluster.
pub(crate) struct NoApi;

impl Api for NoApi {
    fn get_resource(&self, _: &GetResource) -> Result<Value, String> {
        Err("kube::Client was not initialized properly".to_owned())
    }

    fn can_i(&self, _: &Subject) -> Result<Value, String> {
        Err("kube::Client was not initialized properly".to_owned())
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
    fn get_resource(&self, question: &GetResource) -> Result<Value, String> {
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
        let GetResource {
            api_version,
            kind,
            name,
            namespace,
            ..
        } = question;
        let missing = || format!("Cannot find {api_version}/{kind} named '{name}' inside of namespace '{namespace:?}'");
        serde_json::to_value(found.ok_or_else(missing)?).map_err(|error| error.to_string())
    }

    fn can_i(&self, question: &Subject) -> Result<Value, String> {
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
        serde_json::to_value(status).map_err(|error| error.to_string())
    }
}
