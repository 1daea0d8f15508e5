//! The users of the control plane. An administrator, two users without any rights, the policy-server and each of the
//! programs have static tokens; all others are impersonated, which the audit policy does not see.

use std::fmt::Write as _;
use std::io::Read as _;

use serde_json::{Value, json};

use super::programs;

/// The administrator.
pub(super) const ADMIN: &str = "admin";
/// The user name of the policy: the ServiceAccount that `policy-server-rbac.yaml` binds.
pub(crate) const POLICY_SERVER: &str = "system:serviceaccount:kubewarden:policy-server";
/// The user name of the StatefulSet controller.
pub(crate) const STATEFULSET_CONTROLLER: &str = "system:serviceaccount:kube-system:statefulset-controller";
/// The group that has all rights.
const MASTERS: &str = "system:masters";

/// A user with a token of its own.
struct User {
    name: &'static str,
    group: &'static str,
    token: String,
}

/// The tokens of one control plane.
pub(super) struct Tokens(Vec<User>);

impl Tokens {
    /// Draws new tokens. The programs are users of their own, so that the audit log separates them from the
    /// administrator.
    pub(super) fn new() -> anyhow::Result<Self> {
        let people = [(ADMIN, MASTERS), ("alice", "users"), ("bob", "users")];
        let programs = programs::THEN.map(|program| (program, MASTERS));
        let policy_server = (POLICY_SERVER, "system:serviceaccounts");
        let users = people.into_iter().chain(programs).chain([policy_server]);
        let users = users.map(|(name, group)| {
            Ok(User {
                name,
                group,
                token: token()?,
            })
        });
        Ok(Self(users.collect::<anyhow::Result<_>>()?))
    }

    /// The file for the API server's `--token-auth-file`.
    pub(super) fn file(&self) -> String {
        self.0
            .iter()
            .map(|User { name, group, token }| format!("{token},{name},{name},{group}\n"))
            .collect()
    }

    /// A kubeconfig (JSON is YAML). A user with a token and without further groups uses the token; the administrator
    /// impersonates all others.
    pub(super) fn kubeconfig(&self, port: u16, authority: &str, user: &str, groups: &[&str]) -> Value {
        let token = |name| self.0.iter().find(|user| user.name == name).map(|user| &user.token);
        let credentials = match token(user) {
            Some(own) if groups.is_empty() => json!({"token": own}),
            _ => json!({"token": token(ADMIN), "as": user, "as-groups": groups}),
        };
        kubeconfig(port, authority, user, &credentials)
    }
}

/// A kubeconfig with one context.
pub(super) fn kubeconfig(port: u16, authority: &str, user: &str, credentials: &Value) -> Value {
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

/// 128 random bits: the API server listens where every process of the machine can reach it.
fn token() -> anyhow::Result<String> {
    let mut bytes = [0_u8; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let mut token = String::new();
    for byte in bytes {
        write!(token, "{byte:02x}")?;
    }
    Ok(token)
}

/// Base64, as in kubeconfigs and webhook configurations.
pub(crate) fn base64(text: &str) -> String {
    use ::base64::Engine as _;
    ::base64::engine::general_purpose::STANDARD.encode(text)
}
