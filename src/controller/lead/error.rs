//! Why the controller ends.

/// The reasons for which the controller ends.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The watch on a resource ended before its first list was complete.
    #[error("failed to list {0}: the watch ended")]
    Watch(&'static str),
    /// The health endpoints could not be served.
    #[error("failed to serve the health endpoints: {0}")]
    Health(#[from] std::io::Error),
}
