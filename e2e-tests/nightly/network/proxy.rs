//! A proxy between one controller and the real API server. It speaks HTTPS with a certificate that the controller
//! trusts, passes on the credentials of the controller, and injects the faults of its script.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::Context as _;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use futures::future::BoxFuture;
use serde_json::json;
use tokio::time::sleep;

use super::asked::Asked;
use super::script::{Fault, Script};
use super::stream;
use crate::world::Cluster;

/// The delay of slow answers changes by this step, cyclically.
const STRIDE: u64 = 797;

/// A running proxy; dropping it ends it.
pub(super) struct Proxy {
    address: SocketAddr,
    handle: Handle<SocketAddr>,
}

impl Proxy {
    /// Serves on a free port. The audit log shows this name as the user agent.
    pub(super) fn start(cluster: &Cluster, name: &str, script: Arc<Script>) -> anyhow::Result<Self> {
        let identity = cluster.authority().issue(&["127.0.0.1"])?;
        let identity = claim_rollout::webhook::Identity {
            certificates: identity.certificate,
            key: identity.key,
        };
        let mut tls = claim_rollout::webhook::identity::tls(&identity)?;
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let handle = Handle::new();
        let server = axum_server::from_tcp_rustls(listener, RustlsConfig::from_config(Arc::new(tls)))?;
        let service = Service {
            script,
            upstream: cluster.anonymous_client()?,
            name: HeaderValue::from_str(name)?,
        };
        let each = tower::service_fn(move |_: SocketAddr| std::future::ready(io::Result::Ok(service.clone())));
        tokio::spawn(server.handle(handle.clone()).serve(each));
        Ok(Self { address, handle })
    }

    /// The address that the proxy listens on.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}

/// Answers requests. An error closes the connection without an answer.
#[derive(Clone)]
struct Service {
    script: Arc<Script>,
    upstream: kube::Client,
    /// The user agent in the audit log.
    name: HeaderValue,
}

impl<B> tower::Service<Request<B>> for Service
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    type Response = Response<Body>;
    type Error = anyhow::Error;
    type Future = BoxFuture<'static, anyhow::Result<Response<Body>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<anyhow::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { service.answer(request.map(Body::new)).await })
    }
}

impl Service {
    async fn answer(&self, request: Request<Body>) -> anyhow::Result<Response<Body>> {
        let (mut head, body) = request.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await?;
        let asked = Asked::of(&head, &body);
        // Headers of this connection, and encodings that would hide events from the proxy.
        for name in [header::HOST, header::CONNECTION, header::ACCEPT_ENCODING] {
            head.headers.remove(name);
        }
        head.headers.insert(header::USER_AGENT, self.name.clone());
        let request = Request::from_parts(head, kube::client::Body::from(body));
        let (number, fault) = self.script.on(asked);
        let pause = match fault {
            Some(Fault::Slow(from, to)) => from + number * STRIDE % (to - from),
            Some(Fault::Late(millis)) => millis,
            _ => 0,
        };
        match fault {
            Some(Fault::Answer(code, seconds)) => return api_error(code, seconds),
            Some(Fault::Lost) => anyhow::bail!("lost"),
            Some(Fault::Unheard) => return std::future::pending().await,
            _ => sleep(Duration::from_millis(pause)).await,
        }
        let faults = self.script.watch_streams();
        // A request that was passed on is completed even if the client disconnects: then the audit log shows what was
        // stored.
        let upstream = self.upstream.clone();
        let carried_out = tokio::spawn(async move { upstream.send(request).await });
        let (head, body) = carried_out.await??.into_parts();
        let mut answer = Response::builder().status(head.status);
        if let Some(headers) = answer.headers_mut() {
            *headers = passed_on(head.headers);
        }
        if asked == Asked::Watch && head.status.is_success() {
            let body = Body::new(body).into_data_stream();
            return Ok(answer.body(stream::pass(body, faults))?);
        }
        let body = axum::body::to_bytes(Body::new(body), usize::MAX).await?;
        let half = body.slice(..body.len() / 2);
        match fault {
            Some(Fault::ReplyLost) => anyhow::bail!("the reply is lost"),
            Some(Fault::ReplyUnheard) => return std::future::pending().await,
            Some(Fault::Slow(..)) => sleep(Duration::from_millis(pause)).await,
            Some(Fault::ReplyHalf) => return Ok(answer.body(half.into())?),
            Some(Fault::ReplyCut) => {
                let parts = [Ok(half), Err(io::Error::from(io::ErrorKind::ConnectionReset))];
                return Ok(answer.body(Body::from_stream(futures::stream::iter(parts)))?);
            }
            _ => {}
        }
        Ok(answer.body(body.into())?)
    }
}

/// The headers of an answer that do not concern its connection or encoding.
fn passed_on(mut headers: HeaderMap) -> HeaderMap {
    for name in [header::CONNECTION, header::TRANSFER_ENCODING, header::CONTENT_LENGTH] {
        headers.remove(name);
    }
    headers
}

/// An error as the API server returns it.
fn api_error(code: u16, seconds: u32) -> anyhow::Result<Response<Body>> {
    let reason = match code {
        409 => "Conflict",
        410 => "Expired",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "Unknown",
    };
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("{reason}, injected by the proxy"), "reason": reason, "code": code,
    });
    let mut answer = Response::builder()
        .status(StatusCode::from_u16(code)?)
        .header(header::CONTENT_TYPE, "application/json");
    if seconds > 0 {
        status["details"] = json!({"retryAfterSeconds": seconds});
        answer = answer.header(header::RETRY_AFTER, seconds);
    }
    answer.body(status.to_string().into()).context("an answer")
}
