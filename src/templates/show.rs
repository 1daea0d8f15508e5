//! Names and values for people: of bounded length, without characters that a terminal obeys.

use super::diff::{Change, Diff};

/// The longest value that is shown as it is.
const MAX_VALUE: usize = 48;

/// The longest path that is shown as it is.
const MAX_FIELD: usize = 128;

/// Cuts a text to a number of characters, the last of which is then an ellipsis.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    // Most are short enough even if each byte were a character.
    if text.len() <= most || text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// A value for people: control characters escaped, cut to a length at which it can still be recognised.
#[must_use]
pub fn shown(value: &str) -> String {
    cut(&printable(value), MAX_VALUE)
}

/// The path of a template, as messages name it.
#[must_use]
pub fn path_of(template: &str) -> String {
    format!("spec.volumeClaimTemplates[{}]", shown(template))
}

/// A path below a template.
#[must_use]
pub fn path(template: &str, field: &str) -> String {
    format!("{}.{}", path_of(template), cut(&printable(field), MAX_FIELD))
}

/// A text without characters that a terminal obeys.
#[must_use]
pub fn printable(text: &str) -> String {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~');
    if text.as_bytes().iter().all(is_plain) || !text.chars().any(is_unprintable) {
        return text.to_owned();
    }
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unprintable(character) {
            printable.extend(character.escape_unicode());
        } else {
            printable.push(character);
        }
    }
    printable
}

/// Control characters, and those that turn the direction of a text.
fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Every change of the templates that both lists have, in a few words each: `data 10Gi -> 20Gi`.
#[must_use]
pub fn in_short(diff: &Diff) -> Vec<String> {
    let mut all = Vec::new();
    for change in &diff.changed {
        let template = shown(&change.template);
        all.extend(change.changes.iter().map(|one| change_in_short(&template, one)));
        all.extend(
            change
                .frozen
                .iter()
                .map(|one| format!("{template} {}", shown(&one.field))),
        );
    }
    all
}

fn change_in_short(template: &str, change: &Change) -> String {
    let arrow = |from: Option<String>, to: Option<String>| {
        let word = |value: Option<String>| value.map_or_else(|| "none".to_owned(), |value| shown(&value));
        format!("{} -> {}", word(from), word(to))
    };
    match change {
        Change::Storage { from, to } => {
            let sizes = arrow(from.map(|q| q.to_string()), to.map(|q| q.to_string()));
            format!("{template} {sizes}")
        }
        Change::VolumeAttributesClass { from, to } => format!("{template} class {}", arrow(from.clone(), to.clone())),
        Change::Label(one) | Change::Annotation(one) => {
            let kind = if matches!(change, Change::Label(_)) {
                "label"
            } else {
                "annotation"
            };
            let (key, values) = (shown(&one.key), arrow(one.from.clone(), one.to.clone()));
            format!("{template} {kind} {key} {values}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{cut, path, shown};

    #[test]
    fn what_is_shown_has_no_control_or_direction_characters_and_an_end() {
        assert_eq!(shown("a\nb\u{202e}c"), "a\\u{a}b\\u{202e}c");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut("…öäü", 4), "…öäü", "characters count, not bytes");
        let long = path(&"t".repeat(100), &"f".repeat(1000));
        assert_eq!(long.chars().count(), "spec.volumeClaimTemplates[].".len() + 48 + 128);
    }
}
