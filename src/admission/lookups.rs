//! What admission may ask the cluster, as a border: the decision knows this trait and nothing behind it.

/// Answers from the cluster. The policy asks policy-server, the webhook the API server, `review` a file.
pub trait Lookups {
    /// May the user of the request do this?
    ///
    /// # Errors
    /// [`CannotAsk`] if there is nobody who can answer; it says why in one short sentence.
    fn can_i(&mut self, question: &CanI<'_>) -> Result<bool, CannotAsk>;

    /// The JSON text of an object; nothing if there is none of this name.
    ///
    /// # Errors
    /// [`CannotAsk`] if there is nobody who can answer, or nobody may know.
    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk>;
}

/// A question about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Get<'a> {
    /// `apps/v1`
    pub api_version: &'a str,
    /// `StatefulSet`
    pub kind: &'a str,
    /// The namespace; nothing for what has none.
    pub namespace: Option<&'a str>,
    /// The name.
    pub name: &'a str,
}

impl<'a> Get<'a> {
    /// About the set of this name.
    #[must_use]
    pub const fn set(namespace: &'a str, name: &'a str) -> Self {
        Self::object("apps/v1", "StatefulSet", Some(namespace), name)
    }

    /// About the claim of this name.
    #[must_use]
    pub const fn claim(namespace: &'a str, name: &'a str) -> Self {
        Self::object("v1", "PersistentVolumeClaim", Some(namespace), name)
    }

    /// About any object.
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

/// A question of authority: a SubjectAccessReview of the requester.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CanI<'a> {
    /// `userInfo.username`
    pub user: &'a str,
    /// `userInfo.uid`
    pub uid: &'a str,
    /// `userInfo.groups`
    pub groups: Vec<&'a str>,
    /// `userInfo.extra` as it is written: a token may be for less than its user may do (OpenShift's scopes).
    pub extra: Option<&'a str>,
    /// The namespace.
    pub namespace: &'a str,
    /// The API group, empty for the core group.
    pub group: &'a str,
    /// The plural resource, such as `persistentvolumeclaims`.
    pub resource: &'a str,
    /// Such as `eviction`; empty for the resource itself.
    pub subresource: &'a str,
    /// The verb, such as `patch`.
    pub verb: &'a str,
}

/// The question could not be put.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CannotAsk(pub String);

/// Lookups where there is no cluster: nothing can be asked.
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
    fn where_there_is_no_cluster_nothing_is_answered() {
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
