//! Leader election with a Lease, as in client-go.
//!
//! Leader election saves work; safety does not depend on it (S11): two leaders do the same as one.
//!
//! It is our own because kube has no leader election, and `kubert::lease` compares the times in the Lease with the local
//! clock, so that clocks which differ make two leaders. It is on no hot path: no benchmark has a row for it.
//!
//! Each controller measures with its own clock for how long the Lease has not changed. The times in the Lease are
//! information for people, so different or jumping clocks do no harm.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::Api;
use kube::{Client, ResourceExt};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use crate::api::ApiOutcome;
use crate::controller::calls::api_calls::{call, post};
use crate::controller::clock::{Clock, timestamp};
use crate::controller::locking::lock;

/// The name of the Lease.
pub(crate) const NAME: &str = "claim-rollout-controller";

/// The duration of the Lease: others wait for this long after the last renewal. It and the next two are the defaults
/// of client-go.
const DURATION: Duration = Duration::from_secs(15);
/// After this time without a renewal the holder stops, before another controller may start.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// The interval in which the holder renews the Lease and candidates read it.
const RETRY: Duration = Duration::from_secs(2);
/// The timeout of one renewal. After a renewal on a dead connection there is time for one more attempt before the
/// deadline.
const RENEWAL: Duration = Duration::from_secs(4);
/// Writes stop this long before another controller may start, so that pending writes have time to arrive.
const MARGIN: Duration = Duration::from_secs(1);

/// The configuration of leader election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Election {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The identity of this process, which is unique.
    pub identity: String,
}

/// The next step of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LeaseTurn {
    /// We hold the Lease: renew it.
    Renew,
    /// The Lease is free, or its holder has not renewed it in time: acquire it.
    Take,
    /// Another controller holds it.
    Wait {
        /// The identity of the holder.
        holder: String,
    },
}

/// The next step for a Lease that has been unchanged for this time.
pub(super) fn turn(lease: &LeaseSpec, identity: &str, unchanged: Duration) -> LeaseTurn {
    let holder = lease.holder_identity.as_deref().unwrap_or_default();
    let seconds = lease.lease_duration_seconds.and_then(|it| u64::try_from(it).ok());
    if holder == identity {
        LeaseTurn::Renew
    } else if holder.is_empty() || seconds.is_none_or(|seconds| unchanged >= Duration::from_secs(seconds)) {
        LeaseTurn::Take
    } else {
        LeaseTurn::Wait {
            holder: holder.to_owned(),
        }
    }
}

/// Until when a Lease that was renewed at this time permits writes.
fn end_of_term(renewed: Instant) -> Instant {
    renewed + DURATION - MARGIN
}

/// The spec that the holder writes. `before` is the previous spec; none for a new Lease.
pub(crate) fn held(before: Option<&LeaseSpec>, identity: &str, now: &MicroTime) -> LeaseSpec {
    let ours = before.filter(|before| before.holder_identity.as_deref() == Some(identity));
    let transitions = before.and_then(|before| before.lease_transitions).unwrap_or(0);
    LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
        acquire_time: ours
            .and_then(|ours| ours.acquire_time.clone())
            .or_else(|| Some(now.clone())),
        renew_time: Some(now.clone()),
        lease_transitions: Some(match before {
            Some(_) if ours.is_none() => transitions.saturating_add(1),
            _ => transitions,
        }),
        ..LeaseSpec::default()
    }
}

/// The spec that the holder writes when it releases the Lease, so that the next one does not wait.
pub(crate) fn released(before: &LeaseSpec) -> LeaseSpec {
    LeaseSpec {
        holder_identity: None,
        lease_duration_seconds: Some(1),
        ..before.clone()
    }
}

/// A version of the Lease, and since when this process has seen it.
#[derive(Debug)]
struct Observed {
    resource_version: String,
    since: Instant,
}

/// The time until which we may write. A process that was suspended and resumes checks it before the next write.
///
/// Without leader election it has no end.
#[derive(Clone, Debug, Default)]
pub(super) struct Term(Arc<Mutex<Option<Instant>>>);

impl Term {
    /// True iff no other controller can lead yet.
    pub(super) fn lasts(&self) -> bool {
        lock(&self.0).is_none_or(|end| Instant::now() < end)
    }

    pub(crate) fn set(&self, end: Instant) {
        *lock(&self.0) = Some(end);
    }
}

/// The end of leadership.
pub(super) struct Lost {
    /// The cause.
    pub(crate) why: String,
    /// The time by which no write may be pending.
    pub(crate) end: Instant,
}

impl Lost {
    /// The Lease could not be renewed since this time.
    fn not_renewed(since: Instant, why: &str) -> Self {
        Self {
            why: format!("failed to renew the Lease for {RENEW_DEADLINE:?}: {why}"),
            end: end_of_term(since),
        }
    }
}

/// A candidate for leadership.
pub(super) struct Candidate {
    leases: Api<Lease>,
    election: Election,
    clock: Clock,
    term: Term,
    observed: Option<Observed>,
    /// The Lease as last written by us.
    ours: Option<Lease>,
}

/// The outcome of one attempt to acquire or renew the Lease.
enum LeaseAttempt {
    Holds,
    Waits { holder: String },
    Failed { why: String },
}

