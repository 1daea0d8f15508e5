//! Flags that choose a cluster, and clients for it.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use axum::http::Uri;
use clap::Args;
use jiff::SignedDuration;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::core::GroupVersionKind;
use kube::{Client, Config};
use serde_json::json;
use tower::BoxError;
use tower::util::{MapErrLayer, MapResponseLayer};

use super::proxy::ProxyVariables;
use super::warnings::Warnings;
use crate::controller::SILENCE;

/// A kind whose objects are read and written whole.
pub(crate) fn kind(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// The kind of StatefulSets.
pub(crate) const SET: &str = "StatefulSet";
/// The kind of PVCs.
pub(crate) const CLAIM: &str = "PersistentVolumeClaim";

/// StatefulSets.
pub(crate) fn sets() -> ApiResource {
    kind("apps", "v1", SET)
}

/// PVCs.
pub(crate) fn claims() -> ApiResource {
    kind("", "v1", CLAIM)
}

/// ClaimRollouts.
pub(crate) fn rollouts() -> ApiResource {
    kind("claim-rollout.io", "v1alpha1", "ClaimRollout")
}

/// The objects of a kind: in one namespace, in all, or of a kind without namespaces.
pub(crate) fn objects(client: &Client, namespace: Option<&str>, kind: &ApiResource) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, kind),
        None => Api::all_with(client.clone(), kind),
    }
}

/// The label of the objects of an installation.
pub(crate) const OURS: &str = "app.kubernetes.io/name=claim-rollout";

/// The namespace of an installation, unless it is elsewhere.
pub(crate) const HOME: &str = "claim-rollout";

/// The flags of kubectl that choose a cluster.
#[derive(Debug, Args)]
pub(crate) struct ClusterArguments {
    /// Path to the kubeconfig file
    #[arg(long, global = true, value_name = "FILE", help_heading = HEADING)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Name of the kubeconfig context
    #[arg(long, global = true, value_name = "NAME", help_heading = HEADING)]
    pub(crate) context: Option<String>,
    /// Name of the kubeconfig cluster
    #[arg(long, global = true, value_name = "NAME", help_heading = HEADING)]
    cluster: Option<String>,
    /// Name of the kubeconfig user
    #[arg(long, global = true, value_name = "NAME", help_heading = HEADING)]
    user: Option<String>,
    /// Address of the API server
    #[arg(short, long, global = true, value_name = "URL", help_heading = HEADING)]
    server: Option<Uri>,
    /// Bearer token for the API server
    #[arg(long, global = true, help_heading = HEADING)]
    token: Option<String>,
    /// Namespace scope; if omitted, the namespace of the context, or what the command describes
    #[arg(short, long, global = true, help_heading = HEADING)]
    pub(crate) namespace: Option<String>,
    /// User to act as, such as system:serviceaccount:NAMESPACE:NAME
    #[arg(long = "as", global = true, value_name = "USER", help_heading = HEADING)]
    pub(crate) impersonate: Option<String>,
    /// Group to act as; may be repeated
    #[arg(long, global = true, value_name = "GROUP", requires = "impersonate", help_heading = HEADING)]
    as_group: Vec<String>,
    /// How long to wait for an answer of the API server, such as 10s; 0 waits for ever
    #[arg(long, global = true, value_name = "DURATION", value_parser = duration, help_heading = HEADING)]
    request_timeout: Option<Duration>,
}

/// The heading of these flags in `--help`.
const HEADING: &str = "Cluster";

/// Reads a duration as kubectl does: `10s`, `2m30s`, or a number of seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(Duration::from_secs(seconds));
    }
    let expected = || format!("expected a duration such as 10s or 2m30s, but found {text}");
    let duration: SignedDuration = text.parse().map_err(|_| expected())?;
    Duration::try_from(duration).map_err(|_| expected())
}

impl ClusterArguments {
    /// A client for a person, and the namespace to work in. Prints the warnings of the API server. An error without an
    /// answer names the server.
    pub(crate) async fn connect(&self) -> anyhow::Result<(Client, String)> {
        self.connect_with(Some(Warnings::to_stderr())).await
    }

    /// A client for a person that prints no warnings, and the namespace to work in: the caller reads those that matter.
    pub(crate) async fn connect_without_warnings(&self) -> anyhow::Result<(Client, String)> {
        self.connect_with(None).await
    }

