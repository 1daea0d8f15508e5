//! What was asked and what was answered, one line for each request: the request, the answer, and what had changed then.

use std::fmt;

use super::{Door, Model, Request, Witness};

/// A sequence.
#[derive(Clone, Debug)]
pub struct Part {
    /// The seed that it was made from.
    pub seed: u64,
    /// What stood between users and the set.
    pub door: Door,
    /// What was asked and answered.
    pub lines: Vec<Line>,
}

/// A request and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What was asked.
    pub request: Request,
    /// The answer in a word, and what had changed then.
    pub came: Vec<String>,
}

/// A text that is no transcript.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected {expected}")]
pub struct Unreadable {
    line: usize,
    expected: &'static str,
}

impl Line {
    /// Asks the model; nothing if there is nothing that it could be asked about.
    pub fn of(model: &mut Model, witness: &mut Witness, request: &Request) -> Option<Self> {
        let answer = model.ask(request)?;
        let mut came = vec![format!("{answer:?}")];
        came.extend(witness.changes(model.sights()));
        Some(Self {
            request: request.clone(),
            came,
        })
    }
}

impl Part {
    /// Asks the model all of it: the first line that it answers in another way, and its own answer.
    #[must_use]
    pub fn differs(&self) -> Option<(usize, Vec<String>)> {
        let (mut model, mut witness) = (Model::new(self.door), Witness::default());
        self.lines.iter().enumerate().find_map(|(number, line)| {
            let ours = Line::of(&mut model, &mut witness, &line.request).map_or(Vec::new(), |line| line.came);
            (ours != line.came).then_some((number, ours))
        })
    }

    /// Reads a transcript.
    ///
    /// # Errors
    /// [`Unreadable`] names the first line that is none.
    pub fn read_all(text: &str) -> Result<Vec<Self>, Unreadable> {
        let mut parts: Vec<Self> = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let expected = |expected| Unreadable {
                line: number + 1,
                expected,
            };
            if let Some(head) = line.strip_prefix("seed ") {
                let (seed, door) = head.split_once(' ').ok_or(expected("a seed and a door"))?;
                parts.push(Self {
                    seed: seed.parse().map_err(|_| expected("a seed"))?,
                    door: serde_json::from_str(door).map_err(|_| expected("a door"))?,
                    lines: Vec::new(),
                });
                continue;
            }
            let (request, came) = line.split_once(" => ").ok_or(expected("a request and an answer"))?;
            let part = parts.last_mut().ok_or(expected("a seed first"))?;
            part.lines.push(Line {
                request: serde_json::from_str(request).map_err(|_| expected("a request"))?,
                came: came.split("; ").map(str::to_owned).collect(),
            });
        }
        Ok(parts)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = serde_json::to_string(&self.request).map_err(|_| fmt::Error)?;
        write!(f, "{request} => {}", self.came.join("; "))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let door = serde_json::to_string(&self.door).map_err(|_| fmt::Error)?;
        writeln!(f, "seed {} {door}", self.seed)?;
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}
