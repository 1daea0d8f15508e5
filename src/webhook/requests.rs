//! Answers requests: `POST /validate/{policy}/{secret}` and `GET /healthz`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, PoisonError, RwLock};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};

use super::body::{Unread, drain, read};
use super::connections::{ConnectionStage, OpenConnection};
use super::engine::{Engine, EngineError};
use super::envelope::{self, AdmissionReview};
use super::limits::Limits;
use super::metrics::{Bound, ReviewOutcome, WebhookMetrics};
use super::path::{Destination, SecretPath, asked};
use super::room::{Reservation, Room};

/// The engines by the name in the path.
pub type Engines = BTreeMap<String, Arc<dyn Engine>>;

/// The state that all requests share.
pub(super) struct Requests {
    engines: Engines,
    pub(super) limits: Limits,
    pub(super) metrics: Arc<WebhookMetrics>,
    /// The newest first; empty if everybody is answered.
    paths: RwLock<Vec<SecretPath>>,
    room: Room,
    /// Only one request at a time compares two large objects: both are decoded, which takes many times their length.
    pub(super) large: Arc<Semaphore>,
}

/// The answer to a request.
enum ServedAnswer {
    /// The answer to a review.
    Review(Vec<u8>),
    /// Any other answer, in one line.
    Line(StatusCode, String),
}

impl Requests {
    pub(super) fn new(
        engines: Engines,
        limits: Limits,
        path: Option<SecretPath>,
        metrics: Arc<WebhookMetrics>,
    ) -> Self {
        Self {
            room: Room::new(limits.room, metrics.bytes()),
            engines,
            limits,
            metrics,
            paths: RwLock::new(path.into_iter().collect()),
            large: Arc::new(Semaphore::new(1)),
        }
    }

    /// Answers under this path and under the previous one.
    pub(super) fn answer_under(&self, path: SecretPath) {
        let mut paths = self.paths.write().unwrap_or_else(PoisonError::into_inner);
        if paths.first() != Some(&path) {
            paths.insert(0, path);
            paths.truncate(2);
        }
    }

    /// Answers a request. An answer before the body was read closes the connection.
    pub(super) async fn answer(
        &self,
        connection: &OpenConnection,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let (head, mut body) = request.into_parts();
        let asked = {
            let paths = self.paths.read().unwrap_or_else(PoisonError::into_inner);
            asked(head.uri.path(), &paths)
        };
        let answer = match asked {
            Destination::Nothing => Err(line(StatusCode::NOT_FOUND, "not found")),
            Destination::Health if head.method == Method::GET => Ok(line(StatusCode::OK, "ok")),
            Destination::Health => Err(line(StatusCode::METHOD_NOT_ALLOWED, "expected GET")),
            Destination::Policy(_) if head.method != Method::POST => {
                Err(line(StatusCode::METHOD_NOT_ALLOWED, "expected POST"))
            }
            Destination::Policy(policy) => match self.engines.get(policy) {
                None => Err(line(StatusCode::NOT_FOUND, "no policy of this name")),
                Some(engine) => {
                    connection.enter(ConnectionStage::Reading);
                    let now = Instant::now();
                    let deadline = self.limits.deadline(head.uri.query(), now);
                    let answer = self.review(engine, connection, &mut body, now, deadline).await;
                    connection.enter(ConnectionStage::Idle);
                    answer
                }
            },
        };
        let read_to_its_end = answer.is_ok();
        let mut response = answer.unwrap_or_else(|early| early).into_response();
        if !read_to_its_end {
            response
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
            tokio::spawn(drain(body));
        }
        self.metrics.request(response.status().as_u16());
        Ok(response)
    }

    /// Reads and decides a review. The error is an answer before the end of the body.
    async fn review(
        &self,
        engine: &Arc<dyn Engine>,
        connection: &OpenConnection,
        body: &mut Incoming,
        begun: Instant,
        deadline: Instant,
    ) -> Result<ServedAnswer, ServedAnswer> {
        let mut reservation = self.room.reservation();
        let bytes = match timeout_at(deadline, read(body, self.limits.body, &mut reservation)).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(unread)) => return Err(self.unread(unread)),
            Err(_) => {
                self.metrics.bound(Bound::BodyTime);
                return Err(line(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"));
            }
        };
        if reservation.grow(bytes.len().max(self.room.decision())).is_err() {
            return Err(self.unread(Unread::NoRoom));
        }
        connection.enter(ConnectionStage::Deciding);
        let (sender, receiver) = oneshot::channel();
        let decision = PendingReview {
            engine: Arc::clone(engine),
            body: bytes,
            reservation,
            large: Arc::clone(&self.large),
            metrics: Arc::clone(&self.metrics),
            begun,
            deadline,
        };
        // The task keeps its room until it has ended, even if nobody waits for it any more.
        tokio::spawn(decision.run(sender));
        let ended = || line(StatusCode::SERVICE_UNAVAILABLE, "the decision was aborted");
        Ok(receiver.await.unwrap_or_else(|_| ended()))
    }

