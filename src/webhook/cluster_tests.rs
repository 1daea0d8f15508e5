use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::{ApiServer, lookup_time};
use crate::admission::{CanI, CannotAsk, Get};

/// An API server with the same answer to every request, or with none.
fn cluster(reply: Option<(u16, String)>) -> (ApiServer, Arc<AtomicUsize>) {
    let count = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&count);
    let service = tower::service_fn(move |_: Request<Body>| {
        counted.fetch_add(1, Ordering::SeqCst);
        let reply = reply.clone();
        async move {
            let Some((code, text)) = reply else {
                return std::future::pending().await;
            };
            let mut response = Response::new(Body::from(text.into_bytes()));
            *response.status_mut() = code.try_into().expect("a code");
            Ok::<_, std::convert::Infallible>(response)
        }
    });
    (ApiServer::new(Client::new(service, "default")), count)
}

const GOLD: Get<'_> = Get {
    api_version: "storage.k8s.io/v1",
    kind: "VolumeAttributesClass",
    namespace: None,
    name: "gold",
};

#[tokio::test]
async fn get_of_a_kind_that_is_not_served_is_not_that_of_no_object() {
    let status = |code: u16, reason: &str, details| {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "no", "reason": reason, "details": details, "code": code});
        (code, status.to_string())
    };
    let gold = json!({"name": "gold", "group": "storage.k8s.io", "kind": "volumeattributesclasses"});
    let not_served = "the API server does not serve storage.k8s.io/v1 VolumeAttributesClass";
    let object = json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass",
        "metadata": {"name": "gold"}, "driverName": "d"})
    .to_string();
    for (reply, expected) in [
        ((200, object.clone()), Ok(Some(object))),
        (status(404, "NotFound", gold.clone()), Ok(None)),
        ((404, "404 page not found\n".to_owned()), Err(not_served)),
        (status(404, "NotFound", json!(null)), Err(not_served)),
        (status(403, "Forbidden", gold), Err("no")),
    ] {
        let case = format!("{reply:?}");
        let (cluster, _) = cluster(Some(reply));
        let deadline = Instant::now() + Duration::from_secs(60);
        let got = spawn_blocking(move || cluster.until(deadline).get(&GOLD));
        let got = got.await.expect("an answer");
        let expected = expected.map_err(|text| CannotAsk(text.to_owned()));
        let parsed = got.map(|text| text.map(|text| serde_json::from_str::<Value>(&text).expect("JSON")));
        let expected = expected.map(|text| text.map(|text| serde_json::from_str(&text).expect("JSON")));
        assert_eq!(parsed, expected, "{case}");
    }
}

#[tokio::test]
async fn lookup_after_the_deadline_does_not_begin() {
    let (cluster, count) = cluster(None);
    let asked = spawn_blocking(move || {
        let mut lookups = cluster.until(Instant::now() + Duration::from_millis(100));
        // The first one is given up at the deadline, long before the timeout of a lookup.
        let first = lookups.get(&GOLD).is_err();
        let may = CanI {
            user: "alice",
            uid: "",
            groups: Vec::new(),
            extra: None,
            namespace: "shop",
            group: "",
            resource: "persistentvolumeclaims",
            subresource: "",
            verb: "patch",
        };
        (first, lookups.get(&GOLD), lookups.can_i(&may))
    });
    let (first, second, third) = asked.await.expect("answers");
    let no_time = || CannotAsk("the deadline has passed".to_owned());
    assert!(first);
    assert_eq!((second, third), (Err(no_time()), Err(no_time())));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

/// Asks an API server whether alice, with this `extra`, may patch PVCs. Returns the answer, and the questions.
async fn asked(extra: Option<&'static str>) -> (Result<bool, CannotAsk>, Vec<Value>) {
    let bodies = Arc::<Mutex<Vec<Value>>>::default();
    let noted = Arc::clone(&bodies);
    let service = tower::service_fn(move |request: Request<Body>| {
        let noted = Arc::clone(&noted);
        async move {
            let body = request.into_body().collect_bytes().await.expect("a body");
            noted.lock().unwrap().push(serde_json::from_slice(&body).expect("JSON"));
            let answer = json!({"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {},
                "spec": {}, "status": {"allowed": true}});
            Ok::<_, std::convert::Infallible>(Response::new(Body::from(answer.to_string().into_bytes())))
        }
    });
    let cluster = ApiServer::new(Client::new(service, "default"));
    let answer = spawn_blocking(move || {
        cluster.until(Instant::now() + Duration::from_secs(60)).can_i(&CanI {
            user: "alice",
            uid: "u-1",
            groups: vec!["dev", "system:authenticated"],
            extra,
            namespace: "shop",
            group: "",
            resource: "persistentvolumeclaims",
            subresource: "",
            verb: "patch",
        })
    });
    let answer = answer.await.expect("an answer");
    let bodies = bodies.lock().unwrap().clone();
    (answer, bodies)
}

/// A token with scopes has fewer rights than its user: the API server knows the scopes from `extra`.
#[tokio::test]
async fn right_is_asked_with_groups_uid_and_extra_of_requester() {
    let spec = |extra: Value| {
        let mut spec = json!({
            "user": "alice", "uid": "u-1", "groups": ["dev", "system:authenticated"],
            "resourceAttributes": {"namespace": "shop", "group": "", "resource": "persistentvolumeclaims", "verb": "patch"},
        });
        if !extra.is_null() {
            spec["extra"] = extra;
        }
        spec
    };
    for (extra, expected) in [
        (None, json!(null)),
        (Some("null"), json!(null)),
        (
            Some(r#"{"scopes.authorization.openshift.io":["user:info"],"a":[]}"#),
            json!({"scopes.authorization.openshift.io": ["user:info"], "a": []}),
        ),
    ] {
        let (answer, bodies) = asked(extra).await;
        assert_eq!(answer, Ok(true), "{extra:?}");
        let specs: Vec<&Value> = bodies.iter().map(|body| &body["spec"]).collect();
        assert_eq!(specs, [&spec(expected)], "{extra:?}");
    }
    let (answer, bodies) = asked(Some("[1]")).await;
    assert!(answer.is_err(), "{answer:?}");
    assert_eq!(bodies, Vec::<Value>::new(), "an extra that cannot be read");
}

/// With 2 s of the shipped Pod webhook, a lookup has a second; where the API server waits longer, so does a lookup.
#[test]
fn lookup_takes_a_second_or_a_third_of_the_time_left() {
    for (left, expected) in [(200, 200), (1_500, 1_000), (4_500, 1_500), (9_000, 3_000)] {
        let found = lookup_time(Duration::from_millis(left));
        assert_eq!(found, Duration::from_millis(expected), "{left} ms are left");
    }
}
