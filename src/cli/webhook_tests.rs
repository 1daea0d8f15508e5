use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::channel::mpsc;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use kube::Client;
use kube::client::Body;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{CertificateInUse, CertificateSource, Pauses, keeping, of_retention, serve_until};
use crate::webhook::certificates::Certificates;
use crate::webhook::{Limits, Running, SecretPath, Server};

#[test]
fn retention_settings_validate_only_and_warn_by_default() {
    for (settings, expected) in [
        (json!({}), json!({"mode": "ValidateOnly", "retention": "Warn"})),
        (
            json!({"mode": "Stage", "retention": "Deny", "shrink": "Recover"}),
            json!({"mode": "ValidateOnly", "retention": "Deny", "shrink": "Recover"}),
        ),
    ] {
        let made = of_retention(&to_raw_value(&settings).unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(made.get()).unwrap(), expected);
    }
}

#[test]
fn keeping_names_are_the_service_and_the_hosts() {
    let keeping = keeping(
        "platform".to_owned(),
        "webhook".to_owned(),
        vec!["127.0.0.1".to_owned()],
    );
    assert_eq!(keeping.names, ["webhook.platform.svc", "127.0.0.1"]);
}

/// New certificates for this machine, and their path.
fn made() -> Certificates {
    let now: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
    let mut made = Certificates::make(&["127.0.0.1".to_owned()], now, None).unwrap();
    made.path = SecretPath::make().unwrap();
    made
}

/// Writes them into a folder as cert-manager does: the key last, so that no pair is of two certificates for long.
fn write(folder: &Path, made: &Certificates) {
    for (file, text) in [
        ("path", made.path.as_str()),
        ("tls.crt", &*made.identity.certificates),
        ("tls.key", &made.identity.key),
    ] {
        std::fs::write(folder.join(file), text).unwrap();
    }
}

/// The first line of the answer under a path; none if the server shows a certificate of another authority.
async fn asked(address: SocketAddr, shown: &Certificates, path: &SecretPath) -> Option<String> {
    let mut roots = rustls::RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(shown.authorities.as_bytes()).unwrap();
    roots.add(authority).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let socket = TcpStream::connect(address).await.unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(ServerName::from(address.ip()), socket).await.ok()?;
    let request = format!(
        "POST /validate/none/{} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
        path.as_str()
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    // A server may close without close_notify.
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    Some(answer.rsplit("\r\n\r\n").next().unwrap_or_default().trim().to_owned())
}

/// A server without policies that shows these.
fn serving(shown: &CertificateInUse) -> Running {
    let server = Server {
        engines: std::collections::BTreeMap::new(),
        limits: Limits::default(),
        path: shown.path().cloned(),
        metrics: Arc::default(),
    };
    server.listen(([127, 0, 0, 1], 0).into(), shown.identity()).unwrap()
}

/// A time that no test reaches.
const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(10);
/// The answer under a path of the server.
const KNOWN: Option<&str> = Some("no policy of this name");

/// Short pauses, but for the time that API servers get.
const fn learning(learn: Duration) -> Pauses {
    let check = SHORT;
    Pauses { check, learn }
}

/// Waits until a server shows this certificate and answers under this path.
async fn until_shown(address: SocketAddr, shown: &Certificates, path: &SecretPath) {
    let switched = async {
        while asked(address, shown, path).await.as_deref() != KNOWN {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), switched).await;
    assert!(waited.is_ok(), "the server still shows another certificate");
}

/// A folder with certificates, and what is read from it.
async fn in_folder(first: &Certificates) -> (tempfile::TempDir, CertificateSource, CertificateInUse) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), first);
    let source = CertificateSource::Folder(folder.path().to_owned(), Some(folder.path().join("path")));
    let shown = source.check(None).await.unwrap();
    (folder, source, shown)
}

