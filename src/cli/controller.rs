//! `claim-rollout controller`

use std::io::IsTerminal;
use std::net::SocketAddr;

use anyhow::Context;
use clap::{Args, ValueEnum};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::ClusterArguments;
use crate::controller::{self, Config};
use crate::rollout::Honoured;
use crate::templates::rules::OwnedSets;

/// Roll out staged changes of volumeClaimTemplates to the claims of StatefulSets, of all namespaces if none is named.
#[derive(Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// Where /healthz, /readyz and /metrics are served; port 0 takes a free one, which is logged
    #[arg(long, default_value = "0.0.0.0:8080", env = "CLAIM_ROLLOUT_HEALTH_ADDRESS")]
    health_address: SocketAddr,
    /// How many StatefulSets are looked at at the same time
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    max_concurrent: u16,
    /// A domain of keys that no template may set on claims, such as `example.com/`; may be repeated, and then replaces the
    /// default list. Must be what the policy's setting `reservedKeyPrefixes` says
    #[arg(long, value_name = "DOMAIN/")]
    reserved_key_prefix: Vec<String>,
    /// Whether StatefulSets of another controller are looked after, as the policy's setting `ownedSets` says
    #[arg(long, value_enum, default_value_t = Owned::Skip)]
    owned_sets: Owned,
    /// The form of the log on standard error; RUST_LOG filters it
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

/// Whether StatefulSets of another controller are looked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub(crate) enum Owned {
    /// They are left alone
    Skip,
    /// As all others
    Divert,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One JSON object per line
    Json,
    /// Lines for people
    Text,
}

/// Runs the controller until SIGTERM or SIGINT.
///
/// # Errors
/// If it cannot begin (no cluster is configured, the address is taken) or cannot go on.
pub(crate) async fn run(cluster: &ClusterArguments, args: Arguments) -> anyhow::Result<()> {
    log(args.log_format);
    let client = cluster.connect_quietly().await?;
    let listener = TcpListener::bind(args.health_address)
        .await
        .with_context(|| format!("expected to listen on {}, but could not", args.health_address))?;
    tracing::info!(address = %listener.local_addr()?, "health endpoints");
    let config = Config {
        namespace: cluster.namespace.clone(),
        max_concurrent: args.max_concurrent,
        honoured: honoured(&args),
    };
    controller::run(config, client, listener, stop_signal()?).await?;
    Ok(())
}

fn honoured(args: &Arguments) -> Honoured {
    let mut honoured = Honoured::default();
    if !args.reserved_key_prefix.is_empty() {
        honoured.reserved_key_prefixes = args.reserved_key_prefix.iter().cloned().map(Into::into).collect();
    }
    honoured.owned_sets = match args.owned_sets {
        Owned::Skip => OwnedSets::Skip,
        Owned::Divert => OwnedSets::Divert,
    };
    honoured
}

fn log(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let log = log.with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Json => log.json().flatten_event(true).init(),
        LogFormat::Text => log.init(),
    }
}

/// Completes at the first SIGTERM or SIGINT.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: what is under way is finished");
    })
}
