//! Items of lists and watches. One that cannot be read is known by its name, and hides no other.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use serde_json::value::RawValue;

use super::metadata::Bare;
use super::pages::UNREAD;

/// An object, or what is known of one that cannot be read.
#[derive(Clone, Debug)]
pub(crate) enum ListItem<K> {
    /// The object.
    Read(K),
    /// Its identity.
    Unread(Box<UnreadObject>),
}

/// An object that cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UnreadObject {
    /// The metadata, as far as it can be read.
    pub(crate) metadata: ObjectMeta,
    /// Why, without a value of the object.
    pub(crate) why: String,
}

impl UnreadObject {
    /// The namespace and the name.
    pub(crate) fn key(&self) -> (String, String) {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        (text(&self.metadata.namespace), text(&self.metadata.name))
    }

    /// An object with this identity and nothing else; none if its kind needs more.
    pub(crate) fn bare<K: DeserializeOwned>(&self) -> Option<K> {
        let ObjectMeta {
            name,
            namespace,
            uid,
            resource_version,
            ..
        } = &self.metadata;
        let metadata = json!({"name": name, "namespace": namespace, "uid": uid, "resourceVersion": resource_version});
        serde_json::from_str(&json!({ "metadata": metadata }).to_string()).ok()
    }
}

#[cfg(any(test, fuzzing))]
impl<K> ListItem<K> {
    /// The object, if it can be read.
    pub(crate) fn read(self) -> Result<K, Box<UnreadObject>> {
        match self {
            Self::Read(object) => Ok(object),
            Self::Unread(unread) => Err(unread),
        }
    }
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for ListItem<K> {
    fn deserialize<D: Deserializer<'de>>(sent: D) -> Result<Self, D::Error> {
        let text = <&'de RawValue>::deserialize(sent)?.get();
        let why = match skipped(text) {
            Some(why) => why,
            None => match serde_json::from_str(text) {
                Ok(object) => return Ok(Self::Read(object)),
                Err(error) => place(&error),
            },
        };
        let bare = serde_json::from_str::<Bare>(text);
        let metadata = bare.map(|bare| bare.metadata).unwrap_or_default();
        Ok(Self::Unread(Box::new(UnreadObject { metadata, why })))
    }
}

/// Why this item was skipped, if it was. Nothing that the API server sends begins with the key.
fn skipped(text: &str) -> Option<String> {
    text.strip_prefix("{\"")?.strip_prefix(UNREAD)?;
    let skipped: BTreeMap<&str, &RawValue> = serde_json::from_str(text).ok()?;
    serde_json::from_str(skipped.get(UNREAD)?.get()).ok()
}

/// Where a text cannot be read, without the text.
pub(crate) fn place(error: &serde_json::Error) -> String {
    let category = error.classify();
    format!("{category:?} error at line {}, column {}", error.line(), error.column())
}

impl<K: Resource> Resource for ListItem<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(of: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(of)
    }

    fn group(of: &Self::DynamicType) -> Cow<'_, str> {
        K::group(of)
    }

    fn version(of: &Self::DynamicType) -> Cow<'_, str> {
        K::version(of)
    }

    fn plural(of: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Read(object) => object.meta(),
            Self::Unread(unread) => &unread.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Read(object) => object.meta_mut(),
            Self::Unread(unread) => &mut unread.metadata,
        }
    }
}
