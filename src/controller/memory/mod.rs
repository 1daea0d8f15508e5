//! What is remembered of StatefulSets between two reconciles.
//!
//! | file | contains |
//! |---|---|
//! | `memories` | the memory of each StatefulSet |
//! | `settled` | when none is needed |

pub(super) mod memories;
pub(super) mod settled;