    async fn connect_with(&self, warnings: Option<Warnings>) -> anyhow::Result<(Client, String)> {
        let config = self.config().await?;
        let namespace = self
            .namespace
            .clone()
            .unwrap_or_else(|| config.default_namespace.clone());
        let server = NamedServer::of(&config);
        let layer = MapResponseLayer::new(move |response| match &warnings {
            Some(warnings) => warnings.show(response),
            None => response,
        });
        let named = MapErrLayer::new(move |cause| server.clone().unreachable(cause));
        let client = ClientBuilder::try_from(config)?
            .with_layer(&layer)
            .with_layer(&named)
            .build();
        Ok((client, namespace))
    }

    /// A client for the webhook, which prints no warnings, and the namespace of the webhook.
    pub(crate) async fn connect_as_a_service(&self) -> anyhow::Result<(Client, String)> {
        let config = self.config().await?;
        let own = config.default_namespace.clone();
        let namespace = self.namespace.clone().unwrap_or(own);
        Ok((Client::try_from(config)?, namespace))
    }

    /// A client for the controller. It prints no warnings and gives up a silent connection.
    pub(crate) async fn connect_quietly(&self) -> anyhow::Result<Client> {
        let mut config = self.config().await?;
        config.read_timeout = Some(SILENCE);
        // A failed write is decided anew: the objects behind the decision may have changed.
        config.default_retry = false;
        Ok(Client::try_from(config)?)
    }

    async fn config(&self) -> anyhow::Result<Config> {
        let mut config = match self.kubeconfig()? {
            Some(kubeconfig) => self.configured(kubeconfig).await?,
            None => match &self.server {
                Some(server) => proxied(Config::new(server.clone()))?,
                None => Config::incluster().context(
                    "no cluster is configured: expected a kubeconfig file (--kubeconfig, KUBECONFIG, ~/.kube/config), \
                     or a Pod with a ServiceAccount",
                )?,
            },
        };
        if let Some(token) = &self.token {
            // The token is the only credential, as in kubectl.
            config.auth_info = serde_json::from_value(json!({ "token": token }))?;
        }
        if let Some(user) = &self.impersonate {
            config.auth_info.impersonate = Some(user.clone());
            config.auth_info.impersonate_groups = (!self.as_group.is_empty()).then(|| self.as_group.clone());
        }
        if let Some(timeout) = self.request_timeout {
            let timeout = (timeout > Duration::ZERO).then_some(timeout);
            (config.connect_timeout, config.read_timeout) = (timeout, timeout);
        }
        Ok(config)
    }

    /// The kubeconfig, with the flags; none if no file is named and there is none.
    fn kubeconfig(&self) -> anyhow::Result<Option<Kubeconfig>> {
        if let Some(path) = &self.kubeconfig {
            return Ok(Some(Kubeconfig::read_from(path)?));
        }
        match Kubeconfig::read() {
            Ok(kubeconfig) if !kubeconfig.clusters.is_empty() => Ok(Some(kubeconfig)),
            Ok(_) => Ok(None),
            Err(KubeconfigError::ReadConfig(error, _)) if error.kind() == ErrorKind::NotFound => {
                let named = [&self.context, &self.cluster, &self.user].into_iter().flatten().next();
                ensure!(named.is_none(), "no kubeconfig file was found");
                Ok(None)
            }
            Err(KubeconfigError::FindPath) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn configured(&self, mut kubeconfig: Kubeconfig) -> anyhow::Result<Config> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
        };
        let clusters = kubeconfig
            .clusters
            .iter_mut()
            .filter_map(|named| named.cluster.as_mut());
        for cluster in clusters {
            if let Some(server) = &self.server {
                cluster.server = Some(server.to_string());
            }
        }
        let has_proxy = has_proxy(&kubeconfig, &options);
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        if has_proxy { Ok(config) } else { proxied(config) }
    }
}

/// The configuration with the proxy from the environment, which the client reads in its own way.
fn proxied(mut config: Config) -> anyhow::Result<Config> {
    let proxy = from_environment(&config.cluster_url).map(|proxy| proxy.parse());
    config.proxy_url = proxy.transpose().context("failed to read the proxy")?;
    Ok(config)
}

