//! A server for the tests, and well-behaved and misbehaving clients.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::engine::{Engine, EngineError, Evaluation};
use super::{Engines, Identity, Limits, Running, SecretPath, Server, WebhookMetrics};

/// Longer than anything that the tests wait for, even on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time at which an engine answers.
enum AnswerTime {
    Now,
    Never,
    /// As soon as it gets a permit.
    Open(Arc<Semaphore>),
}

/// Gives the same answer to every request, and counts the requests.
struct FixedEngine {
    when: AnswerTime,
    what: Result<Vec<u8>, EngineError>,
    count: Arc<AtomicUsize>,
}

impl Engine for FixedEngine {
    fn evaluate<'a>(&'a self, _: &'a RawValue, _: Instant) -> Evaluation<'a> {
        self.count.fetch_add(1, Ordering::SeqCst);
        Box::pin(async {
            match &self.when {
                AnswerTime::Now => {}
                AnswerTime::Never => std::future::pending().await,
                AnswerTime::Open(gate) => gate.acquire().await.expect("an open semaphore").forget(),
            }
            self.what.clone()
        })
    }
}

/// The engines `fast`, `broken`, `stuck`, and `gated`, which waits for the gate.
pub(super) struct Several {
    pub(super) engines: Engines,
    pub(super) gate: Arc<Semaphore>,
    pub(super) count: Arc<AtomicUsize>,
}

pub(super) fn engines() -> Several {
    let (gate, count) = (Arc::new(Semaphore::new(0)), Arc::<AtomicUsize>::default());
    let yes = || Ok(br#"{"accepted":true,"warnings":["careful"]}"#.to_vec());
    let engine = |name: &str, when, what| -> (String, Arc<dyn Engine>) {
        let count = Arc::clone(&count);
        (name.to_owned(), Arc::new(FixedEngine { when, what, count }))
    };
    let broken = Err(EngineError::Failed("out of order".to_owned()));
    let engines = Engines::from([
        engine("fast", AnswerTime::Now, yes()),
        engine("stuck", AnswerTime::Never, yes()),
        engine("gated", AnswerTime::Open(Arc::clone(&gate)), yes()),
        engine("broken", AnswerTime::Now, broken),
    ]);
    Several { engines, gate, count }
}

/// A running server.
pub(super) struct Served {
    pub(super) running: Running,
    pub(super) address: SocketAddr,
    pub(super) gate: Arc<Semaphore>,
    pub(super) metrics: Arc<WebhookMetrics>,
    count: Arc<AtomicUsize>,
    connector: TlsConnector,
}

/// The answer of a server.
#[derive(Debug)]
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

pub(super) fn certificate() -> Identity {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    Identity {
        certificates: made.cert.pem(),
        key: made.signing_key.serialize_pem(),
    }
}

pub(super) fn start(limits: Limits, path: Option<SecretPath>) -> Served {
    let Several { engines, gate, count } = engines();
    let identity = certificate();
    let metrics = Arc::<WebhookMetrics>::default();
    let server = Server {
        engines,
        limits,
        path,
        metrics: Arc::clone(&metrics),
    };
    let running = server
        .listen(([127, 0, 0, 1], 0).into(), &identity)
        .expect("an address");
    let root = CertificateDer::from_pem_slice(identity.certificates.as_bytes()).expect("PEM");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(root).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Served {
        address: running.address(),
        running,
        gate,
        metrics,
        count,
        connector: TlsConnector::from(Arc::new(config)),
    }
}

impl Served {
    /// A connection without a request yet.
    pub(super) async fn connect(&self) -> TlsStream<TcpStream> {
        let socket = TcpStream::connect(self.address).await.expect("a connection");
        self.introduce(socket).await
    }

    /// The same on this socket.
    pub(super) async fn introduce(&self, socket: TcpStream) -> TlsStream<TcpStream> {
        let name = ServerName::from(self.address.ip());
        self.connector.connect(name, socket).await.expect("a handshake")
    }

    /// True iff this line is in the metrics.
    pub(super) fn counts(&self, line: &str) -> bool {
        let line = format!("claim_rollout_webhook_{line}");
        self.metrics.text().expect("text").lines().any(|found| found == line)
    }

    /// Waits until this line is in the metrics.
    pub(super) async fn until_counts(&self, line: &str) {
        let counted = async {
            while !self.counts(line) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = timeout(PATIENCE, counted).await;
        assert!(
            waited.is_ok(),
            "expected {line} in {}",
            self.metrics.text().expect("text")
        );
    }

    /// The number of requests that the engines evaluated.
    pub(super) fn evaluations(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Waits until the engines have evaluated this many requests.
    pub(super) fn evaluated(&self, count: usize) -> impl Future<Output = ()> + 'static {
        let evaluations = Arc::clone(&self.count);
        async move {
            while evaluations.load(Ordering::SeqCst) < count {
                sleep(Duration::from_millis(5)).await;
            }
        }
    }
}

/// Reads the answer. It is empty if the server closes the connection without one.
pub(super) async fn answer(stream: &mut TlsStream<TcpStream>) -> HttpAnswer {
    let mut bytes = Vec::new();
    let read = async {
        // A server may close without close_notify; only the bytes before that count.
        while !is_complete(&bytes) && matches!(stream.read_buf(&mut bytes).await, Ok(1..)) {}
    };
    let read = timeout(PATIENCE, read).await;
    assert!(read.is_ok(), "the server did not answer, nor close the connection");
    let text = String::from_utf8(bytes).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    HttpAnswer {
        status: status.unwrap_or(0),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// Whether these bytes have a head and a body of the length that the head announces. The server may leave the
/// connection open for a while after that, so that a client that still sends can read the answer.
fn is_complete(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.and_then(|length| length.parse().ok()) == Some(body.len())
}

/// One request on a connection of its own.
pub(super) async fn call(served: &Served, head: &str, body: &str) -> HttpAnswer {
    let (method, path) = head.split_once(' ').expect("a method");
    let head = post(path, body.len()).replacen("POST", method, 1);
    send(served, &(head + body)).await
}

/// Sends this text, and reads the answer.
pub(super) async fn send(served: &Served, text: &str) -> HttpAnswer {
    let mut stream = served.connect().await;
    stream.write_all(text.as_bytes()).await.expect("sent");
    answer(&mut stream).await
}

pub(super) fn review() -> String {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u"}}).to_string()
}

/// The head of a request with a body of this length.
pub(super) fn post(path: &str, length: usize) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n")
}
