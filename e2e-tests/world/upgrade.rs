//! Programs of another minor version.

use std::sync::PoisonError;
use std::time::Duration;

use anyhow::Context as _;

use super::control_plane::build;
use super::{Cluster, Signal, eventually};

/// A kubelet kills a program that has not ended this long after SIGTERM (`terminationGracePeriodSeconds`).
const GRACE: Duration = Duration::from_secs(30);

impl Cluster {
    /// Ends a program as a kubelet does, and waits for its end. [`Cluster::resume`] starts it again.
    pub(crate) async fn terminate(&self, program: &str) -> anyhow::Result<()> {
        let signalled = {
            let mut processes = self.lock();
            let process = processes.iter_mut().find(|process| process.name == program);
            process
                .with_context(|| format!("{program} does not run"))?
                .signal(Signal::TERM)
        };
        signalled?;
        let ended = eventually("its end", GRACE, async || {
            let mut processes = self.lock();
            let mut running = processes.iter_mut().filter(|process| process.name == program);
            Ok(running.all(|process| process.ended().is_some()).then_some(()))
        });
        if ended.await.is_err() {
            println!("{program} did not end by itself");
        }
        self.halt(program);
        Ok(())
    }

    /// Starts the program of this minor version, with the same data, port and log. [`Cluster::minor`] and the command
    /// line tools stay those of the start.
    pub(crate) async fn resume_as(&self, program: &'static str, minor: &str) -> anyhow::Result<()> {
        let folder = build(minor).await?;
        let mut newer = self.newer.lock().unwrap_or_else(PoisonError::into_inner);
        newer.insert(program, folder);
        drop(newer);
        self.resume(program)
    }
}
