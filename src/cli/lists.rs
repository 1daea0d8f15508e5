//! Lists of the cluster. An object that cannot be read hides no other: it is named on standard error.

use std::fmt;

use anyhow::bail;
use kube::Client;
use kube::api::{ApiResource, ListParams, Request};
use kube::core::ObjectList;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::cluster::objects;
use super::output::note;
use crate::controller::objects::conversion::ObjectError;
use crate::controller::read::item::ListItem;
use crate::templates::show::printable;

/// A list of objects.
#[derive(Debug)]
pub(crate) struct ClusterList<K> {
    pub(crate) items: Vec<K>,
    pub(crate) unread: Vec<SkippedObject>,
}

impl<K> Default for ClusterList<K> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            unread: Vec::new(),
        }
    }
}

/// An object that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SkippedObject {
    pub(crate) kind: String,
    /// Empty for a kind without namespaces.
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Without a value of the object.
    pub(crate) why: String,
}

/// Lists the objects of a kind: in one namespace, in all, or of a kind without namespaces.
///
/// # Errors
/// If the API server does not answer, or denies the request.
pub(crate) async fn list<K>(
    client: &Client,
    namespace: Option<&str>,
    kind: &ApiResource,
    params: &ListParams,
) -> kube::Result<ClusterList<K>>
where
    K: Clone + fmt::Debug + DeserializeOwned,
{
    let api = objects(client, namespace, kind);
    let request = Request::new(api.resource_url()).list(params);
    let request = request.map_err(kube::Error::BuildRequest)?;
    let found: ObjectList<ListItem<K>> = client.request(request).await?;
    let (mut items, mut unread) = (Vec::new(), Vec::new());
    for item in found.items {
        match item {
            ListItem::Read(object) => items.push(object),
            ListItem::Unread(object) => unread.push(SkippedObject::unreadable(&kind.kind, object.key(), object.why)),
        }
    }
    Ok(ClusterList { items, unread })
}

impl<K> ClusterList<K> {
    /// The objects. Names those that cannot be read on standard error.
    pub(crate) fn named(self) -> Vec<K> {
        warn(&self.unread);
        self.items
    }
}

impl ClusterList<Value> {
    /// The objects of this kind as `read` reads them. Those that it cannot read are unread, too.
    pub(crate) fn converted<K>(self, kind: &str, read: impl Fn(&Value) -> Result<K, ObjectError>) -> ClusterList<K> {
        let (mut items, mut unread) = (Vec::new(), self.unread);
        for object in &self.items {
            match read(object) {
                Ok(item) => items.push(item),
                Err(error) => unread.push(SkippedObject::unreadable(kind, path(object), error.to_string())),
            }
        }
        ClusterList { items, unread }
    }
}

/// Fails if an object of this kind that was asked for by its name is not shown.
///
/// # Errors
/// Why the first of these cannot be read, or that there is none of this name.
pub(crate) fn all_shown(
    kind: &str,
    names: &[String],
    is_shown: impl Fn(&str) -> bool,
    unread: &[SkippedObject],
) -> anyhow::Result<()> {
    let Some(missing) = names.iter().find(|name| !is_shown(name)) else {
        return Ok(());
    };
    let mut unread = unread.iter();
    match unread.find(|unread| unread.kind == kind && unread.name == *missing) {
        Some(unread) => bail!("{unread}"),
        None => bail!("{kind} {missing:?} not found"),
    }
}

/// Namespace and name of an object.
pub(crate) fn path(object: &Value) -> (String, String) {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

impl SkippedObject {
    /// The object of this kind, namespace and name, which cannot be read for this reason.
    pub(crate) fn unreadable(kind: &str, (namespace, name): (String, String), why: String) -> Self {
        Self {
            kind: kind.to_owned(),
            namespace,
            name,
            why,
        }
    }

    /// True iff it is the object of this kind, namespace and name.
    pub(crate) fn is(&self, kind: &str, namespace: &str, name: &str) -> bool {
        (&*self.kind, &*self.namespace, &*self.name) == (kind, namespace, name)
    }
}

impl fmt::Display for SkippedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            namespace,
            name,
            why,
        } = self;
        let separator = if namespace.is_empty() { "" } else { "/" };
        write!(f, "{kind} {namespace}{separator}{name} cannot be read: {why}")
    }
}

/// Names these objects on standard error.
pub(crate) fn warn<'u>(unread: impl IntoIterator<Item = &'u SkippedObject>) {
    for unread in unread {
        note(&format!("warning: {}", printable(&unread.to_string())));
    }
}
