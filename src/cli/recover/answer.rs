//! The answer as data. The fields are the stable format of `recover -o json`.

use serde::Serialize;

use super::growth::GrowthState;

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Recovery {
    /// The claims, highest ordinal first.
    pub(crate) claims: Vec<RecoverRow>,
    /// What is the case, in one sentence.
    pub(crate) summary: String,
    /// Each is enough for the claims that it names. The smallest change comes first.
    pub(crate) cures: Vec<Cure>,
    /// Why there is no smaller cure, or what a cure depends on.
    pub(crate) notes: Vec<String>,
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecoverRow {
    pub(crate) claim: String,
    pub(crate) requested: String,
    pub(crate) allocated: Option<String>,
    pub(crate) capacity: Option<String>,
    pub(crate) storage_class: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) growth: GrowthState,
    /// The smallest size that the API server accepts instead.
    pub(crate) least: Option<String>,
    pub(crate) note: String,
}

/// A change that ends a failed growth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Cure {
    pub(crate) kind: CureKind,
    pub(crate) text: String,
    pub(crate) commands: Vec<String>,
}

/// The kind of a cure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum CureKind {
    /// A smaller size is staged, which every claim can follow.
    Stage,
    /// The staged change is withdrawn.
    Withdraw,
    /// Each claim is patched.
    Patch,
    /// The Pod mounts the volume again.
    RestartPod,
    /// The controller tries a denied write again.
    Retry,
}