/// True iff the kubeconfig has a proxy for the cluster of these options.
fn has_proxy(kubeconfig: &Kubeconfig, options: &KubeConfigOptions) -> bool {
    let context = options.context.as_ref().or(kubeconfig.current_context.as_ref());
    let mut contexts = kubeconfig.contexts.iter();
    let of_context = contexts.find(|named| Some(&named.name) == context);
    let of_context = of_context.and_then(|named| Some(&named.context.as_ref()?.cluster));
    let name = options.cluster.as_ref().or(of_context);
    let mut clusters = kubeconfig.clusters.iter();
    let cluster = clusters.find(|named| Some(&named.name) == name);
    let proxy = cluster.and_then(|named| named.cluster.as_ref()?.proxy_url.as_ref());
    proxy.is_some_and(|proxy| !proxy.is_empty())
}

/// The proxy for this server in the environment.
fn from_environment(server: &Uri) -> Option<String> {
    let read = |names: [&str; 2]| {
        let mut values = names.into_iter().filter_map(|name| std::env::var(name).ok());
        values.find(|value| !value.is_empty())
    };
    let https = read(["HTTPS_PROXY", "https_proxy"]);
    let http = read(["HTTP_PROXY", "http_proxy"]);
    let none = read(["NO_PROXY", "no_proxy"]);
    let variables = ProxyVariables {
        https: https.as_deref(),
        http: http.as_deref(),
        none: none.as_deref(),
    };
    variables.proxy(server)
}

/// An API server, and the proxy before it.
#[derive(Clone, Debug)]
struct NamedServer {
    address: String,
    proxy: Option<String>,
}

/// A request without an answer.
#[derive(Debug, thiserror::Error)]
#[error("no answer from the server {}{}", server.address, server.proxy.as_ref().map(|proxy| format!(" through the proxy {proxy}")).unwrap_or_default())]
pub(super) struct NoAnswer {
    server: NamedServer,
    source: BoxError,
}

/// True iff the same request may succeed later: no answer, or the API server is overloaded or has an error of its own.
pub(crate) fn is_brief(error: &anyhow::Error) -> bool {
    let is_brief = |cause: &kube::Error| match cause {
        kube::Error::Api(status) => status.code == 429 || status.code >= 500,
        // The answer broke off.
        kube::Error::HyperError(_) => true,
        _ => false,
    };
    error
        .chain()
        .any(|cause| cause.is::<NoAnswer>() || cause.downcast_ref().is_some_and(is_brief))
}

impl NamedServer {
    fn of(config: &Config) -> Self {
        // Without credentials.
        let host = |uri: &Uri| {
            let host = uri.host().unwrap_or_default();
            let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}://{host}{port}", uri.scheme_str().unwrap_or("https"))
        };
        Self {
            address: host(&config.cluster_url),
            proxy: config.proxy_url.as_ref().map(host),
        }
    }

    /// Errors of the client itself, such as those of credentials, stay as they are.
    fn unreachable(self, source: BoxError) -> BoxError {
        if source.is::<kube::Error>() {
            return source;
        }
        NoAnswer { server: self, source }.into()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kube::core::Status;

    use super::{NamedServer, NoAnswer, duration, is_brief};

    #[test]
    fn error_is_brief_if_the_request_may_succeed_later() {
        let answer = |code| kube::Error::Api(Status::failure("why", "Reason").with_code(code).boxed());
        let server = NamedServer {
            address: "https://a".to_owned(),
            proxy: None,
        };
        let source = std::io::Error::other("refused").into();
        let silent = kube::Error::Service(NoAnswer { server, source }.into());
        let credentials = kube::Error::Service("no credentials".into());
        for (error, expected) in [
            (answer(403), false),
            (answer(404), false),
            (answer(429), true),
            (answer(500), true),
            (answer(503), true),
            (silent, true),
            (credentials, false),
        ] {
            let error = anyhow::Error::new(error).context("claims");
            assert_eq!(is_brief(&error), expected, "{error:#}");
        }
        assert!(!is_brief(&anyhow::anyhow!("StatefulSet \"web\" not found")));
    }

    #[test]
    fn duration_as_in_kubectl() {
        for (text, expected) in [
            ("0", Some(0)),
            ("30", Some(30)),
            ("10s", Some(10)),
            ("2m30s", Some(150)),
            ("1h", Some(3600)),
            ("-1s", None),
            ("soon", None),
        ] {
            assert_eq!(duration(text).ok(), expected.map(Duration::from_secs), "{text}");
        }
    }
}
