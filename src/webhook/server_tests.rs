//! Answered requests. `bounds_tests` has those that are not.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Identity, Limits, Server, ServerError};
use crate::webhook::fixtures::{answer, call, certificate, engines, post, review, start};

fn limits() -> Limits {
    Limits {
        body: 4096,
        time: Duration::from_secs(2),
        ..Limits::default()
    }
}

fn response(body: &str) -> Value {
    serde_json::from_str::<Value>(body).expect("a review")["response"].clone()
}

#[tokio::test]
async fn review_over_tls_is_answered() {
    let served = start(limits(), None);
    let answer = call(&served, "POST /validate/fast?timeout=5s", &review()).await;
    assert_eq!(
        (answer.status, response(&answer.body)),
        (200, json!({"uid": "u", "allowed": true, "warnings": ["careful"]}))
    );
    assert!(served.counts("reviews_total{outcome=\"allowed\"} 1"));
}

#[tokio::test]
async fn review_of_an_engine_that_fails_or_is_late_is_denied() {
    let served = start(limits(), None);
    for (head, code, message, outcome) in [
        (
            "POST /validate/broken",
            500,
            "internal server error: out of order",
            "failed",
        ),
        (
            "POST /validate/stuck?timeout=1s",
            504,
            "the policy did not answer in time",
            "late",
        ),
    ] {
        let answer = call(&served, head, &review()).await;
        let denied = json!({"uid": "u", "allowed": false, "status": {"code": code, "message": message}});
        assert_eq!((answer.status, response(&answer.body)), (200, denied), "{head}");
        let counted = format!("reviews_total{{outcome=\"{outcome}\"}} 1");
        assert!(served.counts(&counted), "{counted}");
    }
}

#[tokio::test]
async fn request_that_is_no_review_is_an_http_error_in_one_line() {
    let served = start(limits(), None);
    for (head, body, expected) in [
        ("GET /healthz", String::new(), 200),
        ("POST /healthz", String::new(), 405),
        ("GET /validate/fast", String::new(), 405),
        ("POST /validate/other", review(), 404),
        ("POST /validate/fast", String::new(), 400),
        ("POST /validate/fast", "{".to_owned(), 400),
        ("POST /validate/fast", "{}".to_owned(), 400),
        ("POST /validate/fast", "[".repeat(4000), 400),
        ("POST /validate/fast", " ".repeat(4097), 413),
    ] {
        let answer = call(&served, head, &body).await;
        assert_eq!(answer.status, expected, "{head}: {}", answer.body);
        assert!(answer.body.trim_end().lines().count() <= 1, "{head}: {}", answer.body);
    }
    assert!(served.counts("requests_total{code=\"400\"} 4"));
}

#[tokio::test]
async fn request_in_flight_when_the_server_stops_is_answered() {
    let served = start(limits(), None);
    let mut stream = served.connect().await;
    let request = post("/validate/gated", review().len()) + &review();
    stream.write_all(request.as_bytes()).await.expect("sent");
    served.evaluated(1).await;
    let stopping = tokio::spawn(served.running.stop());
    while TcpStream::connect(served.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    served.gate.add_permits(1);
    let answer = answer(&mut stream).await;
    stopping.await.expect("no panic").expect("stopped");
    assert_eq!(
        (answer.status, response(&answer.body)["allowed"].clone()),
        (200, json!(true))
    );
}

/// Nothing accepts here: the operating system queues the connections. A dropped one would wait for a second or more.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn connections_in_a_burst_are_kept_until_they_are_accepted() {
    let served = start(limits(), None);
    let connect = |_| std::net::TcpStream::connect_timeout(&served.address, Duration::from_secs(5));
    let connected: Result<Vec<_>, _> = (0..300).map(connect).collect();
    assert!(connected.is_ok(), "{connected:?}");
}

#[tokio::test]
async fn request_on_a_known_connection_does_not_wait_for_handshakes() {
    let served = start(limits(), None);
    let request = post("/validate/fast", review().len()).replace("close", "keep-alive") + &review();
    let mut known = served.connect().await;
    known.write_all(request.as_bytes()).await.expect("sent");
    served.evaluated(1).await;

    let turn = served.running.shared.handshakes.turn(served.address.ip()).await;
    let mut other = pin!(served.connect());
    let waited = timeout(Duration::from_millis(300), &mut other).await;
    assert!(waited.is_err(), "another handshake has the turn");
    known.write_all(request.as_bytes()).await.expect("sent");
    served.evaluated(2).await;

    drop(turn);
    let mut other = other.await;
    other.write_all(request.as_bytes()).await.expect("sent");
    served.evaluated(3).await;
}

/// Both objects of a large review are decoded, which takes many times their length.
#[tokio::test]
async fn large_bodies_are_compared_one_at_a_time() {
    let large = " ".repeat(2000) + &review();
    let limits = Limits {
        room: 160_000,
        time: Duration::from_secs(60),
        ..limits()
    };
    let served = start(limits, None);
    let turn = Arc::clone(&served.running.shared.requests.large).acquire_owned().await;
    let late = call(&served, "POST /validate/fast?timeout=1s", &large).await;
    assert_eq!(response(&late.body)["status"]["code"], 504, "{late:?}");
    let small = call(&served, "POST /validate/fast", &review()).await;
    assert_eq!(response(&small.body)["allowed"], true, "{small:?}");
    drop(turn);
    let next = call(&served, "POST /validate/fast", &large).await;
    assert_eq!(response(&next.body)["allowed"], true, "{next:?}");
}

fn server() -> Server {
    Server {
        engines: engines().engines,
        limits: Limits::default(),
        path: None,
        metrics: Arc::default(),
    }
}

#[tokio::test]
async fn identity_that_cannot_be_used_is_named() {
    let good = certificate();
    let start = |certificates: &str, key: &str| {
        let identity = Identity {
            certificates: certificates.to_owned(),
            key: key.to_owned(),
        };
        server().listen(([127, 0, 0, 1], 0).into(), &identity)
    };
    for (certificates, key, named) in [
        ("", good.key.as_str(), "certificates and their key"),
        (good.certificates.as_str(), "", "a private key"),
        (
            good.certificates.as_str(),
            certificate().key.as_str(),
            "certificates and their key",
        ),
    ] {
        match start(certificates, key) {
            Err(ServerError::Identity(error)) => assert_eq!(error.expected, named),
            other => panic!("{named}: {other:?}"),
        }
    }
    let running = start(&good.certificates, &good.key).expect("listening");
    let taken = server().listen(running.address(), &good);
    assert!(matches!(taken, Err(ServerError::Bind { .. })));
    assert!(!format!("{good:?}").contains("PRIVATE"), "a key is never printed");
}
