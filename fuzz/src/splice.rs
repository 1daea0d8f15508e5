//! Target `splice`: reviews in unusual spellings, and the spelling of the mutated object.
//!
//! serde_json's `RawValue` parses the texts, independently of our reader.

use std::fmt;
use std::ops::Range;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::admit::{STAGED, came_staged};
use crate::answer::Answer;
use crate::bytes::Bytes;
use crate::generated::case;
use crate::generated::spelling::spelt;

/// The values that an edit may replace, as paths. All other bytes must stay.
const EDITED: [&[&str]; 4] = [
    &["metadata", "annotations"],
    &["spec", "volumeClaimTemplates"],
    &["metadata", "finalizers"],
    &["spec", "updateStrategy", "rollingUpdate", "partition"],
];

/// Decides one review in an unusual spelling.
///
/// # Laws
/// * All bytes outside of the edits stay, unknown fields included.
/// * Restored templates are those of the old object, byte for byte, or those of the staged change of a created object
///   with its own immutable fields.
/// * In an edited map, all other entries keep their text and their order.
pub fn splice(data: &[u8]) {
    let mut choices = Bytes(data);
    let case = case(&mut choices);
    let payload = spelt(&case.payload(), &mut choices);
    let Some(answer) = Answer::to(payload.as_bytes(), || case.cluster.clone()) else {
        return;
    };
    // PVCs are edited in other places. The target `admit` checks them.
    if answer.mutated().is_none() || case.request["kind"]["kind"] != "StatefulSet" {
        return;
    }
    let part = |text: &'static str| member(&payload, &["request", text]).map(|range| &payload[range]);
    let (object, old) = (part("object").expect("an object"), part("oldObject").unwrap_or("null"));
    let mutated = member(&answer.text, &["mutated_object"]).expect("a changed object");
    let is_created = case.request["operation"] == "CREATE";
    check(object, old, &answer.text[mutated], is_created.then_some(object));
}

/// `staged` is the object whose staged templates the mutated one may have.
fn check(object: &str, old: &str, mutated: &str, staged: Option<&str>) {
    assert_eq!(
        outline(mutated, object),
        outline(object, object),
        "other bytes than those of an edit changed: {object} became {mutated}"
    );
    let [before, after, restored] = [object, mutated, old].map(|set| member(set, EDITED[1]).map(|range| &set[range]));
    let came_staged = || {
        let annotations = staged.and_then(|set| Some(&set[member(set, EDITED[0])?]));
        let annotations = annotations.and_then(|text| serde_json::from_str::<Value>(text).ok());
        let staged = annotations
            .as_ref()
            .and_then(|annotations| annotations[STAGED].as_str());
        came_staged(staged, [before, after].map(|text| text.unwrap_or("null")))
    };
    assert!(
        after == before || after == Some(restored.unwrap_or("null")) || came_staged(),
        "templates of neither object: {object} became {mutated}"
    );
    let others = |set: &str| {
        let annotations = member(set, EDITED[0]).map_or("{}", |range| &set[range]);
        let entries = members(annotations).unwrap_or_default().into_iter();
        let others = entries.filter(|(key, _)| !key.starts_with("claim-rollout.io/"));
        others
            .map(|(key, range)| (key, annotations[range].to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(others(mutated), others(object), "other annotations changed: {object}");
}

/// The text without the values that may be edited, and without their members if `original` does not have them.
fn outline(text: &str, original: &str) -> String {
    let mut cuts: Vec<Range<usize>> = Vec::new();
    for path in EDITED {
        let Some(value) = member(text, path) else {
            continue;
        };
        if member(original, path).is_some() {
            cuts.push(value);
            continue;
        }
        // An added member comes first, with a comma unless it is the only one.
        let key = format!("\"{}\":", path[path.len() - 1]);
        let start = value.start - key.len();
        assert_eq!(&text[start..value.start], key, "a member in an unusual place: {text}");
        let comma = usize::from(text[value.end..].starts_with(','));
        cuts.push(start..value.end + comma);
    }
    cuts.sort_by_key(|cut| cut.start);
    let mut outline = String::new();
    let mut done = 0;
    for cut in cuts {
        outline.push_str(&text[done..cut.start]);
        done = cut.end;
    }
    outline + &text[done..]
}

/// The range of the value at a path. Of equal keys the last one counts, as in an API server.
fn member(text: &str, path: &[&str]) -> Option<Range<usize>> {
    let mut here = 0..text.len();
    for step in path {
        let all = members(&text[here.clone()])?;
        let (_, range) = all.into_iter().rev().find(|(key, _)| key == step)?;
        here = here.start + range.start..here.start + range.end;
    }
    Some(here)
}

/// The keys of an object and the ranges of their values; `None` if the text is not an object.
fn members(text: &str) -> Option<Vec<(String, Range<usize>)>> {
    let Members(members) = serde_json::from_str(text).ok()?;
    let place = |raw: &RawValue| {
        let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
        start..start + raw.get().len()
    };
    Some(members.into_iter().map(|(key, raw)| (key, place(raw))).collect())
}

/// The members of an object in their order, with the text of each value.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> serde::Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}
