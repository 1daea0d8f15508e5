//! What the decision reads of an AdmissionRequest: borrowed from its bytes, nothing else kept.

use std::borrow::Cow;

/// A text that is borrowed unless the JSON escapes something in it.
pub type Text<'a> = Cow<'a, str>;

/// An AdmissionRequest about a StatefulSet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review<'a> {
    /// The kind of the object, as the request says.
    pub kind: Kind<'a>,
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
    /// The groups that the user is in.
    pub groups: Vec<Text<'a>>,
    /// The field manager that the client named, or nothing.
    pub field_manager: Text<'a>,
    /// The object as it would become.
    pub object: Option<Set<'a>>,
    /// The object as it is.
    pub old_object: Option<Set<'a>>,
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

/// What the decision reads of a StatefulSet, and where in the request it stands, for whoever edits it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set<'a> {
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
    /// The annotations as they are written, if there are any.
    pub annotations_text: Option<&'a str>,
    /// The annotations of this project.
    pub annotations: Annotations<'a>,
    /// Whether another controller manages the object.
    pub has_controller: bool,
}

/// What the decision reads of `spec`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec<'a> {
    /// The spec as it is written.
    pub text: &'a str,
    /// The replicas, if the spec names them.
    pub replicas: Option<i64>,
    /// The templates as they are written, if there are any: most updates leave their bytes as they are.
    pub templates_text: Option<&'a str>,
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
}

impl Set<'_> {
    /// The JSON text of `spec.volumeClaimTemplates`; `null` where there is none.
    #[must_use]
    pub fn templates(&self) -> &str {
        self.spec.templates_text.unwrap_or("null")
    }

    /// The number of replicas that the set asks for.
    #[must_use]
    pub fn replicas(&self) -> i64 {
        self.spec.replicas.unwrap_or(1)
    }
}
