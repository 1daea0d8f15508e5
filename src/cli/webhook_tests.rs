use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::json;
use serde_json::value::to_raw_value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{CertificateSource, Pauses, keeping, of_retention, renew};
use crate::webhook::certificates::Certificates;
use crate::webhook::{Limits, SecretPath, Server};

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
        assert_eq!(serde_json::from_str::<serde_json::Value>(made.get()).unwrap(), expected);
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

/// New certificates for this machine, and their path, in a folder as cert-manager writes them.
fn write_new(folder: &Path) -> Certificates {
    let now: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
    let names = ["127.0.0.1".to_owned()];
    let mut made = Certificates::make(&names, now, None).unwrap();
    made.path = SecretPath::make().unwrap();
    for (file, text) in [
        ("tls.crt", &*made.identity.certificates),
        ("tls.key", &made.identity.key),
        ("path", made.path.as_str()),
    ] {
        std::fs::write(folder.join(file), text).unwrap();
    }
    made
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

/// The certificates of a running server change, as they do after sixty days, and its path.
#[tokio::test]
async fn renewed_certificate_is_shown_by_the_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let first = write_new(folder.path());
    let source = CertificateSource::Folder(folder.path().to_owned(), Some(folder.path().join("path")));
    let shown = source.check(None).await.unwrap();
    let server = Server {
        engines: std::collections::BTreeMap::new(),
        limits: Limits::default(),
        path: shown.path().cloned(),
        metrics: Arc::default(),
    };
    let running = server.listen(([127, 0, 0, 1], 0).into(), shown.identity()).unwrap();
    let address = running.address();
    const KNOWN: Option<&str> = Some("no policy of this name");
    assert_eq!(asked(address, &first, &first.path).await.as_deref(), KNOWN);

    let pauses = Pauses {
        check: Duration::from_millis(10),
        learn: Duration::from_millis(10),
    };
    let second = write_new(folder.path());
    let switched = async {
        while asked(address, &second, &second.path).await.as_deref() != KNOWN {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let renewing = renew(&running, &source, shown, pauses);
    let waited = async {
        tokio::select! {
            () = renewing => {}
            () = switched => {}
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), waited).await;
    assert!(waited.is_ok(), "the server still shows the old certificate");
    assert_eq!(asked(address, &first, &first.path).await, None, "the old certificate");
    // An API server may not know the new path yet.
    assert_eq!(asked(address, &second, &first.path).await.as_deref(), KNOWN);
    let other = SecretPath::make().unwrap();
    assert_eq!(asked(address, &second, &other).await.as_deref(), Some("not found"));
}
