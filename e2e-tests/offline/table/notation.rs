//! The notation of expected answers:
//!
//! | answer | means |
//! |---|---|
//! | `pass` | the request passes unchanged |
//! | `mutate templates staged:InPlace` | the live templates stay, the requested ones are staged under this policy |
//! | `mutate templates staged:InPlace[data=20Gi,logs=5Gi]` | … these templates are staged instead |
//! | `mutate restored -staged` | the staged templates become the live ones |
//! | `mutate kept`, `-staged` | the staged change is restored, or removed |
//! | `phase=Staged`, `-phase`, `ready=…`, `-ready`, `-withdraw` | an annotation is written, or removed |
//! | `storage=20Gi class=gold label:k=v -label:k annotation:k=v -annotation:k revision` | a PVC is changed |
//! | `-finalizer`, `-partition` | what the controller wrote for a replacement is removed |
//! | `by:annotation` | the reason of a withdrawal in the audit log |
//! | `who lookups=4` | one SubjectAccessReview, whether the requester may patch PVCs, and four lookups of objects |
//! | `who:delete-statefulsets.apps` | a SubjectAccessReview for another right |
//! | `order:data-web-2,standard` | the names of the objects that are looked up, in this order |
//! | `warns "…" "…"` | these are all warnings; a part of each is enough |
//! | `deny 403 "…" "…"` | the message has all of these parts |
//!
//! Every other difference between the object of the request and the mutated one is written as `!/path`, which no row
//! expects.

use std::fmt;

use serde_json::Value;

use super::case::{Answer, Case, Guest, Lookup};
use super::changes::ensure;
use super::staged_change;

impl Case {
    /// The answer in words, or the error.
    pub(super) fn check(&self, guest: Option<&Guest<'_>>) -> Result<Found, String> {
        let found = found(self, &self.answer(guest)?)?;
        let fault = compare(&self.expected, &found);
        fault.map_or(Ok(()), Err)?;
        Ok(found)
    }
}

/// The answer: its words in order, and its messages.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    pub(super) words: Vec<String>,
    pub(super) messages: Vec<String>,
    /// The names of the objects that were looked up.
    order: Vec<String>,
}

/// The answer in words, if it keeps the rules for every answer: complete, with short messages of one line each.
fn found(case: &Case, answer: &Answer) -> Result<Found, String> {
    let json = &answer.json;
    let strings = |value: &Value| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let mut found = Found::default();
    if json["accepted"] == false {
        let fields = json.as_object().into_iter().flatten();
        let present: Vec<&String> = fields
            .filter(|(_, value)| !value.is_null())
            .map(|(key, _)| key)
            .collect();
        ensure(
            present == ["accepted", "code", "message"],
            "a denial has a code and a message, nothing else",
        )?;
        found.words.push(format!("deny {}", json["code"]));
        found.messages = json["message"].as_str().map(str::to_owned).into_iter().collect();
    } else {
        ensure(json["accepted"] == true, "it is accepted or denied")?;
        ensure(
            json["message"].is_null() && json["code"].is_null(),
            "what is accepted has no message",
        )?;
        let (object, mutated) = (
            &case.request["object"],
            Some(&json["mutated_object"]).filter(|object| !object.is_null()),
        );
        ensure(mutated != Some(object), "a mutated object differs")?;
        found
            .words
            .push(if mutated.is_some() { "mutate" } else { "pass" }.to_owned());
        let edits = mutated
            .map(|mutated| staged_change::edits(case, mutated, json))
            .transpose()?;
        found.words.extend(edits.unwrap_or_default());
        found.words.extend(audit(json)?);
        found.messages = strings(&json["warnings"]);
    }
    asked(case, &answer.asked, &mut found)?;
    let most = if json["accepted"] == false { 2048 } else { 256 };
    for line in &found.messages {
        ensure(
            line.starts_with("claim-rollout: "),
            "a line begins with the name of the program",
        )?;
        ensure(line.chars().count() <= most, "a line is short")?;
        ensure(!line.chars().any(char::is_control), "a line is a line")?;
    }
    let warned = strings(&json["warnings"]);
    let all: usize = warned.iter().map(|line| line.chars().count()).sum();
    ensure(all <= 4096, "all warnings together are short")?;
    Ok(found)
}

/// The audit annotations, except for revisions.
fn audit(json: &Value) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    for (key, value) in json["audit_annotations"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        match key.as_str() {
            "withdrawn-by" => words.push(format!("by:{}", value.replace(' ', "-"))),
            "revision" | "withdrawn" => ensure(value.len() == 10, "a revision has ten characters")?,
            _ => return Err(format!("unexpected {key} in the audit log")),
        }
    }
    Ok(words)
}

/// The lookups. Fails if there are more than the settings allow, or if the rights are not those of the requester.
fn asked(case: &Case, asked: &[Lookup], found: &mut Found) -> Result<(), String> {
    let mut claims = 0;
    for lookup in asked {
        match lookup {
            Lookup::Right { right, of_requester } => {
                ensure(*of_requester, "it is asked about the requester only")?;
                let word = match &**right {
                    "patch-persistentvolumeclaims" => "who".to_owned(),
                    other => format!("who:{other}"),
                };
                found.words.push(word);
            }
            Lookup::Object { kind, name, is_here } => {
                ensure(*is_here, "objects are looked up in the namespace of the request")?;
                claims += u64::from(kind == "PersistentVolumeClaim");
                found.order.push(name.clone());
            }
        }
    }
    let most = case.settings["maxPVCLookups"].as_u64().unwrap_or(20);
    ensure(claims <= most, "no more claims are looked up than the setting allows")?;
    if !found.order.is_empty() {
        found.words.push(format!("lookups={}", found.order.len()));
    }
    Ok(())
}

/// The answer, if it is not the expected one.
fn compare(expected: &str, found: &Found) -> Option<String> {
    let (mut words, mut messages) = (Vec::new(), Vec::new());
    for (index, part) in expected.split('"').enumerate() {
        if index % 2 == 1 {
            messages.push(part);
        } else {
            words.extend(part.split_whitespace().filter(|word| *word != "warns"));
        }
    }
    let (order, mut words): (Vec<_>, Vec<_>) = words.into_iter().partition(|word: &&str| word.starts_with("order:"));
    let found_order = format!("order:{}", found.order.join(","));
    let other_order = order.iter().any(|order| *order != found_order);
    let text = found.words.join(" ");
    let mut found_words: Vec<&str> = text.split_whitespace().collect();
    words.sort_unstable();
    found_words.sort_unstable();
    let denied = found_words.contains(&"deny");
    let same_messages = if denied {
        !messages.is_empty()
            && messages
                .iter()
                .all(|part| found.messages.iter().any(|line| line.contains(part)))
    } else {
        messages.len() == found.messages.len()
            && messages
                .iter()
                .zip(&found.messages)
                .all(|(part, line)| line.contains(part))
    };
    let fault = || {
        if other_order {
            format!("{found} {found_order}")
        } else {
            found.to_string()
        }
    };
    (words != found_words || !same_messages || other_order).then(fault)
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.join(" "))?;
        if !self.messages.is_empty() && self.words.iter().all(|word| !word.starts_with("deny")) {
            f.write_str(" warns")?;
        }
        self.messages.iter().try_for_each(|line| write!(f, " \"{line}\""))
    }
}
