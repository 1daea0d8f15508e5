//! A policy-server for one of the namespaces that the shared policy-server excludes.

use std::sync::Arc;

use anyhow::ensure;
use serde_json::Value;

use super::namespace::{Environment, PATIENCE, TestNamespace};
use crate::world::eventually;
use crate::world::installation::api_of_policy_server;
use crate::world::policy_host::{PolicyHost, Registration, Shipped};

/// The namespaces for which the shared policy-server is not called.
pub(crate) const APART: [&str; 11] = [
    "immutable",
    "recover",
    "stopped-taken-back",
    "stopped-smaller",
    "stopped-absent",
    "stopped-guarded",
    "undone",
    "stopped-without-policy",
    "stopped-without-both",
    "gate-cost",
    "planned-in-force",
];

/// A running policy-server.
pub(crate) struct Served<'a> {
    ns: &'a TestNamespace<'a>,
    host: PolicyHost,
    /// The policy for StatefulSets is the last.
    registrations: Vec<Registration>,
}

impl<'a> Served<'a> {
    /// Serves the shipped policies with these settings, for a namespace with a StatefulSet.
    pub(crate) async fn start(env: &Environment, ns: &'a TestNamespace<'a>, settings: &Value) -> anyhow::Result<Self> {
        let mut policies = Vec::new();
        let mut registrations = Vec::new();
        for mut shipped in [Shipped::claims()?, Shipped::pods()?, Shipped::sets()?] {
            shipped.name = format!("{}.{}", shipped.name, ns.namespace);
            let shipped = shipped.with_settings(settings);
            policies.push(shipped.policy(env.installation.module())?);
            registrations.push(shipped.registration().in_namespace(&ns.namespace));
        }
        let host = PolicyHost::start(policies, Arc::new(api_of_policy_server(&env.cluster).await?)).await?;
        let served = Self {
            ns,
            host,
            registrations,
        };
        served.come().await?;
        Ok(served)
    }

    /// For how many deletions of Pods the policy was called.
    pub(crate) fn pods(&self) -> u64 {
        self.host.requests(self.registrations[1].policy())
    }

    /// Registers the webhooks, and returns when the API server calls them.
    pub(crate) async fn come(&self) -> anyhow::Result<()> {
        for registration in &self.registrations {
            self.host.register(&self.ns.client, registration).await?;
        }
        self.until_called(true).await
    }

    /// Removes the webhooks, as an uninstall does, and returns when the API server has noticed.
    pub(crate) async fn go(&self) -> anyhow::Result<()> {
        for registration in &self.registrations {
            self.host.unregister(&self.ns.client, registration).await?;
        }
        self.until_called(false).await
    }

    /// All were registered at the same time, so the state of the last one is the state of all.
    async fn until_called(&self, called: bool) -> anyhow::Result<()> {
        let Some(sets) = self.registrations.last() else {
            return Ok(());
        };
        let probe = ["annotate", "statefulset", "web", "claim-rollout.io/sync=LockStep"];
        let arguments = [&probe[..], &["--dry-run=server"]].concat();
        let noticed = eventually("the API server to notice", PATIENCE, async || {
            let before = self.host.requests(sets.policy());
            let output = self.ns.kubectl(&arguments, "").await?;
            ensure!(output.success, "{output:?}");
            Ok(((self.host.requests(sets.policy()) > before) == called).then_some(()))
        });
        noticed.await
    }
}
