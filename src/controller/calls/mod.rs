//! Calls of the API and their outcomes.
//!
//! | file | contains |
//! |---|---|
//! | `api_calls` | outcomes, and what a write has in common with all others |
//! | `caller` | the client, the clock and the metrics |
//! | `eviction` | the eviction of a Pod |
//! | `error` | the error of a reconcile |

pub(super) mod api_calls;
pub(super) mod caller;
pub(super) mod error;
pub(super) mod eviction;
