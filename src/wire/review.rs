//! The parts of an AdmissionRequest that the decision reads, borrowed from its bytes.

use std::borrow::Cow;

use crate::claims::Owner;

/// A text that is borrowed unless it contains JSON escapes.
pub type Text<'a> = Cow<'a, str>;

/// An AdmissionRequest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review<'a> {
    /// The uid of the request. The audit scanner sends the uid of the object.
    pub uid: Text<'a>,
    /// The kind of the object.
    pub kind: GroupVersionKind<'a>,
    /// The resource of the request; for a Scale, the resource that is scaled.
    pub resource: Resource<'a>,
    /// The subresource; empty for the object itself.
    pub sub_resource: Text<'a>,
    /// `metadata.name`; may be empty if the name is generated.
    pub name: Text<'a>,
    /// `metadata.namespace`
    pub namespace: Text<'a>,
    /// The operation, such as `UPDATE`.
    pub operation: Text<'a>,
    /// The name of the requester; empty if absent, as in requests of the audit scanner.
    pub user: Text<'a>,
    /// The uid of the requester, if the API server knows it.
    pub user_uid: Text<'a>,
    /// The groups of the requester.
    pub groups: Vec<Text<'a>>,
    /// `userInfo.extra` as JSON.
    pub user_extra: Option<&'a str>,
    /// The options of the operation.
    pub options: Options<'a>,
    /// The object after the request.
    pub object: Option<Object<'a>>,
    /// The object before the request.
    pub old_object: Option<Object<'a>>,
}

/// A GroupVersionKind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupVersionKind<'a> {
    /// `apps`
    pub group: Text<'a>,
    /// `v1`
    pub version: Text<'a>,
    /// `StatefulSet`
    pub kind: Text<'a>,
}

/// A GroupResource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource<'a> {
    /// `apps`
    pub group: Text<'a>,
    /// `statefulsets`
    pub resource: Text<'a>,
}

/// Fields of CreateOptions, UpdateOptions and DeleteOptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options<'a> {
    /// The field manager that the client named, or empty.
    pub field_manager: Text<'a>,
    /// `Orphan`, `Background`, `Foreground`, or empty.
    pub propagation_policy: Text<'a>,
    /// The deprecated form of `Orphan`.
    pub orphan_dependents: bool,
}

/// An object, with the bytes of its parts, which the edits need.
///
/// One type for all kinds: objects are decoded before their kind is certain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object<'a> {
    /// The object as JSON.
    pub text: &'a str,
    /// `apps/v1`
    pub api_version: Text<'a>,
    /// `StatefulSet`
    pub kind: Text<'a>,
    /// The metadata.
    pub metadata: ObjectMeta<'a>,
    /// The spec.
    pub spec: Spec<'a>,
    /// The status as JSON.
    pub status: Option<&'a str>,
}

/// Fields of `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectMeta<'a> {
    /// The metadata as JSON.
    pub text: &'a str,
    /// The name.
    pub name: Text<'a>,
    /// The namespace.
    pub namespace: Text<'a>,
    /// The uid.
    pub uid: Text<'a>,
    /// The resourceVersion; empty for an object that is being created.
    pub resource_version: Text<'a>,
    /// The labels as JSON.
    pub labels: Option<&'a str>,
    /// The annotations as JSON.
    pub annotations_text: Option<&'a str>,
    /// The annotations of this project.
    pub annotations: Annotations<'a>,
    /// `kubectl.kubernetes.io/last-applied-configuration`: a JSON string that contains JSON.
    pub last_applied: Option<&'a str>,
    /// `managedFields` as JSON.
    pub managed_fields: Option<&'a str>,
    /// `finalizers` as JSON.
    pub finalizers: Option<&'a str>,
    /// The owner that is the controller of the object.
    pub controller: Option<Owner>,
    /// `deletionTimestamp` is set.
    pub terminating: bool,
}

