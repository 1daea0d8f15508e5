//! Who leads, by a Lease, as client-go does it.
//!
//! Leadership saves work; safety does not depend on it (S11): two controllers that both lead do what one would have done.
//!
//! How old a Lease is, everybody judges by its own clock: by how long it has looked the same. The times in it are for
//! people, so that clocks which disagree or jump do no harm.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use super::act::{Outcome, call};
use super::watch::lock;
use super::{Clock, FIELD_MANAGER, timestamp};

/// The name of the Lease.
pub(crate) const NAME: &str = "claim-rollout-controller";

/// How long a Lease that is not renewed keeps others waiting. These three are the defaults of client-go.
const DURATION: Duration = Duration::from_secs(15);
/// After this time without a renewal the holder stops: earlier than anybody else may begin.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// How often it is renewed, and looked at by those who wait.
const RETRY: Duration = Duration::from_secs(2);
/// How long one renewal may take. Of an answer that never comes, because a connection has died, one more attempt is left
/// before the deadline.
const RENEWAL: Duration = Duration::from_secs(4);
/// So long before others may begin, nothing is written any more: what is on its way then has time to arrive.
const MARGIN: Duration = Duration::from_secs(1);

/// Where the Lease is, and under which name to hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Election {
    /// The namespace of the Lease.
    pub namespace: String,
    /// No other process has the same.
    pub identity: String,
}

/// What to do about a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It is ours: renew it.
    Renew,
    /// It is nobody's, or its holder has not renewed it in time: take it.
    Take,
    /// Somebody holds it.
    Wait {
        /// Who.
        holder: String,
    },
}

/// What to do about a Lease that has looked the same for so long.
pub(super) fn turn(lease: &LeaseSpec, identity: &str, unchanged: Duration) -> Turn {
    let holder = lease.holder_identity.as_deref().unwrap_or_default();
    let seconds = lease.lease_duration_seconds.and_then(|it| u64::try_from(it).ok());
    if holder == identity {
        Turn::Renew
    } else if holder.is_empty() || seconds.is_none_or(|seconds| unchanged >= Duration::from_secs(seconds)) {
        Turn::Take
    } else {
        Turn::Wait {
            holder: holder.to_owned(),
        }
    }
}

