//! What the user reads: one line each, of bounded length, nothing of the payload but names, paths and two values.

use std::fmt::Write;

use crate::templates::{Change, Diff, UpdatePolicy, diff};

/// The API server cuts a warning here.
pub const MAX_WARNING: usize = 256;

/// What every line begins with, so that a user sees who speaks.
pub const SPEAKER: &str = "claim-rollout: ";

/// The longest value that is shown as it is.
const MAX_VALUE: usize = 48;

/// The longest refusal; it may name many paths.
const MAX_REFUSAL: usize = 2048;

/// Cuts a text to a number of characters, the last of which is then an ellipsis.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// A value for people: control characters escaped, cut to a length at which it can still be recognised.
#[must_use]
pub fn shown(value: &str) -> String {
    cut(&printable(value), MAX_VALUE)
}

fn printable(text: &str) -> String {
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

/// A refusal, in one line and cut to a bounded length, whatever names it quotes.
#[must_use]
pub fn refusal(text: &str) -> String {
    cut(&printable(&format!("{SPEAKER}{text}")), MAX_REFUSAL)
}

/// The line that says what was staged and what will happen.
#[must_use]
pub fn staged(set: &str, diff: &Diff, replicas: i64, policy: UpdatePolicy) -> String {
    let changes: Vec<String> = diff
        .changed
        .iter()
        .flat_map(|change| change.changes.iter().map(|one| summary(&change.template, one)))
        .collect();
    let mut line = format!("{SPEAKER}staged ");
    // Where all do not fit, the first few and a count say more than a line that breaks off.
    let room = 96;
    let mut used = 0;
    for (index, change) in changes.iter().enumerate() {
        let length = change.chars().count() + 2;
        if index > 0 && used + length > room {
            let _ = write!(line, ", and {} more", changes.len() - index);
            break;
        }
        if index > 0 {
            line.push_str(", ");
        }
        line.push_str(change);
        used += length;
    }
    match policy {
        UpdatePolicy::InPlace => {
            let claims = i64::try_from(diff.changed.len())
                .unwrap_or(i64::MAX)
                .saturating_mul(replicas);
            let plural = if claims == 1 { "claim" } else { "claims" };
            let _ = write!(
                line,
                "; {claims} {plural} will be updated in place, highest ordinal first (kubectl claim-rollout status {})",
                shown(set)
            );
        }
        _ => line.push_str(
            "; existing claims stay as they are (annotation claim-rollout.io/update-policy: InPlace updates them)",
        ),
    }
    cut(&line, MAX_WARNING)
}

/// One change in a few words: `data 10Gi -> 20Gi`.
fn summary(template: &str, change: &Change) -> String {
    let template = shown(template);
    let arrow = |from: Option<String>, to: Option<String>| {
        let word = |value: Option<String>| value.map_or_else(|| "none".to_owned(), |value| shown(&value));
        format!("{} -> {}", word(from), word(to))
    };
    match change {
        Change::Storage { from, to } => {
            format!(
                "{template} {}",
                arrow(from.map(|q| q.to_string()), to.map(|q| q.to_string()))
            )
        }
        Change::VolumeAttributesClass { from, to } => format!("{template} class {}", arrow(from.clone(), to.clone())),
        Change::Label(one) => format!(
            "{template} label {} {}",
            shown(&one.key),
            arrow(one.from.clone(), one.to.clone())
        ),
        Change::Annotation(one) => {
            format!(
                "{template} annotation {} {}",
                shown(&one.key),
                arrow(one.from.clone(), one.to.clone())
            )
        }
    }
}

/// The path of a template, safe to show.
#[must_use]
pub fn path_of_template(template: &str) -> String {
    diff::path_of(&shown(template))
}

/// A path below a template, safe to show.
#[must_use]
pub fn path(template: &str, field: &str) -> String {
    format!("{}.{}", path_of_template(template), cut(&printable(field), 128))
}

#[cfg(test)]
mod tests {
    use super::{MAX_WARNING, cut, shown, staged};
    use crate::templates::{Change, Diff, TemplateChange, UpdatePolicy};

    fn growth(template: &str) -> TemplateChange {
        let quantity = |text: &str| Some(text.parse().expect("a quantity"));
        TemplateChange {
            template: template.to_owned(),
            changes: vec![Change::Storage {
                from: quantity("10Gi"),
                to: quantity("20Gi"),
            }],
            frozen: vec![],
        }
    }

    #[test]
    fn the_warning_says_what_was_staged_and_what_will_happen() {
        let diff = Diff {
            changed: vec![growth("data")],
            ..Diff::default()
        };
        assert_eq!(
            staged("web", &diff, 3, UpdatePolicy::InPlace),
            "claim-rollout: staged data 10Gi -> 20Gi; 3 claims will be updated in place, highest ordinal first \
             (kubectl claim-rollout status web)"
        );
        assert_eq!(
            staged("web", &diff, 3, UpdatePolicy::OnClaimDelete),
            "claim-rollout: staged data 10Gi -> 20Gi; existing claims stay as they are \
             (annotation claim-rollout.io/update-policy: InPlace updates them)"
        );
    }

    #[test]
    fn a_warning_is_never_longer_than_the_api_server_lets_through() {
        let changed: Vec<_> = (0..50)
            .map(|index| growth(&format!("a-template-with-a-long-name-{index}")))
            .collect();
        let diff = Diff {
            changed,
            ..Diff::default()
        };
        for policy in UpdatePolicy::ALL {
            let line = staged(&"w".repeat(63), &diff, i64::MAX, policy);
            assert!(line.chars().count() <= MAX_WARNING, "{line}");
            assert!(line.contains("more; "), "{line}");
        }
    }

    #[test]
    fn what_is_shown_has_no_control_or_direction_characters_and_an_end() {
        assert_eq!(shown("a\nb\u{202e}c"), "a\\u{a}b\\u{202e}c");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
    }
}
