//! Every request of the controller passes here: writes keep to a budget and to the Lease, reads are not waited for for ever,
//! and all are measured.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::client::Body;
use leaky_bucket::RateLimiter;
use tokio::time::timeout;

use super::lease::Term;
use super::metrics::Metrics;

/// How long an answer may take to begin, of a list or a watch too: what it is about may be long, but not this. Otherwise
/// one that was asked for on a connection that has died would only be missed when the connection is given up.
const ANSWER: Duration = Duration::from_secs(30);

/// How many writes a second the controller makes at most.
///
/// Besides what the API server's own priority and fairness lets through. Those that a rollout needs are few; the budget
/// is for the day on which thousands of sets begin at once. Reads, and the Lease, are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// On the average.
    pub per_second: NonZeroU32,
    /// At once, after a quiet time.
    pub burst: NonZeroU32,
}

impl Budget {
    /// What is allowed if nobody says otherwise. kube-controller-manager allows all its controllers together 20 and 30.
    pub const DEFAULT: Self = Self {
        per_second: NonZeroU32::new(50).unwrap(),
        burst: NonZeroU32::new(100).unwrap(),
    };

    fn limiter(self, burst: usize) -> RateLimiter {
        let (refill, interval) = self.pace();
        RateLimiter::builder()
            .initial(burst)
            .max(burst)
            .refill(refill)
            .interval(interval)
            .build()
    }

    /// So many writes more are allowed whenever so much time has passed: in steps of about a tenth of a second, and of
    /// one write at least.
    fn pace(self) -> (usize, Duration) {
        let refill = self.per_second.get().div_ceil(10);
        let interval = f64::from(refill) / f64::from(self.per_second.get());
        (usize::try_from(refill).unwrap_or(1), Duration::from_secs_f64(interval))
    }
}

/// What a request is, as a label.
fn verb(method: &str, path_and_query: &str) -> &'static str {
    match method {
        "GET" if path_and_query.contains("watch=true") => "watch",
        "GET" => "read",
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        _ => "delete",
    }
}

/// True iff the request counts for the budget.
fn counts(verb: &str, path: &str) -> bool {
    !matches!(verb, "read" | "watch") && !path.starts_with("/apis/coordination.k8s.io/")
}

/// True iff it is an Event, which has a budget of its own: no rollout waits for what is only said.
fn is_event(path: &str) -> bool {
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts[..], ["", "api", "v1", "namespaces", _, "events"])
}

/// How many Events are let through at once after a quiet time; as many a second as writes.
const EVENTS: usize = 1000;

/// Why a request was not made, or not waited for.
#[derive(Debug, thiserror::Error)]
enum Unsent {
    /// Somebody else may lead by now.
    #[error("expected to hold the Lease, but found that it may be another's")]
    Term,
    /// Lists and watches are not under the time limit of a call.
    #[error("no answer within {ANSWER:?}")]
    Answer,
    /// The status says the same.
    #[error("more Events than its budget allows")]
    Event,
}

/// The same client, with a budget and measured. While `term` does not last nothing is written but the Lease.
pub(super) fn within(client: Client, budget: Budget, term: Term, metrics: Arc<Metrics>) -> Client {
    let namespace = client.default_namespace().to_owned();
    let burst = usize::try_from(budget.burst.get()).unwrap_or(usize::MAX);
    let limiters = Arc::new([budget.limiter(burst), budget.limiter(burst.max(EVENTS))]);
    let service = tower::service_fn(move |request: axum::http::Request<Body>| {
        let (client, limiters, metrics) = (client.clone(), Arc::clone(&limiters), Arc::clone(&metrics));
        let term = term.clone();
        async move {
            let target = request.uri().path_and_query().map_or("", |target| target.as_str());
            let verb = verb(request.method().as_str(), target);
            let [writes, events] = &*limiters;
            if counts(verb, target) {
                if !is_event(target) {
                    writes.acquire_one().await;
                } else if !events.try_acquire(1) {
                    return Err(kube::Error::Service(Unsent::Event.into()));
                }
                if !term.lasts() {
                    return Err(kube::Error::Service(Unsent::Term.into()));
                }
            }
            let measured = metrics.request(verb);
            let answer = timeout(ANSWER, client.send(request)).await;
            let answer = answer.unwrap_or_else(|_| Err(kube::Error::Service(Unsent::Answer.into())));
            measured.answered(answer.as_ref().ok().map(|answer| answer.status().as_u16()));
            answer
        }
    });
    Client::new(service, namespace)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::Duration;

    use super::{Budget, counts, is_event, verb};

    #[test]
    fn reads_and_the_lease_are_not_counted_and_every_write_is() {
        let claims = "/api/v1/namespaces/n/persistentvolumeclaims/data-web-0?fieldManager=claim-rollout";
        let lease = "/apis/coordination.k8s.io/v1/namespaces/n/leases/claim-rollout-controller";
        for (method, target, expected) in [
            ("GET", claims, ("read", false)),
            (
                "GET",
                "/apis/apps/v1/statefulsets?&watch=true&timeoutSeconds=60",
                ("watch", false),
            ),
            ("PATCH", claims, ("patch", true)),
            ("POST", "/api/v1/namespaces/n/events?", ("create", true)),
            (
                "DELETE",
                "/apis/apps/v1/namespaces/n/controllerrevisions/r?",
                ("delete", true),
            ),
            ("PUT", lease, ("update", false)),
            ("POST", lease, ("create", false)),
        ] {
            let verb = verb(method, target);
            assert_eq!((verb, counts(verb, target)), expected, "{method} {target}");
        }
    }

    #[test]
    fn events_have_a_budget_of_their_own() {
        for (target, expected) in [
            ("/api/v1/namespaces/n/events?", true),
            ("/api/v1/namespaces/events/persistentvolumeclaims/data-web-0?", false),
            ("/api/v1/namespaces/n/pods/events?fieldManager=events", false),
            ("/apis/apps/v1/namespaces/n/statefulsets/events", false),
        ] {
            assert_eq!(is_event(target), expected, "{target}");
        }
    }

    #[test]
    fn so_many_a_second_are_so_many_a_step() {
        for (per_second, refill, millis) in [(1, 1, 1000), (4, 1, 250), (10, 1, 100), (50, 5, 100), (1000, 100, 100)] {
            let per_second = NonZeroU32::new(per_second).unwrap();
            let budget = Budget {
                per_second,
                burst: per_second,
            };
            assert_eq!(budget.pace(), (refill, Duration::from_millis(millis)), "{per_second}");
        }
    }
}
