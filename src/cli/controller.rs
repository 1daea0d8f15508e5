//! `claim-rollout controller`

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use tokio::net::TcpListener;

use super::ClusterArguments;
use super::class_limits::{self, ClassNumber};
use super::files::{self, read_settings};
use super::service::{self, LogFormat};
use crate::api::Settings;
use crate::controller::{self, Budget, Config, Election, WithoutPolicy};
use crate::templates::MaxInMotion;

/// Roll out staged changes of volumeClaimTemplates to the claims of StatefulSets, of all namespaces if none is named.
#[derive(Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// Where /healthz, /readyz and /metrics are served; port 0 takes a free one, which is logged
    #[arg(long, default_value = "0.0.0.0:8080", env = "CLAIM_ROLLOUT_HEALTH_ADDRESS")]
    health_address: SocketAddr,
    /// How many StatefulSets are looked at at the same time
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    max_concurrent: u16,
    /// How many replicas of a StatefulSet are in motion at the same time, where its annotation max-in-motion does not say
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), value_name = "NUMBER")]
    max_in_motion: u32,
    /// How often a PVC of a storage class may be modified (size or attributes class) in any 24 hours: ebs=2,gp3=4. May be repeated
    #[arg(long = "modifications-per-24h", value_delimiter = ',', value_name = "CLASS=NUMBER")]
    modifications_per_day: Vec<ClassNumber>,
    /// How many PVCs of a storage class may be in motion at the same time, of all StatefulSets together: ebs=20. May be repeated
    #[arg(long, value_delimiter = ',', value_name = "CLASS=NUMBER")]
    max_modifications: Vec<ClassNumber>,
    /// How many writes a second it makes to the API server at most
    #[arg(long, default_value_t = Budget::DEFAULT.per_second, value_name = "NUMBER")]
    kube_api_qps: NonZeroU32,
    /// How many writes it makes at once after a quiet time
    #[arg(long, default_value_t = Budget::DEFAULT.burst, value_name = "NUMBER")]
    kube_api_burst: NonZeroU32,
    /// The settings document of the policy, in JSON or YAML; none are the defaults. Every rule in it that needs no requester
    /// is checked again before anything is rolled out
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Roll out also in namespaces for which neither the policy nor the guard is registered, where anybody who edits a
    /// StatefulSet can stage a change; nothing of admission is read then
    #[arg(long)]
    allow_without_policy: bool,
    /// Whether only the holder of a Lease works and others wait for it; by default in a cluster, and not outside of one
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    leader_elect: Option<bool>,
    /// The namespace of that Lease, `claim-rollout-controller`; by default the Pod's own. Controllers with different
    /// `--namespace` need different ones
    #[arg(long, value_name = "NAMESPACE")]
    lease_namespace: Option<String>,
    /// The form of the log on standard error; RUST_LOG filters it
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

/// Runs the controller until SIGTERM or SIGINT.
///
/// # Errors
/// If it cannot begin (no cluster is configured, the address is taken) or cannot go on.
pub(crate) async fn run(cluster: &ClusterArguments, args: Arguments) -> anyhow::Result<()> {
    service::log(args.log_format);
    let settings = settings(args.settings.as_deref())?;
    let client = cluster.connect_quietly().await?;
    let listener = TcpListener::bind(args.health_address)
        .await
        .with_context(|| format!("expected to listen on {}, but could not", args.health_address))?;
    tracing::info!(address = %listener.local_addr()?, "health endpoints");
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
        election: election(&args)?,
        budget: Budget {
            per_second: args.kube_api_qps,
            burst: args.kube_api_burst,
        },
    };
    controller::run(config, client, listener, service::stop_signal()?).await?;
    Ok(())
}

/// The settings in a file; the defaults without one.
///
/// # Errors
/// If it cannot be read, or with every fault in it: a controller that knows less than the policy would be too generous.
fn settings(file: Option<&Path>) -> anyhow::Result<Settings> {
    let Some(path) = file else {
        return Ok(Settings::default());
    };
    let read = || Settings::read(read_settings(&files::text(path)?)?.get()).map_err(anyhow::Error::msg);
    read().with_context(|| path.display().to_string())
}

/// How to agree with other controllers who works, if that is wanted.
fn election(args: &Arguments) -> anyhow::Result<Option<Election>> {
    // The namespace of the Pod that this runs in, if it runs in one.
    let own = kube::Config::incluster().ok().map(|config| config.default_namespace);
    if !args.leader_elect.unwrap_or(own.is_some()) {
        return Ok(None);
    }
    let namespace = args.lease_namespace.clone().or(own).context(
        "expected to run in a Pod, but found that this is none: name the namespace of the Lease by --lease-namespace",
    )?;
    // The name of the Pod, and a number that the next process of the same Pod does not have.
    let host = std::env::var("HOSTNAME").unwrap_or_default();
    let number = RandomState::new().build_hasher().finish();
    let identity = format!("{host}_{number:016x}");
    Ok(Some(Election { namespace, identity }))
}
