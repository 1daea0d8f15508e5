//! Limits, and what the metrics of the controller count.

use std::time::Duration;

use anyhow::Context as _;

/// The most time that any step may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// The numbers of writes, from the metrics of the controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writes {
    pub(super) claims: usize,
    pub(super) changes: usize,
    pub(super) reports: usize,
    pub(super) events: usize,
    pub(super) revisions: usize,
}

impl Writes {
    pub(super) fn read(metrics: &str) -> anyhow::Result<Self> {
        let count = |name: &str| {
            let lines = metrics.lines().filter(|line| line.starts_with(name));
            let numbers = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
            Some(numbers.sum::<usize>()).filter(|sum| *sum > 0)
        };
        let of = |what: &str| count(&format!("claim_rollout_{what}_total{{")).with_context(|| format!("no {what}"));
        Ok(Self {
            claims: of("claim_writes")?,
            changes: of("staged_change_writes")?,
            reports: of("report_writes")?,
            events: of("events")?,
            revisions: of("history_writes")?,
        })
    }
}
