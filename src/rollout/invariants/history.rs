//! S21: progress is monotone.

use std::collections::BTreeMap;

use super::facts::{Broken, Id, Rule};

/// The state of a claim, or of the whole rollout, in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedState {
    /// The uid of the claim, or of the set.
    pub of: Id,
    /// The state of the claim, or the reason of the condition `Ready`.
    pub state: Id,
    /// True iff an Event since the last report, or with this one, gives a reason.
    pub explained: bool,
}

/// The states that were reported in one staging, in their order, since the last Event about each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedStates {
    staging: Option<Id>,
    of: BTreeMap<Id, Vec<Id>>,
}

impl ReportedStates {
    /// S21: within one staging, no claim and no rollout comes back to a state that it had left, unless an Event gives the
    /// reason.
    ///
    /// # Errors
    /// [`Broken`] names the object and the state.
    pub fn s21_repeats_none(&mut self, staging: Id, report: &[ReportedState]) -> Result<(), Broken> {
        if self.staging != Some(staging) {
            (self.staging, self.of) = (Some(staging), BTreeMap::new());
        }
        for ReportedState { of, state, explained } in report {
            let states = self.of.entry(*of).or_default();
            if *explained {
                states.clear();
            }
            match states.iter().position(|known| known == state) {
                Some(place) if place + 1 < states.len() => {
                    let why =
                        format!("{of} is in state {state} again, after {states:?}, and no Event gives the reason");
                    return Broken::of(Rule::S21, why);
                }
                Some(_) => {}
                None => states.push(*state),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rule;
    use super::super::fixtures::rules;
    use super::{ReportedState, ReportedStates};

    /// Staging, object and state of each report, whether an Event explains it, and whether the last one breaks S21.
    type Row = (&'static str, &'static [(u64, u64, u64, bool)], &'static [Rule]);

    const ROWS: &[Row] = &[
        (
            "one after the other",
            &[(1, 1, 1, false), (1, 1, 2, false), (1, 1, 3, false)],
            &[],
        ),
        ("it stays", &[(1, 1, 1, false), (1, 1, 2, false), (1, 1, 2, false)], &[]),
        (
            "it comes back",
            &[(1, 1, 1, false), (1, 1, 2, false), (1, 1, 1, false)],
            &[Rule::S21],
        ),
        (
            "it comes back later",
            &[(1, 1, 1, false), (1, 1, 2, false), (1, 1, 3, false), (1, 1, 2, false)],
            &[Rule::S21],
        ),
        (
            "an Event explains the way there",
            &[(1, 1, 1, false), (1, 1, 2, true), (1, 1, 1, false)],
            &[],
        ),
        (
            "an Event explains the way back",
            &[(1, 1, 1, false), (1, 1, 2, false), (1, 1, 1, true)],
            &[],
        ),
        (
            "an earlier Event explains nothing",
            &[(1, 1, 1, true), (1, 1, 2, false), (1, 1, 1, false)],
            &[Rule::S21],
        ),
        (
            "another object",
            &[(1, 1, 1, false), (1, 1, 2, false), (1, 2, 1, false)],
            &[],
        ),
        (
            "another staging",
            &[(1, 1, 1, false), (1, 1, 2, false), (2, 1, 1, false)],
            &[],
        ),
    ];

    #[test]
    fn state_that_comes_back_without_event_breaks_s21() {
        for (row, reports, expected) in ROWS {
            let mut states = ReportedStates::default();
            let results = reports.iter().map(|(staging, of, state, explained)| {
                let (of, state, explained) = (*of, *state, *explained);
                states.s21_repeats_none(*staging, &[ReportedState { of, state, explained }])
            });
            assert_eq!(rules(results), *expected, "{row}");
        }
    }
}
