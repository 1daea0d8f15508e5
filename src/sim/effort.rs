//! How much a run tries.

/// The effort of a run.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Random schedules.
    pub schedules: u64,
    /// The first schedule. If it is not 0, everything before the schedules is skipped: the run continues another one.
    pub first: u64,
    /// The most states of an exploration: two of them fit into memory.
    pub states: usize,
    /// More scopes: the actions of the workloads at any time, with more faults.
    pub further_scopes: usize,
    /// Whether pairs of faults are tried, besides single ones.
    pub pairs: bool,
    /// Sequences of requests of a user without rights on PVCs.
    pub sequences: u64,
}

/// Prints the progress.
pub(super) type ReportProgress<'s> = &'s (dyn Fn(&str) + Sync);

impl Effort {
    /// The default effort, multiplied.
    #[must_use]
    pub fn times(times: u64) -> Self {
        Self {
            schedules: 100_000 * times,
            first: 0,
            states: if times > 1 { 3_500_000 } else { 900_000 },
            further_scopes: usize::try_from(times).unwrap_or(usize::MAX).saturating_sub(1),
            pairs: times > 1,
            sequences: 200_000 * times,
        }
    }
}
