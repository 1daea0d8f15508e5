//! The edited object, spliced out of the request's own bytes: what no edit touches stays as it came, fields that nobody
//! here knows included.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::admission::{Edit, Refusal};
use crate::templates::json;

use super::request::malformed;

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    request: Request<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow)]
    object: &'a RawValue,
    #[serde(borrow)]
    old_object: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    metadata: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    spec: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    annotations: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    volume_claim_templates: Option<&'a RawValue>,
}

/// A field that is there, also when it is `null`: a plain `Option` would not tell where.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// One replacement of bytes.
struct Splice {
    range: Range<usize>,
    text: String,
}

/// The JSON text of `request.object` with the edits applied.
pub(super) fn edited_object(payload: &str, edits: &[Edit]) -> Result<String, Refusal> {
    let decoded = serde_json::from_str::<Payload<'_>>(payload).map_err(|error| malformed(&error))?;
    splice(&decoded.request, edits).map_err(|error| malformed(&error))
}

fn splice(request: &Request<'_>, edits: &[Edit]) -> Result<String, serde_json::Error> {
    let text = request.object.get();
    let object: Object<'_> = serde_json::from_str(text)?;
    let restored = if edits.contains(&Edit::RestoreTemplates) {
        let old = match request.old_object {
            Some(old) => templates_of(old)?.map_or("null", RawValue::get),
            None => "null",
        };
        restore(text, &object, old)?
    } else {
        None
    };
    let annotated = annotate(text, &object, edits)?;
    let mut splices: Vec<Splice> = annotated.into_iter().chain(restored).collect();
    // metadata usually comes before spec, but JSON has no order.
    if splices.len() == 2 && splices[1].range.start < splices[0].range.start {
        splices.swap(0, 1);
    }

    let added: usize = splices.iter().map(|splice| splice.text.len()).sum();
    let mut edited = String::with_capacity(text.len() + added);
    let mut done = 0;
    for splice in splices {
        edited.push_str(&text[done..splice.range.start]);
        edited.push_str(&splice.text);
        done = splice.range.end;
    }
    edited.push_str(&text[done..]);
    Ok(edited)
}

fn templates_of(object: &RawValue) -> Result<Option<&RawValue>, serde_json::Error> {
    let object: Object<'_> = serde_json::from_str(object.get())?;
    match object.spec {
        Some(spec) => Ok(serde_json::from_str::<Spec<'_>>(spec.get())?.volume_claim_templates),
        None => Ok(None),
    }
}

/// `spec.volumeClaimTemplates` := the old text.
fn restore(text: &str, object: &Object<'_>, old: &str) -> Result<Option<Splice>, serde_json::Error> {
    let Some(spec) = object.spec else { return Ok(None) };
    let templates = serde_json::from_str::<Spec<'_>>(spec.get())?.volume_claim_templates;
    Ok(Some(match templates {
        Some(templates) => Splice {
            range: range_in(text, templates.get()),
            text: old.to_owned(),
        },
        None => first_member(text, spec.get(), "volumeClaimTemplates", old),
    }))
}

/// `metadata.annotations` with the edits applied.
fn annotate(text: &str, object: &Object<'_>, edits: &[Edit]) -> Result<Option<Splice>, serde_json::Error> {
    let touches = |edit: &Edit| !matches!(edit, Edit::RestoreTemplates);
    let Some(metadata) = object.metadata.filter(|_| edits.iter().any(touches)) else {
        return Ok(None);
    };
    let annotations = serde_json::from_str::<Metadata<'_>>(metadata.get())?.annotations;
    let pairs = match annotations {
        Some(annotations) => serde_json::from_str::<Option<Pairs<'_>>>(annotations.get())?.unwrap_or_default(),
        None => Pairs::default(),
    };
    let map = pairs.edited(edits);
    Ok(Some(match annotations {
        Some(annotations) => Splice {
            range: range_in(text, annotations.get()),
            text: map,
        },
        None => first_member(text, metadata.get(), "annotations", &map),
    }))
}

/// A member that an object does not have yet, put before its others.
fn first_member(text: &str, object: &str, key: &str, value: &str) -> Splice {
    let start = range_in(text, object).start + 1;
    let empty = object[1..].trim_start().starts_with('}');
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

/// The members of an object of strings: the key decoded, key and value as they were written.
#[derive(Default)]
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl Pairs<'_> {
    /// The object's text with the edits applied: in place where the key is there, else at the end.
    fn edited(&self, edits: &[Edit]) -> String {
        let mut map = String::from("{");
        let mut write = |key: &str, value: &dyn Fn(&mut String)| {
            if map.len() > 1 {
                map.push(',');
            }
            json::write_string(key, &mut map);
            map.push(':');
            value(&mut map);
        };
        let concerns = |key: &str| {
            edits.iter().find(|edit| match edit {
                Edit::SetAnnotation(name, _) | Edit::RemoveAnnotation(name) => *name == key,
                Edit::RestoreTemplates => false,
            })
        };
        for (key, raw) in &self.0 {
            match concerns(key) {
                Some(Edit::SetAnnotation(_, value)) => write(key, &|map| json::write_string(value, map)),
                Some(_) => {}
                None => write(key, &|map| map.push_str(raw.get())),
            }
        }
        for edit in edits {
            if let Edit::SetAnnotation(key, value) = edit
                && !self.0.iter().any(|(found, _)| found == key)
            {
                write(key, &|map| json::write_string(value, map));
            }
        }
        map.push('}');
        map
    }
}

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    pairs.push((key, map.next_value()?));
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(Members)
    }
}
