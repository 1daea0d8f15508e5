//! Who lives in a cluster beside us: each as a function that does one thing.

pub(crate) mod kubelet;
pub(crate) mod people;
pub(crate) mod statefulset;
pub(crate) mod storage;
