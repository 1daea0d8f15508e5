//! The client of all requests: writes need a budget and the Lease, every request has a timeout, all are measured, and
//! the bytes of responses are bounded.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Client;
use kube::client::Body;
use tokio::time::{Instant, timeout};

use super::lease::Term;
use super::write_budget::{Bucket, WriteBudget};
use super::write_turns::WriteTurns;
use crate::controller::locking::lock;
use crate::controller::metrics::controller::ControllerMetrics;
use crate::controller::read::pages::Pages;
use crate::controller::read::patience::queue;

/// The time until a response must begin, also that of a list or a watch. Otherwise a request on a dead connection
/// would wait until the connection times out.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// The verb of a request, as a label value.
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

/// True iff the request needs the budget.
fn counts(verb: &str, path: &str) -> bool {
    !matches!(verb, "read" | "watch") && !path.starts_with("/apis/coordination.k8s.io/")
}

/// The namespace that the request is about; empty if there is none.
fn namespace(path: &str) -> &str {
    let rest = path.split_once("/namespaces/").map_or("", |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or_default()
}

/// True iff the request writes an Event. Events have a budget of their own, so that no rollout waits for them.
fn is_event(path: &str) -> bool {
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts[..], ["", "api", "v1", "namespaces", _, "events"])
}

/// True iff the request writes a ClaimRollout. Reports have a budget of their own, so that no rollout waits for them,
/// however often somebody changes them.
fn is_report(path: &str) -> bool {
    path.starts_with("/apis/claim-rollout.io/")
}

/// The burst of Events. Their average rate is that of the other writes.
const EVENTS: NonZeroU32 = NonZeroU32::new(1000).unwrap();

/// The causes of a request that was not sent, or not waited for.
#[derive(Debug, thiserror::Error)]
enum Unsent {
    /// Another controller may lead by now.
    #[error("not sent: another controller may hold the Lease")]
    Term,
    /// No response in time. Lists and watches have no other timeout.
    #[error("no response within {0:?}")]
    Answer(Duration),
    /// An Event is dropped: the status contains the same.
    #[error("not sent: the budget for Events is used up")]
    Event,
}

