//! HTTPS: listens and serves connections. HTTP/1.1 only, as API servers call webhooks.

use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::connections::{Connections, OpenConnection, Placement};
use super::handshakes::Handshakes;
use super::identity::{Identity, IdentityError, tls};
use super::limits::Limits;
use super::metrics::{Bound, WebhookMetrics};
use super::path::SecretPath;
use super::requests::{Engines, Requests};

/// The buffer of a connection; also the longest head.
const BUFFER: usize = 32 * 1024;
/// The number of connections that the operating system queues until they are accepted, if it allows so many. It drops
/// further ones, and their clients retry only after a second: longer than an API server should wait for an answer.
const BACKLOG: u32 = 4096;
/// The pause after a failed accept, for example because of too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// The reason why the server cannot start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address is in use, or not an address of this host.
    #[error("failed to listen on {address}: {source}")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The certificates or the key cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The server ended by itself.
    #[error("the server ended: {0}")]
    Ended(String),
}

/// The configuration of a server.
pub struct Server {
    /// The engines by the name in the path.
    pub engines: Engines,
    /// The limits of connections and requests.
    pub limits: Limits,
    /// The part of the path that only API servers know; without it everybody who reaches the address is answered.
    pub path: Option<SecretPath>,
    /// The metrics.
    pub metrics: Arc<WebhookMetrics>,
}

/// A server that is listening. Dropping it leaves it running; [`stop`](Self::stop) ends it.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    shared: Arc<ServerState>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// The state that all connections share.
struct ServerState {
    identity: RwLock<TlsAcceptor>,
    handshakes: Handshakes,
    requests: Requests,
}

impl std::fmt::Debug for ServerState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerState").finish_non_exhaustive()
    }
}

impl Running {
    /// The address in use: the real port where port 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Uses another certificate from the next connection on.
    ///
    /// # Errors
    /// [`ServerError::Identity`] if it cannot be used; the previous one stays.
    pub fn prove(&self, identity: &Identity) -> Result<(), ServerError> {
        let acceptor = TlsAcceptor::from(Arc::new(tls(identity)?));
        *self.shared.identity.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
        Ok(())
    }

    /// Answers under this path from now on, and still under the previous one, because API servers learn of the new one
    /// later.
    pub fn answer_under(&self, path: SecretPath) {
        self.shared.requests.answer_under(path);
    }

    /// Stops accepting connections and waits for the requests in flight.
    ///
    /// # Errors
    /// [`ServerError::Ended`] if it had ended before.
    pub async fn stop(self) -> Result<(), ServerError> {
        // This fails only if the server has ended.
        let _ = self.stop.send(());
        self.task.await.map_err(|error| ServerError::Ended(error.to_string()))
    }
}

impl Server {
    /// Listens on `address` when this returns.
    ///
    /// # Guarantees
    /// A client without the path gets 404 at once: no body is read and nothing is looked up for it. A client that sends
    /// slowly, or much, does not block others: connections and bytes are bounded, and the slowest connections are
    /// closed first.
    ///
    /// # Errors
    /// [`ServerError`] if the identity cannot be used or the address is taken.
    ///
    /// # Example
    /// ```no_run
    /// # use std::{collections::BTreeMap, sync::Arc};
    /// # use claim_rollout::{admission::NoCluster, webhook::{Engine, Identity, Limits, Native, Server}};
    /// # async fn example(identity: Identity) -> Result<(), Box<dyn std::error::Error>> {
    /// let settings = serde_json::value::to_raw_value(&serde_json::json!({}))?;
    /// let native: Arc<dyn Engine> = Arc::new(Native::new(settings, |_| Box::new(NoCluster))?);
    /// let server = Server {
    ///     engines: BTreeMap::from([("claim-rollout".to_owned(), native)]),
    ///     limits: Limits::default(),
    ///     path: None,
    ///     metrics: Arc::default(),
    /// };
    /// let running = server.listen(([127, 0, 0, 1], 0).into(), &identity)?;
    /// println!("https://{}/validate/claim-rollout", running.address());
    /// running.stop().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn listen(self, address: SocketAddr, identity: &Identity) -> Result<Running, ServerError> {
        let acceptor = TlsAcceptor::from(Arc::new(tls(identity)?));
        let bind = |source| ServerError::Bind { address, source };
        let listener = listener(address).map_err(bind)?;
        let bound = listener.local_addr().map_err(bind)?;
        let shared = Arc::new(ServerState {
            identity: RwLock::new(acceptor),
            handshakes: Handshakes::default(),
            requests: Requests::new(self.engines, self.limits, self.path, self.metrics),
        });
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(Arc::clone(&shared).accept(listener, stopped));
        Ok(Running {
            address: bound,
            shared,
            stop,
            task,
        })
    }
}

impl ServerState {
    /// Accepts connections until it is stopped, and then waits for those that are being answered.
    async fn accept(self: Arc<Self>, listener: TcpListener, stopped: oneshot::Receiver<()>) {
        let Limits { connections, grace, .. } = self.requests.limits;
        let mut connections = Connections::new(connections);
        let (leave, leaving) = watch::channel(());
        // A dropped handle leaves the server running.
        let mut stopped = pin!(async {
            if stopped.await.is_err() {
                std::future::pending::<()>().await;
            }
        });
        loop {
            self.requests.metrics.connections(connections.count());
            tokio::select! {
                biased;
                () = &mut stopped => break,
                () = connections.left() => {}
                accepted = listener.accept() => match accepted {
                    Ok((socket, peer)) => self.seat(&mut connections, socket, peer.ip(), &leaving),
                    Err(error) => {
                        tracing::warn!(%error, "failed to accept a connection");
                        connections.evict();
                        sleep(PAUSE).await;
                    }
                },
            }
        }
        drop(listener);
        leave.send_replace(());
        let _ = timeout(grace, connections.all_left()).await;
    }

    fn seat(
        self: &Arc<Self>,
        connections: &mut Connections,
        socket: TcpStream,
        peer: IpAddr,
        leaving: &watch::Receiver<()>,
    ) {
        let (this, leaving) = (Arc::clone(self), leaving.clone());
        let seated =
            connections.seat(|connection| async move { this.connection(socket, peer, connection, leaving).await });
        if seated != Placement::Free {
            self.requests.metrics.bound(Bound::Connections);
        }
    }

    /// Serves a connection until it ends, or until its first request is overdue.
    async fn connection(
        &self,
        socket: TcpStream,
        peer: IpAddr,
        connection: OpenConnection,
        leaving: watch::Receiver<()>,
    ) {
        let introduction = async {
            sleep(self.requests.limits.introduction).await;
            if connection.is_known() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = self.converse(socket, peer, &connection, leaving) => {}
            () = introduction => self.requests.metrics.bound(Bound::Introduction),
        }
    }

    async fn converse(
        &self,
        socket: TcpStream,
        peer: IpAddr,
        connection: &OpenConnection,
        mut leaving: watch::Receiver<()>,
    ) {
        // An answer is one small write.
        let _ = socket.set_nodelay(true);
        let acceptor = self.identity.read().unwrap_or_else(PoisonError::into_inner).clone();
        let handshake = acceptor.accept(socket);
        let Ok(stream) = self.handshakes.step_by_step(peer, handshake).await else {
            return;
        };
        let service = service_fn(|request| self.requests.answer(connection, request));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            // Also bounds the idle time. Strangers have less time, see above.
            .header_read_timeout(self.requests.limits.idle)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => return,
            _ = leaving.changed() => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

fn listener(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // After a restart, connections of the previous server may still use the port.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
