//! The limits of storage classes over all StatefulSets.
//!
//! | file | contains |
//! |---|---|
//! | `class_places` | who may write to a PVC of a class |
//! | `holders` | who has a place, and who waits for one |
//! | `shares` | how free places are shared |

pub(super) mod class_places;

mod holders;
mod shares;