/// A client that measures requests and limits writes. After the end of `term` it sends no write except to the Lease. It
/// waits for a response as long as `patience`.
pub(crate) fn within(
    client: Client,
    (budget, patience): (WriteBudget, Duration),
    term: Term,
    metrics: Arc<ControllerMetrics>,
) -> Client {
    let default_namespace = client.default_namespace().to_owned();
    let turns = Arc::new([budget; 2].map(WriteTurns::new));
    let burst = budget.burst.max(EVENTS);
    let events = Arc::new(Mutex::new(Bucket::new(WriteBudget { burst, ..budget })));
    let pages = Arc::new(Pages::default());
    let service = tower::service_fn(move |request: axum::http::Request<Body>| {
        let (client, turns, events) = (client.clone(), Arc::clone(&turns), Arc::clone(&events));
        let metrics = Arc::clone(&metrics);
        let (term, pages) = (term.clone(), Arc::clone(&pages));
        async move {
            let target = request.uri().path_and_query().map_or("", |target| target.as_str());
            let verb = verb(request.method().as_str(), target);
            let [writes, reports] = &*turns;
            if counts(verb, target) {
                if !is_event(target) {
                    let turns = if is_report(target) { reports } else { writes };
                    queue(turns.take(namespace(target))).await;
                } else if !lock(&events).try_take(Instant::now()) {
                    return Err(kube::Error::Service(Unsent::Event.into()));
                }
                if !term.lasts() {
                    return Err(kube::Error::Service(Unsent::Term.into()));
                }
            }
            let send = async |request| {
                let measured = metrics.request(verb);
                let answer = timeout(patience, client.send(request)).await;
                let answer = answer.unwrap_or_else(|_| Err(kube::Error::Service(Unsent::Answer(patience).into())));
                measured.answered(answer.as_ref().ok().map(|answer| answer.status().as_u16()));
                answer
            };
            pages.answer(request, send).await
        }
    });
    Client::new(service, default_namespace)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use kube::Client;
    use kube::client::Body;
    use tokio::time::{Instant, timeout};

    use super::{RESPONSE_TIMEOUT, WriteBudget, counts, is_event, is_report, namespace, verb, within};
    use crate::controller::fixtures::{serving_text, silent};
    use crate::controller::lead::lease::Term;
    use crate::controller::locking::lock;
    use crate::rollout::fixtures::rows;

    /// A request, its verb, the budget that it needs, and the namespace that it is about.
    const REQUESTS: &str = "
        GET /api/v1/namespaces/n/persistentvolumeclaims/data-web-0?fieldManager=claim-rollout   | read   |         | n
        GET /apis/apps/v1/statefulsets?&watch=true&timeoutSeconds=60                            | watch  |         |
        GET /api/v1/namespaces/shop?                                                            | read   |         | shop
        PATCH /api/v1/namespaces/n/persistentvolumeclaims/data-web-0?fieldManager=claim-rollout | patch  | writes  | n
        PATCH /api/v1/namespaces/n/persistentvolumeclaims/data-web-0                            | patch  | writes  | n
        PATCH /apis/apps/v1/namespaces/shop/statefulsets/web?fieldManager=claim-rollout         | patch  | writes  | shop
        DELETE /apis/apps/v1/namespaces/n/controllerrevisions/r?                                | delete | writes  | n
        POST /apis/apps/v1/namespaces/n/controllerrevisions?                                    | create | writes  | n
        POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews?                            | create | writes  |
        PUT /apis/coordination.k8s.io/v1/namespaces/n/leases/claim-rollout-controller           | update |         | n
        POST /apis/coordination.k8s.io/v1/namespaces/n/leases/claim-rollout-controller          | create |         | n
        POST /api/v1/namespaces/n/events?                                                       | create | Events  | n
        PATCH /api/v1/namespaces/events/persistentvolumeclaims/data-web-0?                      | patch  | writes  | events
        PATCH /api/v1/namespaces/n/pods/events?fieldManager=events                              | patch  | writes  | n
        PATCH /apis/apps/v1/namespaces/n/statefulsets/events                                    | patch  | writes  | n
        PATCH /apis/claim-rollout.io/v1alpha1/namespaces/n/claimrollouts/web/status?            | patch  | reports | n
        POST /apis/claim-rollout.io/v1alpha1/namespaces/n/claimrollouts?                        | create | reports | n
        PATCH /api/v1/namespaces/claim-rollout.io/persistentvolumeclaims/data-web-0?            | patch  | writes  | claim-rollout.io
    ";

    #[test]
    fn request_has_a_verb_a_budget_and_a_namespace() {
        for [request, expected, needed, of] in rows(REQUESTS) {
            let (method, target) = request.split_once(' ').unwrap();
            let verb = verb(method, target);
            let budget = match (is_event(target), is_report(target)) {
                _ if !counts(verb, target) => "",
                (true, false) => "Events",
                (false, true) => "reports",
                (false, false) => "writes",
                (true, true) => "both",
            };
            assert_eq!((verb, budget, namespace(target)), (expected, needed, of), "{request}");
        }
    }

    type Sent = Arc<Mutex<Vec<(String, Instant)>>>;

    /// A client with this budget, and what it has sent: paths, and when.
    fn counting(budget: WriteBudget, term: Term) -> (Client, Sent) {
        let sent = Sent::default();
        let noted = Arc::clone(&sent);
        let client = serving_text(move |request| {
            lock(&noted).push((request.path.clone(), Instant::now()));
            Some((200, String::new()))
        });
        let client = within(client, (budget, RESPONSE_TIMEOUT), term, Arc::default());
        (client, sent)
    }

    const CLAIMS: &str = "/api/v1/namespaces/n/persistentvolumeclaims/data-web-0";
    const REPORT: &str = "/apis/claim-rollout.io/v1alpha1/namespaces/n/claimrollouts/web/status";
    const EVENTS: &str = "/api/v1/namespaces/n/events";
    const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/n/leases/claim-rollout-controller";

    /// Another controller may lead by then.
    #[tokio::test]
    async fn write_after_the_term_is_not_sent() {
        let requests = [
            ("PATCH", CLAIMS),
            ("PATCH", REPORT),
            ("POST", EVENTS),
            ("PUT", LEASE),
            ("GET", CLAIMS),
        ];
        for (has_ended, expected) in [(false, &requests[..]), (true, &requests[3..])] {
            let term = Term::default();
            if has_ended {
                term.set(Instant::now());
            }
            let (client, sent) = counting(WriteBudget::DEFAULT, term);
            for (method, path) in requests {
                let request = axum::http::Request::builder().method(method).uri(path);
                let answer = client.send(request.body(Body::empty()).unwrap()).await;
                let is_sent = expected.contains(&(method, path));
                assert_eq!(answer.is_ok(), is_sent, "{method} {path} after the term: {has_ended}");
            }
            let sent = std::mem::take(&mut *lock(&sent));
            let sent: Vec<&str> = sent.iter().map(|(path, _)| &**path).collect();
            let expected: Vec<&str> = expected.iter().map(|(_, path)| *path).collect();
            assert_eq!(sent, expected, "after the term: {has_ended}");
        }
    }

    /// Lists and watches have no other timeout.
    #[tokio::test]
    async fn request_without_a_response_is_given_up() {
        for target in [CLAIMS, "/api/v1/pods?limit=100", "/api/v1/pods?watch=true"] {
            let limits = (WriteBudget::DEFAULT, Duration::from_millis(1));
            let client = within(silent(), limits, Term::default(), Arc::default());
            let request = axum::http::Request::get(target).body(Body::empty()).unwrap();
            let answer = timeout(Duration::from_secs(60), client.send(request)).await;
            let error = answer.map(|answer| answer.err().map(|error| error.to_string()));
            let expected = "ServiceError: no response within 1ms".to_owned();
            assert_eq!(error, Ok(Some(expected)), "{target}");
        }
    }

    /// A limiter that begins with one write adds one after a second, and no earlier. Whoever has to wait longer proves
    /// nothing else.
    #[tokio::test]
    async fn write_beyond_the_budget_waits() {
        let one = NonZeroU32::MIN;
        let begun = Instant::now();
        let budget = WriteBudget {
            per_second: one,
            burst: one,
        };
        let (client, sent) = counting(budget, Term::default());
        for path in [CLAIMS, REPORT, CLAIMS, REPORT] {
            let request = axum::http::Request::patch(path).body(Body::empty()).unwrap();
            client.send(request).await.unwrap();
        }
        let sent = std::mem::take(&mut *lock(&sent));
        let paths: Vec<&str> = sent.iter().map(|(path, _)| &**path).collect();
        assert_eq!(paths, [CLAIMS, REPORT, CLAIMS, REPORT]);
        for (path, at) in &sent[2..] {
            assert!(
                *at - begun >= Duration::from_millis(990),
                "{path} after {:?}",
                *at - begun
            );
        }
    }

    /// Each of a thousand writes to one namespace waits for those before it; that to another one waits for one of them.
    #[tokio::test]
    async fn writes_to_a_namespace_delay_no_other() {
        const OTHER: &str = "/api/v1/namespaces/other/persistentvolumeclaims/data-web-0";
        let budget = WriteBudget {
            per_second: NonZeroU32::new(1000).unwrap(),
            burst: NonZeroU32::MIN,
        };
        let (client, sent) = counting(budget, Term::default());
        let paths = [&[CLAIMS; 100][..], &[OTHER]].concat();
        let writes = paths.into_iter().map(|path| {
            let request = axum::http::Request::patch(path).body(Body::empty()).unwrap();
            client.send(request)
        });
        futures::future::try_join_all(writes).await.unwrap();
        let sent = lock(&sent);
        assert_eq!(sent.len(), 101);
        let at = sent.iter().position(|(path, _)| path == OTHER);
        assert!(at.is_some_and(|at| at <= 2), "{at:?}");
    }

    /// The status contains the same, and no rollout waits for an Event.
    #[tokio::test]
    async fn event_beyond_the_budget_is_dropped() {
        let one = NonZeroU32::MIN;
        let budget = WriteBudget {
            per_second: one,
            burst: one,
        };
        let (client, sent) = counting(budget, Term::default());
        let mut refused = Vec::new();
        // With one more in each second, this takes no half of an hour.
        let burst = usize::try_from(super::EVENTS.get()).unwrap();
        for _ in 0..3 * burst {
            let request = axum::http::Request::post(EVENTS).body(Body::empty()).unwrap();
            refused.extend(client.send(request).await.err().map(|error| error.to_string()));
        }
        let count = lock(&sent).len();
        assert!((burst..3 * burst).contains(&count), "{count} were sent");
        assert_eq!(refused.len(), 3 * burst - count);
        refused.dedup();
        assert_eq!(refused, ["ServiceError: not sent: the budget for Events is used up"]);
    }
}
