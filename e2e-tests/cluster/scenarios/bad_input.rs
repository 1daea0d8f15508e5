//! Anybody who reaches the port of the policy may post anything.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};

use crate::world::World;
use crate::world::policy_host::{Capabilities, run, shared_policy};

/// Posts a body over HTTPS. Returns status and answer.
fn post(address: SocketAddr, certificate: &str, path: &str, body: &[u8]) -> anyhow::Result<(u16, String)> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes())?)?;
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connection = rustls::ClientConnection::new(Arc::new(config), ServerName::from(address.ip()))?;
    let mut stream = rustls::StreamOwned::new(connection, TcpStream::connect(address)?);
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    // A server that finds a body too long answers and closes the connection early: read the answer without sending
    // more.
    let _ = stream.write_all(body);
    let answer = read(stream)?;
    let answer = String::from_utf8(answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    Ok((status.context("no status")?, body.to_owned()))
}

/// The answer until the server closes the connection, in order or not.
fn read(stream: rustls::StreamOwned<rustls::ClientConnection, TcpStream>) -> anyhow::Result<Vec<u8>> {
    let (mut connection, mut socket) = stream.into_parts();
    let mut answer = Vec::new();
    loop {
        let _ = connection.reader().read_to_end(&mut answer);
        match connection.read_tls(&mut socket) {
            Ok(0) | Err(_) => return Ok(answer),
            Ok(_) => _ = connection.process_new_packets()?,
        }
    }
}

/// A review that grows a template, with this text in it.
fn review(ballast: &str) -> Value {
    let set = |size: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "shop", "uid": "u", "annotations": {"example.com/ballast": ballast}},
            "spec": {"replicas": 3, "volumeClaimTemplates": [{
                "metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": size}}},
            }]},
        })
    };
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "42", "kind": {"group": "apps", "version": "v1", "kind": "StatefulSet"}, "operation": "UPDATE",
        "name": "web", "namespace": "shop", "userInfo": {"username": "admin", "groups": ["system:masters"]},
        "object": set("2Gi"), "oldObject": set("1Gi"), "options": {},
    }})
}

pub(super) async fn any_posted_body_is_answered_and_the_next_request_served(env: &World) -> anyhow::Result<()> {
    let (address, certificate, path) = env.policies().webhook()?;
    let post = |body: Vec<u8>| {
        let (certificate, path) = (certificate.clone(), path.clone());
        let exchange = move || post(address, &certificate, &path, &body);
        async { tokio::task::spawn_blocking(exchange).await? }
    };
    let good = review("").to_string();
    let broken = |from: &str, to: &str| good.replacen(from, to, 1).into_bytes();
    for (what, body, code, expected) in [
        ("nothing", Vec::new(), 400, "found nothing"),
        ("no JSON", b"volumeClaimTemplates: []".to_vec(), 400, "expected JSON"),
        (
            "half a review",
            good.as_bytes()[..good.len() / 2].to_vec(),
            400,
            "expected JSON",
        ),
        ("no UTF-8", vec![0xff; 100], 400, "expected UTF-8"),
        (
            "another object",
            br#"{"apiVersion":"v1","kind":"Pod"}"#.to_vec(),
            400,
            "another kind",
        ),
        (
            "a null object",
            broken(&review("")["request"]["object"].to_string(), "null"),
            200,
            "\"allowed\":false",
        ),
        (
            "another type",
            broken("\"replicas\":3", "\"replicas\":{}"),
            200,
            "\"allowed\":false",
        ),
        (
            "six megabytes of a review",
            review(&"x".repeat(3 << 20)).to_string().into_bytes(),
            413,
            "",
        ),
        ("six megabytes of brackets", vec![b'['; 6 << 20], 413, ""),
    ] {
        let (status, answer) = post(body).await.with_context(|| what.to_owned())?;
        ensure!(status == code && answer.contains(expected), "{what}: {status} {answer}");
        let (status, answer) = post(good.clone().into_bytes()).await.context("the next good one")?;
        ensure!(
            status == 200 && answer.contains("\"allowed\":true"),
            "after {what}: {status} {answer}"
        );
    }
    without_the_host()
}

/// The module itself accepts what the host would stop.
fn without_the_host() -> anyhow::Result<()> {
    let module = &shared_policy()?;
    let settings = json!({"authority": "TrustSetEditors"});
    for (ballast, code) in [(3 << 20, Value::Null), (4 << 20, json!(400))] {
        let review = review(&"x".repeat(ballast / 8 * 7));
        let payload = json!({"request": review["request"], "settings": settings}).to_string();
        let answer = run(module, payload.as_bytes(), Capabilities::none()).map_err(anyhow::Error::msg)?;
        let answer: Value = serde_json::from_slice(&answer)?;
        ensure!(answer["code"] == code, "{} bytes: {}", payload.len(), answer["message"]);
    }
    for payload in [vec![b'['; 6 << 20], vec![b'"'; 6 << 20], vec![b'0'; 7 << 20]] {
        let answer = run(module, &payload, Capabilities::none()).map_err(anyhow::Error::msg)?;
        let answer: Value = serde_json::from_slice(&answer)?;
        ensure!(answer["code"] == 400, "{answer}");
    }
    Ok(())
}
