//! The policy, before the sets and claims of every sequence but those that are to be without one.

use std::sync::Arc;

use claim_rollout::sim::dialogue::Door;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::host_is_faithful::policy;
use crate::installation::api_of_policy_server;
use crate::policy_host::{PolicyHost, Registration, Shipped};

/// The label of a namespace that says which policy is asked about it.
pub(super) const LABEL: &str = "door";

/// The policy with both of its settings, registered.
pub(super) struct Doors {
    host: PolicyHost,
    registrations: Vec<Registration>,
}

/// The value of the label.
pub(super) fn label(door: Door) -> &'static str {
    match door {
        Door::Away => "away",
        Door::Refuse => "refuse",
        Door::Recover => "recover",
    }
}

fn settings(shrink: &str) -> Value {
    json!({"defaultUpdatePolicy": "InPlace", "pvcChecks": "Off", "shrink": shrink})
}

impl Doors {
    /// Serves the policy and waits until the API server calls it.
    pub(super) async fn open(cluster: &Cluster, client: &kube::Client) -> anyhow::Result<Self> {
        let module = policy();
        let (mut policies, mut registrations) = (Vec::new(), Vec::new());
        for (door, shrink) in [(Door::Refuse, "Deny"), (Door::Recover, "Recover")] {
            for shipped in [Shipped::claims()?, Shipped::sets()?] {
                let name = format!("{}-{}", shipped.name, label(door));
                let mut policy = shipped.policy(&module)?;
                policy.name.clone_from(&name);
                if shipped.name == "claim-rollout" {
                    policy.settings = settings(shrink);
                }
                policies.push(policy);
                registrations.push(shipped.registration().named(&name).for_label(LABEL, label(door)));
            }
        }
        let host = PolicyHost::start(policies, Arc::new(api_of_policy_server(cluster).await?)).await?;
        for registration in &registrations {
            host.register(client, registration).await?;
        }
        Ok(Self { host, registrations })
    }

    /// Takes the policy away.
    pub(super) async fn close(self, client: &kube::Client) -> anyhow::Result<()> {
        for registration in &self.registrations {
            self.host.unregister(client, registration).await?;
        }
        self.host.stop().await
    }
}
