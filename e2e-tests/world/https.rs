//! Serves engines on this machine, with a certificate of their own.

use claim_rollout::webhook::{Engines, Identity, Limits, Running, Server};

/// Serves the engines until they are stopped, and returns the certificate to trust, in PEM.
pub(super) fn listen(engines: Engines, limits: Limits) -> anyhow::Result<(Running, String)> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
    let identity = Identity {
        certificates: made.cert.pem(),
        key: made.signing_key.serialize_pem(),
    };
    let server = Server {
        engines,
        limits,
        path: None,
        metrics: Default::default(),
    };
    let running = server.listen(([127, 0, 0, 1], 0).into(), &identity)?;
    Ok((running, identity.certificates))
}
