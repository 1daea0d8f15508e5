//! What the scenarios of a test share: a cluster, and as much of claim-rollout in it as they ask for.

use claim_rollout::webhook::Running;
use serde_json::Value;

use super::barrier::Barriers;
use super::installation::{Controller, Controllers, manifest_applied};
use super::namespace::TestNamespace;
use super::policy_host::Shipped;
use super::served::{Policies, Served};
use super::web::Web;
use super::webhook::Server;
use super::{Cluster, Options, conformance};

/// A cluster with claim-rollout. Each scenario has namespaces of its own in it.
pub(crate) struct World {
    /// The controller of all namespaces, if there is one; others belong to a [`TestNamespace`].
    pub(crate) controller: Option<Controller>,
    pub(crate) controllers: Controllers,
    /// With the rights of the administrator.
    pub(crate) client: kube::Client,
    pub(crate) barriers: Barriers,
    policies: Option<Served>,
    webhook: Option<Server>,
    _barriers_served: Option<Running>,
    pub(crate) cluster: Cluster,
}

/// The settings of the policy, if it is installed.
enum Asked {
    Nothing,
    Shipped,
    With(Value),
}

/// What a [`World`] consists of. Without further calls: the cluster and the files of `deploy/` with the guard, and
/// neither policy nor controller.
pub(crate) struct Builder<'a> {
    options: Options,
    cluster: Option<Cluster>,
    policy: Asked,
    but_in: &'a [&'a str],
    webhook: bool,
    barriers: bool,
    rights: &'a [&'a str],
    controller: Option<&'a [&'a str]>,
}

impl<'a> Builder<'a> {
    fn new(options: Options, cluster: Option<Cluster>) -> Self {
        Self {
            options,
            cluster,
            policy: Asked::Nothing,
            but_in: &[],
            webhook: false,
            barriers: false,
            rights: &[],
            controller: None,
        }
    }

    /// With the policy for StatefulSets, PVCs and Pods, with these settings.
    pub(crate) fn policy(mut self, settings: Value) -> Self {
        self.policy = Asked::With(settings);
        self
    }

    /// The same with the settings of `deploy/`.
    pub(crate) fn shipped_policy(mut self) -> Self {
        self.policy = Asked::Shipped;
        self
    }

    /// The policy is not called for these namespaces.
    pub(crate) fn but_in(mut self, namespaces: &'a [&'a str]) -> Self {
        self.but_in = namespaces;
        self
    }

    /// With the built-in webhook in place of a policy-server.
    pub(crate) fn webhook(mut self) -> Self {
        self.webhook = true;
        self
    }

    /// With a barrier for each namespace `stopped-…`.
    pub(crate) fn barriers(mut self) -> Self {
        self.barriers = true;
        self
    }

    /// With these files of `deploy/`, each of which gives the controller a right.
    pub(crate) fn rights(mut self, files: &'a [&'a str]) -> Self {
        self.rights = files;
        self
    }

    /// With a controller that has these arguments.
    pub(crate) fn controller(mut self, arguments: &'a [&'a str]) -> Self {
        self.controller = Some(arguments);
        self
    }

    /// Returns when the API server calls each webhook, and the controller is ready.
    pub(crate) async fn build(self) -> anyhow::Result<World> {
        let cluster = match self.cluster {
            Some(cluster) => cluster,
            None => Cluster::start(self.options).await?,
        };
        let controllers = Controllers::install(&cluster).await?;
        let policies = match self.policy {
            Asked::Nothing => None,
            Asked::Shipped => Some(Policies::all(&Shipped::sets()?.spec["settings"])?),
            Asked::With(settings) => Some(Policies::all(&settings)?),
        };
        let policies = match policies {
            Some(policies) => Some(policies.but_in(self.but_in).serve(&cluster).await?),
            None => None,
        };
        let mut rights = self.rights.to_vec();
        rights.extend(self.webhook.then_some("webhook/rbac.yaml"));
        for file in rights {
            manifest_applied(&cluster, file).await?;
        }
        let webhook = match self.webhook {
            true => Some(Server::start(&cluster).await?),
            false => None,
        };
        let barriers = Barriers::default();
        let barriers_served = match self.barriers {
            true => Some(barriers.install(&cluster).await?),
            false => None,
        };
        let controller = match self.controller {
            Some(arguments) => Some(controllers.start(arguments).await?),
            None => None,
        };
        Ok(World {
            controller,
            controllers,
            client: cluster.client().await?,
            barriers,
            policies,
            webhook,
            _barriers_served: barriers_served,
            cluster,
        })
    }
}

