//! `claim-rollout webhook`

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;
use kube::Client;
use serde_json::value::RawValue;
use tokio::net::TcpListener;

use super::ClusterArguments;
use super::files::{self, read_settings};
use super::service::{self, LogFormat};
use crate::webhook::certificates::Certificates;
use crate::webhook::metrics::serve_metrics;
use crate::webhook::{
    ApiServer, Engine, Engines, Identity, Keeping, Limits, Native, Running, SecretPath, Server, WebhookMetrics,
};

/// How often the certificate is looked at.
const LOOK: Duration = Duration::from_secs(60);
/// How long API servers may take to learn whom they are to trust.
const LEARN: Duration = Duration::from_secs(10);

/// Serve the policy to the API server itself, where there is no Kubewarden
///
/// Answers under /validate/claim-rollout, and the same with -claims, -pods and -retention behind it, each followed
/// by a secret that only API servers know, and under /healthz. Makes its certificate and the secret, renews the certificate,
/// and writes both into the webhook configurations in deploy/webhook.
#[derive(Clone, Debug, Args)]
pub(crate) struct Arguments {
    /// Where it listens, with TLS; port 0 takes a free one, which is logged
    #[arg(long, default_value = "0.0.0.0:8443", env = "CLAIM_ROLLOUT_WEBHOOK_ADDRESS")]
    address: SocketAddr,
    /// The settings of the policy, in JSON or YAML; none are the defaults
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// The name of the Service that leads here, of the Secret with the certificate, and of the webhook configurations
    #[arg(long, default_value = "claim-rollout-webhook", value_name = "NAME")]
    name: String,
    /// A further host name or address of this server in its certificate; may be repeated
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// A folder with tls.crt and tls.key that somebody else renews, such as cert-manager: nothing is made then, no Secret is
    /// written and no webhook configuration
    #[arg(long, value_name = "FOLDER")]
    certificates: Option<PathBuf>,
    /// With --certificates: a file with the secret that ends the paths in your webhook configurations, at least 26 lower case
    /// letters, digits or `-`. Without it everybody who reaches the address is answered
    #[arg(long, value_name = "FILE", requires = "certificates")]
    path_file: Option<PathBuf>,
    /// Where /metrics is served, without TLS; nowhere if it is not given
    #[arg(long, value_name = "ADDRESS", env = "CLAIM_ROLLOUT_WEBHOOK_METRICS_ADDRESS")]
    metrics_address: Option<SocketAddr>,
    /// The form of the log on standard error; RUST_LOG filters it
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

/// Whose certificate is shown.
enum CertificateSource {
    /// Our own.
    Kept(Client, Keeping),
    /// Somebody else's.
    Folder(PathBuf, Option<PathBuf>),
}

/// What API servers trust, and under which path they ask.
enum CertificateInUse {
    Kept(Certificates),
    Folder(Identity, Option<SecretPath>),
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// If it cannot begin: the settings are invalid, the address is taken, or there is no certificate.
pub(crate) async fn run(cluster: &ClusterArguments, arguments: Arguments) -> anyhow::Result<()> {
    service::log(arguments.log_format);
    let settings = settings(arguments.settings.as_deref())?;
    let (client, namespace) = cluster.connect_as_a_service().await?;
    let engines = engines(&settings, &ApiServer::new(client.clone()))?;
    let metrics = metrics(arguments.metrics_address).await?;
    let source = match arguments.certificates {
        Some(folder) => CertificateSource::Folder(folder, arguments.path_file),
        None => CertificateSource::Kept(client, keeping(namespace, arguments.name, arguments.host)),
    };
    let shown = source.look(None).await?;
    if shown.path().is_none() {
        tracing::warn!("everybody who reaches the address is answered: there is no secret in the path");
    }
    let server = Server {
        engines,
        limits: Limits::default(),
        path: shown.path().cloned(),
        metrics,
    };
    let stop = service::stop_signal()?;
    let running = server.listen(arguments.address, shown.identity())?;
    tracing::info!(address = %running.address(), "serving the policy");
    tokio::select! {
        () = stop => {}
        () = renew(&running, &source, shown) => {}
    }
    running.stop().await?;
    Ok(())
}

/// What is counted, served on this address from now on.
async fn metrics(address: Option<SocketAddr>) -> anyhow::Result<Arc<WebhookMetrics>> {
    let metrics = Arc::<WebhookMetrics>::default();
    if let Some(address) = address {
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("failed to listen on {address}"))?;
        tracing::info!(address = %listener.local_addr()?, "metrics");
        tokio::spawn(serve_metrics(listener, Arc::clone(&metrics)));
    }
    Ok(metrics)
}

/// Looks at the certificate for ever, and shows another when there is one. What goes wrong is logged: the one before is good
/// for a month more.
async fn renew(running: &Running, source: &CertificateSource, mut shown: CertificateInUse) {
    loop {
        tokio::time::sleep(LOOK).await;
        match source.look(Some(&shown)).await {
            Ok(found) => {
                if let Some(path) = found.path().filter(|path| shown.path() != Some(path)) {
                    running.answer_under(path.clone());
                    tracing::info!("another path is answered");
                }
                if found.identity() != shown.identity() {
                    tokio::time::sleep(LEARN).await;
                    match running.prove(found.identity()) {
                        Ok(()) => tracing::info!("another certificate is shown"),
                        Err(error) => tracing::error!(%error, "the certificate cannot be used"),
                    }
                }
                shown = found;
            }
            Err(error) => tracing::warn!(error = format!("{error:#}"), "no certificate: the one before is shown"),
        }
    }
}

impl CertificateInUse {
    fn identity(&self) -> &Identity {
        match self {
            Self::Kept(certificates) => &certificates.identity,
            Self::Folder(identity, _) => identity,
        }
    }

