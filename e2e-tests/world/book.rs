//! A document with commands and their output. A test runs the commands in order and compares the output with the
//! document.

use anyhow::{Context as _, ensure};

use crate::world::document::text;

/// A command, and the output in the document.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) typed: String,
    pub(crate) shown: String,
}

/// The commands of a document.
pub(crate) struct Book {
    file: &'static str,
    commands: std::vec::IntoIter<Command>,
    /// The output that differs from the document.
    wrong: String,
}

impl Book {
    /// Reads the commands of a file of the repository.
    pub(crate) fn read(file: &'static str) -> anyhow::Result<Self> {
        Ok(Self::of(file, &text(file)?))
    }

    /// Reads the commands under these headings, in this order.
    pub(crate) fn under(headings: &[&str], file: &'static str) -> anyhow::Result<Self> {
        let text = text(file)?;
        let sections = headings.iter().map(|heading| {
            let missing = || format!("expected {heading:?} in {file}, but found none");
            section(&text, heading).with_context(missing)
        });
        Ok(Self::of(file, &sections.collect::<anyhow::Result<Vec<_>>>()?.concat()))
    }

    fn of(file: &'static str, text: &str) -> Self {
        Self {
            file,
            commands: commands(text).into_iter(),
            wrong: String::new(),
        }
    }

    /// Returns the next command. Fails if it is another one.
    pub(crate) fn expect(&mut self, typed: &str) -> anyhow::Result<Command> {
        let file = self.file;
        let next = self.next().with_context(|| format!("{file}: no further command"))?;
        ensure!(
            next.typed == typed,
            "{file}: expected {typed}, but found {}",
            next.typed
        );
        Ok(next)
    }

    /// Compares the output of a command with the document, and notes a difference.
    pub(crate) fn compare(&mut self, command: &Command, printed: &str) {
        if !command.shows(printed) {
            self.wrong += &format!("$ {}\n{printed}", command.typed);
        }
    }

    /// Fails with the differences if there are any, or if commands are left.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        let further = self.next();
        ensure!(further.is_none(), "{}: expected no further {further:?}", self.file);
        ensure!(self.wrong.is_empty(), "{} should show:\n{}", self.file, self.wrong);
        Ok(())
    }
}

impl Iterator for Book {
    type Item = Command;

    fn next(&mut self) -> Option<Command> {
        self.commands.next()
    }
}

impl Command {
    /// True iff the document shows what was printed. The output before a line of three dots is ignored. Events may be
    /// in any order, because kubectl sorts them by the second.
    pub(crate) fn shows(&self, printed: &str) -> bool {
        let printed = &without_logs(printed);
        let Some((_, shown)) = self.shown.split_once("...\n") else {
            return essence(printed) == essence(&self.shown);
        };
        let Some(begin) = shown.lines().next().and_then(|first| printed.find(first)) else {
            return false;
        };
        let [mut printed, mut shown] = [essence(&printed[begin..]), essence(shown)];
        printed.sort();
        shown.sort();
        printed == shown
    }
}

/// The output without the log of client-go in kubectl, such as `I1126 02:15:38.827212 11989 reflector.go:664] ...`: a
/// watch that ends with `kubectl wait` may log that (client-go 0.37.1, `tools/cache/reflector.go`).
fn without_logs(printed: &str) -> String {
    let is_log = |line: &&str| {
        let (level, rest) = line.split_at_checked(1).unwrap_or_default();
        let time = rest.split(' ').next().unwrap_or_default();
        "IWEF".contains(level) && time.len() == 4 && time.parse::<u32>().is_ok() && line.contains(".go:")
    };
    let lines = printed.split_inclusive('\n');
    lines.filter(|line| !is_log(line)).collect()
}

/// The text under a heading, up to the next heading.
pub(crate) fn section<'a>(text: &'a str, heading: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("\n{heading}\n"))?;
    Some(rest.find("\n##").map_or(rest, |end| &rest[..end]))
}

/// The code blocks in a language.
pub(crate) fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let rests = text.split(&fence).skip(1);
    rests.map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

/// Splits text into commands. A command continues after a backslash, and up to the end of its here-document.
fn commands(text: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for block in blocks(text, "console") {
        let mut lines = block.lines();
        while let Some(line) = lines.next() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(first), _) => commands.push(Command {
                    typed: whole(first, &mut lines),
                    shown: String::new(),
                }),
                (None, Some(last)) => last.shown += &format!("{line}\n"),
                (None, None) => {}
            }
        }
    }
    commands
}

/// The command that begins with this line.
fn whole<'a>(first: &'a str, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let here_document = first.split("<<'").nth(1).and_then(|rest| rest.split('\'').next());
    let mut command = vec![first];
    let goes_on = |last: &str| last.ends_with('\\') || here_document.is_some_and(|end| last != end);
    while goes_on(command.last().copied().unwrap_or_default()) {
        match lines.next() {
            Some(line) => command.push(line),
            None => break,
        }
    }
    command.join("\n")
}

/// The words of a text without ages and without the time of a Helm release. Spaces between columns are ignored, because
/// their width depends on ages.
fn essence(text: &str) -> Vec<Vec<&str>> {
    let word = |word| if is_age(word) { "AGE" } else { word };
    let lines = text.lines().map(|line| match line.strip_prefix("LAST DEPLOYED: ") {
        Some(_) => vec!["LAST DEPLOYED"],
        None => line.split_whitespace().map(word).collect(),
    });
    lines.collect()
}

/// `12s`, `2m3s`, `2m`
fn is_age(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
        && word.ends_with(['m', 's'])
        && word
            .chars()
            .all(|character| character.is_ascii_digit() || "ms".contains(character))
}

#[test]
fn command_is_read_whole_and_output_compared_without_ages() {
    let text =
        "# A\n```console\n$ cat > a <<'END'\n$ no command\nEND\n$ a \\\n    b\nNAME   AGE\nweb    1m2s\n$ c\n```\n";
    let [here, long, silent] = commands(text).try_into().expect("three commands");
    assert_eq!(here.typed, "cat > a <<'END'\n$ no command\nEND");
    assert_eq!(long.typed, "a \\\n    b");
    assert!(here.shown.is_empty() && silent.shown.is_empty() && silent.typed == "c");
    assert!(long.shows("NAME AGE\nweb 3s\n"));
    let logged = "I1126 02:15:38.827212   11989 reflector.go:664] \"Warning: watch ended with error\"\n";
    assert!(long.shows(&format!("{logged}NAME AGE\nweb 3s\n")));
    for other in ["NAME AGE\ndb 3s\n", "NAME AGE\n", "NAME AGE\nweb 3s\nmore\n", ""] {
        assert!(!long.shows(other), "{other:?}");
    }
    assert!(!silent.shows("anything\n"));
}
