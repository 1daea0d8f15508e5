//! Decodes an object of a request or a lookup in one pass, and skips all fields that are not needed.

use super::review::{Annotations, Object, ObjectMeta, Spec};
use crate::claims::Owner;
use crate::json::{Error, ErrorKind, Once, Reader};
use crate::templates::keys;

/// A bound for annotations of our domain in the new object. A set may have had more before the policy was there.
pub(super) const MAX_OURS: usize = 64;

pub(super) type Read<T> = Result<T, Error>;

/// The annotation in which client-side `kubectl apply` keeps what it applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Decodes an object that was looked up.
#[must_use]
pub(crate) fn read(text: &str) -> Option<Object<'_>> {
    let mut reader = Reader::new(text);
    let read = object(&mut reader, None).and_then(|object| reader.end().map(|()| object));
    read.ok().flatten()
}

/// Decodes an object; `None` for `null`. `other` is the other object of the request, if already decoded: most bytes of
/// the two are equal.
pub(super) fn object<'a>(reader: &mut Reader<'a>, other: Option<&Object<'_>>) -> Read<Option<Object<'a>>> {
    if reader.null()? {
        return Ok(None);
    }
    let nothing = Object::default();
    let other = other.unwrap_or(&nothing);
    let place = reader.place();
    let mut object = Object::default();
    let mut once = Once::default();
    reader.object(|reader, key| {
        match &*key {
            "apiVersion" => object.api_version = once.text(0, reader)?,
            "kind" => object.kind = once.text(1, reader)?,
            "metadata" => object.metadata = once.read(2, reader, |reader| metadata(reader, &other.metadata))?,
            "spec" => object.spec = once.read(3, reader, |reader| spec(reader, &other.spec))?,
            "status" => object.status = once.raw_like(4, reader, other.status)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    // The API server always writes both, and the edits need them.
    if object.metadata.text.is_empty() {
        return Err(reader.error(ErrorKind::Missing("metadata")));
    }
    if object.spec.text.is_empty() {
        return Err(reader.error(ErrorKind::Missing("spec")));
    }
    object.text = reader.since(place);
    Ok(Some(object))
}

fn metadata<'a>(reader: &mut Reader<'a>, other: &ObjectMeta<'_>) -> Read<ObjectMeta<'a>> {
    let place = reader.place();
    let mut metadata = ObjectMeta::default();
    let mut once = Once::default();
    reader.object(|reader, key| {
        match &*key {
            "name" => metadata.name = once.text(0, reader)?,
            "namespace" => metadata.namespace = once.text(1, reader)?,
            "uid" => metadata.uid = once.text(2, reader)?,
            "resourceVersion" => metadata.resource_version = once.text(3, reader)?,
            "labels" => metadata.labels = once.raw(4, reader)?,
            "annotations" => {
                once.mark(5, reader)?;
                let place = reader.place();
                annotations(reader, &mut metadata)?;
                metadata.annotations_text = Some(reader.since(place));
            }
            "managedFields" => metadata.managed_fields = once.raw_like(6, reader, other.managed_fields)?,
            "finalizers" => metadata.finalizers = once.raw(9, reader)?,
            "ownerReferences" => metadata.controller = once.read(7, reader, controller)?,
            "deletionTimestamp" => {
                once.mark(8, reader)?;
                metadata.terminating = !reader.null()? && reader.skip().is_ok();
            }
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    metadata.text = reader.since(place);
    Ok(metadata)
}

fn annotations<'a>(reader: &mut Reader<'a>, metadata: &mut ObjectMeta<'a>) -> Read<()> {
    let mut ours = Annotations::default();
    if reader.null()? {
        return Ok(());
    }
    let mut once = Once::default();
    reader.object(|reader, key| {
        if key.starts_with(keys::PREFIX) {
            // Each is compared with all before it, so not with more than a new object may have.
            if ours.0.len() < MAX_OURS && ours.get(&key).is_some() {
                return Err(reader.error(ErrorKind::Duplicate));
            }
            ours.0.push((key, reader.string()?));
        } else if key == LAST_APPLIED {
            metadata.last_applied = once.raw(0, reader)?;
        } else {
            reader.skip()?;
        }
        Ok(())
    })?;
    metadata.annotations = ours;
    Ok(())
}

/// The owner that is the controller; the API server allows at most one.
fn controller(reader: &mut Reader<'_>) -> Read<Option<Owner>> {
    let mut found = None;
    if reader.null()? {
        return Ok(found);
    }
    reader.list(|reader| {
        let owner = Owner::read(reader)?;
        if owner.controller {
            found = Some(owner);
        }
        Ok(())
    })?;
    Ok(found)
}

fn spec<'a>(reader: &mut Reader<'a>, other: &Spec<'_>) -> Read<Spec<'a>> {
    let place = reader.place();
    let mut spec = Spec::default();
    let mut once = Once::default();
    reader.object(|reader, key| {
        match &*key {
            "replicas" => {
                once.mark(0, reader)?;
                spec.replicas = if reader.null()? { None } else { Some(reader.integer()?) };
            }
            "volumeClaimTemplates" => spec.templates = once.raw_like(1, reader, other.templates)?,
            "template" => spec.pod_template = once.raw_like(2, reader, other.pod_template)?,
            "updateStrategy" => spec.update_strategy = once.raw(3, reader)?,
            "persistentVolumeClaimRetentionPolicy" => spec.retention = once.raw(4, reader)?,
            "ordinals" => spec.ordinals = once.raw(5, reader)?,
            "selector" => spec.selector = once.raw(6, reader)?,
            "volumeClaimUpdateStrategy" => spec.claim_update_strategy = once.raw(7, reader)?,
            "resources" => spec.resources = once.raw(8, reader)?,
            "volumeAttributesClassName" => spec.attributes_class = once.raw(9, reader)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    spec.text = reader.since(place);
    Ok(spec)
}
