//! Clients with the rights of a ServiceAccount, and those without credentials.

use std::path::PathBuf;

use anyhow::Context as _;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, PostParams};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;

use super::Cluster;
use super::users::kubeconfig;

impl Cluster {
    /// Writes a kubeconfig for a ServiceAccount, with a token like the one of its Pods, valid for a day.
    pub(crate) async fn kubeconfig_of(&self, namespace: &str, account: &str) -> anyhow::Result<PathBuf> {
        self.kubeconfig_through(self.port, namespace, account).await
    }

    /// The same for clients that reach the API server through this port.
    pub(crate) async fn kubeconfig_through(
        &self,
        port: u16,
        namespace: &str,
        account: &str,
    ) -> anyhow::Result<PathBuf> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await?, namespace);
        let request: TokenRequest =
            serde_json::from_value(json!({"spec": {"audiences": [], "expirationSeconds": 86400}}))?;
        let reply = accounts
            .create_token_request(account, &PostParams::default(), &request)
            .await?;
        let token = reply.status.context("expected a token, but found none")?.token;
        let content = kubeconfig(port, self.authority.pem(), account, &json!({"token": token}));
        let path = self.folder().join(format!("{namespace}+{account}+{port}.kubeconfig"));
        std::fs::write(&path, serde_json::to_vec_pretty(&content)?)?;
        Ok(path)
    }

    /// A client without credentials that sends each request once. The caller adds credentials to the requests.
    pub(crate) fn anonymous_client(&self) -> anyhow::Result<kube::Client> {
        let mut config = kube::Config::new(format!("https://127.0.0.1:{}", self.port).parse()?);
        let chain = CertificateDer::pem_slice_iter(self.authority.pem().as_bytes());
        let chain: Vec<_> = chain.map(|one| Ok(one?.to_vec())).collect::<anyhow::Result<_>>()?;
        config.root_cert = Some(chain);
        config.default_retry = false;
        Ok(kube::Client::try_from(config)?)
    }
}
