//! A certificate authority for one control plane. It issues the certificate of the API server, and those of webhooks
//! under test: [`Authority::pem`] is their `caBundle`.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

/// Signs serving certificates. Exists in memory only.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate and its private key, both as PEM.
pub(crate) struct Identity {
    /// The certificate.
    pub(crate) certificate: String,
    /// The private key.
    pub(crate) key: String,
}

impl Authority {
    /// Makes a new authority.
    pub(super) fn new() -> anyhow::Result<Self> {
        let mut parameters = CertificateParams::default();
        parameters
            .distinguished_name
            .push(DnType::CommonName, "claim-rollout e2e authority");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate()?;
        let pem = parameters.self_signed(&key)?.pem();
        Ok(Self {
            issuer: Issuer::new(parameters, key),
            pem,
        })
    }

    /// The certificate of the authority as PEM.
    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// Issues a serving certificate for these host names and addresses.
    pub(crate) fn issue(&self, names: &[&str]) -> anyhow::Result<Identity> {
        let mut parameters = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())?;
        parameters
            .distinguished_name
            .push(DnType::CommonName, names.first().copied().unwrap_or_default());
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = parameters.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity {
            certificate,
            key: key.serialize_pem(),
        })
    }
}

/// A key pair that signs the tokens of ServiceAccounts: the private key and the public key, both as PEM.
pub(super) fn signing_keys() -> anyhow::Result<(String, String)> {
    let key = KeyPair::generate()?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}
