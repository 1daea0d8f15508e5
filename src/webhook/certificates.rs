//! Self-made certificates of the webhook, the secret path, and when to renew the certificates. Pure but for random
//! numbers.
//!
//! Each renewal creates an authority that signs one certificate and whose key is then dropped, so nobody can steal it.
//! API servers trust the newest two authorities, so that a replica that still uses the previous certificate is trusted
//! too.

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use serde::{Deserialize, Serialize};

use super::identity::Identity;
use super::path::{NotRandom, SecretPath};

const DAY: SignedDuration = SignedDuration::from_hours(24);
/// The days that a certificate is valid, and the days until its renewal.
const VALID_DAYS: i32 = 90;
const RENEWED_DAYS: i32 = 60;
/// The maximum number of names in a certificate, over all replicas with different names.
const MOST_NAMES: usize = 64;
const END: &str = "-----END CERTIFICATE-----";

/// The certificates and the path that all replicas share.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The authorities that API servers are to trust, newest first, in PEM.
    pub authorities: String,
    /// The certificate and key of the server.
    pub identity: Identity,
    /// The part of the path that only API servers know. It stays when the certificate is renewed.
    pub path: SecretPath,
    /// The names and the time of renewal.
    pub terms: Terms,
}

/// The names in the certificates, and the time of renewal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Terms {
    /// The host names and addresses of the server.
    pub names: Vec<String>,
    /// The time of renewal.
    pub renew_at: Timestamp,
}

/// An error in the creation of certificates.
#[derive(Debug, thiserror::Error)]
pub enum CannotMake {
    /// For example because a name is invalid.
    #[error("failed to create a certificate for {names}: {source}")]
    Certificate {
        /// The names.
        names: String,
        /// The cause.
        source: rcgen::Error,
    },
    /// The path needs random numbers, and there are none.
    #[error(transparent)]
    Path(#[from] NotRandom),
}

impl Certificates {
    /// New certificates for these names. The newest previous authority stays trusted, and the path stays. So do the
    /// previous names until their renewal is due, because replicas may have different names.
    ///
    /// # Errors
    /// [`CannotMake`] if a name is neither a host name nor an address.
    pub fn make(names: &[String], now: Timestamp, before: Option<&Self>) -> Result<Self, CannotMake> {
        let mut names = names.to_vec();
        let others = before.filter(|before| now < before.terms.renew_at);
        for name in others.iter().flat_map(|before| &before.terms.names) {
            if !names.contains(name) && names.len() < MOST_NAMES {
                names.push(name.clone());
            }
        }
        let made = issue(&names, now).map_err(|source| CannotMake::Certificate {
            names: names.join(", "),
            source,
        })?;
        let (authority, identity) = made;
        let trusted = before.map(|before| before.authorities.as_str()).unwrap_or_default();
        let last = trusted.split_inclusive(END).next().filter(|pem| pem.contains(END));
        let authorities = format!("{authority}{}\n", last.unwrap_or_default().trim_start());
        Ok(Self {
            authorities: authorities.trim_end().to_owned() + "\n",
            identity,
            path: before.map_or_else(SecretPath::make, |before| Ok(before.path.clone()))?,
            terms: Terms {
                names,
                renew_at: now + DAY * RENEWED_DAYS,
            },
        })
    }
}

impl Terms {
    /// True iff new certificates are needed: renewal is due, or the server has another name.
    #[must_use]
    pub fn are_over(&self, names: &[String], now: Timestamp) -> bool {
        !names.iter().all(|name| self.names.contains(name)) || self.renew_at <= now
    }
}

/// The certificate of a new authority, and the identity that it has signed.
fn issue(names: &[String], now: Timestamp) -> Result<(String, Identity), rcgen::Error> {
    // Clocks differ; a day in the past is enough for all of them.
    let day = |days: i32| {
        let date = (now + DAY * days).to_zoned(TimeZone::UTC).date();
        let month = u8::try_from(date.month()).unwrap_or(1);
        date_time_ymd(date.year().into(), month, u8::try_from(date.day()).unwrap_or(1))
    };
    let parameters = |names: &[String], common_name: &str| {
        let mut parameters = CertificateParams::new(names)?;
        (parameters.not_before, parameters.not_after) = (day(-1), day(VALID_DAYS));
        parameters.distinguished_name.push(DnType::CommonName, common_name);
        Ok::<_, rcgen::Error>(parameters)
    };
    let mut authority = parameters(&[], "claim-rollout webhook authority")?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
    let authority_key = KeyPair::generate()?;
    let authority_pem = authority.self_signed(&authority_key)?.pem();

    let mut server = parameters(names, "claim-rollout webhook")?;
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &Issuer::new(authority, authority_key))?;
    let identity = Identity {
        certificates: certificate.pem(),
        key: key.serialize_pem(),
    };
    Ok((authority_pem, identity))
}

#[cfg(test)]
#[path = "certificates_tests.rs"]
mod tests;
