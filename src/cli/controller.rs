//! `claim-rollout controller`

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use tokio::net::TcpListener;

use super::class_limits::{self, ClassNumber};
use super::cluster::ClusterArguments;
use super::files::{self, read_settings};
use super::service::{self, LogFormat};
use crate::api::Settings;
use crate::controller::{self, Config, Election, ReCreating, WithoutPolicy, WriteBudget};
use crate::templates::MaxInMotion;

/// Roll out staged changes of volumeClaimTemplates to PVCs, in all namespaces or in that of --namespace
#[derive(Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// Address to serve /healthz, /readyz and /metrics on; with port 0 a free port, which is logged. `[::]` is also every
    /// address of IPv4
    #[arg(long, default_value = "[::]:8080", env = "CLAIM_ROLLOUT_HEALTH_ADDRESS")]
    health_address: SocketAddr,
    /// Number of StatefulSets to reconcile at the same time
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    max_concurrent: u16,
    /// Number of replicas of a StatefulSet in motion at the same time, unless its annotation max-in-motion is set
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), value_name = "NUMBER")]
    max_in_motion: u32,
    /// Modifications (size or attributes class) of a PVC in any 24 hours, for each storage class: ebs=2,gp3=4. May be
    /// repeated
    #[arg(long = "modifications-per-24h", value_delimiter = ',', value_name = "CLASS=NUMBER")]
    modifications_per_day: Vec<ClassNumber>,
    /// PVCs in motion at the same time, for each storage class, over all StatefulSets: ebs=20. May be repeated
    #[arg(long, value_delimiter = ',', value_name = "CLASS=NUMBER")]
    max_modifications: Vec<ClassNumber>,
    /// Maximum number of writes to the API server per second
    #[arg(long, default_value_t = WriteBudget::DEFAULT.per_second, value_name = "NUMBER")]
    kube_api_qps: NonZeroU32,
    /// Maximum number of writes at once after a quiet time
    #[arg(long, default_value_t = WriteBudget::DEFAULT.burst, value_name = "NUMBER")]
    kube_api_burst: NonZeroU32,
    /// Policy settings file (JSON or YAML); built-in defaults if omitted. Before each rollout, the controller checks
    /// again every rule in it that does not depend on the requester
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Also roll out in namespaces for which neither the policy nor the guard is registered, where anybody who may edit
    /// a StatefulSet can stage a change. The controller then reads no webhook configurations and policies
    #[arg(long)]
    allow_without_policy: bool,
    /// Delete PVCs, one replica at a time, for StatefulSets with the update policy ReCreate. It needs the rights in
    /// deploy/recreate.yaml
    #[arg(long)]
    recreate: bool,
    /// Also update PVCs of OpenKruise's StatefulSets (apps.kruise.io) with the annotation update-policy InPlace. It needs
    /// the rights in deploy/openkruise.yaml
    #[arg(long)]
    openkruise: bool,
    /// Work only while holding a Lease, and wait for it otherwise; on by default in a cluster, off outside of one
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    leader_elect: Option<bool>,
    /// Namespace of the installation: of that Lease, `claim-rollout-controller`, and of the journals of replacements; by
    /// default that of the Pod. Controllers with different `--namespace` need different ones
    #[arg(long, value_name = "NAMESPACE")]
    system_namespace: Option<String>,
    /// Format of the log on standard error; RUST_LOG filters it
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

/// Runs the controller until SIGTERM or SIGINT.
///
/// # Errors
/// If the controller cannot start (no cluster is configured, the address is in use) or cannot continue.
pub(crate) async fn run(cluster: &ClusterArguments, args: Arguments) -> anyhow::Result<()> {
    service::log(args.log_format);
    let settings = settings(args.settings.as_deref())?;
    let client = cluster.connect_quietly().await?;
    let listener = TcpListener::bind(service::known_here(args.health_address))
        .await
        .with_context(|| format!("failed to listen on {}", args.health_address))?;
    tracing::info!(address = %listener.local_addr()?, "serving health endpoints");
    let config = Config {
        namespace: cluster.namespace.clone(),
        max_concurrent: args.max_concurrent,
        max_in_motion: MaxInMotion(args.max_in_motion),
        class_limits: class_limits::limits(&args.modifications_per_day, &args.max_modifications),
        settings,
        without_policy: if args.allow_without_policy {
            WithoutPolicy::RollOut
        } else {
            WithoutPolicy::Stall
        },
        recreating: if args.recreate { ReCreating::On } else { ReCreating::Off },
        openkruise: args.openkruise,
        journals: args.system_namespace.clone().or_else(own_namespace),
        election: election(&args)?,
        budget: WriteBudget {
            per_second: args.kube_api_qps,
            burst: args.kube_api_burst,
        },
    };
    controller::run(config, client, listener, service::stop_signal()?).await?;
    Ok(())
}

/// Reads the settings file; the defaults without one.
///
/// # Errors
/// If the file cannot be read, or with every fault in it: a controller with other settings than the policy could roll
/// out what the policy denies.
pub(super) fn settings(file: Option<&Path>) -> anyhow::Result<Settings> {
    let Some(path) = file else {
        return Ok(Settings::default());
    };
    let read = || Settings::read(read_settings(&files::text(path)?)?.get()).map_err(anyhow::Error::msg);
    read().with_context(|| path.display().to_string())
}

/// The leader election, if it is on.
fn election(args: &Arguments) -> anyhow::Result<Option<Election>> {
    let own = own_namespace();
    if !args.leader_elect.unwrap_or(own.is_some()) {
        return Ok(None);
    }
    let namespace = args
        .system_namespace
        .clone()
        .or(own)
        .context("--leader-elect needs --system-namespace outside of a cluster")?;
    // The name of the Pod, and a number that differs between its processes.
    let host = std::env::var("HOSTNAME").unwrap_or_default();
    let number = RandomState::new().build_hasher().finish();
    let identity = format!("{host}_{number:016x}");
    Ok(Some(Election { namespace, identity }))
}

/// The namespace of the Pod; none outside of a cluster.
fn own_namespace() -> Option<String> {
    let config = kube::Config::incluster().ok()?;
    Some(config.default_namespace)
}
