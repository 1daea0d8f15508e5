//! All rows, and those that the guard answers otherwise.

use super::row::GuardRow;
use super::{controller, replacing, staged};
use crate::sim::trust::guard::CelGuard;

fn rows() -> Vec<GuardRow> {
    [staged::rows(), replacing::rows(), controller::rows()]
        .into_iter()
        .flatten()
        .collect()
}

/// The rows that the guard answers otherwise.
pub(super) fn wrong(guard: &CelGuard) -> Vec<String> {
    let wrong = |row: GuardRow| {
        let denial = guard.denial_among(&row.rollouts, &row.request, &row.object, &row.old);
        let GuardRow {
            what, expected, object, ..
        } = row;
        (denial != expected).then(|| format!("{what}: expected {expected:?}, found {denial:?}: {object}"))
    };
    rows().into_iter().filter_map(wrong).collect()
}