/// Fields of `spec`, as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec<'a> {
    /// The spec as JSON.
    pub text: &'a str,
    /// `replicas` of a set or a Scale.
    pub replicas: Option<i64>,
    /// `volumeClaimTemplates`
    pub templates: Option<&'a str>,
    /// `template`: the template of the Pods.
    pub pod_template: Option<&'a str>,
    /// `updateStrategy`
    pub update_strategy: Option<&'a str>,
    /// `persistentVolumeClaimRetentionPolicy`
    pub retention: Option<&'a str>,
    /// `ordinals`
    pub ordinals: Option<&'a str>,
    /// `selector`
    pub selector: Option<&'a str>,
    /// `volumeClaimUpdateStrategy` of OpenKruise.
    pub claim_update_strategy: Option<&'a str>,
    /// `resources` of a claim.
    pub resources: Option<&'a str>,
    /// `volumeAttributesClassName` of a claim.
    pub attributes_class: Option<&'a str>,
}

/// The annotations that begin with `claim-rollout.io/`, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations<'a>(pub Vec<(Text<'a>, Text<'a>)>);

impl Annotations<'_> {
    /// The value of an annotation.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(found, _)| found == key).map(|(_, value)| &**value)
    }

    /// True iff there is no annotation of our domain.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The object is created.
    Create,
    /// The object is updated.
    Update,
    /// The object is deleted.
    Delete,
    /// A connection to a subresource.
    Connect,
}

/// The subject of a request, if rows exist for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// An `apps/v1` StatefulSet.
    Set,
    /// A StatefulSet of OpenKruise.
    KruiseSet,
    /// The scale of an `apps/v1` StatefulSet.
    Scale,
    /// The status of an `apps/v1` StatefulSet; such a request can also write annotations.
    Status,
    /// A PersistentVolumeClaim.
    Claim,
    /// A Pod.
    Pod,
    /// Anything else.
    Other,
}

impl About {
    /// The subject of a request for this kind and resource.
    #[must_use]
    pub fn of(kind: &GroupVersionKind<'_>, resource: &Resource<'_>, sub_resource: &str) -> Self {
        if !sub_resource.is_empty() {
            let of_sets = resource.group == "apps" && resource.resource == "statefulsets";
            return match sub_resource {
                "scale" if of_sets => Self::Scale,
                "status" if of_sets => Self::Status,
                _ => Self::Other,
            };
        }
        match (&*kind.group, &*kind.version, &*kind.kind) {
            ("apps", "v1", "StatefulSet") => Self::Set,
            ("apps.kruise.io", "v1beta1", "StatefulSet") => Self::KruiseSet,
            ("", "v1", "PersistentVolumeClaim") => Self::Claim,
            ("", "v1", "Pod") => Self::Pod,
            _ => Self::Other,
        }
    }

    /// The `apiVersion` and `kind` of the objects.
    #[must_use]
    pub const fn object_kind(self) -> (&'static str, &'static str) {
        match self {
            Self::Set | Self::Status => ("apps/v1", "StatefulSet"),
            Self::KruiseSet => ("apps.kruise.io/v1beta1", "StatefulSet"),
            Self::Scale => ("autoscaling/v1", "Scale"),
            Self::Claim => ("v1", "PersistentVolumeClaim"),
            Self::Pod => ("v1", "Pod"),
            Self::Other => ("", ""),
        }
    }
}

impl Review<'_> {
    /// The operation; `None` if unknown.
    #[must_use]
    pub fn operation(&self) -> Option<Operation> {
        match &*self.operation {
            "CREATE" => Some(Operation::Create),
            "UPDATE" => Some(Operation::Update),
            "DELETE" => Some(Operation::Delete),
            "CONNECT" => Some(Operation::Connect),
            _ => None,
        }
    }

    /// The subject of the request.
    #[must_use]
    pub fn about(&self) -> About {
        About::of(&self.kind, &self.resource, &self.sub_resource)
    }

    /// The namespace of the request, else of the object: a request given to `review` may lack it.
    #[must_use]
    pub fn namespace(&self) -> &str {
        if !self.namespace.is_empty() {
            return &self.namespace;
        }
        let object = self.old_object.as_ref().or(self.object.as_ref());
        object.map_or("", |object| &object.metadata.namespace)
    }
}

impl Object<'_> {
    /// The JSON text of `spec.volumeClaimTemplates`; `null` if absent.
    #[must_use]
    pub fn templates(&self) -> &str {
        self.spec.templates.unwrap_or("null")
    }

    /// The desired number of replicas; 1 by default.
    #[must_use]
    pub fn replicas(&self) -> i64 {
        self.spec.replicas.unwrap_or(1)
    }
}
