//! ClaimRollouts, API servers, and what all replacements share, for tests.

use std::future::pending;
use std::sync::{Arc, Mutex};

use futures::channel::mpsc;
use kube::Client;
use kube::client::Body;
use kube::runtime::reflector::Store;
use serde_json::{Value, json};

use super::calls::caller::Caller;
use super::clock::{Clock, clock, clock_millis};
use super::crd::ClaimRollout;
use super::lead::config::Config;
use super::lead::parts::CommonParts;
use super::locking::lock;
use super::objects::packed_rollout::PackedRollout;
use super::objects::set::SlimSet;
use super::reconcile::context::Context;
use super::registrations::admission::{Admission, WithoutPolicy};
use super::replacing::cluster::Cluster;
use super::watch::streams::RequeueSender;
use crate::api::Settings;

/// The ClaimRollout of the set `web` with this metadata and status.
pub(super) fn rollout(metadata: &Value, status: &Value) -> ClaimRollout {
    serde_json::from_value(json!({
        "apiVersion": "claim-rollout.io/v1alpha1",
        "kind": "ClaimRollout",
        "metadata": metadata,
        "spec": {
            "setRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "set-uid"},
            "revision": "r", "templates": [], "updatePolicy": "InPlace", "sync": "LockStep", "replaceSet": "Never",
        },
        "status": status,
    }))
    .unwrap()
}

/// The object with this JSON at this place: keys between slashes, of which the parents are made if they are absent.
pub(super) fn changed(mut object: Value, place: &str, json: &str) -> Value {
    let mut at = &mut object;
    for key in place.split('/').skip(1).map(|key| key.replace("~1", "/")) {
        at = match key.parse::<usize>() {
            Ok(index) if at.is_array() => &mut at[index],
            _ => &mut at[&*key],
        };
    }
    *at = serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"));
    object
}

/// A request as an API server gets it.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) content_type: String,
    /// Null if it has none.
    pub(crate) body: Value,
}

