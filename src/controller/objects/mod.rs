//! Objects of the API, reduced to the fields that are read, and their conversion to the input of the decisions.
//!
//! | file | contains |
//! |---|---|
//! | `set_kind` | the two kinds of StatefulSets |
//! | `set`, `claim`, `pod`, `rollout` | the objects |
//! | `packed_rollout` | a ClaimRollout as it is kept |
//! | `staged_before` | whether a change was staged before the last change of the policy |
//! | `blockers` | quotas, LimitRanges and StorageClasses, because of which an apply is denied |
//! | `views` | the conversion |
//! | `conversion` | the same for whole objects, for the commands |

pub(super) mod blockers;
pub(super) mod claim;
#[cfg(feature = "cli")]
pub(crate) mod conversion;
pub(crate) mod packed_rollout;
pub(super) mod pod;
pub(crate) mod rollout;
pub(super) mod set;
pub(super) mod set_kind;
pub(super) mod views;

mod staged_before;
