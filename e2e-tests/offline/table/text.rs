//! The cases that are texts: `cases/*.txt`, whose notation is in `cases/README.md`. A fault names the file and the line.

use super::case::Case;
use super::objects::web;
use super::words::{changed, inside, of_objects, split, surrounded};

/// What holds for the rows below it.
#[derive(Default)]
struct Section {
    /// Short names for texts.
    names: Vec<(String, String)>,
    all: String,
    /// What differs between the cases of a row; none if a row is one case.
    each: Vec<String>,
}

/// The cases of a file. Panics with the file, the line and the fault.
pub(super) fn cases(file: &str, text: &'static str) -> Vec<Case> {
    let mut section = Section::default();
    let mut cases = Vec::new();
    for (number, first, whole) in statements(text) {
        match section.statement(first, &whole) {
            Ok(row) => cases.extend(row),
            Err(fault) => panic!("{file}:{number}: {fault}"),
        }
    }
    cases
}

/// Each statement with the number of its line, its first line, and all of it. An indented line continues the one before.
fn statements(text: &'static str) -> Vec<(usize, &'static str, String)> {
    let mut statements: Vec<(usize, &str, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match statements.last_mut() {
            _ if line.is_empty() || line.starts_with("//") => {}
            Some((.., whole)) if line.starts_with(' ') => *whole = format!("{whole} {}", line.trim()),
            _ => statements.push((index + 1, line, line.to_owned())),
        }
    }
    statements
}

impl Section {
    /// Takes one statement; the cases of a row.
    fn statement(&mut self, first: &'static str, whole: &str) -> Result<Vec<Case>, String> {
        if whole.starts_with("# ") {
            (self.all, self.each) = (String::new(), Vec::new());
            return Ok(Vec::new());
        }
        let whole = self.named(whole)?;
        if let Some(definition) = whole.strip_prefix("let ") {
            let (name, text) = definition.split_once(" = ").ok_or("expected let NAME = text")?;
            let text = match text.strip_prefix("revision of ") {
                Some(words) => changed(web(), inside(words)?)?.revision(),
                None => text.to_owned(),
            };
            let name = format!("${name}");
            let alike = |(known, _): &&(String, String)| known.starts_with(&name) || name.starts_with(known);
            if let Some((known, _)) = self.names.iter().find(alike) {
                return Err(format!("{name} begins like {known}"));
            }
            self.names.push((name, text));
        } else if let Some(all) = whole.strip_prefix("all: ") {
            all.clone_into(&mut self.all);
        } else if let Some(each) = whole.strip_prefix("each: ") {
            self.each = split(each, "|").into_iter().map(str::to_owned).collect();
        } else {
            let (row, _) = first.split_once('|').ok_or("expected a row")?;
            return self.row(row.trim(), &whole);
        }
        Ok(Vec::new())
    }

    /// The text with its names replaced.
    fn named(&self, text: &str) -> Result<String, String> {
        let mut text = text.to_owned();
        for (name, meaning) in &self.names {
            text = text.replace(name, meaning);
        }
        match text.split_once('$') {
            Some((_, rest)) if rest.starts_with(|c: char| c.is_ascii_uppercase()) => {
                Err(format!("no such name: ${rest}"))
            }
            _ => Ok(text),
        }
    }

    /// The case of a row, or each of its cases.
    fn row(&self, row: &'static str, text: &str) -> Result<Vec<Case>, String> {
        let columns = split(text, "|");
        let answers = self.each.len().max(1);
        let [_, sentence, objects, around, expected @ ..] = &*columns else {
            return Err(format!(
                "expected a row of at least 5 columns, but found {}",
                columns.len()
            ));
        };
        if expected.len() != answers {
            return Err(format!("expected {answers} answers, but found {}", expected.len()));
        }
        let case = of_objects(row, sentence, objects)?;
        let case = surrounded(surrounded(case, &self.all)?, around)?;
        if self.each.is_empty() {
            return Ok(vec![case.expects(expected[0])]);
        }
        let each = self.each.iter().zip(expected);
        let one = |(around, expected): (&String, &&str)| {
            let mut one = surrounded(case.clone(), around)?.expects(*expected);
            let (_, position) = around.rsplit_once(' ').unwrap_or_default();
            one.sentence = format!("{sentence} ({position})");
            Ok(one)
        };
        each.map(one).collect()
    }
}

#[test]
fn text_with_a_fault_names_file_and_line() {
    for (text, fault) in [
        ("a", "x.txt:1: expected a row"),
        ("\nU3 | s", "x.txt:2: expected a row of at least 5 columns, but found 2"),
        ("U3 | s | ->\n    | | a | b", "x.txt:1: expected 1 answers, but found 2"),
        (
            "each: mode Stage | shrink Deny\nU3 | s | -> | | a",
            "x.txt:2: expected 2 answers, but found 1",
        ),
        ("U3 | s | -> sise 2Gi | | a", "x.txt:1: no such change: sise"),
        (
            "U3 | s | -> no logs/a/b/c | | a",
            "x.txt:1: /spec/volumeClaimTemplates/1/a/b/c: there is nothing to remove",
        ),
        (
            "U3 | s | -> | pvcCheck Warn | a",
            "x.txt:1: no such setting, and no such part of a request: pvcCheck",
        ),
        ("U3 | s | -> | in (clam a) | a", "x.txt:1: no such object: clam"),
        ("U3 | s | -> $ROLLING | | a", "x.txt:1: no such name: $ROLLING"),
        ("let A = b\nlet AT = c", "x.txt:2: $AT begins like $A"),
    ] {
        let panic = std::panic::catch_unwind(|| cases("x.txt", text)).expect_err("a fault");
        let found = panic.downcast_ref::<String>().expect("a text");
        assert!(found.starts_with(fault), "expected {fault}, but found {found}");
    }
}
