//! What the decision reads of an AdmissionRequest: borrowed from its bytes, decoded in one pass, nothing else kept.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::templates::keys;

/// A text that is borrowed unless the JSON escapes something in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// An AdmissionRequest about a StatefulSet.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Review<'a> {
    /// The kind of the object, as the request says.
    #[serde(borrow)]
    pub kind: Kind<'a>,
    /// Empty for the object itself.
    #[serde(borrow)]
    pub sub_resource: Option<Text<'a>>,
    /// `metadata.name`; may be absent when it is generated.
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    /// `metadata.namespace`
    #[serde(borrow)]
    pub namespace: Option<Text<'a>>,
    /// What is done.
    #[serde(borrow)]
    pub operation: Text<'a>,
    /// Who does it.
    #[serde(borrow)]
    pub user_info: Option<UserInfo<'a>>,
    /// The object as it would become.
    #[serde(borrow)]
    pub object: Option<Set<'a>>,
    /// The object as it is.
    #[serde(borrow)]
    pub old_object: Option<Set<'a>>,
    /// How the request was made.
    #[serde(borrow)]
    pub options: Option<Options<'a>>,
}

/// A GroupVersionKind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Kind<'a> {
    /// `apps`
    #[serde(borrow, default)]
    pub group: Text<'a>,
    /// `v1`
    #[serde(borrow, default)]
    pub version: Text<'a>,
    /// `StatefulSet`
    #[serde(borrow)]
    pub kind: Text<'a>,
}

/// Who makes a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct UserInfo<'a> {
    /// The user's name.
    #[serde(borrow)]
    pub username: Option<Text<'a>>,
    /// The groups that the user is in.
    #[serde(borrow)]
    pub groups: Option<Vec<Text<'a>>>,
}

/// `UpdateOptions` or `CreateOptions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Options<'a> {
    /// The field manager that the client named.
    #[serde(borrow)]
    pub field_manager: Option<Text<'a>>,
}

/// What the decision reads of a StatefulSet.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Set<'a> {
    /// `apps/v1`
    #[serde(borrow)]
    pub api_version: Option<Text<'a>>,
    /// `StatefulSet`
    #[serde(borrow)]
    pub kind: Option<Text<'a>>,
    /// The metadata.
    #[serde(borrow)]
    pub metadata: Metadata<'a>,
    /// The spec.
    #[serde(borrow)]
    pub spec: Option<Spec<'a>>,
}

/// What the decision reads of `metadata`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata<'a> {
    /// The name.
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    /// The namespace.
    #[serde(borrow)]
    pub namespace: Option<Text<'a>>,
    /// The uid.
    #[serde(borrow)]
    pub uid: Option<Text<'a>>,
    /// The annotations of this project.
    #[serde(borrow, default, deserialize_with = "annotations")]
    pub annotations: Annotations<'a>,
    /// The owners.
    pub owner_references: Option<Vec<OwnerReference>>,
}

/// What the decision reads of an owner reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct OwnerReference {
    /// Whether the owner is the managing controller.
    #[serde(default)]
    pub controller: Option<bool>,
}

/// What the decision reads of `spec`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec<'a> {
    /// The replicas; absent means 1.
    pub replicas: Option<i64>,
    /// The templates, not decoded: most updates leave their bytes as they are.
    #[serde(borrow)]
    pub volume_claim_templates: Option<&'a RawValue>,
}

/// The annotations that begin with `claim-rollout.io/`, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations<'a>(Vec<(Text<'a>, Text<'a>)>);

impl Annotations<'_> {
    /// The value of an annotation.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(found, _)| &**found == key)
            .map(|(_, value)| &**value)
    }

    /// True iff there is none of ours.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn annotations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Annotations<'de>, D::Error> {
    struct Ours;

    impl<'de> Visitor<'de> for Ours {
        type Value = Annotations<'de>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("annotations")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Annotations::default())
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut kept: Vec<(Text<'de>, Text<'de>)> = Vec::new();
            while let Some(key) = map.next_key::<Text<'de>>()? {
                if !key.starts_with(keys::PREFIX) {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                if kept.iter().any(|(other, _)| *other == key) {
                    return Err(A::Error::custom("duplicate key"));
                }
                let value = map.next_value()?;
                kept.push((key, value));
            }
            Ok(Annotations(kept))
        }
    }

    deserializer.deserialize_any(Ours)
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

    /// The requester's name, empty if the request has none (as the audit scanner's).
    #[must_use]
    pub fn username(&self) -> &str {
        self.user_info
            .as_ref()
            .and_then(|user| user.username.as_deref())
            .unwrap_or("")
    }

    /// The requester's groups.
    #[must_use]
    pub fn groups(&self) -> Vec<&str> {
        let groups = self.user_info.as_ref().and_then(|user| user.groups.as_ref());
        groups
            .map(|groups| groups.iter().map(|group| &**group).collect())
            .unwrap_or_default()
    }

    /// The field manager that the client named, or nothing.
    #[must_use]
    pub fn field_manager(&self) -> &str {
        self.options
            .as_ref()
            .and_then(|options| options.field_manager.as_deref())
            .unwrap_or("")
    }
}

impl Set<'_> {
    /// The JSON text of `spec.volumeClaimTemplates`; `null` where there is none.
    #[must_use]
    pub fn templates(&self) -> &str {
        self.spec
            .as_ref()
            .and_then(|spec| spec.volume_claim_templates)
            .map_or("null", RawValue::get)
    }

    /// The number of replicas that the set asks for.
    #[must_use]
    pub fn replicas(&self) -> i64 {
        self.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
    }

    /// True iff another controller manages the set.
    #[must_use]
    pub fn has_controller(&self) -> bool {
        let owners = self.metadata.owner_references.as_deref().unwrap_or_default();
        owners.iter().any(|owner| owner.controller == Some(true))
    }
}
