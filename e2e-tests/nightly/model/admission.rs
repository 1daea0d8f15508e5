//! The policy in front of the sets and claims of each sequence, except those that run without it.

use std::sync::Arc;

use claim_rollout::sim::dialogue::PolicyMode;
use serde_json::{Value, json};

use crate::world::Cluster;
use crate::world::installation::api_of_policy_server;
use crate::world::policy_host::shared_policy;
use crate::world::policy_host::{PolicyHost, Registration, Shipped};

/// The label of a namespace that selects the policy.
pub(super) const LABEL: &str = "policy-mode";

/// The policy, registered with both settings.
pub(super) struct PolicyModes {
    host: PolicyHost,
    registrations: Vec<Registration>,
}

/// The value of the label.
pub(super) fn label(mode: PolicyMode) -> &'static str {
    match mode {
        PolicyMode::Absent => "absent",
        PolicyMode::Deny => "deny",
        PolicyMode::Recover => "recover",
    }
}

fn settings(shrink: &str) -> Value {
    json!({"defaultUpdatePolicy": "InPlace", "pvcChecks": "Ignore", "shrink": shrink})
}

impl PolicyModes {
    /// Serves the policy and waits until the API server calls it.
    pub(super) async fn open(cluster: &Cluster, client: &kube::Client) -> anyhow::Result<Self> {
        let module = shared_policy()?;
        let (mut policies, mut registrations) = (Vec::new(), Vec::new());
        for (mode, shrink) in [(PolicyMode::Deny, "Deny"), (PolicyMode::Recover, "Recover")] {
            for shipped in [Shipped::claims()?, Shipped::sets()?] {
                let name = format!("{}-{}", shipped.name, label(mode));
                let mut policy = shipped.policy(&module)?;
                policy.name.clone_from(&name);
                if shipped.name == "claim-rollout" {
                    policy.settings = settings(shrink);
                }
                policies.push(policy);
                registrations.push(shipped.registration().named(&name).for_label(LABEL, label(mode)));
            }
        }
        let host = PolicyHost::start(policies, Arc::new(api_of_policy_server(cluster).await?)).await?;
        for registration in &registrations {
            host.register(client, registration).await?;
        }
        Ok(Self { host, registrations })
    }

    /// Unregisters the policy.
    pub(super) async fn close(self, client: &kube::Client) -> anyhow::Result<()> {
        for registration in &self.registrations {
            self.host.unregister(client, registration).await?;
        }
        self.host.stop().await
    }
}
