//! Names and values in messages: short, and without characters that control a terminal.

/// The longest value that is not cut.
const MAX_VALUE: usize = 48;

/// The longest name that is not cut. A user who is to get a right must be readable.
const MAX_NAME: usize = 128;

/// Cuts a text to at most `most` characters. The last one is then an ellipsis.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    // The fast path: a text has at most as many characters as bytes.
    if text.len() <= most || text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// A value for messages: escaped and cut.
#[must_use]
pub fn shown(value: &str) -> String {
    cut(&printable(value), MAX_VALUE)
}

/// The name of a field, user or namespace for messages: escaped and cut, but later than a value.
#[must_use]
pub fn shown_name(name: &str) -> String {
    cut(&printable(name), MAX_NAME)
}

/// The path of a template, for messages.
#[must_use]
pub fn path_of(template: &str) -> String {
    format!("spec.volumeClaimTemplates[{}]", shown(template))
}

/// The path of a field of a template, for messages.
#[must_use]
pub fn path(template: &str, field: &str) -> String {
    format!("{}.{}", path_of(template), shown_name(field))
}

/// The text with control characters escaped.
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

/// True for control characters and for characters that change the direction of a text.
fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::{cut, path, shown};

    #[test]
    fn shown_value_is_escaped_and_cut() {
        assert_eq!(shown("a\nb\u{202e}c"), "a\\u{a}b\\u{202e}c");
        // Unicode's property Bidi_Control.
        let all = [
            '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}',
        ];
        for control in all {
            assert!(shown(&control.to_string()).is_ascii(), "{control:?}");
        }
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut("…öäü", 4), "…öäü", "characters count, not bytes");
        let long = path(&"t".repeat(100), &"f".repeat(1000));
        assert_eq!(long.chars().count(), "spec.volumeClaimTemplates[].".len() + 48 + 128);
    }
}
