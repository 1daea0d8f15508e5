//! A StatefulSet as `status` reads it.

use serde_json::Value;

use crate::controller::objects::conversion::{self, ObjectError};
use crate::gate::SetView;
use crate::replace::FINALIZER;

/// A set, and whether it is being replaced.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeenSet {
    pub(crate) view: SetView,
    /// It has our finalizer.
    pub(super) is_marked: bool,
}

impl SeenSet {
    pub(super) fn read(object: &Value) -> Result<Self, ObjectError> {
        let mut finalizers = object["metadata"]["finalizers"].as_array().into_iter().flatten();
        Ok(Self {
            view: conversion::set(object)?,
            is_marked: finalizers.any(|finalizer| finalizer == FINALIZER),
        })
    }

    /// True iff a change is staged, also one that cannot be read.
    pub(super) const fn is_staged(&self) -> bool {
        self.view.staged.is_some() || self.view.unreadable.is_some()
    }
}
