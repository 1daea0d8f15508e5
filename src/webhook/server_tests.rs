use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Engines, Identity, Limits, Running, ServerError, serve};
use crate::webhook::engine::{Engine, EngineError, Evaluation};

/// Says the same to every request, after a while.
struct Says(Duration, Result<Vec<u8>, EngineError>);

impl Engine for Says {
    fn evaluate<'a>(&'a self, _: &'a RawValue) -> Evaluation<'a> {
        Box::pin(async {
            tokio::time::sleep(self.0).await;
            self.1.clone()
        })
    }
}

fn identity() -> Identity {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    Identity {
        certificates: made.cert.pem(),
        key: made.signing_key.serialize_pem(),
    }
}

fn engines() -> Engines {
    let yes = || Ok(br#"{"accepted":true,"warnings":["careful"]}"#.to_vec());
    let engine = |after, says| -> Arc<dyn Engine> { Arc::new(Says(Duration::from_millis(after), says)) };
    Engines::from([
        ("fast".to_owned(), engine(0, yes())),
        ("slow".to_owned(), engine(500, yes())),
        ("stuck".to_owned(), engine(60_000, yes())),
        (
            "broken".to_owned(),
            engine(0, Err(EngineError::Failed("out of order".to_owned()))),
        ),
    ])
}

/// A server with a small body limit, and what it proves its identity with.
fn start() -> (Running, String) {
    let identity = identity();
    let limits = Limits {
        body: 4096,
        time: Duration::from_secs(2),
        ..Limits::default()
    };
    let running = serve(([127, 0, 0, 1], 0).into(), &identity, engines(), limits).expect("listening");
    (running, identity.certificates)
}

/// One HTTPS request, on a thread of its own: status and body.
async fn call(address: SocketAddr, certificates: &str, head: &str, body: &str) -> (u16, String) {
    let root = CertificateDer::from_pem_slice(certificates.as_bytes()).expect("PEM");
    let text = format!(
        "{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let exchange = move || {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(root).expect("a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("TLS 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::from(address.ip());
        let connection = rustls::ClientConnection::new(Arc::new(config), name).expect("a connection");
        let socket = TcpStream::connect(address).expect("a socket");
        let mut stream = rustls::StreamOwned::new(connection, socket);
        stream.write_all(text.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        // A server may close without close_notify; what counts is what came before.
        stream.read_to_end(&mut answer).ok();
        String::from_utf8(answer).expect("text")
    };
    let answer = tokio::task::spawn_blocking(exchange).await.expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .expect("a status");
    (status, body.to_owned())
}

fn review() -> String {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u"}}).to_string()
}

fn response(body: &str) -> Value {
    serde_json::from_str::<Value>(body).expect("a review")["response"].clone()
}

#[tokio::test]
async fn a_review_is_answered_over_tls_on_a_port_that_the_system_chose() {
    let (running, certificates) = start();
    let path = "POST /validate/fast?timeout=5s";
    let (status, body) = call(running.address(), &certificates, path, &review()).await;
    assert_eq!(
        (status, response(&body)),
        (200, json!({"uid": "u", "allowed": true, "warnings": ["careful"]}))
    );
}

#[tokio::test]
async fn an_engine_that_fails_or_is_late_refuses_the_request() {
    let (running, certificates) = start();
    let (status, body) = call(running.address(), &certificates, "POST /validate/broken", &review()).await;
    let refused = json!({"uid": "u", "allowed": false, "status": {"code": 500, "message": "internal server error: out of order"}});
    assert_eq!((status, response(&body)), (200, refused));
    let (status, body) = call(running.address(), &certificates, "POST /validate/stuck", &review()).await;
    let late = json!({"code": 504, "message": "expected an answer of the policy in time"});
    assert_eq!(
        (status, response(&body)),
        (200, json!({"uid": "u", "allowed": false, "status": late}))
    );
}

#[tokio::test]
async fn what_cannot_be_answered_is_an_http_error_in_one_line() {
    let (running, certificates) = start();
    for (head, body, expected) in [
        ("GET /healthz", String::new(), 200),
        ("GET /validate/fast", String::new(), 405),
        ("POST /validate/other", review(), 404),
        ("POST /validate/fast", String::new(), 400),
        ("POST /validate/fast", "{".to_owned(), 400),
        ("POST /validate/fast", "{}".to_owned(), 400),
        ("POST /validate/fast", "[".repeat(4000), 400),
        ("POST /validate/fast", " ".repeat(4097), 413),
    ] {
        let (status, text) = call(running.address(), &certificates, head, &body).await;
        assert_eq!(status, expected, "{head}: {text}");
        assert!(text.trim_end().lines().count() <= 1, "{head}: {text}");
    }
}

#[tokio::test]
async fn a_request_in_flight_is_answered_when_the_server_stops() {
    let (running, certificates) = start();
    let address = running.address();
    let in_flight = tokio::spawn(async move { call(address, &certificates, "POST /validate/slow", &review()).await });
    tokio::time::sleep(Duration::from_millis(250)).await;
    running.stop().await.expect("stopped");
    let (status, body) = in_flight.await.expect("answered");
    assert_eq!((status, response(&body)["allowed"].clone()), (200, json!(true)));
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[tokio::test]
async fn an_identity_that_cannot_be_used_is_named() {
    let good = identity();
    let start = |certificates: &str, key: &str| {
        let identity = Identity {
            certificates: certificates.to_owned(),
            key: key.to_owned(),
        };
        serve(([127, 0, 0, 1], 0).into(), &identity, engines(), Limits::default())
    };
    for (certificates, key, named) in [
        ("", good.key.as_str(), "certificates and their key"),
        (good.certificates.as_str(), "", "a private key"),
        (
            good.certificates.as_str(),
            identity().key.as_str(),
            "certificates and their key",
        ),
    ] {
        match start(certificates, key) {
            Err(ServerError::Identity { expected, .. }) => assert_eq!(expected, named),
            other => panic!("{named}: {other:?}"),
        }
    }
    let (running, _) = self::start();
    let taken = serve(running.address(), &good, engines(), Limits::default());
    assert!(matches!(taken, Err(ServerError::Bind { .. })));
    assert!(!format!("{good:?}").contains("PRIVATE"), "a key is never printed");
}