    fn path(&self) -> Option<&SecretPath> {
        match self {
            Self::Kept(certificates) => Some(&certificates.path),
            Self::Folder(_, path) => path.as_ref(),
        }
    }
}

impl CertificateSource {
    /// What to show now, after this.
    async fn look(&self, shown: Option<&CertificateInUse>) -> anyhow::Result<CertificateInUse> {
        match self {
            Self::Kept(client, keeping) => {
                let before = shown.and_then(|shown| match shown {
                    CertificateInUse::Kept(certificates) => Some(certificates),
                    CertificateInUse::Folder(..) => None,
                });
                Ok(CertificateInUse::Kept(keeping.keep(client, now(), before).await?))
            }
            Self::Folder(folder, path) => {
                let identity = Identity {
                    certificates: files::text(&folder.join("tls.crt"))?,
                    key: files::text(&folder.join("tls.key"))?,
                };
                let path = path.as_deref().map(read_path).transpose()?;
                Ok(CertificateInUse::Folder(identity, path))
            }
        }
    }
}

fn read_path(file: &Path) -> anyhow::Result<SecretPath> {
    SecretPath::read(&files::text(file)?).with_context(|| file.display().to_string())
}

#[allow(clippy::disallowed_methods, reason = "this is the outermost loop")]
fn now() -> Timestamp {
    Timestamp::now()
}

fn keeping(namespace: String, name: String, hosts: Vec<String>) -> Keeping {
    let mut names = vec![format!("{name}.{namespace}.svc")];
    names.extend(hosts);
    Keeping { namespace, name, names }
}

/// The settings for all webhooks.
fn settings(file: Option<&Path>) -> anyhow::Result<Box<RawValue>> {
    match file {
        Some(path) => read_settings(&files::text(path)?).with_context(|| path.display().to_string()),
        None => read_settings("{}"),
    }
}

/// What answers under which path: the names are those of the policy objects in deploy/.
fn engines(settings: &RawValue, cluster: &ApiServer) -> anyhow::Result<Engines> {
    let retention = of_retention(settings)?;
    let all = [
        ("claim-rollout", settings.to_owned()),
        ("claim-rollout-claims", settings.to_owned()),
        ("claim-rollout-pods", settings.to_owned()),
        ("claim-rollout-retention", retention),
    ];
    let engines = all.into_iter().map(|(path, settings)| {
        let cluster = cluster.clone();
        let native = Native::new(settings, move |deadline| cluster.until(deadline))?;
        Ok((path.to_owned(), Arc::new(native) as Arc<dyn Engine>))
    });
    engines.collect()
}

/// The same settings for the webhook that validates: it changes nothing, and warns unless the settings say otherwise.
fn of_retention(settings: &RawValue) -> anyhow::Result<Box<RawValue>> {
    let mut settings: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(settings.get()).context("settings: expected an object")?;
    settings.insert("mode".to_owned(), "ValidateOnly".into());
    settings.entry("retention").or_insert_with(|| "Warn".into());
    Ok(serde_json::value::to_raw_value(&settings)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::{keeping, of_retention};

    #[test]
    fn the_webhook_that_validates_changes_nothing_and_warns_unless_it_is_told_otherwise() {
        for (settings, expected) in [
            (json!({}), json!({"mode": "ValidateOnly", "retention": "Warn"})),
            (
                json!({"mode": "Stage", "retention": "Deny", "shrink": "Recover"}),
                json!({"mode": "ValidateOnly", "retention": "Deny", "shrink": "Recover"}),
            ),
        ] {
            let made = of_retention(&to_raw_value(&settings).unwrap()).unwrap();
            assert_eq!(serde_json::from_str::<serde_json::Value>(made.get()).unwrap(), expected);
        }
    }

    #[test]
    fn the_certificate_is_for_the_service_and_for_what_else_is_named() {
        let keeping = keeping(
            "platform".to_owned(),
            "webhook".to_owned(),
            vec!["127.0.0.1".to_owned()],
        );
        assert_eq!(keeping.names, ["webhook.platform.svc", "127.0.0.1"]);
    }
}
