//! Bytes in: an AdmissionRequest and the settings, decoded in one pass over the payload.

use crate::admission::review::{Annotations, Kind, Metadata, Set, Spec, Text};
use crate::admission::{Refusal, Review};
use crate::json::{Error, Fault, Once, Reader};
use crate::templates::keys;

type Read<T> = Result<T, Error>;

/// The request and the text of the settings; `None` for a request about something else, whose objects may have any
/// shape.
pub(crate) fn decode(payload: &str) -> Result<Option<(Review<'_>, &str)>, Refusal> {
    match whole(payload) {
        Ok(decoded) => Ok(Some(decoded)),
        Err(_) if is_about_something_else(payload) => Ok(None),
        Err(error) => Err(malformed(payload, error)),
    }
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
    let review = review.ok_or_else(|| reader.error(Fault::Missing("request")))?;
    Ok((review, settings))
}

fn request<'a>(reader: &mut Reader<'a>) -> Read<Review<'a>> {
    let mut review = Review::default();
    let mut once = Once::default();
    reader.object(|reader, key| {
        let (field, text) = match &*key {
            "subResource" => (0, &mut review.sub_resource),
            "name" => (1, &mut review.name),
            "namespace" => (2, &mut review.namespace),
            "operation" => (3, &mut review.operation),
            "kind" => {
                once.mark(4, reader)?;
                review.kind = kind(reader)?;
                return Ok(());
            }
            "userInfo" => {
                once.mark(5, reader)?;
                return user_info(reader, &mut review);
            }
            "options" => {
                once.mark(6, reader)?;
                review.field_manager = options(reader)?;
                return Ok(());
            }
            "object" => {
                once.mark(7, reader)?;
                review.object = set(reader)?;
                return Ok(());
            }
            "oldObject" => {
                once.mark(8, reader)?;
                review.old_object = set(reader)?;
                return Ok(());
            }
            _ => return reader.skip(),
        };
        once.mark(field, reader)?;
        *text = text_or_null(reader)?;
        Ok(())
    })?;
    if review.kind.kind.is_empty() {
        return Err(reader.error(Fault::Missing("request.kind.kind")));
    }
    if review.operation.is_empty() {
        return Err(reader.error(Fault::Missing("request.operation")));
    }
    Ok(review)
}

/// A string; empty for `null`.
fn text_or_null<'a>(reader: &mut Reader<'a>) -> Read<Text<'a>> {
    if reader.null()? {
        Ok(Text::default())
    } else {
        reader.string()
    }
}

fn kind<'a>(reader: &mut Reader<'a>) -> Read<Kind<'a>> {
    let mut kind = Kind::default();
    let mut once = Once::default();
    reader.object(|reader, key| {
        let (field, text) = match &*key {
            "group" => (0, &mut kind.group),
            "version" => (1, &mut kind.version),
            "kind" => (2, &mut kind.kind),
            _ => return reader.skip(),
        };
        once.mark(field, reader)?;
        *text = text_or_null(reader)?;
        Ok(())
    })?;
    Ok(kind)
}

fn user_info<'a>(reader: &mut Reader<'a>, review: &mut Review<'a>) -> Read<()> {
    if reader.null()? {
        return Ok(());
    }
    let mut once = Once::default();
    reader.object(|reader, key| match &*key {
        "username" => {
            once.mark(0, reader)?;
            review.user = text_or_null(reader)?;
            Ok(())
        }
        "groups" => {
            once.mark(1, reader)?;
            if reader.null()? {
                return Ok(());
            }
            reader.list(|reader| {
                review.groups.push(reader.string()?);
                Ok(())
            })
        }
        _ => reader.skip(),
    })
}

fn options<'a>(reader: &mut Reader<'a>) -> Read<Text<'a>> {
    let mut field_manager = Text::default();
    if reader.null()? {
        return Ok(field_manager);
    }
    let mut once = Once::default();
    reader.object(|reader, key| match &*key {
        "fieldManager" => {
            once.mark(0, reader)?;
            field_manager = text_or_null(reader)?;
            Ok(())
        }
        _ => reader.skip(),
    })?;
    Ok(field_manager)
}

