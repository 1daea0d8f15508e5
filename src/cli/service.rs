//! Shared by the subcommands that run until they are stopped.

use std::io::IsTerminal as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use clap::ValueEnum;
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};
use tracing::Level;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::Targets;

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One JSON object per line
    Json,
    /// Lines for people
    Text,
}

/// The targets of the client, which logs the bodies of responses that it cannot read, with Secrets and environment
/// variables in them.
const CLIENT: [&str; 2] = ["kube_client", "kube_client::client"];

/// The filter with these directives, without bodies of responses unless debug messages of the client are asked for.
fn filter(directives: &str) -> EnvFilter {
    let directives = if EnvFilter::try_new(directives).is_ok() && !directives.is_empty() {
        directives
    } else {
        "info"
    };
    let targets = directives.parse::<Targets>();
    if targets.is_ok_and(|targets| targets.would_enable(CLIENT[1], &Level::DEBUG)) {
        return EnvFilter::new(directives);
    }
    let errors = CLIENT
        .iter()
        .filter_map(|target| format!("{target}=error").parse().ok());
    errors.fold(EnvFilter::new(directives), EnvFilter::add_directive)
}

/// Logs to standard error from now on; RUST_LOG filters it.
pub(crate) fn log(format: LogFormat) {
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter(&std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default()))
        .with_writer(std::io::stderr);
    let log = log.with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Json => log.json().flatten_event(true).init(),
        LogFormat::Text => log.init(),
    }
}

/// The address to listen on in place of this one. `[::]` is every address of this host: those of IPv6, and on Linux those
/// of IPv4 as well (`man 7 ipv6`, `IPV6_V6ONLY`). A kernel without IPv6 does not know it, so there it becomes `0.0.0.0`.
pub(crate) fn known_here(address: SocketAddr) -> SocketAddr {
    let has_ipv6 = || UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).is_ok();
    known(address, has_ipv6)
}

fn known(address: SocketAddr, has_ipv6: impl FnOnce() -> bool) -> SocketAddr {
    if address.ip() == IpAddr::from(Ipv6Addr::UNSPECIFIED) && !has_ipv6() {
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()))
    } else {
        address
    }
}

/// Completes at the first SIGTERM or SIGINT.
#[cfg(unix)]
pub(crate) fn stop_signal() -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: finishing work in progress");
    })
}

/// Completes at the first Ctrl-C.
#[cfg(not(unix))]
pub(crate) fn stop_signal() -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    Ok(async {
        // Without a handler, Ctrl-C ends the process by itself.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        tracing::info!("stopping: finishing work in progress");
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _};
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;

    use axum::http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use serde::Deserialize;

    use super::{filter, known, known_here};

    /// A value in an environment variable of a Pod.
    const MARKER: &str = "pA55w0rd-0f-a-P0d";

    /// What no Pod has.
    #[derive(Debug, Deserialize)]
    struct Other {
        #[allow(dead_code, reason = "it is never read")]
        other: u32,
    }

    /// What is logged while the client reads a Pod that it cannot read, and an error that is none.
    fn logged(directives: &str) -> String {
        let written = Arc::new(tempfile::tempfile().unwrap());
        let log = tracing_subscriber::fmt().with_env_filter(filter(directives));
        let log = log.with_writer(Arc::clone(&written)).finish();
        let read = async {
            for status in [200, 500] {
                let answer = move |_: Request<Body>| async move {
                    let pod = format!("{{\"spec\": {{\"env\": \"{MARKER}\"}}}}");
                    Ok::<_, kube::Error>(
                        Response::builder()
                            .status(status)
                            .body(Body::from(pod.into_bytes()))
                            .unwrap(),
                    )
                };
                let client = Client::new(tower::service_fn(answer), "default");
                for _ in 0..2 {
                    let request = Request::get("/api/v1/namespaces/shop/pods/web-0")
                        .body(Vec::new())
                        .unwrap();
                    assert!(client.request::<Other>(request).await.is_err());
                }
            }
            tracing::warn!("the end");
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        tracing::subscriber::with_default(log, || runtime.block_on(read));
        let (mut file, mut text) = (&*written, String::new());
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn any_address_without_ipv6_is_that_of_ipv4() {
        for (address, has_ipv6, expected) in [
            ("[::]:8443", true, "[::]:8443"),
            ("[::]:8443", false, "0.0.0.0:8443"),
            ("[::1]:8443", false, "[::1]:8443"),
            ("10.0.0.1:8443", false, "10.0.0.1:8443"),
        ] {
            let found = known(address.parse().unwrap(), || has_ipv6);
            assert_eq!(found.to_string(), expected, "{address} {has_ipv6}");
        }
    }

    #[test]
    fn any_address_is_reached_by_ipv4_and_ipv6() {
        let listener = TcpListener::bind(known_here("[::]:0".parse().unwrap())).unwrap();
        let port = listener.local_addr().unwrap().port();
        let has_ipv6 = TcpListener::bind("[::1]:0").is_ok();
        for host in ["127.0.0.1", "::1"].into_iter().take(1 + usize::from(has_ipv6)) {
            assert!(TcpStream::connect((host, port)).is_ok(), "{host}");
        }
    }

    #[test]
    fn body_of_a_response_is_logged_only_for_debugging() {
        for (directives, is_debugged) in [
            ("", false),
            ("info", false),
            ("warn", false),
            ("kube_client=loud", false),
            ("info,kube_client=warn", false),
            ("warn,kube_client::client=info", false),
            ("debug", true),
            ("kube_client=debug,info", true),
            ("info,kube_client::client=trace", true),
        ] {
            let text = logged(directives);
            assert_eq!(text.contains(MARKER), is_debugged, "{directives}: {text}");
            assert!(text.contains("the end"), "{directives}: {text}");
        }
    }
}
