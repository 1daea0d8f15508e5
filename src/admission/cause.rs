//! Why claims cannot be updated.

/// A cause, and the claims that it concerns.
pub(super) struct Cause {
    pub(super) what: String,
    pub(super) claims: Vec<String>,
}