fn set<'a>(reader: &mut Reader<'a>) -> Read<Option<Set<'a>>> {
    if reader.null()? {
        return Ok(None);
    }
    let place = reader.place();
    let mut set = Set::default();
    let mut once = Once::default();
    reader.object(|reader, key| match &*key {
        "apiVersion" => {
            once.mark(0, reader)?;
            set.api_version = text_or_null(reader)?;
            Ok(())
        }
        "kind" => {
            once.mark(1, reader)?;
            set.kind = text_or_null(reader)?;
            Ok(())
        }
        "metadata" => {
            once.mark(2, reader)?;
            set.metadata = metadata(reader)?;
            Ok(())
        }
        "spec" => {
            once.mark(3, reader)?;
            set.spec = spec(reader)?;
            Ok(())
        }
        _ => reader.skip(),
    })?;
    // The API server writes both, always; what has to be edited must be there.
    if set.metadata.text.is_empty() {
        return Err(reader.error(Fault::Missing("metadata")));
    }
    if set.spec.text.is_empty() {
        return Err(reader.error(Fault::Missing("spec")));
    }
    set.text = reader.since(place);
    Ok(Some(set))
}

fn metadata<'a>(reader: &mut Reader<'a>) -> Read<Metadata<'a>> {
    let place = reader.place();
    let mut metadata = Metadata::default();
    let mut once = Once::default();
    reader.object(|reader, key| {
        let (field, text) = match &*key {
            "name" => (0, &mut metadata.name),
            "namespace" => (1, &mut metadata.namespace),
            "uid" => (2, &mut metadata.uid),
            "annotations" => {
                once.mark(3, reader)?;
                let place = reader.place();
                metadata.annotations = annotations(reader)?;
                metadata.annotations_text = Some(reader.since(place));
                return Ok(());
            }
            "ownerReferences" => {
                once.mark(4, reader)?;
                metadata.has_controller = has_controller(reader)?;
                return Ok(());
            }
            _ => return reader.skip(),
        };
        once.mark(field, reader)?;
        *text = text_or_null(reader)?;
        Ok(())
    })?;
    metadata.text = reader.since(place);
    Ok(metadata)
}

fn annotations<'a>(reader: &mut Reader<'a>) -> Read<Annotations<'a>> {
    let mut ours = Annotations::default();
    if reader.null()? {
        return Ok(ours);
    }
    reader.object(|reader, key| {
        if !key.starts_with(keys::PREFIX) {
            return reader.skip();
        }
        if ours.get(&key).is_some() {
            return Err(reader.error(Fault::Duplicate));
        }
        ours.0.push((key, reader.string()?));
        Ok(())
    })?;
    Ok(ours)
}

fn has_controller(reader: &mut Reader<'_>) -> Read<bool> {
    let mut found = false;
    if reader.null()? {
        return Ok(found);
    }
    reader.list(|reader| {
        let mut once = Once::default();
        reader.object(|reader, key| match &*key {
            "controller" => {
                once.mark(0, reader)?;
                found |= !reader.null()? && reader.bool()?;
                Ok(())
            }
            _ => reader.skip(),
        })
    })?;
    Ok(found)
}

fn spec<'a>(reader: &mut Reader<'a>) -> Read<Spec<'a>> {
    let place = reader.place();
    let mut spec = Spec::default();
    let mut once = Once::default();
    reader.object(|reader, key| match &*key {
        "replicas" => {
            once.mark(0, reader)?;
            spec.replicas = if reader.null()? { None } else { Some(reader.integer()?) };
            Ok(())
        }
        "volumeClaimTemplates" => {
            once.mark(1, reader)?;
            spec.templates_text = Some(reader.raw()?);
            Ok(())
        }
        _ => reader.skip(),
    })?;
    spec.text = reader.since(place);
    Ok(spec)
}

/// True iff the request says that it is about something else than a StatefulSet itself.
fn is_about_something_else(payload: &str) -> bool {
    let mut reader = Reader::new(payload);
    let (mut about, mut sub_resource) = (Kind::default(), Text::default());
    let head = reader.object(|reader, key| match &*key {
        "request" => reader.object(|reader, key| match &*key {
            "kind" => {
                about = kind(reader)?;
                Ok(())
            }
            "subResource" => {
                sub_resource = text_or_null(reader)?;
                Ok(())
            }
            _ => reader.skip(),
        }),
        _ => reader.skip(),
    });
    let read = head.and_then(|()| reader.end()).is_ok() && !about.kind.is_empty();
    read && (about.kind != "StatefulSet" || !sub_resource.is_empty())
}

fn malformed(payload: &str, error: Error) -> Refusal {
    let before = payload.get(..error.at).unwrap_or(payload);
    let line = before.matches('\n').count() + 1;
    let column = error.at - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
    Refusal::malformed(format!(
        "claim-rollout: request: expected an AdmissionRequest about a StatefulSet: {} (line {line} column {column})",
        error.fault
    ))
}
