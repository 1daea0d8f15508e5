//! The edited object, spliced out of the request's own bytes: what no edit touches stays as it came, fields that nobody
//! here knows included.

use std::ops::Range;

use crate::admission::review::Set;
use crate::admission::{Edit, Review};
use crate::json::{Error, Reader, write_string};

/// One replacement of bytes.
struct Splice {
    range: Range<usize>,
    text: String,
}

/// The JSON text of `request.object` with the edits applied; nothing if there is no object.
pub(super) fn edited_object(review: &Review<'_>, edits: &[Edit]) -> Result<String, Error> {
    let Some(object) = &review.object else {
        return Ok(String::from("null"));
    };
    let restored = edits.contains(&Edit::RestoreTemplates).then(|| {
        let old = review.old_object.as_ref().map_or("null", Set::templates);
        restore(object, old)
    });
    let mut splices: Vec<Splice> = annotate(object, edits)?.into_iter().chain(restored).collect();
    // metadata usually comes before spec, but JSON has no order.
    if splices.len() == 2 && splices[1].range.start < splices[0].range.start {
        splices.swap(0, 1);
    }
    let added: usize = splices.iter().map(|splice| splice.text.len()).sum();
    let mut edited = String::with_capacity(object.text.len() + added);
    let mut done = 0;
    for splice in splices {
        edited.push_str(&object.text[done..splice.range.start]);
        edited.push_str(&splice.text);
        done = splice.range.end;
    }
    edited.push_str(&object.text[done..]);
    Ok(edited)
}

/// `spec.volumeClaimTemplates` := the old text.
fn restore(object: &Set<'_>, old: &str) -> Splice {
    match object.spec.templates_text {
        Some(templates) => Splice {
            range: range_in(object.text, templates),
            text: old.to_owned(),
        },
        None => first_member(object.text, object.spec.text, "volumeClaimTemplates", old),
    }
}

/// `metadata.annotations` with the edits applied; nothing if none concerns them.
fn annotate(object: &Set<'_>, edits: &[Edit]) -> Result<Option<Splice>, Error> {
    if edits.iter().all(|edit| *edit == Edit::RestoreTemplates) {
        return Ok(None);
    }
    let Some(annotations) = object.metadata.annotations_text else {
        let map = edited_map("null", edits)?;
        return Ok(Some(first_member(
            object.text,
            object.metadata.text,
            "annotations",
            &map,
        )));
    };
    Ok(Some(Splice {
        range: range_in(object.text, annotations),
        text: edited_map(annotations, edits)?,
    }))
}

/// A member that an object does not have yet, put before its others.
fn first_member(text: &str, object: &str, key: &str, value: &str) -> Splice {
    let start = range_in(text, object).start + 1;
    let empty = object.get(1..).unwrap_or_default().trim_start().starts_with('}');
    let comma = if empty { "" } else { "," };
    Splice {
        range: start..start,
        text: format!("\"{key}\":{value}{comma}"),
    }
}

/// Where a text lies in another that it was borrowed from.
fn range_in(outer: &str, inner: &str) -> Range<usize> {
    let start = inner.as_ptr() as usize - outer.as_ptr() as usize;
    start..start + inner.len()
}

/// The text of a map of strings with the edits applied: in place where the key is there, else at the end.
fn edited_map(text: &str, edits: &[Edit]) -> Result<String, Error> {
    let mut map = String::from("{");
    let mut done = vec![false; edits.len()];
    let mut reader = Reader::new(text);
    if !reader.null()? {
        reader.object(|reader, key| {
            let value = reader.raw()?;
            match edits.iter().position(|edit| concerns(edit, &key)) {
                Some(index) => {
                    done[index] = true;
                    write_set(&edits[index], &mut map);
                }
                None => {
                    write_key(&key, &mut map);
                    map.push_str(value);
                }
            }
            Ok(())
        })?;
    }
    for (edit, done) in edits.iter().zip(done) {
        if !done {
            write_set(edit, &mut map);
        }
    }
    map.push('}');
    Ok(map)
}

fn concerns(edit: &Edit, key: &str) -> bool {
    match edit {
        Edit::SetAnnotation(name, _) | Edit::RemoveAnnotation(name) => *name == key,
        Edit::RestoreTemplates => false,
    }
}

fn write_key(key: &str, map: &mut String) {
    if map.len() > 1 {
        map.push(',');
    }
    write_string(key, map);
    map.push(':');
}

fn write_set(edit: &Edit, map: &mut String) {
    if let Edit::SetAnnotation(key, value) = edit {
        write_key(key, map);
        write_string(value, map);
    }
}
