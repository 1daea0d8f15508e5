//! What the decision reads of an AdmissionRequest: borrowed from its bytes, nothing else kept.

use std::borrow::Cow;

/// A text that is borrowed unless the JSON escapes something in it.
pub type Text<'a> = Cow<'a, str>;

/// An AdmissionRequest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review<'a> {
    /// The request's own uid. The audit scanner puts the object's there.
    pub uid: Text<'a>,
    /// The kind of the object, as the request says.
    pub kind: Kind<'a>,
    /// The resource that is asked for: a Scale belongs to one.
    pub resource: Resource<'a>,
    /// Empty for the object itself.
    pub sub_resource: Text<'a>,
    /// `metadata.name`; may be empty when it is generated.
    pub name: Text<'a>,
    /// `metadata.namespace`
    pub namespace: Text<'a>,
    /// What is done.
    pub operation: Text<'a>,
    /// Who does it; empty where the request does not say (as the audit scanner's).
    pub user: Text<'a>,
    /// The user's uid, if the API server knows one.
    pub user_uid: Text<'a>,
    /// The groups that the user is in.
    pub groups: Vec<Text<'a>>,
    /// What else the authenticator said of the user, as it is written.
    pub user_extra: Option<&'a str>,
    /// What the client says about how to do it.
    pub options: Options<'a>,
    /// The object as it would become.
    pub object: Option<Object<'a>>,
    /// The object as it is.
    pub old_object: Option<Object<'a>>,
}

/// A GroupVersionKind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kind<'a> {
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

/// What the decision reads of CreateOptions, UpdateOptions and DeleteOptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options<'a> {
    /// The field manager that the client named, or nothing.
    pub field_manager: Text<'a>,
    /// `Orphan`, `Background`, `Foreground`, or nothing.
    pub propagation_policy: Text<'a>,
    /// The older way of saying `Orphan`.
    pub orphan_dependents: bool,
}

/// What the decision reads of an object, and where in the request it stands, for whoever edits it.
///
/// One type for every kind: the bytes are read before it is certain what they are about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object<'a> {
    /// The whole object as it is written.
    pub text: &'a str,
    /// `apps/v1`
    pub api_version: Text<'a>,
    /// `StatefulSet`
    pub kind: Text<'a>,
    /// The metadata.
    pub metadata: Metadata<'a>,
    /// The spec.
    pub spec: Spec<'a>,
    /// The status as it is written, if there is one.
    pub status: Option<&'a str>,
}

/// What the decision reads of `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata<'a> {
    /// The metadata as it is written.
    pub text: &'a str,
    /// The name.
    pub name: Text<'a>,
    /// The namespace.
    pub namespace: Text<'a>,
    /// The uid.
    pub uid: Text<'a>,
    /// The resourceVersion: a stored object has one, an object that is being created has none.
    pub resource_version: Text<'a>,
    /// The labels as they are written, if there are any.
    pub labels: Option<&'a str>,
    /// The annotations as they are written, if there are any.
    pub annotations_text: Option<&'a str>,
    /// The annotations of this project.
    pub annotations: Annotations<'a>,
    /// `kubectl.kubernetes.io/last-applied-configuration` as it is written: a JSON string that holds JSON.
    pub last_applied: Option<&'a str>,
    /// `managedFields` as they are written, if there are any.
    pub managed_fields: Option<&'a str>,
    /// The controller that owns the object, if one does.
    pub controller: Option<Owner<'a>>,
    /// `deletionTimestamp` is set.
    pub terminating: bool,
}

/// An owner of an object, as its `ownerReferences` name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner<'a> {
    /// `monitoring.coreos.com/v1`
    pub api_version: Text<'a>,
    /// `Prometheus`
    pub kind: Text<'a>,
    /// Its name.
    pub name: Text<'a>,
    /// Its uid.
    pub uid: Text<'a>,
}

impl Owner<'_> {
    /// True iff one of these names its kind as `group/Kind`.
    #[must_use]
    pub fn is_one_of(&self, kinds: &[String]) -> bool {
        let names_it = |name: &String| name.split_once('/') == Some((self.group(), &*self.kind));
        kinds.iter().any(names_it)
    }

    /// The group of its kind; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }
}

/// What the decision reads of `spec`, all of it as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec<'a> {
    /// The spec itself.
    pub text: &'a str,
    /// The replicas of a set or a Scale, if the spec names them.
    pub replicas: Option<i64>,
    /// `volumeClaimTemplates`: most updates leave their bytes as they are.
    pub templates: Option<&'a str>,
    /// `template`: the Pods'.
    pub pod_template: Option<&'a str>,
    /// `updateStrategy`
    pub update_strategy: Option<&'a str>,
    /// `persistentVolumeClaimRetentionPolicy`
    pub retention: Option<&'a str>,
    /// `ordinals`
    pub ordinals: Option<&'a str>,
    /// `selector`
    pub selector: Option<&'a str>,
    /// `volumeClaimUpdateStrategy`: OpenKruise's.
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

    /// True iff there is none of ours.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What is done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The object is new.
    Create,
    /// The object changes.
    Update,
    /// The object goes.
    Delete,
    /// A connection to a subresource.
    Connect,
}

/// What a request is about, as far as there is something to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// An `apps/v1` StatefulSet.
    Set,
    /// A StatefulSet of OpenKruise.
    KruiseSet,
    /// The scale of an `apps/v1` StatefulSet.
    Scale,
    /// The status of an `apps/v1` StatefulSet, by which annotations can be written.
    Status,
    /// A PersistentVolumeClaim.
    Claim,
    /// A Pod.
    Pod,
    /// Anything else.
    Other,
}

impl About {
    /// What a request is about, as it says itself.
    #[must_use]
    pub fn of(kind: &Kind<'_>, resource: &Resource<'_>, sub_resource: &str) -> Self {
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

    /// The `apiVersion` and `kind` of its objects.
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
    /// The operation, if it is one that exists.
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

    /// What it is about.
    #[must_use]
    pub fn about(&self) -> About {
        About::of(&self.kind, &self.resource, &self.sub_resource)
    }

    /// The namespace: the request's, or the object's where the request leaves it out (as one given to `review` may).
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
    /// The JSON text of `spec.volumeClaimTemplates`; `null` where there is none.
    #[must_use]
    pub fn templates(&self) -> &str {
        self.spec.templates.unwrap_or("null")
    }

    /// The number of replicas that the set asks for.
    #[must_use]
    pub fn replicas(&self) -> i64 {
        self.spec.replicas.unwrap_or(1)
    }
}
