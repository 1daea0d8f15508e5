//! Verdicts in a few words, so that a row can be read:
//!
//! | verdict | means |
//! |---|---|
//! | `pass` | it goes on as it came |
//! | `divert templates staged:InPlace` | the old templates are put back, and what was asked for is staged under this policy, the phase beside it |
//! | `divert templates staged:InPlace[data=20Gi,logs=5Gi]` | … and what is staged is not what was asked for, but this |
//! | `divert restored -staged` | the templates of a record that came along are put in place |
//! | `divert kept`, `-staged` | the record is put back as it was, or taken away |
//! | `phase=Staged`, `-phase`, `ready=…`, `-ready`, `-withdraw` | an annotation is written, or taken away |
//! | `storage=20Gi class=gold label:k=v -label:k annotation:k=v -annotation:k revision` | a claim is written |
//! | `by:annotation` | why the audit log says that a change was withdrawn |
//! | `who looks=4` | it was asked who may, and four objects were looked up |
//! | `warns "…" "…"` | these are the warnings, one for one; a part of each is enough |
//! | `refuse 403 "…" "…"` | the message has all of these parts |
//!
//! Whatever else differs between the object of the request and the one that goes back is written as `!/path`, which no
//! row expects.

use std::fmt;

use serde_json::Value;

use super::case::{Answer, Case};
use super::staged_change;

/// What was found: the words of the verdict in their order, and what was said.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    pub(super) words: Vec<String>,
    pub(super) said: Vec<String>,
}

/// A place where two values differ.
pub(super) struct Change<'a> {
    pub(super) path: Vec<String>,
    pub(super) before: Option<&'a Value>,
    pub(super) after: Option<&'a Value>,
}

impl Change<'_> {
    /// As a JSON pointer.
    pub(super) fn path(&self) -> String {
        let escaped = |segment: &String| segment.replace('~', "~0").replace('/', "~1");
        self.path
            .iter()
            .map(|segment| format!("/{}", escaped(segment)))
            .collect()
    }
}

/// Where two values differ, down to what is not an object on both sides; an object beside nothing is compared with an
/// empty one.
pub(super) fn changes<'a>(before: &'a Value, after: &'a Value) -> Vec<Change<'a>> {
    let mut changes = Vec::new();
    descend(Some(before), Some(after), &mut Vec::new(), &mut changes);
    changes
}

fn descend<'a>(
    before: Option<&'a Value>,
    after: Option<&'a Value>,
    path: &mut Vec<String>,
    changes: &mut Vec<Change<'a>>,
) {
    let fields = |value: Option<&'a Value>| value.and_then(Value::as_object).filter(|fields| !fields.is_empty());
    let is_map = |value: Option<&Value>| value.is_none_or(|value| value.is_null() || value.is_object());
    let (old, new) = (fields(before), fields(after));
    if before == after {
        return;
    }
    if !is_map(before) || !is_map(after) || (old.is_none() && new.is_none()) {
        return changes.push(Change {
            path: path.clone(),
            before,
            after,
        });
    }
    let keys = old.iter().chain(&new).flat_map(|fields| fields.keys());
    let mut keys: Vec<&String> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        path.push(key.clone());
        descend(
            old.and_then(|old| old.get(key)),
            new.and_then(|new| new.get(key)),
            path,
            changes,
        );
        path.pop();
    }
}

