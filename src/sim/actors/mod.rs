//! The other actors of a cluster. Each function makes one write.

pub(crate) mod action;
pub(crate) mod kubelet;
pub(crate) mod statefulset;
pub(crate) mod storage;
pub(crate) mod users;
