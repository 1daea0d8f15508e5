//! HTTPS: `POST /validate/{policy}` and `GET /healthz`.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response as HttpResponse};
use axum::routing::{get, post};
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::engine::Engine;
use super::envelope::Review;

/// The engines by the name in the path.
pub type Engines = BTreeMap<String, Arc<dyn Engine>>;

/// What the server proves its identity with.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The chain in PEM, leaf first.
    pub certificates: String,
    /// The private key of the leaf in PEM.
    pub key: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity")
            .field("certificates", &self.certificates)
            .finish_non_exhaustive()
    }
}

/// What one request may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest body in bytes.
    pub body: usize,
    /// The longest time from the first byte of a request to its answer.
    pub time: Duration,
    /// How long [`Running::stop`] waits for requests in flight.
    pub grace: Duration,
}

impl Default for Limits {
    /// A body of 8 MiB holds a review of two objects of 3 MiB each; 5 s is below the 10 s of an API server.
    fn default() -> Self {
        Self {
            body: 8 * 1024 * 1024,
            time: Duration::from_secs(5),
            grace: Duration::from_secs(5),
        }
    }
}

/// Why the server cannot start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address is taken, or not ours.
    #[error("expected to listen on {address}, but found: {source}")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// The operating system's word.
        source: std::io::Error,
    },
    /// Certificates or key cannot be used.
    #[error("expected {expected} in PEM, but found: {found}")]
    Identity {
        /// Which part.
        expected: &'static str,
        /// What is wrong with it.
        found: String,
    },
    /// The server ended by itself.
    #[error("expected to serve, but found: {0}")]
    Ended(String),
}

/// A server that is listening. Dropping it leaves it running; [`stop`](Self::stop) ends it.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    grace: Duration,
    handle: Handle<SocketAddr>,
    config: RustlsConfig,
    task: JoinHandle<std::io::Result<()>>,
}

impl Running {
    /// The address in use: the real port where port 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Proves its identity with another certificate from the next connection on.
    ///
    /// # Errors
    /// [`ServerError::Identity`] if it cannot be used; the one before stays.
    pub fn prove(&self, identity: &Identity) -> Result<(), ServerError> {
        self.config.reload_from_config(Arc::new(tls(identity)?));
        Ok(())
    }

    /// Takes no new connection, waits for the requests in flight, ends.
    ///
    /// # Errors
    /// [`ServerError::Ended`] if it had ended before.
    pub async fn stop(self) -> Result<(), ServerError> {
        self.handle.graceful_shutdown(Some(self.grace));
        self.wait().await
    }

    /// Waits until the server ends by itself.
    ///
    /// # Errors
    /// [`ServerError::Ended`] says why.
    pub async fn wait(self) -> Result<(), ServerError> {
        match self.task.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(ServerError::Ended(error.to_string())),
            Err(error) => Err(ServerError::Ended(error.to_string())),
        }
    }
}

/// Listens on `address`. It is listening when this returns.
///
/// # Errors
/// [`ServerError`] if the identity cannot be used or the address is taken.
///
/// # Example
/// ```no_run
/// # use std::{collections::BTreeMap, sync::Arc};
/// # use claim_rollout::{admission::NoCluster, webhook::{Engine, Identity, Limits, Native, serve}};
/// # async fn example(identity: Identity) -> Result<(), Box<dyn std::error::Error>> {
/// let settings = serde_json::value::to_raw_value(&serde_json::json!({}))?;
/// let native: Arc<dyn Engine> = Arc::new(Native::new(settings, || Box::new(NoCluster))?);
/// let engines = BTreeMap::from([("claim-rollout".to_owned(), native)]);
/// let running = serve(([127, 0, 0, 1], 0).into(), &identity, engines, Limits::default())?;
/// println!("https://{}/validate/claim-rollout", running.address());
/// running.stop().await?;
/// # Ok(())
/// # }
/// ```
pub fn serve(
    address: SocketAddr,
    identity: &Identity,
    engines: Engines,
    limits: Limits,
) -> Result<Running, ServerError> {
    let config = RustlsConfig::from_config(Arc::new(tls(identity)?));
    let bind = |source| ServerError::Bind { address, source };
    let listener = TcpListener::bind(address).map_err(bind)?;
    listener.set_nonblocking(true).map_err(bind)?;
    let bound = listener.local_addr().map_err(bind)?;
    let handle = Handle::new();
    let server = axum_server::from_tcp_rustls(listener, config.clone())
        .map_err(bind)?
        .handle(handle.clone());
    let task = tokio::spawn(server.serve(router(engines, limits).into_make_service()));
    Ok(Running {
        address: bound,
        grace: limits.grace,
        handle,
        config,
        task,
    })
}

/// The routes, without a socket.
pub fn router(engines: Engines, limits: Limits) -> Router {
    Router::new()
        .route("/validate/{policy}", post(validate))
        .route("/healthz", get(async || "ok\n"))
        .layer(DefaultBodyLimit::max(limits.body))
        .with_state(Arc::new(Service { engines, limits }))
}

/// What every request shares.
struct Service {
    engines: Engines,
    limits: Limits,
}

/// Answers one review. An HTTP error where there is no uid to answer to, a response otherwise.
async fn validate(State(service): State<Arc<Service>>, Path(policy): Path<String>, request: Request) -> HttpResponse {
    let deadline = Instant::now() + service.limits.time;
    let Some(engine) = service.engines.get(&policy) else {
        return (
            StatusCode::NOT_FOUND,
            "expected the name of a policy, but found another\n",
        )
            .into_response();
    };
    let body = match timeout_at(deadline, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(rejection)) => return rejection.into_response(),
        Err(_) => return (StatusCode::REQUEST_TIMEOUT, "expected a body in time\n").into_response(),
    };
    let review = match Review::read(&body) {
        Ok(review) => review,
        Err(error) => return (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    };
    let response = match timeout_at(deadline, engine.evaluate(review.request)).await {
        Ok(Ok(answer)) => review.respond(&answer),
        Ok(Err(error)) => review.fail(&error.to_string()),
        Err(_) => review.refuse(Some(504), "expected an answer of the policy in time"),
    };
    let allowed = response.allowed;
    tracing::debug!(%policy, uid = %review.uid, allowed, "answered a review");
    ([(header::CONTENT_TYPE, "application/json")], response.to_review()).into_response()
}

/// TLS 1.2 and 1.3 with ring; HTTP/2 is offered, as the API server likes it.
///
/// # Errors
/// [`ServerError::Identity`] if the identity cannot be used.
pub fn tls(identity: &Identity) -> Result<rustls::ServerConfig, ServerError> {
    let invalid = |expected| move |found: String| ServerError::Identity { expected, found };
    let chain = CertificateDer::pem_slice_iter(identity.certificates.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| invalid("certificates")(error.to_string()))?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())
        .map_err(|error| invalid("a private key")(error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_no_client_auth())
        .and_then(|builder| builder.with_single_cert(chain, key))
        .map_err(|error| invalid("certificates and their key")(error.to_string()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
