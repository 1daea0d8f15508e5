//! What the API server warns of, as kubectl shows it: `Warning: …` on standard error, each once.
//!
//! It comes in a header of the answer (RFC 7234, section 5.5), which the client does not hand on.

use std::collections::HashSet;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::Response;
use axum::http::header::WARNING;

use crate::templates::show::printable;

/// The code of what is for the user to read, whatever caused it.
const MISCELLANEOUS: &str = "299 ";

/// Where warnings go. Clones share what was shown already.
#[derive(Clone, Debug)]
pub(crate) struct Warnings {
    shown: Arc<Mutex<HashSet<String>>>,
    heading: &'static str,
}

impl Warnings {
    /// Onto the standard error of this process.
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

    /// Shows the warnings of an answer, and hands it on as it is.
    pub(crate) fn tell<B>(&self, response: Response<B>) -> Response<B> {
        for line in self.new_lines(&response) {
            // Nobody may be listening; the answer counts all the same.
            writeln!(stderr(), "{line}").ok();
        }
        response
    }

    fn new_lines<B>(&self, response: &Response<B>) -> Vec<String> {
        let headers = response.headers().get_all(WARNING).iter();
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        headers
            .filter_map(|header| std::str::from_utf8(header.as_bytes()).ok())
            .flat_map(texts)
            .filter(|text| shown.insert(text.clone()))
            .map(|text| format!("{} {}", self.heading, printable(&text)))
            .collect()
    }
}

/// The texts of a header: `299 - "one", 299 - "two"`. What is none is left out.
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
    fn a_header_holds_any_number_of_warnings() {
        for (header, expected) in [
            (r#"299 - "one""#, &["one"][..]),
            (r#"299 kube-apiserver "one", 299 - "two""#, &["one", "two"]),
            (r#"299 - "say \"no\" \\ more""#, &[r#"say "no" \ more"#]),
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
    fn each_is_shown_once_and_cannot_command_the_terminal() {
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