/// The Lease as its holder writes it. `before` is nothing for the first one.
pub(super) fn held(before: Option<&LeaseSpec>, identity: &str, now: &MicroTime) -> LeaseSpec {
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

/// The Lease as its holder leaves it, so that the next one need not wait.
pub(super) fn released(before: &LeaseSpec) -> LeaseSpec {
    LeaseSpec {
        holder_identity: None,
        lease_duration_seconds: Some(1),
        ..before.clone()
    }
}

/// Since when a Lease has looked as it does, by this process's clock.
#[derive(Debug)]
struct Observed {
    resource_version: String,
    since: Instant,
}

/// Until when we may write: what a process that was halted for a while, and goes on where it was, asks first.
///
/// Nobody has to do with it who leads without a Lease.
#[derive(Clone, Debug, Default)]
pub(super) struct Term(Arc<Mutex<Option<Instant>>>);

impl Term {
    /// True iff nobody else may have begun by now.
    pub(super) fn lasts(&self) -> bool {
        lock(&self.0).is_none_or(|end| Instant::now() < end)
    }

    fn set(&self, end: Instant) {
        *lock(&self.0) = Some(end);
    }
}

/// How leading ended.
pub(super) struct Lost {
    /// What happened.
    pub(super) why: String,
    /// By then nothing may be under way any more.
    pub(super) end: Instant,
}

/// One who would lead.
pub(super) struct Candidate {
    leases: Api<Lease>,
    election: Election,
    clock: Clock,
    term: Term,
    observed: Option<Observed>,
    /// The Lease as we wrote it last.
    ours: Option<Lease>,
}

/// What came of one attempt to hold the Lease.
enum Attempt {
    Holds,
    Waits { holder: String },
    Failed { why: String },
}

impl Candidate {
    /// `term` is kept up to date.
    pub(super) fn new(client: Client, election: Election, clock: Clock, term: Term) -> Self {
        Self {
            leases: Api::namespaced(client, &election.namespace),
            election,
            clock,
            term,
            observed: None,
            ours: None,
        }
    }

    /// Waits until we hold the Lease; `waits` is called whenever somebody else is seen to hold it.
    pub(super) async fn until_it_leads(&mut self, waits: impl Fn()) {
        let mut last = String::new();
        loop {
            let begun = Instant::now();
            match self.attempt().await {
                Attempt::Holds => return self.term.set(begun + DURATION - MARGIN),
                Attempt::Waits { holder } => {
                    waits();
                    if holder != last {
                        tracing::info!(holder, "somebody else leads");
                        last = holder;
                    }
                }
                Attempt::Failed { why } => tracing::warn!(why, "the Lease could not be taken"),
            }
            sleep(RETRY).await;
        }
    }

    /// Renews the Lease until that fails for too long or somebody else has it.
    pub(super) async fn until_lost(&mut self) -> Lost {
        let mut renewed = Instant::now();
        let mut next = renewed + RETRY;
        loop {
            sleep_until(next).await;
            let begun = Instant::now();
            let deadline = renewed + RENEW_DEADLINE;
            let why = match timeout_at(deadline.min(begun + RENEWAL), self.attempt()).await {
                Ok(Attempt::Holds) => {
                    self.term.set(begun + DURATION - MARGIN);
                    (renewed, next) = (begun, Instant::now() + RETRY);
                    continue;
                }
                Ok(Attempt::Waits { holder }) => {
                    let end = Instant::now();
                    self.term.set(end);
                    let why = format!("{holder} holds the Lease");
                    return Lost { why, end };
                }
                Ok(Attempt::Failed { why }) => why,
                Err(_) => "no answer in time".to_owned(),
            };
            self.ours = None;
            if Instant::now() >= deadline {
                return Lost {
                    why: format!("it could not be renewed for {RENEW_DEADLINE:?}: {why}"),
                    end: renewed + DURATION - MARGIN,
                };
            }
            tracing::warn!(why, "the Lease could not be renewed");
            next = deadline.min(begun + RETRY);
        }
    }

    /// Gives the Lease back if we hold it. If that fails it ends by itself.
    pub(super) async fn release(mut self) {
        let release = async {
            let Outcome::Done(lease) = call(self.leases.get(NAME)).await else {
                return;
            };
            let spec = lease.spec.clone().unwrap_or_default();
            if turn(&spec, &self.election.identity, Duration::ZERO) == Turn::Renew
                && let Attempt::Holds = self.write(Some(lease), released(&spec)).await
            {
                tracing::info!("the Lease is given back");
            }
        };
        // Whoever stops us is waiting.
        let _ = timeout(RETRY, release).await;
    }

    async fn attempt(&mut self) -> Attempt {
        let now = self.now();
        let identity = self.election.identity.clone();
        if let Some(ours) = self.ours.take() {
            let spec = held(ours.spec.as_ref(), &identity, &now);
            return self.write(Some(ours), spec).await;
        }
        match call(self.leases.get(NAME)).await {
            Outcome::Done(lease) => {
                let spec = lease.spec.clone().unwrap_or_default();
                match turn(&spec, &identity, self.unchanged(&lease)) {
                    Turn::Wait { holder } => Attempt::Waits { holder },
                    Turn::Renew | Turn::Take => self.write(Some(lease), held(Some(&spec), &identity, &now)).await,
                }
            }
            Outcome::Gone => self.write(None, held(None, &identity, &now)).await,
            other => failed(&other),
        }
    }

    /// For how long the Lease has looked the same.
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

    /// Writes the Lease, unless it has changed since: then somebody else has it, or we have lost our own reply.
    async fn write(&mut self, before: Option<Lease>, spec: LeaseSpec) -> Attempt {
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let outcome = if let Some(before) = before {
            let mut metadata = before.metadata;
            metadata.managed_fields = None;
            let lease = Lease {
                metadata,
                spec: Some(spec),
            };
            call(self.leases.replace(NAME, &params, &lease)).await
        } else {
            let metadata = ObjectMeta {
                name: Some(NAME.to_owned()),
                ..ObjectMeta::default()
            };
            let lease = Lease {
                metadata,
                spec: Some(spec),
            };
            call(self.leases.create(&params, &lease)).await
        };
        match outcome {
            Outcome::Done(lease) => {
                self.ours = Some(lease);
                Attempt::Holds
            }
            other => failed(&other),
        }
    }

    fn now(&self) -> MicroTime {
        MicroTime(timestamp((self.clock)()))
    }
}

fn failed<T>(outcome: &Outcome<T>) -> Attempt {
    let why = match outcome {
        Outcome::Refused { message: why, .. } | Outcome::Unsure { why, .. } => why.clone(),
        other => other.as_str().to_owned(),
    };
    Attempt::Failed { why }
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
