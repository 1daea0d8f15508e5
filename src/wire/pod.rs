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

/// `spec.template.spec` of a set.
pub(crate) struct PodTemplate(Value);

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
    pub(crate) fn pod_template_spec(&self) -> Option<PodTemplate> {
        let mut template = json::read(self.spec.pod_template?).ok()?;
        match &mut template {
            Value::Object(fields) => fields.remove("spec").map(PodTemplate),
            _ => None,
        }
    }
}

impl PodTemplate {
    /// True iff a container mounts the volume of this name, and the spec has no volume of that name itself.
    pub(crate) fn mounts_without_volume(&self, name: &str) -> bool {
        let mounts = |container: &Value| {
            names_one(container, "volumeMounts", name) || names_one(container, "volumeDevices", name)
        };
        let mut lists = ["containers", "initContainers"].into_iter();
        lists.any(|list| items(&self.0, list).iter().any(mounts)) && !names_one(&self.0, "volumes", name)
    }
}

fn field<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::Object(fields) => fields.get(key),
        _ => None,
    }
}

fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    field(value, key).and_then(Value::as_array).unwrap_or_default()
}

/// True iff an item of the list has this name.
fn names_one(value: &Value, list: &str, name: &str) -> bool {
    let mut items = items(value, list).iter();
    items.any(|item| field(item, "name").and_then(Value::as_str) == Some(name))
}
