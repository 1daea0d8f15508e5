//! Texts as numbers, and back: names of templates, messages of Events, reports.

use rustc_hash::FxHashMap;

use super::names::Names;
use crate::rollout::Previous;

/// Numbered texts.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(crate) names: Names,
    numbers: FxHashMap<String, u32>,
    reports: Vec<(Previous, String)>,
}

impl Texts {
    /// The number of a text. The first time, `previous` is kept with it.
    pub(crate) fn number(&mut self, text: String, previous: impl FnOnce() -> (Previous, String)) -> u32 {
        if let Some(number) = self.numbers.get(&text) {
            return *number;
        }
        let number = u32::try_from(self.reports.len()).unwrap_or(u32::MAX);
        self.reports.push(previous());
        self.numbers.insert(text, number);
        number
    }

    /// The part of a report that the next decision reads.
    pub(crate) fn previous(&self, content: u32) -> Option<Previous> {
        self.reports
            .get(usize::try_from(content).ok()?)
            .map(|(previous, _)| previous.clone())
    }

    /// A report as text.
    pub(crate) fn words(&self, content: u32) -> &str {
        let place = usize::try_from(content).unwrap_or(usize::MAX);
        self.reports.get(place).map_or("?", |(_, words)| words)
    }
}
