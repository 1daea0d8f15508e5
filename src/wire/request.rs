//! Input: an AdmissionRequest and the settings, decoded in one pass over the payload.

use super::object::{MAX_OURS, Read, object};
use super::review::{About, GroupVersionKind, Options, Resource, Review, Text};
use super::verdict::Denial;
use crate::json::{Error, ErrorKind, Once, Reader};

/// The longest payload: two objects of 3 MiB and the rest of the request.
const MAX_PAYLOAD: usize = 6 * 1024 * 1024 + 64 * 1024;

/// A bound on memory; real users are in fewer groups.
const MAX_GROUPS: usize = 4096;

/// The request and the text of the settings; `None` for a request that cannot be read and is not about a StatefulSet.
pub(crate) fn decode(payload: &[u8]) -> Result<Option<(Review<'_>, &str)>, Denial> {
    let fault = |what: &str| Denial::malformed(format!("claim-rollout: request: expected {what}"));
    let text = str::from_utf8(payload).map_err(|_| fault("UTF-8"))?;
    let denial = if text.len() > MAX_PAYLOAD {
        fault("at most 3 MiB for each object; it is larger")
    } else {
        match whole(text) {
            Ok(decoded) => return Ok(Some(decoded)),
            Err(error) => malformed(text, error),
        }
    };
    if is_about_a_set(text) { Err(denial) } else { Ok(None) }
}

/// The waPC payload of `validate`.
fn whole(payload: &str) -> Read<(Review<'_>, &str)> {
    let mut reader = Reader::new(payload);
    let (mut review, mut settings, mut once) = (None, "null", Once::default());
    reader.object(|reader, key| match &*key {
        "request" => {
            once.mark(0, reader)?;
            review = Some(request(reader)?);
            Ok(())
        }
        "settings" => {
            once.mark(1, reader)?;
            settings = reader.raw()?;
            Ok(())
        }
        _ => reader.skip(),
    })?;
    reader.end()?;
    let review = review.ok_or_else(|| reader.error(ErrorKind::Missing("request")))?;
    Ok((review, settings))
}

fn request<'a>(reader: &mut Reader<'a>) -> Read<Review<'a>> {
    let mut review = Review::default();
    let mut once = Once::default();
    reader.object(|reader, key| {
        match &*key {
            "uid" => review.uid = once.text(0, reader)?,
            "kind" => review.kind = once.read(1, reader, kind)?,
            "resource" => review.resource = once.read(2, reader, resource)?,
            "subResource" => review.sub_resource = once.text(3, reader)?,
            "name" => review.name = once.text(4, reader)?,
            "namespace" => review.namespace = once.text(5, reader)?,
            "operation" => review.operation = once.text(6, reader)?,
            "userInfo" => once.read(7, reader, |reader| user_info(reader, &mut review))?,
            "options" => review.options = once.read(8, reader, options)?,
            "object" => {
                let other = review.old_object.as_ref();
                review.object = once.read(9, reader, |reader| object(reader, other))?;
                let new = review.object.as_ref();
                if new.is_some_and(|new| new.metadata.annotations.0.len() > MAX_OURS) {
                    return Err(reader.error(ErrorKind::Expected("at most 64 annotations of claim-rollout.io")));
                }
            }
            "oldObject" => {
                let other = review.object.as_ref();
                review.old_object = once.read(10, reader, |reader| object(reader, other))?;
            }
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    if review.kind.kind.is_empty() {
        return Err(reader.error(ErrorKind::Missing("request.kind.kind")));
    }
    if review.operation.is_empty() {
        return Err(reader.error(ErrorKind::Missing("request.operation")));
    }
    Ok(review)
}

fn kind<'a>(reader: &mut Reader<'a>) -> Read<GroupVersionKind<'a>> {
    let mut kind = GroupVersionKind::default();
    let mut once = Once::default();
    reader.object(|reader, key| {
        match &*key {
            "group" => kind.group = once.text(0, reader)?,
            "version" => kind.version = once.text(1, reader)?,
            "kind" => kind.kind = once.text(2, reader)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(kind)
}

fn resource<'a>(reader: &mut Reader<'a>) -> Read<Resource<'a>> {
    let mut resource = Resource::default();
    if reader.null()? {
        return Ok(resource);
    }
    let mut once = Once::default();
    reader.object(|reader, key| {
        match &*key {
            "group" => resource.group = once.text(0, reader)?,
            "resource" => resource.resource = once.text(1, reader)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(resource)
}

fn user_info<'a>(reader: &mut Reader<'a>, review: &mut Review<'a>) -> Read<()> {
    if reader.null()? {
        return Ok(());
    }
    let groups = &mut review.groups;
    let mut once = Once::default();
    reader.object(|reader, key| {
        match &*key {
            "username" => review.user = once.text(0, reader)?,
            "groups" => {
                once.mark(1, reader)?;
                if !reader.null()? {
                    reader.list(|reader| {
                        if groups.len() == MAX_GROUPS {
                            return Err(reader.error(ErrorKind::Expected("at most 4096 groups")));
                        }
                        groups.push(reader.string()?);
                        Ok(())
                    })?;
                }
            }
            "uid" => review.user_uid = once.text(2, reader)?,
            "extra" => review.user_extra = once.raw(3, reader)?,
            _ => reader.skip()?,
        }
        Ok(())
    })
}

fn options<'a>(reader: &mut Reader<'a>) -> Read<Options<'a>> {
    let mut options = Options::default();
    if reader.null()? {
        return Ok(options);
    }
    let mut once = Once::default();
    reader.object(|reader, key| {
        match &*key {
            "fieldManager" => options.field_manager = once.text(0, reader)?,
            "propagationPolicy" => options.propagation_policy = once.text(1, reader)?,
            "orphanDependents" => {
                once.mark(2, reader)?;
                options.orphan_dependents = !reader.null()? && reader.bool()?;
            }
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(options)
}

/// True iff the request may be about a StatefulSet. The API server writes the objects last, so nothing in them hides the
/// kind.
fn is_about_a_set(payload: &str) -> bool {
    let mut reader = Reader::new(payload);
    let (mut about, mut of, mut sub_resource) = (GroupVersionKind::default(), Resource::default(), Text::default());
    let _ = reader.object(|reader, key| match &*key {
        "request" => reader.object(|reader, key| {
            match &*key {
                "kind" => about = kind(reader)?,
                "resource" => of = resource(reader)?,
                "subResource" => sub_resource = Once::default().text(0, reader)?,
                _ => reader.skip()?,
            }
            Ok(())
        }),
        _ => reader.skip(),
    });
    let of = About::of(&about, &of, &sub_resource);
    about.kind.is_empty() || !matches!(of, About::Other | About::Claim | About::Pod)
}

fn malformed(payload: &str, error: Error) -> Denial {
    let before = payload.get(..error.at).unwrap_or(payload);
    let line = before.matches('\n').count() + 1;
    let column = error.at - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
    Denial::malformed(format!(
        "claim-rollout: request: expected an AdmissionRequest about a StatefulSet: {} (line {line} column {column})",
        error.fault
    ))
}
