//! `claim-rollout webhook`

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use kube::Client;
use serde_json::value::RawValue;
use tokio::net::TcpListener;

use super::cluster::ClusterArguments;
use super::files;
use super::output::now;
use super::service::{self, LogFormat};
use crate::webhook::certificates::Certificates;
use crate::webhook::metrics::serve_metrics;
use crate::webhook::{
    ApiServer, CertificateSecret, Engine, Engines, Identity, Limits, Native, Running, SecretPath, Server,
    WebhookMetrics,
};

/// The pauses of the renewal.
#[derive(Clone, Copy, Debug)]
struct Pauses {
    /// The time between two checks of the certificate.
    check: Duration,
    /// The time that API servers get to learn a new caBundle.
    learn: Duration,
}

const PAUSES: Pauses = Pauses {
    check: Duration::from_secs(60),
    learn: Duration::from_secs(10),
};

/// Serve the policy to the API server directly, without Kubewarden
///
/// Serves /healthz, and /validate/claim-rollout and the same with -claims, -pods and -retention, each followed by a
/// secret that only API servers know. Creates its certificate and the secret, renews the certificate, and writes both
/// to the webhook configurations in deploy/webhook.
#[derive(Clone, Debug, Args)]
pub(crate) struct Arguments {
    /// Address to listen on, with TLS; with port 0 a free port, which is logged. `[::]` is also every address of IPv4
    #[arg(long, default_value = "[::]:8443", env = "CLAIM_ROLLOUT_WEBHOOK_ADDRESS")]
    address: SocketAddr,
    /// Policy settings file (JSON or YAML); built-in defaults if omitted
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Name of the Service, of the Secret with the certificate, and of the webhook configurations
    #[arg(long, default_value = "claim-rollout-webhook", value_name = "NAME")]
    name: String,
    /// Additional host name or address of this server in its certificate. May be repeated
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Folder with tls.crt and tls.key that another program renews, such as cert-manager; the webhook then creates no
    /// certificate, and writes neither the Secret nor webhook configurations
    #[arg(long, value_name = "FOLDER")]
    certificates: Option<PathBuf>,
    /// With --certificates: file with the secret at the end of the paths in your webhook configurations, at least 26
    /// lower case letters, digits or `-`. Without it, everybody who reaches the address is answered
    #[arg(long, value_name = "FILE", requires = "certificates")]
    path_file: Option<PathBuf>,
    /// Address to serve /metrics on, without TLS; not served if omitted
    #[arg(long, value_name = "ADDRESS", env = "CLAIM_ROLLOUT_WEBHOOK_METRICS_ADDRESS")]
    metrics_address: Option<SocketAddr>,
    /// Format of the log on standard error; RUST_LOG filters it
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

/// The source of the certificate.
enum CertificateSource {
    /// This program creates and renews it.
    Kept(Client, CertificateSecret),
    /// Another program renews it.
    Folder(PathBuf, Option<PathBuf>),
}

/// The certificate and the path in use.
enum CertificateInUse {
    Kept(Certificates),
    Folder(Identity, Option<SecretPath>),
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// If the server cannot start: the settings are invalid, the address is in use, or there is no certificate.
pub(crate) async fn run(cluster: &ClusterArguments, arguments: Arguments) -> anyhow::Result<()> {
    service::log(arguments.log_format);
    let settings = files::settings(arguments.settings.as_deref())?;
    let (client, namespace) = cluster.connect_as_a_service().await?;
    let engines = engines(&settings, &ApiServer::new(client.clone()))?;
    let metrics = metrics(arguments.metrics_address).await?;
    let source = match arguments.certificates {
        Some(folder) => CertificateSource::Folder(folder, arguments.path_file),
        None => CertificateSource::Kept(client, keeping(namespace, arguments.name, arguments.host)),
    };
    let shown = source.check(None).await?;
    if shown.path().is_none() {
        tracing::warn!("the path has no secret: everybody who reaches the address is answered");
    }
    let server = Server {
        engines,
        limits: Limits::default(),
        path: shown.path().cloned(),
        metrics,
    };
    let stop = service::stop_signal()?;
    let running = server.listen(service::known_here(arguments.address), shown.identity())?;
    tracing::info!(address = %running.address(), "serving the policy");
    serve_until(stop, running, (&source, shown), PAUSES).await
}

/// Serves until `stop`, and renews the certificate meanwhile.
async fn serve_until(
    stop: impl Future<Output = ()>,
    running: Running,
    (source, shown): (&CertificateSource, CertificateInUse),
    pauses: Pauses,
) -> anyhow::Result<()> {
    tokio::select! {
        () = stop => {}
        () = renew(&running, source, shown, pauses) => {}
    }
    running.stop().await?;
    Ok(())
}

/// The metrics, served on this address if there is one.
async fn metrics(address: Option<SocketAddr>) -> anyhow::Result<Arc<WebhookMetrics>> {
    let metrics = Arc::<WebhookMetrics>::default();
    if let Some(address) = address {
        let listener = TcpListener::bind(service::known_here(address))
            .await
            .with_context(|| format!("failed to listen on {address}"))?;
        tracing::info!(address = %listener.local_addr()?, "serving metrics");
        tokio::spawn(serve_metrics(listener, Arc::clone(&metrics)));
    }
    Ok(metrics)
}

/// Checks the certificate for ever, and switches to a new one. Errors are logged: the previous certificate is valid for
/// another month.
async fn renew(running: &Running, source: &CertificateSource, mut shown: CertificateInUse, pauses: Pauses) {
    loop {
        tokio::time::sleep(pauses.check).await;
        match source.check(Some(&shown)).await {
            Ok(found) => {
                if let Some(path) = found.path().filter(|path| shown.path() != Some(path)) {
                    running.answer_under(path.clone());
                    tracing::info!("switched to another path");
                }
                if found.identity() != shown.identity() {
                    tokio::time::sleep(pauses.learn).await;
                    match running.prove(found.identity()) {
                        Ok(()) => tracing::info!("switched to another certificate"),
                        Err(error) => tracing::error!(%error, "failed to use the new certificate"),
                    }
                }
                shown = found;
            }
            Err(error) => tracing::warn!(
                error = format!("{error:#}"),
                "failed to renew the certificate: the previous one stays in use"
            ),
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
    /// The certificate and the path to use now, after those in `shown`.
    async fn check(&self, shown: Option<&CertificateInUse>) -> anyhow::Result<CertificateInUse> {
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

fn keeping(namespace: String, name: String, hosts: Vec<String>) -> CertificateSecret {
    let mut names = vec![format!("{name}.{namespace}.svc")];
    names.extend(hosts);
    CertificateSecret { namespace, name, names }
}

/// The engines by path. The names are those of the policy objects in deploy/.
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

/// The settings for the validating webhook: it changes nothing, and warns unless the settings specify otherwise.
fn of_retention(settings: &RawValue) -> anyhow::Result<Box<RawValue>> {
    let mut settings: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(settings.get()).context("settings: expected an object")?;
    settings.insert("mode".to_owned(), "ValidateOnly".into());
    settings.entry("retention").or_insert_with(|| "Warn".into());
    Ok(serde_json::value::to_raw_value(&settings)?)
}

#[cfg(test)]
#[path = "webhook_tests.rs"]
mod tests;