impl World {
    /// On a new cluster.
    pub(crate) fn with<'a>(options: Options) -> Builder<'a> {
        Builder::new(options, None)
    }

    /// On a cluster that runs.
    pub(crate) fn on<'a>(cluster: Cluster) -> Builder<'a> {
        Builder::new(Options::default(), Some(cluster))
    }

    /// The policies; panics in a world without them.
    pub(crate) fn policies(&self) -> &Served {
        self.policies.as_ref().expect("a world with policies")
    }

    /// The built-in webhook; panics in a world without it.
    pub(crate) fn webhook(&self) -> &Server {
        self.webhook.as_ref().expect("a world with the webhook")
    }

    /// The same cluster with other settings of the policy.
    pub(crate) async fn reinstalled(mut self, settings: &Value) -> anyhow::Result<Self> {
        if let Some(policies) = self.policies.take() {
            policies.stop().await?;
        }
        self.policies = Some(Policies::all(settings)?.serve(&self.cluster).await?);
        Ok(self)
    }

    /// The log of the controller.
    pub(crate) fn log(&self) -> String {
        self.controller.as_ref().map(Controller::log).unwrap_or_default()
    }

    /// Creates a namespace.
    pub(crate) async fn namespace(&self, namespace: &str) -> anyhow::Result<TestNamespace<'_>> {
        TestNamespace::new(&self.cluster, &self.client, namespace).await
    }

    /// Creates namespaces.
    pub(crate) async fn namespaces(&self, namespaces: &[&str]) -> anyhow::Result<Vec<TestNamespace<'_>>> {
        futures::future::try_join_all(namespaces.iter().map(|namespace| self.namespace(namespace))).await
    }

    /// Creates a namespace with a controller.
    pub(crate) async fn managed(&self, namespace: &str) -> anyhow::Result<TestNamespace<'_>> {
        let mut ns = self.namespace(namespace).await?;
        ns.start_controller(self, &[]).await?;
        Ok(ns)
    }

    /// Creates a namespace with a controller and a StatefulSet of this many replicas of 1Gi, all Ready.
    pub(crate) async fn with_set(&self, namespace: &str, replicas: u32) -> anyhow::Result<TestNamespace<'_>> {
        self.with_web(namespace, &Web::replicas(replicas)).await
    }

    /// Creates a namespace with a controller and the StatefulSet of this manifest, all Ready.
    pub(crate) async fn with_web(&self, namespace: &str, manifest: &Web) -> anyhow::Result<TestNamespace<'_>> {
        let ns = self.managed(namespace).await?;
        ns.target(manifest).await?;
        ns.settled().await?;
        Ok(ns)
    }

    /// Stops everything after a success. Checks that no controller wrote what no machine had asked for.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        drop(self.controller);
        if let Some(policies) = self.policies {
            policies.stop().await?;
        }
        conformance::every_write_is_a_task(&self.cluster).await?;
        self.cluster.stop();
        Ok(())
    }
}

impl TestNamespace<'_> {
    /// Starts a controller for this namespace with these further arguments; kills a previous one.
    pub(crate) async fn start_controller(&mut self, world: &World, extra: &[&str]) -> anyhow::Result<()> {
        self.controller = None;
        let arguments = [&["--namespace", &self.namespace], extra].concat();
        self.controller = Some(world.controllers.start(&arguments).await?);
        Ok(())
    }
}