impl Candidate {
    /// A candidate that updates `term`.
    pub(crate) fn new(client: Client, election: Election, clock: Clock, term: Term) -> Self {
        Self {
            leases: Api::namespaced(client, &election.namespace),
            election,
            clock,
            term,
            observed: None,
            ours: None,
        }
    }

    /// Waits until we hold the Lease. Calls `waits` whenever another controller holds it.
    pub(super) async fn until_it_leads(&mut self, waits: impl Fn()) {
        let mut last = String::new();
        loop {
            let begun = Instant::now();
            match self.attempt().await {
                LeaseAttempt::Holds => return self.term.set(end_of_term(begun)),
                LeaseAttempt::Waits { holder } => {
                    waits();
                    if holder != last {
                        tracing::info!(holder, "another controller leads");
                        last = holder;
                    }
                }
                LeaseAttempt::Failed { why } => tracing::warn!(why, "failed to acquire the Lease"),
            }
            sleep(RETRY).await;
        }
    }

    /// Renews the Lease until that fails for too long or another controller holds it.
    pub(super) async fn until_lost(&mut self) -> Lost {
        let mut renewed = Instant::now();
        let mut next = renewed + RETRY;
        loop {
            sleep_until(next).await;
            let begun = Instant::now();
            let deadline = renewed + RENEW_DEADLINE;
            let why = match timeout_at(deadline.min(begun + RENEWAL), self.attempt()).await {
                Ok(LeaseAttempt::Holds) => {
                    self.term.set(end_of_term(begun));
                    (renewed, next) = (begun, Instant::now() + RETRY);
                    continue;
                }
                Ok(LeaseAttempt::Waits { holder }) => {
                    let end = Instant::now();
                    self.term.set(end);
                    let why = format!("{holder} holds the Lease");
                    return Lost { why, end };
                }
                Ok(LeaseAttempt::Failed { why }) => why,
                Err(_) => "no response in time".to_owned(),
            };
            self.ours = None;
            if Instant::now() >= deadline {
                return Lost::not_renewed(renewed, &why);
            }
            tracing::warn!(why, "failed to renew the Lease");
            next = deadline.min(begun + RETRY);
        }
    }

    /// Releases the Lease if we hold it. If that fails, the Lease expires.
    pub(crate) async fn release(mut self) {
        let release = async {
            // A renewal on its way when the shutdown began may come between the read and the write.
            for _ in 0..2 {
                let ApiOutcome::Done(lease) = call(self.leases.get(NAME)).await else {
                    return;
                };
                let spec = lease.spec.clone().unwrap_or_default();
                if turn(&spec, &self.election.identity, Duration::ZERO) != LeaseTurn::Renew {
                    return;
                }
                if let LeaseAttempt::Holds = self.write(Some(lease), released(&spec)).await {
                    tracing::info!("released the Lease");
                    return;
                }
            }
        };
        // The shutdown must not take long.
        let _ = timeout(RETRY, release).await;
    }

    async fn attempt(&mut self) -> LeaseAttempt {
        let now = self.now();
        let identity = self.election.identity.clone();
        if let Some(ours) = self.ours.take() {
            let spec = held(ours.spec.as_ref(), &identity, &now);
            return self.write(Some(ours), spec).await;
        }
        match call(self.leases.get(NAME)).await {
            ApiOutcome::Done(lease) => {
                let spec = lease.spec.clone().unwrap_or_default();
                match turn(&spec, &identity, self.unchanged(&lease)) {
                    LeaseTurn::Wait { holder } => LeaseAttempt::Waits { holder },
                    LeaseTurn::Renew | LeaseTurn::Take => {
                        self.write(Some(lease), held(Some(&spec), &identity, &now)).await
                    }
                }
            }
            ApiOutcome::NotFound(_) => self.write(None, held(None, &identity, &now)).await,
            other => LeaseAttempt::Failed { why: other.why() },
        }
    }

    /// For how long the Lease has not changed.
    fn unchanged(&mut self, lease: &Lease) -> Duration {
        let resource_version = lease.resource_version().unwrap_or_default();
        match &self.observed {
            Some(observed) if observed.resource_version == resource_version => observed.since.elapsed(),
            _ => {
                self.observed = Some(Observed {
                    resource_version,
                    since: Instant::now(),
                });
                Duration::ZERO
            }
        }
    }

    /// Writes the Lease unless it has changed: then another controller holds it, or the reply to our last write was
    /// lost.
    async fn write(&mut self, before: Option<Lease>, spec: LeaseSpec) -> LeaseAttempt {
        let spec = Some(spec);
        let outcome = if let Some(before) = before {
            let mut metadata = before.metadata;
            metadata.managed_fields = None;
            call(self.leases.replace(NAME, &post(), &Lease { metadata, spec })).await
        } else {
            let metadata = ObjectMeta {
                name: Some(NAME.to_owned()),
                ..ObjectMeta::default()
            };
            call(self.leases.create(&post(), &Lease { metadata, spec })).await
        };
        match outcome {
            ApiOutcome::Done(lease) => {
                self.ours = Some(lease);
                LeaseAttempt::Holds
            }
            other => LeaseAttempt::Failed { why: other.why() },
        }
    }

    fn now(&self) -> MicroTime {
        MicroTime(timestamp((self.clock)()))
    }
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
