//! The kinds of StatefulSets.

/// Whose StatefulSet it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SetKind {
    /// That of Kubernetes: its templates never change.
    #[default]
    Apps,
    /// That of OpenKruise: its templates can change, and nothing is written to it.
    OpenKruise,
}

impl SetKind {
    /// `apiVersion` of its objects; their `kind` is `StatefulSet`.
    pub(crate) const fn api_version(self) -> &'static str {
        match self {
            Self::Apps => "apps/v1",
            Self::OpenKruise => "apps.kruise.io/v1beta1",
        }
    }
}
