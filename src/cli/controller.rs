//! `claim-rollout controller`

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::num::NonZeroU32;

use anyhow::Context;
use clap::{Args, ValueEnum};
use tokio::net::TcpListener;

use super::ClusterArguments;
use super::service::{self, LogFormat};
use crate::controller::{self, Budget, Config, Election};
use crate::rollout::Honoured;
use crate::templates::rules::{self, OwnedSets};

/// Roll out staged changes of volumeClaimTemplates to the claims of StatefulSets, of all namespaces if none is named.
#[derive(Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// Where /healthz, /readyz and /metrics are served; port 0 takes a free one, which is logged
    #[arg(long, default_value = "0.0.0.0:8080", env = "CLAIM_ROLLOUT_HEALTH_ADDRESS")]
    health_address: SocketAddr,
    /// How many StatefulSets are looked at at the same time
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    max_concurrent: u16,
    /// How many writes a second it makes to the API server at most
    #[arg(long, default_value_t = Budget::DEFAULT.per_second, value_name = "NUMBER")]
    kube_api_qps: NonZeroU32,
    /// How many writes it makes at once after a quiet time
    #[arg(long, default_value_t = Budget::DEFAULT.burst, value_name = "NUMBER")]
    kube_api_burst: NonZeroU32,
    /// A domain of keys that no template may set on claims, such as `example.com/`; may be repeated, and then replaces the
    /// default list. Must be what the policy's setting `reservedKeyPrefixes` says
    #[arg(long, value_name = "DOMAIN/")]
    reserved_key_prefix: Vec<String>,
    /// Whether StatefulSets of another controller are looked after, as the policy's setting `ownedSets` says
    #[arg(long, value_enum, default_value_t = Owned::Skip)]
    owned_sets: Owned,
    /// What becomes of a size that is smaller than the one wished before, as the policy's setting `shrink` says
    #[arg(long, value_enum, default_value_t = Shrink::Deny)]
    shrink: Shrink,
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

/// Whether StatefulSets of another controller are looked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub(crate) enum Owned {
    /// They are left alone
    Skip,
    /// As all others
    Stage,
}

/// What becomes of a size that is smaller than the one wished before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub(crate) enum Shrink {
    /// No claim is made smaller
    Deny,
    /// A growth that was not reached is taken back
    Recover,
}

/// Runs the controller until SIGTERM or SIGINT.
///
/// # Errors
/// If it cannot begin (no cluster is configured, the address is taken) or cannot go on.
pub(crate) async fn run(cluster: &ClusterArguments, args: Arguments) -> anyhow::Result<()> {
    service::log(args.log_format);
    let client = cluster.connect_quietly().await?;
    let listener = TcpListener::bind(args.health_address)
        .await
        .with_context(|| format!("expected to listen on {}, but could not", args.health_address))?;
    tracing::info!(address = %listener.local_addr()?, "health endpoints");
    let config = Config {
        namespace: cluster.namespace.clone(),
        max_concurrent: args.max_concurrent,
        honoured: honoured(&args),
        election: election(&args)?,
        budget: Budget {
            per_second: args.kube_api_qps,
            burst: args.kube_api_burst,
        },
    };
    controller::run(config, client, listener, service::stop_signal()?).await?;
    Ok(())
}

fn honoured(args: &Arguments) -> Honoured {
    let mut honoured = Honoured::default();
    if !args.reserved_key_prefix.is_empty() {
        honoured.reserved_key_prefixes = args.reserved_key_prefix.iter().cloned().map(Into::into).collect();
    }
    honoured.owned_sets = match args.owned_sets {
        Owned::Skip => OwnedSets::Skip,
        Owned::Stage => OwnedSets::Stage,
    };
    honoured.shrink = match args.shrink {
        Shrink::Deny => rules::Shrink::Deny,
        Shrink::Recover => rules::Shrink::Recover,
    };
    honoured
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
