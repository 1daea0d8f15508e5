//! What a policy asks its host, in the types of the Kubewarden SDK.

pub(crate) use kubewarden_policy_sdk::host_capabilities::kubernetes::{
    CanIRequest as CanI, GetResourceRequest as GetResource, SubjectAccessReview as Subject,
};

/// A kind of resource: an entry of `contextAwareResources`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) api_version: String,
    pub(crate) kind: String,
}
