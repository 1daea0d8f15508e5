//! How admission reads from the cluster: the decision knows only this trait.

/// Reads from the cluster. The policy asks policy-server, the webhook asks the API server, `review` reads a file.
pub trait Lookups {
    /// Whether the user of the request has a right.
    ///
    /// # Errors
    /// [`CannotAsk`] if the cluster cannot answer, with the cause in one short sentence.
    fn can_i(&mut self, question: &CanI<'_>) -> Result<bool, CannotAsk>;

    /// The JSON text of an object, or `None` if it does not exist.
    ///
    /// # Errors
    /// [`CannotAsk`] if the cluster cannot answer, or the caller may not read the object.
    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk>;
}

/// A question about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Get<'a> {
    /// `apps/v1`
    pub api_version: &'a str,
    /// `StatefulSet`
    pub kind: &'a str,
    /// The namespace; `None` for cluster-scoped objects.
    pub namespace: Option<&'a str>,
    /// The name.
    pub name: &'a str,
}

impl<'a> Get<'a> {
    /// The set of this name.
    #[must_use]
    pub const fn set(namespace: &'a str, name: &'a str) -> Self {
        Self::object("apps/v1", "StatefulSet", Some(namespace), name)
    }

    /// The claim of this name.
    #[must_use]
    pub const fn claim(namespace: &'a str, name: &'a str) -> Self {
        Self::object("v1", "PersistentVolumeClaim", Some(namespace), name)
    }

    /// Any object.
    #[must_use]
    pub const fn object(api_version: &'a str, kind: &'a str, namespace: Option<&'a str>, name: &'a str) -> Self {
        Self {
            api_version,
            kind,
            namespace,
            name,
        }
    }
}

/// A SubjectAccessReview of the requester.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CanI<'a> {
    /// `userInfo.username`
    pub user: &'a str,
    /// `userInfo.uid`
    pub uid: &'a str,
    /// `userInfo.groups`
    pub groups: Vec<&'a str>,
    /// `userInfo.extra` as JSON: a token may have fewer rights than its user (scopes of OpenShift).
    pub extra: Option<&'a str>,
    /// The namespace.
    pub namespace: &'a str,
    /// The API group, empty for the core group.
    pub group: &'a str,
    /// The plural resource, such as `persistentvolumeclaims`.
    pub resource: &'a str,
    /// The subresource, such as `eviction`; empty for the resource itself.
    pub subresource: &'a str,
    /// The verb, such as `patch`.
    pub verb: &'a str,
}

/// The cluster could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CannotAsk(pub String);

/// Lookups without a cluster: every question fails.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCluster;

impl Lookups for NoCluster {
    fn can_i(&mut self, _: &CanI<'_>) -> Result<bool, CannotAsk> {
        Err(CannotAsk("there is no cluster to ask".to_owned()))
    }

    fn get(&mut self, _: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        Err(CannotAsk("there is no cluster to ask".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{CanI, CannotAsk, Get, Lookups, NoCluster};

    #[test]
    fn lookups_without_cluster_return_errors() {
        let unknown = CannotAsk("there is no cluster to ask".to_owned());
        let may = CanI {
            user: "alice",
            resource: "persistentvolumeclaims",
            verb: "patch",
            ..CanI::default()
        };
        let set = Get::set("shop", "web");
        assert_eq!(NoCluster.can_i(&may), Err(unknown.clone()));
        assert_eq!(NoCluster.get(&set), Err(unknown));
    }
}