impl ReceivedRequest {
    /// The method and the path.
    pub(crate) fn target(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    pub(crate) fn is_watch(&self) -> bool {
        self.query.contains("watch=true")
    }
}

/// The requests that an API server has got.
#[derive(Clone, Default)]
pub(crate) struct ReceivedRequests(Arc<Mutex<Vec<ReceivedRequest>>>);

impl ReceivedRequests {
    /// Those since the last call.
    pub(crate) fn take(&self) -> Vec<ReceivedRequest> {
        std::mem::take(&mut *lock(&self.0))
    }
}

/// A client whose API server answers like this: a code and a body, or never.
pub(crate) fn serving(answer: impl Fn(&ReceivedRequest) -> Option<(u16, Value)> + Send + Sync + 'static) -> Client {
    serving_text(move |request| answer(request).map(|(code, body)| (code, body.to_string())))
}

/// The same with any text as the body.
pub(crate) fn serving_text(
    answer: impl Fn(&ReceivedRequest) -> Option<(u16, String)> + Send + Sync + 'static,
) -> Client {
    let answer = Arc::new(answer);
    let server = move |request: axum::http::Request<Body>| {
        let answer = Arc::clone(&answer);
        async move {
            let (head, body) = request.into_parts();
            let content_type = head.headers.get("content-type").and_then(|kind| kind.to_str().ok());
            let request = ReceivedRequest {
                content_type: content_type.unwrap_or_default().to_owned(),
                method: head.method.to_string(),
                path: head.uri.path().to_owned(),
                query: head.uri.query().unwrap_or_default().to_owned(),
                body: serde_json::from_slice(&body.collect_bytes().await?).unwrap_or_default(),
            };
            let Some((code, text)) = answer(&request) else {
                return pending().await;
            };
            let response = axum::http::Response::builder().status(code);
            Ok::<_, kube::Error>(response.body(Body::from(text.into_bytes())).expect("a response"))
        }
    };
    Client::new(tower::service_fn(server), "default")
}

/// A client whose API server answers like this, and the requests that it gets.
pub(crate) fn recording(
    answer: impl Fn(&ReceivedRequest) -> Option<(u16, Value)> + Send + Sync + 'static,
) -> (Client, ReceivedRequests) {
    let received = ReceivedRequests::default();
    let noted = received.clone();
    let client = serving(move |request| {
        lock(&noted.0).push(request.clone());
        answer(request)
    });
    (client, received)
}

/// A client whose API server answers every request like this.
pub(super) fn answering(code: u16, body: &Value) -> Client {
    let body = body.clone();
    serving(move |_| Some((code, body.clone())))
}

/// A client whose API server never answers.
pub(super) fn silent() -> Client {
    serving(|_| None)
}

/// A context with these sets and reports.
pub(super) fn context(client: &Client, watched: (Store<SlimSet>, Store<PackedRollout>)) -> Context {
    context_at(clock, client, watched)
}

/// The same with this clock.
pub(super) fn context_at(clock: Clock, client: &Client, watched: (Store<SlimSet>, Store<PackedRollout>)) -> Context {
    let config = Config {
        without_policy: WithoutPolicy::RollOut,
        ..Config::default()
    };
    context_of(&config, caller(client, clock), watched, mpsc::unbounded().0)
}

/// A context with this configuration, whose sets are requeued here.
pub(super) fn context_of(
    config: &Config,
    caller: Caller,
    (sets, rollouts): (Store<SlimSet>, Store<PackedRollout>),
    requeue: RequeueSender,
) -> Context {
    CommonParts::new(config, caller, rollouts).context(config, sets, None, requeue)
}

/// A client with this clock.
pub(super) fn caller(client: &Client, clock: Clock) -> Caller {
    Caller {
        client: client.clone(),
        clock,
        metrics: Arc::default(),
    }
}

/// What replacements share, with the default settings, and journals in the namespace `home`.
pub(super) fn cluster(client: Client) -> Cluster {
    let settings = Arc::<Settings>::default();
    let admission = Admission::new(
        client.clone(),
        Arc::clone(&settings),
        None,
        WithoutPolicy::Stall,
        Arc::default(),
    );
    Cluster {
        client,
        settings,
        admission: Arc::new(admission),
        journals: "home".to_owned(),
        clock: clock_millis,
    }
}

/// What somebody's webhook, a proxy, our policy or the API server may answer to a write that is not done.
pub(super) fn not_done() -> Vec<(u16, Value)> {
    let status = |code: u16, reason: &str, message: &str, details: Value| {
        let body = json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message,
            "details": details});
        (code, body)
    };
    let webhook = "admission webhook \"x\" denied the request: no";
    let mut all: Vec<(u16, Value)> = [400, 401, 403, 404, 408, 409, 410, 413, 422, 429, 500, 502, 503, 504]
        .into_iter()
        .map(|code| status(code, "", webhook, json!(null)))
        .collect();
    let named = json!({"kind": "namespaces", "name": "shop"});
    all.extend([
        status(404, "NotFound", "namespaces \"shop\" not found", named.clone()),
        status(
            404,
            "NotFound",
            "statefulsets \"web\" not found",
            json!({"kind": "statefulsets", "name": "web"}),
        ),
        status(
            409,
            "AlreadyExists",
            "statefulsets \"web\" already exists",
            json!({"name": "web"}),
        ),
        status(
            403,
            "Forbidden",
            "unable to create new content in namespace shop because it is being terminated",
            named,
        ),
        (404, json!("404 page not found")),
        (502, json!("bad gateway")),
        (200, json!({})),
        (200, json!("<html>")),
        (201, json!({"kind": "Status", "status": "Failure", "code": 500})),
        (202, json!({"kind": "Status", "status": "Success"})),
    ]);
    all
}
