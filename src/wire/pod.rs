//! Pods and Pod templates.

use super::fields::members;
use super::object::Read;
use super::review::{Object, Text};
use crate::json::{self, Once, Value};

/// What decides whether the deletion of a Pod may wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeletedPod {
    /// `status.phase` is `Failed` or `Succeeded`.
    pub(crate) has_ended: bool,
    /// The condition `DisruptionTarget` is true.
    pub(crate) disrupted: bool,
    /// A volume is a PVC.
    pub(crate) mounts_claims: bool,
}

impl Object<'_> {
    /// What decides whether the deletion of this Pod may wait.
    pub(crate) fn deleted_pod(&self) -> Read<DeletedPod> {
        let mut pod = DeletedPod::default();
        members(self.status, |reader, key| {
            match key {
                "phase" => pod.has_ended = matches!(&*reader.string()?, "Failed" | "Succeeded"),
                "conditions" if !reader.null()? => reader.list(|reader| {
                    let (mut kind, mut status) = (Text::default(), Text::default());
                    let mut once = Once::default();
                    reader.object(|reader, key| {
                        match &*key {
                            "type" => kind = once.text(0, reader)?,
                            "status" => status = once.text(1, reader)?,
                            _ => reader.skip()?,
                        }
                        Ok(())
                    })?;
                    pod.disrupted |= kind == "DisruptionTarget" && status == "True";
                    Ok(())
                })?,
                "conditions" => {}
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        members(Some(self.spec.text), |reader, key| {
            if key != "volumes" || reader.null()? {
                return if key == "volumes" { Ok(()) } else { reader.skip() };
            }
            reader.list(|reader| {
                reader.object(|reader, key| {
                    pod.mounts_claims |= key == "persistentVolumeClaim";
                    reader.skip()
                })
            })
        })?;
        Ok(pod)
    }

    /// The spec of the Pods of a set; `None` if it cannot be read.
    pub(crate) fn pod_template_spec(&self) -> Option<Value> {
        let mut template = json::read(self.spec.pod_template?).ok()?;
        match &mut template {
            Value::Object(fields) => fields.remove("spec"),
            _ => None,
        }
    }
}
