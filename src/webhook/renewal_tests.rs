use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use hyper::{Method, Request, Response};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::{CertificateSecret, TERMS, filled, publish, read};
use crate::webhook::certificates::Certificates;

fn made() -> Certificates {
    let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    Certificates::make(&["claim-rollout-webhook.claim-rollout.svc".to_owned()], now, None).unwrap()
}

/// The Secret in the manifests.
fn empty() -> Secret {
    let secret = json!({"metadata": {"name": "s", "resourceVersion": "7", "labels": {"a": "b"}}, "type": "Opaque"});
    serde_json::from_value(secret).unwrap()
}

#[test]
fn secret_complete_is_read_and_partial_is_not() {
    assert!(read(&empty()).is_none());
    let made = made();
    let secret = filled(empty(), &made);
    let known = read(&secret).unwrap();
    assert_eq!(known.terms, made.terms);
    assert_eq!(known.authorities, made.authorities);
    assert_eq!(known.identity, made.identity);
    assert_eq!(known.path, made.path);
    for key in ["ca.crt", "tls.crt", "tls.key", "path"] {
        let mut less = secret.clone();
        less.data.as_mut().unwrap().remove(key);
        assert!(read(&less).is_none(), "without {key}");
    }
    let mut anothers = secret.clone();
    let annotations = anothers.metadata.annotations.as_mut().unwrap();
    annotations.insert(TERMS.to_owned(), "{}".to_owned());
    assert!(read(&anothers).is_none());
    let mut emptied = secret;
    (emptied.data, emptied.metadata.annotations) = (None, None);
    assert_eq!(emptied, empty(), "nothing else was written");
}

#[test]
fn configuration_gets_certificates_and_path_only() {
    let made = made();
    let bundle = json!(k8s_openapi::ByteString(made.authorities.clone().into_bytes()));
    let under = |policy: &str| format!("/validate/{policy}/{}", made.path.as_str());
    let webhook = |client: Value| json!({"name": "sets.claim-rollout.io", "clientConfig": client, "future": [2]});
    for (before, after) in [
        (
            json!({"service": {"name": "s", "future": 1}}),
            json!({"service": {"name": "s", "future": 1, "path": under("sets")}}),
        ),
        (
            json!({"service": {"name": "s", "path": "/validate/other"}, "caBundle": "old"}),
            json!({"service": {"name": "s", "path": under("other")}}),
        ),
        (
            json!({"service": {"path": "/validate/other/before"}}),
            json!({"service": {"path": under("other")}}),
        ),
        (
            json!({"url": "https://127.0.0.1:1"}),
            json!({"url": format!("https://127.0.0.1:1{}", under("sets"))}),
        ),
        (
            json!({"url": "https://host/validate/other/before"}),
            json!({"url": format!("https://host{}", under("other"))}),
        ),
    ] {
        let case = before.to_string();
        let mut after = after;
        after["caBundle"] = bundle.clone();
        let mut configuration = json!({"webhooks": [webhook(before), webhook(after.clone())], "future": {}});
        assert!(publish(&mut configuration, &made), "{case}");
        let expected = json!({"webhooks": [webhook(after.clone()), webhook(after)], "future": {}});
        assert_eq!(configuration, expected, "{case}");
        assert!(
            !publish(&mut configuration, &made),
            "a second time there is nothing to do: {case}"
        );
    }
    assert!(!publish(&mut json!({"webhooks": []}), &made), "no webhooks");
}

/// An API server with these objects, by path. It counts the writes.
#[derive(Clone, Default)]
struct Objects(Arc<Mutex<(BTreeMap<String, Value>, usize)>>);

const SECRET: &str = "/api/v1/namespaces/ops/secrets/hook";
const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/hook";

impl Objects {
    fn put(&self, path: &str, object: Value) {
        self.0.lock().unwrap().0.insert(path.to_owned(), object);
    }

    fn get(&self, path: &str) -> Value {
        self.0.lock().unwrap().0[path].clone()
    }

    /// The number of writes since the last call.
    fn writes(&self) -> usize {
        std::mem::take(&mut self.0.lock().unwrap().1)
    }

    fn client(&self) -> Client {
        let objects = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let objects = objects.clone();
            async move {
                let (head, body) = request.into_parts();
                let path = head.uri.path().to_owned();
                if head.method == Method::PUT {
                    let body = body.collect_bytes().await.expect("a body");
                    objects.put(&path, serde_json::from_slice(&body).expect("JSON"));
                    objects.0.lock().unwrap().1 += 1;
                }
                let found = objects.0.lock().unwrap().0.get(&path).cloned();
                let missing = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "reason": "NotFound", "code": 404, "message": "no"});
                let code = if found.is_some() { 200 } else { 404 };
                let mut response = Response::new(Body::from(found.unwrap_or(missing).to_string().into_bytes()));
                *response.status_mut() = code.try_into().expect("a code");
                Ok::<_, Infallible>(response)
            }
        });
        Client::new(service, "default")
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[tokio::test]
async fn certificate_is_renewed_when_due_and_written_once() {
    let objects = Objects::default();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hook", "namespace": "ops"}});
    objects.put(SECRET, secret.clone());
    let webhooks = json!([{"name": "sets.claim-rollout.io", "clientConfig": {"service": {"name": "s"}}}]);
    objects.put(
        MUTATING,
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "hook"}, "webhooks": webhooks}),
    );
    let keeping = CertificateSecret {
        namespace: "ops".to_owned(),
        name: "hook".to_owned(),
        names: vec!["hook.ops.svc".to_owned()],
    };
    let client = objects.client();
    let keep = async |now: &str, shown: Option<&Certificates>| keeping.keep(&client, at(now), shown).await.unwrap();
    let first = keep("2026-03-01T00:00:00Z", None).await;
    assert_eq!(objects.writes(), 2, "the Secret, and the configuration");

    let same = keep("2026-04-29T00:00:00Z", Some(&first)).await;
    assert_eq!(
        (same.identity == first.identity, objects.writes()),
        (true, 0),
        "not due"
    );

    let second = keep("2026-05-01T00:00:00Z", Some(&first)).await;
    assert_eq!((second.identity == first.identity, objects.writes()), (false, 2), "due");
    assert!(
        second.authorities.ends_with(&first.authorities),
        "replicas with the first one stay trusted"
    );
    assert_eq!(second.path, first.path);
    let bundle = json!(k8s_openapi::ByteString(second.authorities.clone().into_bytes()));
    assert_eq!(objects.get(MUTATING)["webhooks"][0]["clientConfig"]["caBundle"], bundle);

    // Somebody empties the Secret: this server still shows the second one.
    objects.put(SECRET, secret);
    let third = keep("2026-05-02T00:00:00Z", Some(&second)).await;
    assert!(third.identity != second.identity && third.path == second.path);
    let [newest, _] = [&second, &first].map(|made| made.authorities.split_inclusive("END CERTIFICATE-----").next());
    assert!(
        third.authorities.contains(newest.unwrap()),
        "the second one stays trusted"
    );
}
