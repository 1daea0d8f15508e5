//! Who can talk to the control plane: an administrator and two users without any rights of their own, by static tokens;
//! everybody else by impersonation.

use std::fmt::Write as _;
use std::io::Read as _;

use serde_json::{Value, json};

/// The administrator; member of `system:masters`.
pub(super) const ADMIN: &str = "admin";

/// The users with tokens, and the group each is in.
const USERS: [(&str, &str); 3] = [(ADMIN, "system:masters"), ("alice", "users"), ("bob", "users")];

/// The tokens of one control plane.
pub(super) struct Tokens([String; USERS.len()]);

impl Tokens {
    /// Draws fresh tokens.
    pub(super) fn new() -> anyhow::Result<Self> {
        let mut source = std::fs::File::open("/dev/urandom")?;
        let mut tokens = [const { String::new() }; USERS.len()];
        for token in &mut tokens {
            let mut bytes = [0_u8; 16];
            source.read_exact(&mut bytes)?;
            for byte in bytes {
                write!(token, "{byte:02x}")?;
            }
        }
        Ok(Self(tokens))
    }

    /// The file for the API server's `--token-auth-file`.
    pub(super) fn file(&self) -> String {
        let lines = USERS.iter().zip(&self.0).map(|((user, group), token)| format!("{token},{user},{user},{group}\n"));
        lines.collect()
    }

    /// A kubeconfig (JSON is YAML). A user with a token and no further groups uses it; for anybody else the
    /// administrator impersonates.
    pub(super) fn kubeconfig(&self, port: u16, authority: &str, user: &str, groups: &[&str]) -> Value {
        let own = USERS.iter().position(|(name, _)| *name == user).filter(|_| groups.is_empty());
        let credentials = match own {
            Some(index) => json!({"token": self.0[index]}),
            None => json!({"token": self.0[0], "as": user, "as-groups": groups}),
        };
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "e2e", "cluster": {
                "server": format!("https://127.0.0.1:{port}"),
                "certificate-authority-data": base64(authority),
            }}],
            "users": [{"name": user, "user": credentials}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": user, "namespace": "default"}}],
            "current-context": "e2e",
        })
    }
}

/// Base64, as kubeconfigs and webhook configurations want certificates.
pub(crate) fn base64(text: &str) -> String {
    use ::base64::Engine as _;
    ::base64::engine::general_purpose::STANDARD.encode(text)
}