/// The certificates of a running server change, as they do after sixty days, and its path.
#[tokio::test]
async fn renewed_certificate_is_shown_by_the_running_server() {
    let (first, second) = (made(), made());
    let (folder, source, shown) = in_folder(&first).await;
    let running = serving(&shown);
    let address = running.address();
    let mut is_renewed = false;
    let renewed = async {
        until_shown(address, &first, &first.path).await;
        write(folder.path(), &second);
        until_shown(address, &second, &second.path).await;
        assert_eq!(asked(address, &first, &first.path).await, None, "the old certificate");
        // An API server may not know the new path yet.
        assert_eq!(asked(address, &second, &first.path).await.as_deref(), KNOWN);
        let other = SecretPath::make().unwrap();
        assert_eq!(asked(address, &second, &other).await.as_deref(), Some("not found"));
        // An error changes nothing, and ends nothing.
        std::fs::remove_file(folder.path().join("tls.key")).unwrap();
        tokio::time::sleep(SHORT * 3).await;
        assert_eq!(asked(address, &second, &second.path).await.as_deref(), KNOWN);
        write(folder.path(), &first);
        until_shown(address, &first, &first.path).await;
        is_renewed = true;
    };
    serve_until(renewed, running, (&source, shown), learning(SHORT))
        .await
        .unwrap();
    assert!(is_renewed, "the renewal has ended");
    assert!(TcpStream::connect(address).await.is_err(), "the server is stopped");
}

#[tokio::test]
async fn new_path_is_answered_before_the_certificate_changes() {
    let (first, second) = (made(), made());
    let (folder, source, shown) = in_folder(&first).await;
    let running = serving(&shown);
    let address = running.address();
    write(folder.path(), &second);
    let learned = async {
        until_shown(address, &first, &second.path).await;
        // That connection may be older than the path.
        assert_eq!(asked(address, &first, &second.path).await.as_deref(), KNOWN);
    };
    serve_until(learned, running, (&source, shown), learning(LONG))
        .await
        .unwrap();
}

/// An API server with an empty Secret and no webhook configuration. Returns its client, and the certificates that were
/// written to the Secret.
fn with_empty_secret() -> (Client, mpsc::UnboundedReceiver<String>) {
    let (written, writes) = mpsc::unbounded();
    let server = move |request: axum::http::Request<Body>| {
        let written = written.clone();
        async move {
            let (head, body) = request.into_parts();
            let body: Value = serde_json::from_slice(&body.collect_bytes().await.unwrap()).unwrap_or_default();
            let missing =
                json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "no"});
            let (code, answer) = match (head.method.as_str(), head.uri.path()) {
                (_, path) if !path.ends_with("/secrets/hook") => (404, missing),
                ("PUT", _) => {
                    let authorities: ByteString = serde_json::from_value(body["data"]["ca.crt"].clone()).unwrap();
                    drop(written.unbounded_send(String::from_utf8(authorities.0).unwrap()));
                    (200, body)
                }
                _ => (
                    200,
                    json!({"metadata": {"name": "hook", "namespace": "ops", "resourceVersion": "1"}}),
                ),
            };
            let response = axum::http::Response::builder().status(code);
            Ok::<_, kube::Error>(response.body(Body::from(answer.to_string().into_bytes())).unwrap())
        }
    };
    (Client::new(tower::service_fn(server), "default"), writes)
}

/// Somebody empties the Secret again and again: API servers still trust what the server shows.
#[tokio::test]
async fn certificate_made_anew_follows_the_one_in_use() {
    let (client, mut writes) = with_empty_secret();
    let keeping = keeping("ops".to_owned(), "hook".to_owned(), vec!["127.0.0.1".to_owned()]);
    let source = CertificateSource::Kept(client, keeping);
    let first = made();
    let running = serving(&CertificateInUse::Kept(first.clone()));
    let authority = |bundle: &str| {
        bundle
            .split_inclusive("END CERTIFICATE-----")
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let followed = async {
        let mut last = authority(&first.authorities);
        for _ in 0..3 {
            let written = tokio::time::timeout(Duration::from_secs(60), writes.next()).await;
            let written = written.unwrap().unwrap();
            assert!(written.contains(&last), "the one before is not trusted");
            last = authority(&written);
        }
    };
    let shown = CertificateInUse::Kept(first.clone());
    serve_until(followed, running, (&source, shown), learning(Duration::ZERO))
        .await
        .unwrap();
}
