//! The warnings of the API server, and how kubectl prints them: `Warning: …` on standard error, each once.
//!
//! They are in a header of the response (RFC 7234, section 5.5), which the client does not pass on.

use std::collections::HashSet;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::Response;
use axum::http::header::WARNING;

use crate::templates::show::printable;

/// The warn-code of miscellaneous warnings for the user.
const MISCELLANEOUS: &str = "299 ";

/// Prints warnings. Clones share the list of those that were printed already.
#[derive(Clone, Debug)]
pub(crate) struct Warnings {
    shown: Arc<Mutex<HashSet<String>>>,
    heading: &'static str,
}

impl Warnings {
    /// Prints to the standard error of this process.
    pub(crate) fn to_stderr() -> Self {
        let coloured = stderr().is_terminal() && super::output::allows_colours();
        Self {
            shown: Arc::default(),
            heading: if coloured {
                "\x1b[33;1mWarning:\x1b[0m"
            } else {
                "Warning:"
            },
        }
    }

    /// Prints the warnings of a response, and returns the response.
    pub(crate) fn show<B>(&self, response: Response<B>) -> Response<B> {
        for line in self.new_lines(&response) {
            // A closed standard error does not change the response.
            writeln!(stderr(), "{line}").ok();
        }
        response
    }

    fn new_lines<B>(&self, response: &Response<B>) -> Vec<String> {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        of(response)
            .into_iter()
            .filter(|text| shown.insert(text.clone()))
            .map(|text| format!("{} {}", self.heading, printable(&text)))
            .collect()
    }
}

/// The warnings of a response.
pub(crate) fn of<B>(response: &Response<B>) -> Vec<String> {
    let headers = response.headers().get_all(WARNING).iter();
    headers
        .filter_map(|header| std::str::from_utf8(header.as_bytes()).ok())
        .flat_map(texts)
        .collect()
}

/// The texts of a header: `299 - "one", 299 - "two"`. Malformed parts are left out.
fn texts(header: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = header;
    while let Some(start) = rest.find('"') {
        let (before, quoted) = rest.split_at(start);
        let before = before.trim_start_matches([',', ' ']);
        let Some((text, after)) = unquote(quoted) else {
            break;
        };
        if before.starts_with(MISCELLANEOUS) {
            found.push(text);
        }
        rest = after;
    }
    found
}

/// The text of a quoted string, and what comes after it.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut characters = quoted.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((text, &quoted[at + 1..])),
            '\\' => text.push(characters.next()?.1),
            other => text.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use axum::http::Response;

    use super::{Warnings, texts};

    #[test]
    fn texts_reads_any_number_of_warnings() {
        for (header, expected) in [
            (r#"299 - "one""#, &["one"][..]),
            (r#"299 kube-apiserver "one", 299 - "two""#, &["one", "two"]),
            (r#"299 - "quote \"no\" \\ more""#, &[r#"quote "no" \ more"#]),
            (r#"299 - "dated" "Sat, 25 Aug 2012 23:34:45 GMT""#, &["dated"]),
            (r#"110 - "stale", 299 - "one""#, &["one"]),
            (r#"299 - "no end"#, &[]),
            (r"299 - \", &[]),
            ("", &[]),
        ] {
            assert_eq!(texts(header), expected, "{header}");
        }
    }

    #[test]
    fn warnings_are_shown_once_without_control_characters() {
        let warnings = Warnings {
            shown: std::sync::Arc::default(),
            heading: "Warning:",
        };
        let response = Response::builder()
            .header("Warning", r#"299 - "one""#)
            .header("Warning", r#"299 - "one", 299 - "two""#)
            .header("Warning", "299 - \"red \u{9b}31m\"".as_bytes())
            .body(())
            .expect("a response");
        assert_eq!(
            warnings.new_lines(&response),
            ["Warning: one", "Warning: two", "Warning: red \\u{9b}31m"]
        );
        assert_eq!(warnings.clone().new_lines(&response), Vec::<String>::new());
    }
}
