//! Applies edits to the bytes of an object. Bytes that no edit names do not change, unknown fields included.

use std::ops::Range;

use super::review::{Object, Review};
use super::verdict::Edit;
use crate::json::{self, Error, ErrorKind, Map, Reader, with_member, write_key, write_string};

/// One replacement of bytes.
struct Splice {
    range: Range<usize>,
    text: String,
    place: SplicePlace,
}

/// The place of a splice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SplicePlace {
    /// Replaces an existing value.
    Value,
    /// Inserts a member before the others of an object.
    Member,
    /// Inserts a member into an empty object.
    OnlyMember,
}

/// The JSON text of `request.object` with its edits. They are applied when the answer is written.
pub(super) struct Edited<'a> {
    text: &'a str,
    /// In order of place, without overlaps.
    splices: Vec<Splice>,
}

/// The object with the edits; `null` without an object.
pub(super) fn edited_object<'a>(review: &Review<'a>, edits: &[Edit]) -> Result<Edited<'a>, Error> {
    let mut splices = Vec::with_capacity(edits.len());
    let Some(object) = &review.object else {
        return Ok(Edited { text: "null", splices });
    };
    let annotations = maps(edits, annotation);
    if !annotations.is_empty() {
        let (text, metadata) = (object.metadata.annotations_text, object.metadata.text);
        splices.push(map(object, metadata, "annotations", text, &annotations)?);
    }
    let labels = maps(edits, label);
    if !labels.is_empty() {
        let metadata = object.metadata.text;
        splices.push(map(object, metadata, "labels", object.metadata.labels, &labels)?);
    }
    for edit in edits {
        splices.extend(of_value(review, object, edit)?);
    }
    Ok(Edited {
        text: object.text,
        splices: in_order(splices),
    })
}

impl Edited<'_> {
    /// An upper bound of the bytes written.
    pub(super) fn capacity(&self) -> usize {
        let added: usize = self.splices.iter().map(|splice| splice.text.len() + 1).sum();
        self.text.len() + added
    }

    /// Appends the edited text.
    pub(super) fn write(&self, answer: &mut String) {
        let mut done = 0;
        let mut splices = self.splices.iter().peekable();
        while let Some(splice) = splices.next() {
            answer.push_str(&self.text[done..splice.range.start]);
            answer.push_str(&splice.text);
            done = splice.range.end;
            let next_is_here = splices
                .peek()
                .is_some_and(|next| next.range.start == splice.range.start);
            if splice.place == SplicePlace::Member || (splice.place == SplicePlace::OnlyMember && next_is_here) {
                answer.push(',');
            }
        }
        answer.push_str(&self.text[done..]);
    }
}

/// Sorts splices by place and keeps the order of equal places. There are few, and the sort of the standard library
/// takes 4 KB of the guest.
fn in_order(splices: Vec<Splice>) -> Vec<Splice> {
    let mut sorted: Vec<Splice> = Vec::with_capacity(splices.len());
    for splice in splices {
        let place = sorted.partition_point(|other| other.range.start <= splice.range.start);
        sorted.insert(place, splice);
    }
    sorted
}

/// The splice for an edit of one value; `None` for other edits.
fn of_value(review: &Review<'_>, object: &Object<'_>, edit: &Edit) -> Result<Option<Splice>, Error> {
    let (metadata, spec) = (&object.metadata, &object.spec);
    let (key, there, value) = match edit {
        Edit::SetFinalizers(list) => {
            let there = metadata.finalizers;
            return Ok(Some(member(
                object.text,
                metadata.text,
                "finalizers",
                there,
                list.clone(),
            )));
        }
        Edit::RemovePartition => {
            let mut found = spec.update_strategy;
            for key in ["rollingUpdate", "partition"] {
                found = json::member(found.unwrap_or("{}"), key)?;
            }
            return Ok(found.map(|there| member(object.text, spec.text, "", Some(there), "null".to_owned())));
        }
        Edit::RestoreTemplates => {
            let old = review.old_object.as_ref().map_or("null", Object::templates);
            ("volumeClaimTemplates", spec.templates, old.to_owned())
        }
        Edit::SetTemplates(templates) => ("volumeClaimTemplates", spec.templates, templates.clone()),
        Edit::SetStorage(storage) => {
            let path = ["requests", "storage"];
            let resources = with_member(spec.resources.unwrap_or("null"), &path, &quoted(&storage.to_string()))?;
            ("resources", spec.resources, resources)
        }
        Edit::SetAttributesClass(class) => ("volumeAttributesClassName", spec.attributes_class, quoted(class)),
        Edit::SetField(field, value) => {
            let text = value.as_ref().map_or_else(|| "null".to_owned(), json::canonical);
            (*field, json::member(spec.text, field)?, text)
        }
        _ => return Ok(None),
    };
    Ok(Some(member(object.text, spec.text, key, there, value)))
}

