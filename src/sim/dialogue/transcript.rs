//! Requests and answers as text, one line each: the request, the answer, and the changes after it.

use std::fmt;

use super::{ChangeTracker, Model, ModelRequest, PolicyMode};

/// A sequence with its answers.
#[derive(Clone, Debug)]
pub struct TranscriptPart {
    /// The seed of the sequence.
    pub seed: u64,
    /// How the policy was registered.
    pub mode: PolicyMode,
    /// Requests and answers.
    pub lines: Vec<TranscriptLine>,
}

/// A request and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptLine {
    /// The request.
    pub request: ModelRequest,
    /// The answer as a word, then the changes.
    pub results: Vec<String>,
}

/// The text is not a transcript.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected {expected}")]
pub struct Unreadable {
    line: usize,
    expected: &'static str,
}

impl TranscriptLine {
    /// Sends a request to the model; `None` if the object of the request does not exist.
    pub fn of(model: &mut Model, tracker: &mut ChangeTracker, request: &ModelRequest) -> Option<Self> {
        let answer = model.ask(request)?;
        let mut results = vec![format!("{answer:?}")];
        results.extend(tracker.changes(model.objects()));
        Some(Self {
            request: request.clone(),
            results,
        })
    }
}

impl TranscriptPart {
    /// Sends all requests to the model. Returns the first line with another answer, and that answer.
    #[must_use]
    pub fn differs(&self) -> Option<(usize, Vec<String>)> {
        let (mut model, mut tracker) = (Model::new(self.mode), ChangeTracker::default());
        self.lines.iter().enumerate().find_map(|(number, line)| {
            let ours =
                TranscriptLine::of(&mut model, &mut tracker, &line.request).map_or(Vec::new(), |line| line.results);
            (ours != line.results).then_some((number, ours))
        })
    }

    /// Parses a transcript.
    ///
    /// # Errors
    /// [`Unreadable`] names the first line with a fault.
    pub fn read_all(text: &str) -> Result<Vec<Self>, Unreadable> {
        let mut parts: Vec<Self> = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let expected = |expected| Unreadable {
                line: number + 1,
                expected,
            };
            if let Some(head) = line.strip_prefix("seed ") {
                let (seed, mode) = head.split_once(' ').ok_or(expected("a seed and a policy mode"))?;
                parts.push(Self {
                    seed: seed.parse().map_err(|_| expected("a seed"))?,
                    mode: serde_json::from_str(mode).map_err(|_| expected("a policy mode"))?,
                    lines: Vec::new(),
                });
                continue;
            }
            let (request, results) = line.split_once(" => ").ok_or(expected("a request and an answer"))?;
            let part = parts.last_mut().ok_or(expected("a seed first"))?;
            part.lines.push(TranscriptLine {
                request: serde_json::from_str(request).map_err(|_| expected("a request"))?,
                results: results.split("; ").map(str::to_owned).collect(),
            });
        }
        Ok(parts)
    }
}

impl fmt::Display for TranscriptLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = serde_json::to_string(&self.request).map_err(|_| fmt::Error)?;
        write!(f, "{request} => {}", self.results.join("; "))
    }
}

impl fmt::Display for TranscriptPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = serde_json::to_string(&self.mode).map_err(|_| fmt::Error)?;
        writeln!(f, "seed {} {mode}", self.seed)?;
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}
