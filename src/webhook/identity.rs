//! The certificate and key of a server.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The certificate and key of a server.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The chain in PEM, leaf first.
    pub certificates: String,
    /// The private key of the leaf in PEM.
    pub key: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity")
            .field("certificates", &self.certificates)
            .finish_non_exhaustive()
    }
}

/// Unusable certificates or an unusable key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} in PEM, but found: {found}")]
pub struct IdentityError {
    /// The unusable part.
    pub expected: &'static str,
    /// The error.
    pub found: String,
}

/// The configuration for TLS 1.2 and 1.3 with ring.
///
/// # Errors
/// [`IdentityError`] if the identity cannot be used.
pub fn tls(identity: &Identity) -> Result<rustls::ServerConfig, IdentityError> {
    let invalid = |expected| move |found: String| IdentityError { expected, found };
    let chain = CertificateDer::pem_slice_iter(identity.certificates.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| invalid("certificates")(error.to_string()))?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())
        .map_err(|error| invalid("a private key")(error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_no_client_auth())
        .and_then(|builder| builder.with_single_cert(chain, key))
        .map_err(|error| invalid("certificates and their key")(error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