/// The splice for a member of an object: replaces its value, or inserts the member.
fn member(text: &str, object: &str, key: &str, there: Option<&str>, value: String) -> Splice {
    if let Some(there) = there {
        return Splice {
            range: range_in(text, there),
            text: value,
            place: SplicePlace::Value,
        };
    }
    let start = range_in(text, object).start + 1;
    let empty = object.get(1..).unwrap_or_default().trim_start().starts_with('}');
    Splice {
        range: start..start,
        text: format!("\"{key}\":{value}"),
        place: if empty {
            SplicePlace::OnlyMember
        } else {
            SplicePlace::Member
        },
    }
}

/// The range of a text within the text that it was borrowed from.
fn range_in(outer: &str, inner: &str) -> Range<usize> {
    let start = inner.as_ptr() as usize - outer.as_ptr() as usize;
    start..start + inner.len()
}

fn quoted(string: &str) -> String {
    let mut text = String::with_capacity(string.len() + 2);
    write_string(string, &mut text);
    text
}

/// A key of a map of strings, and its new value; `None` removes the key.
type MapEdit<'e> = (&'e str, Option<&'e str>);

fn maps<'e>(edits: &'e [Edit], entry: impl Fn(&'e Edit) -> Option<MapEdit<'e>>) -> Vec<MapEdit<'e>> {
    edits.iter().filter_map(entry).collect()
}

fn annotation(edit: &Edit) -> Option<MapEdit<'_>> {
    match edit {
        Edit::SetAnnotation(key, value) => Some((key, Some(value))),
        Edit::RemoveAnnotation(key) => Some((key, None)),
        _ => None,
    }
}

fn label(edit: &Edit) -> Option<MapEdit<'_>> {
    match edit {
        Edit::SetLabel(key, value) => Some((key, Some(value))),
        Edit::RemoveLabel(key) => Some((key, None)),
        _ => None,
    }
}

/// The splice for a map of strings: existing keys are edited in place, new keys are added at the end.
fn map(
    object: &Object<'_>,
    metadata: &str,
    key: &str,
    there: Option<&str>,
    edits: &[MapEdit<'_>],
) -> Result<Splice, Error> {
    let mut text = String::from("{");
    let mut done = vec![false; edits.len()];
    let mut reader = Reader::new(there.unwrap_or("null"));
    // Both a claim and its template may have thousands of labels.
    let places = edits
        .iter()
        .enumerate()
        .map(|(place, (key, _))| ((*key).to_owned(), place));
    let places = Map::from_unsorted(places.collect()).ok_or_else(|| reader.error(ErrorKind::Duplicate))?;
    if !reader.null()? {
        reader.object(|reader, key| {
            let value = reader.raw()?;
            match places.get(&key) {
                Some(&index) => {
                    done[index] = true;
                    write_set(edits[index], &mut text);
                }
                None => {
                    write_key(&key, &mut text);
                    text.push_str(value);
                }
            }
            Ok(())
        })?;
    }
    for (edit, done) in edits.iter().zip(done) {
        if !done {
            write_set(*edit, &mut text);
        }
    }
    text.push('}');
    Ok(member(object.text, metadata, key, there, text))
}

fn write_set((key, value): MapEdit<'_>, map: &mut String) {
    if let Some(value) = value {
        write_key(key, map);
        write_string(value, map);
    }
}