/// The answer in words, if it is one that anybody may get: bounded, on one line, in one piece.
pub(super) fn found(case: &Case, answer: &Answer) -> Result<Found, String> {
    let told = &answer.told;
    let strings = |value: &Value| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let mut found = Found::default();
    if told["accepted"] == false {
        let keys: Vec<&String> = told.as_object().into_iter().flat_map(|fields| fields.keys()).collect();
        ensure(
            keys == ["accepted", "code", "message"],
            "a refusal has a code and a message, nothing else",
        )?;
        found.words.push(format!("refuse {}", told["code"]));
        found.said = told["message"].as_str().map(str::to_owned).into_iter().collect();
    } else {
        ensure(told["accepted"] == true, "it is accepted or refused")?;
        ensure(
            told.get("message").is_none() && told.get("code").is_none(),
            "what is accepted has no message",
        )?;
        let (object, mutated) = (&case.request["object"], told.get("mutated_object"));
        ensure(mutated != Some(object), "an object that goes back differs")?;
        found
            .words
            .push(if mutated.is_some() { "divert" } else { "pass" }.to_owned());
        let edits = mutated
            .map(|mutated| staged_change::edits(case, mutated, told))
            .transpose()?;
        found.words.extend(edits.unwrap_or_default());
        found.words.extend(audit(told)?);
        found.said = strings(&told["warnings"]);
    }
    found.words.extend(asked(case, &answer.asked)?);
    let most = if told["accepted"] == false { 2048 } else { 256 };
    for line in &found.said {
        ensure(line.starts_with("claim-rollout: "), "a line says who speaks")?;
        ensure(line.chars().count() <= most, "a line is short")?;
        ensure(!line.chars().any(char::is_control), "a line is a line")?;
    }
    let warned = strings(&told["warnings"]);
    let all: usize = warned.iter().map(|line| line.chars().count()).sum();
    ensure(all <= 4096, "all warnings together are short")?;
    Ok(found)
}

/// What the audit log has beside the revision.
fn audit(told: &Value) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    for (key, value) in told["audit_annotations"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        match key.as_str() {
            "withdrawn-by" => words.push(format!("by:{}", value.replace(' ', "-"))),
            "revision" | "withdrawn" => ensure(value.len() == 10, "a revision has ten characters")?,
            _ => return Err(format!("nobody expects {key} in the audit log")),
        }
    }
    Ok(words)
}

/// What was asked, and that it was not more than is allowed.
fn asked(case: &Case, asked: &[String]) -> Result<Vec<String>, String> {
    let looks: Vec<&String> = asked.iter().filter(|line| line.starts_with("get ")).collect();
    let claims = looks
        .iter()
        .filter(|line| line.starts_with("get PersistentVolumeClaim "))
        .count();
    let most = case.settings["maxPVCLookups"].as_u64().unwrap_or(20);
    ensure(
        claims as u64 <= most,
        "no more claims are looked up than the setting allows",
    )?;
    let who: Vec<&String> = asked.iter().filter(|line| line.starts_with("can ")).collect();
    let user = case.request["userInfo"]["username"].as_str().unwrap_or_default();
    let about_requester = who.iter().all(|line| **line == format!("can {user} patch"));
    ensure(
        who.len() <= 1 && about_requester,
        "it is asked once, and about the requester only",
    )?;
    let mut words: Vec<String> = who.iter().map(|_| "who".to_owned()).collect();
    words.extend((!looks.is_empty()).then(|| format!("looks={}", looks.len())));
    Ok(words)
}

/// What differs from what was expected, if anything does.
pub(super) fn compare(expected: &str, found: &Found) -> Option<String> {
    let (mut words, mut said) = (Vec::new(), Vec::new());
    for (index, part) in expected.split('"').enumerate() {
        if index % 2 == 1 {
            said.push(part);
        } else {
            words.extend(part.split_whitespace().filter(|word| *word != "warns"));
        }
    }
    let text = found.words.join(" ");
    let mut found_words: Vec<&str> = text.split_whitespace().collect();
    words.sort_unstable();
    found_words.sort_unstable();
    let refused = found_words.contains(&"refuse");
    let as_said = if refused {
        !said.is_empty()
            && said
                .iter()
                .all(|part| found.said.iter().any(|line| line.contains(part)))
    } else {
        said.len() == found.said.len() && said.iter().zip(&found.said).all(|(part, line)| line.contains(part))
    };
    (words != found_words || !as_said).then(|| found.to_string())
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.join(" "))?;
        if !self.said.is_empty() && self.words.iter().all(|word| !word.starts_with("refuse")) {
            f.write_str(" warns")?;
        }
        self.said.iter().try_for_each(|line| write!(f, " \"{line}\""))
    }
}

pub(super) fn ensure(holds: bool, what: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!("expected that {what}"))
    }
}
