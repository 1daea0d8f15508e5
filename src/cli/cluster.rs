//! Flags that choose a cluster, and clients for it.

use std::path::PathBuf;

use clap::Args;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::{Client, Config};
use tower::util::MapResponseLayer;

use super::warnings::Warnings;
use crate::controller::SILENCE;

/// A kind whose objects are read and written whole.
pub(crate) fn kind(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// The objects of a kind: in one namespace, in all, or of a kind without namespaces.
pub(crate) fn objects(client: &Client, namespace: Option<&str>, kind: &ApiResource) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, kind),
        None => Api::all_with(client.clone(), kind),
    }
}

/// The flags of kubectl that choose a cluster.
#[derive(Debug, Args)]
pub(crate) struct ClusterArguments {
    /// Path to the kubeconfig file
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Name of the kubeconfig context
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Namespace scope; the namespace of the context if omitted
    #[arg(short, long, global = true)]
    pub(crate) namespace: Option<String>,
    /// User to act as, such as system:serviceaccount:NAMESPACE:NAME
    #[arg(long = "as", global = true, value_name = "USER")]
    pub(crate) impersonate: Option<String>,
}

impl ClusterArguments {
    /// A client for a person, and the namespace to work in. Prints the warnings of the API server.
    pub(crate) async fn connect(&self) -> anyhow::Result<(Client, String)> {
        let config = self.config().await?;
        let namespace = self
            .namespace
            .clone()
            .unwrap_or_else(|| config.default_namespace.clone());
        let warnings = Warnings::to_stderr();
        let layer = MapResponseLayer::new(move |response| warnings.show(response));
        let client = ClientBuilder::try_from(config)?.with_layer(&layer).build();
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
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        let mut config = match (&self.kubeconfig, &self.context) {
            (Some(path), _) => {
                let kubeconfig = Kubeconfig::read_from(path)?;
                Config::from_custom_kubeconfig(kubeconfig, &options).await?
            }
            (None, Some(_)) => Config::from_kubeconfig(&options).await?,
            (None, None) => Config::infer().await?,
        };
        if let Some(user) = &self.impersonate {
            config.auth_info.impersonate = Some(user.clone());
        }
        Ok(config)
    }
}