    fn unread(&self, unread: Unread) -> ServedAnswer {
        match unread {
            Unread::TooLong => {
                self.metrics.bound(Bound::BodyLength);
                let text = format!("expected a body of at most {} bytes", self.limits.body);
                line(StatusCode::PAYLOAD_TOO_LARGE, text)
            }
            Unread::NoRoom => {
                self.metrics.bound(Bound::BodyRoom);
                let text = "no memory for the body at the moment: try again";
                line(StatusCode::SERVICE_UNAVAILABLE, text)
            }
            Unread::Broken => line(StatusCode::BAD_REQUEST, "the body was cut off"),
        }
    }
}

/// A review that was read and has to be decided.
struct PendingReview {
    engine: Arc<dyn Engine>,
    body: Vec<u8>,
    reservation: Reservation,
    large: Arc<Semaphore>,
    metrics: Arc<WebhookMetrics>,
    begun: Instant,
    deadline: Instant,
}

impl PendingReview {
    /// Sends the answer as soon as there is one, at the latest at the deadline, and ends when the engine has ended.
    async fn run(self, sender: oneshot::Sender<ServedAnswer>) {
        let review = match AdmissionReview::read(&self.body) {
            Ok(review) => review,
            Err(error) => {
                let _ = sender.send(line(StatusCode::BAD_REQUEST, error.to_string()));
                return;
            }
        };
        let mut evaluation = self.engine.evaluate(review.request, self.deadline);
        let evaluated = timeout_at(self.deadline, &mut evaluation).await;
        let is_late = evaluated.is_err();
        let decided = match evaluated {
            Ok(outcome) => self.in_turn(|| respond(&review, outcome)).await,
            Err(_) => None,
        };
        let (response, outcome) = decided.unwrap_or_else(|| {
            let late = review.deny(Some(504), "the policy did not answer in time");
            (late, ReviewOutcome::Late)
        });
        tracing::debug!(uid = %review.uid, allowed = response.allowed, "answered a review");
        self.metrics.review(outcome, self.begun.elapsed());
        let _ = sender.send(ServedAnswer::Review(response.to_review()));
        if is_late {
            evaluation.await.ok();
        }
    }

    /// Calls `act`: for a large body when it is its turn, and not after the deadline.
    async fn in_turn<T>(&self, act: impl FnOnce() -> T) -> Option<T> {
        if self.body.len() <= self.reservation.room().small() {
            return Some(act());
        }
        let turn = timeout_at(self.deadline, self.large.acquire()).await;
        let _turn = turn.ok()?.ok()?;
        Some(act())
    }
}

fn respond(
    review: &AdmissionReview<'_>,
    outcome: Result<Vec<u8>, EngineError>,
) -> (envelope::AdmissionResponse, ReviewOutcome) {
    match outcome {
        Ok(answer) => {
            let response = review.respond(&answer);
            let outcome = if response.allowed {
                ReviewOutcome::Allowed
            } else {
                ReviewOutcome::Denied
            };
            (response, outcome)
        }
        Err(error) => (review.fail(&error.to_string()), ReviewOutcome::Failed),
    }
}

fn line(code: StatusCode, text: impl Into<String>) -> ServedAnswer {
    ServedAnswer::Line(code, text.into())
}

impl ServedAnswer {
    fn into_response(self) -> Response<Full<Bytes>> {
        let (code, kind, bytes) = match self {
            Self::Review(bytes) => (StatusCode::OK, "application/json", bytes),
            Self::Line(code, text) => (code, "text/plain; charset=utf-8", (text + "\n").into_bytes()),
        };
        let mut response = Response::new(Full::new(bytes.into()));
        *response.status_mut() = code;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        if code == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
