//! `claim-rollout controller`

use std::io::IsTerminal;
use std::net::SocketAddr;

use anyhow::Context;
use clap::{Args, ValueEnum};
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::controller::{self, Config};

/// Roll out staged changes of volumeClaimTemplates to the claims of StatefulSets.
#[derive(Args, Clone, Debug)]
pub struct ControllerArgs {
    /// Only StatefulSets of this namespace; of all namespaces if it is not given
    #[arg(short, long, env = "CLAIM_ROLLOUT_NAMESPACE")]
    pub namespace: Option<String>,
    /// The kubeconfig file; the usual places, then the service account of the Pod, if it is not given
    #[arg(long)]
    pub kubeconfig: Option<std::path::PathBuf>,
    /// The context of the kubeconfig
    #[arg(long)]
    pub context: Option<String>,
    /// Where /healthz, /readyz and /metrics are served; port 0 takes a free one, which is logged
    #[arg(long, default_value = "0.0.0.0:8080", env = "CLAIM_ROLLOUT_HEALTH_ADDRESS")]
    pub health_address: SocketAddr,
    /// How many StatefulSets are looked at at the same time
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub max_concurrent: u16,
    /// The form of the log on standard error; RUST_LOG filters it
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One JSON object per line
    Json,
    /// Lines for people
    Text,
}

/// Runs the controller until SIGTERM or SIGINT.
///
/// # Errors
/// If it cannot begin (no cluster is configured, the address is taken) or cannot go on.
pub async fn run(args: ControllerArgs) -> anyhow::Result<()> {
    log(args.log_format);
    let client = client(args.kubeconfig.as_deref(), args.context).await?;
    let listener = TcpListener::bind(args.health_address)
        .await
        .with_context(|| format!("expected to listen on {}, but could not", args.health_address))?;
    tracing::info!(address = %listener.local_addr()?, "health endpoints");
    let config = Config {
        namespace: args.namespace,
        max_concurrent: args.max_concurrent,
    };
    controller::run(config, client, listener, stop_signal()?).await?;
    Ok(())
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

async fn client(kubeconfig: Option<&std::path::Path>, context: Option<String>) -> anyhow::Result<kube::Client> {
    let options = KubeConfigOptions {
        context,
        ..KubeConfigOptions::default()
    };
    let config = match kubeconfig {
        Some(path) => kube::Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &options).await?,
        None if options.context.is_some() => kube::Config::from_kubeconfig(&options).await?,
        None => kube::Config::infer().await?,
    };
    Ok(kube::Client::try_from(config)?)
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
