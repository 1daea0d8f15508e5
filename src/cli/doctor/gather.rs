//! Gathers the facts from the cluster. The only request that would write is a dry run.

use std::collections::BTreeMap;
use std::fmt::Debug;

use anyhow::Context as _;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReviewSpec};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::{Client, CustomResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::accounts;
use super::admission::{By, InstalledWebhook, Probe};
use super::agreement::{self, PlacedSettings};
use super::deployed::{self, Deployed};
use super::facts::{FoundJournal, InstallationFacts, SetInReplacement};
use super::guard::GuardPolicy;
use super::rights::{self, Account, PolicyServer, RbacRight};
use crate::api::Settings;
use crate::claims::class::Known;
use crate::cli::cluster::{self, OURS};
use crate::cli::drift::read::read;
use crate::cli::lists::list;
use crate::cli::output::now;
use crate::cli::settings_in_use;
use crate::cli::status::rollout::Rollout;
use crate::controller::LEASE;
use crate::controller::by_hand::{JOURNAL_LABEL, read_journal};
use crate::controller::crd::ClaimRollout;
use crate::controller::read::metadata::Bare;
use crate::templates::keys;
use crate::webhook::cluster::may;

/// The number of SubjectAccessReviews at the same time.
const AT_ONCE: usize = 8;

/// The installation to check.
pub(super) struct Installation {
    pub(super) client: Client,
    /// The namespace of the installation.
    pub(super) home: String,
    /// The namespace of the StatefulSets; all if none.
    pub(super) sets: Option<String>,
}

fn milliseconds(millis: u64) -> Timestamp {
    let millis = i64::try_from(millis).ok();
    millis
        .and_then(|millis| Timestamp::from_millisecond(millis).ok())
        .unwrap_or_default()
}

impl Installation {
    /// Gathers all facts.
    ///
    /// # Errors
    /// If the API server does not answer, or StatefulSets or PVCs cannot be listed. Other forbidden kinds are noted in
    /// the facts.
    pub(super) async fn gather(&self) -> anyhow::Result<InstallationFacts> {
        let mut unread = Vec::new();
        let seen = read(&self.client, self.sets.as_deref(), &[], None).await?;
        let definition = self.definition().await;
        let deployed = readable("deployments", self.deployments().await, &mut unread)?.unwrap_or_default();
        let webhooks = self.webhooks(deployed.fullname()).await;
        let is_built_in = |webhooks: &Vec<InstalledWebhook>| webhooks.iter().any(|webhook| webhook.by == By::BuiltIn);
        let policies = readable("policies of Kubewarden", self.policies().await, &mut unread)?.unwrap_or_default();
        let settings = readable("configmaps", self.settings(&policies).await, &mut unread)?.unwrap_or_default();
        let mut accounts = accounts::of_controller(&seen.sets, &agreement::of_controller(&settings));
        accounts.extend(webhooks.as_ref().is_ok_and(is_built_in).then_some(Account::Webhook));
        accounts.extend(deployed.openkruise.then_some(Account::OpenKruise));
        let mut lacking = Vec::new();
        for account in accounts {
            let user = deployed.user(account, &self.home);
            let mut rights = account.rights()?;
            rights.iter_mut().for_each(|right| right.rename(deployed.fullname()));
            let answer = self.lacking(&user, &self.home, rights).await;
            lacking.extend(readable("rights", answer, &mut unread)?.map(|rights| (account, rights)));
        }
        let policy_servers = self.servers_that_lack(&deployed, &policies, &mut unread).await?;
        let guard = self.guard(deployed.fullname()).await;
        let guard = readable("validatingadmissionpolicies", guard, &mut unread)?;
        let classes = readable("storageclasses", self.classes().await, &mut unread)?;
        let rollouts = absent(self.rollouts().await);
        let journals = self.journals().await;
        let mut facts = InstallationFacts {
            now: now(),
            namespace: self.home.clone(),
            version: self.client.apiserver_version().await?.git_version,
            definition: known("customresourcedefinitions", definition, &mut unread)?,
            own_definition: serde_json::to_value(ClaimRollout::crd())?,
            probe: self.probe(webhooks.as_deref().unwrap_or_default()).await?,
            webhooks: readable("webhook configurations", webhooks, &mut unread)?.map_or(Known::Unknown, Known::Found),
            guard: guard.map_or(Known::Unknown, Known::Found),
            lacking,
            lease: known("leases", self.lease().await, &mut unread)?,
            classes: classes.unwrap_or_default(),
            sets: seen.sets,
            rollouts: readable("claimrollouts", rollouts, &mut unread)?
                .flatten()
                .unwrap_or_default(),
            marked: self.marked().await?,
            deployed,
            monitored: deployed::monitored(&policies),
            policy_servers,
            settings,
            journals: readable("secrets", journals, &mut unread)?.unwrap_or_default(),
            unread,
            skipped: seen.unread,
        };
        facts.share_settings();
        Ok(facts)
    }

    /// The policy-servers that run our policy, and the rights that their accounts lack.
    async fn servers_that_lack(
        &self,
        deployed: &Deployed,
        policies: &[DynamicObject],
        unread: &mut Vec<(String, String)>,
    ) -> anyhow::Result<Vec<(PolicyServer, Vec<RbacRight>)>> {
        let servers = deployed::servers_of_ours(policies);
        let mut found = Vec::new();
        let all = deployed.policy_servers.iter();
        for server in all.filter(|server| servers.contains(&server.name)) {
            let user = format!("system:serviceaccount:{}:{}", server.namespace, server.account);
            let answer = self.lacking(&user, &server.namespace, rights::of_policy_server()?);
            found.extend(readable("rights", answer.await, unread)?.map(|rights| (server.clone(), rights)));
        }
        Ok(found)
    }

    /// The objects of a kind in version 1 with these labels.
    async fn list<K>(&self, group: &str, kind: &str, namespace: Option<&str>, labels: &str) -> kube::Result<Vec<K>>
    where
        K: Clone + Debug + DeserializeOwned,
    {
        let selected = match labels {
            "" => ListParams::default(),
            labels => ListParams::default().labels(labels),
        };
        let listed = list(&self.client, namespace, &cluster::kind(group, "v1", kind), &selected).await?;
        Ok(listed.named())
    }

    async fn definition(&self) -> kube::Result<Value> {
        let kind = cluster::kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let definitions = cluster::objects(&self.client, None, &kind);
        value(definitions.get("claimrollouts.claim-rollout.io").await?)
    }

    async fn webhooks(&self, fullname: &str) -> kube::Result<Vec<InstalledWebhook>> {
        let mut found = Vec::new();
        for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
            let configurations: Vec<Value> = self.list("admissionregistration.k8s.io", kind, None, "").await?;
            let webhooks = configurations.iter();
            found
                .extend(webhooks.flat_map(|webhooks| InstalledWebhook::list(&kind.to_lowercase(), webhooks, fullname)));
        }
        Ok(found)
    }

    async fn guard(&self, fullname: &str) -> kube::Result<Vec<GuardPolicy>> {
        let listed = |kind: &'static str| self.list("admissionregistration.k8s.io", kind, None, "");
        let policies: Vec<Value> = listed("ValidatingAdmissionPolicy").await?;
        let bindings: Vec<Value> = listed("ValidatingAdmissionPolicyBinding").await?;
        Ok(GuardPolicy::list(&policies, &bindings, fullname, self.sets.as_deref()))
    }

    /// StorageClasses, and whether they allow expansion.
    async fn classes(&self) -> kube::Result<BTreeMap<String, bool>> {
        let classes: Vec<Value> = self.list("storage.k8s.io", "StorageClass", None, "").await?;
        let expandable = |class: &Value| class["allowVolumeExpansion"] == true;
        Ok(classes
            .iter()
            .map(|class| (text(&class["metadata"], "name"), expandable(class)))
            .collect())
    }

    async fn rollouts(&self) -> kube::Result<Vec<Rollout>> {
        let all = ListParams::default();
        Ok(list(&self.client, self.sets.as_deref(), &cluster::rollouts(), &all)
            .await?
            .named())
    }

    async fn marked(&self) -> kube::Result<Vec<SetInReplacement>> {
        let sets: Vec<Bare> = self.list("apps", "StatefulSet", self.sets.as_deref(), "").await?;
        let marked = sets.iter().filter_map(|set| SetInReplacement::marked(&set.metadata));
        Ok(marked.collect())
    }

    async fn journals(&self) -> kube::Result<Vec<FoundJournal>> {
        let secrets: Vec<Secret> = self.list("", "Secret", Some(&self.home), JOURNAL_LABEL).await?;
        let found = secrets.iter().map(|secret| FoundJournal {
            secret: secret.metadata.name.clone().unwrap_or_default(),
            content: read_journal(secret).map(|journal| SetInReplacement {
                since: milliseconds(journal.began),
                namespace: journal.namespace,
                name: journal.name,
            }),
        });
        let ours = |journal: &FoundJournal| match &journal.content {
            Ok(set) => self.sets.as_ref().is_none_or(|namespace| *namespace == set.namespace),
            Err(_) => true,
        };
        Ok(found.filter(ours).collect())
    }

    async fn lease(&self) -> kube::Result<LeaseSpec> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), &self.home);
        Ok(leases.get(LEASE).await?.spec.unwrap_or_default())
    }

    async fn deployments(&self) -> kube::Result<Deployed> {
        let deployments: Vec<DynamicObject> = self.list("apps", "Deployment", None, "").await?;
        Ok(Deployed::read(&deployments, &self.home))
    }

    /// The policy objects of Kubewarden; none if it is not installed.
    async fn policies(&self) -> kube::Result<Vec<DynamicObject>> {
        let policies = self.list("policies.kubewarden.io", "ClusterAdmissionPolicy", None, "");
        Ok(absent(policies.await)?.unwrap_or_default())
    }

    /// The settings of the policy objects, and those of the ConfigMap.
    async fn settings(&self, policies: &[DynamicObject]) -> kube::Result<Vec<PlacedSettings>> {
        let maps: Vec<DynamicObject> = self.list("", "ConfigMap", Some(&self.home), OURS).await?;
        let policies = policies.iter().map(|policy| ("ClusterAdmissionPolicy", policy));
        let maps = maps.iter().map(|map| ("ConfigMap", map));
        let placed = policies.chain(maps).filter_map(|(kind, object)| {
            let (place, settings) = settings_in_use::settings(kind, object)?;
            let settings = settings.map_err(|error| format!("{error:#}"));
            Some(PlacedSettings {
                place,
                is_of_controller: kind == "ConfigMap",
                settings: settings.and_then(|settings| Settings::read(settings.get())),
            })
        });
        Ok(placed.collect())
    }

    /// The rights among these that the user, an account of this namespace, does not have.
    async fn lacking(&self, user: &str, home: &str, rights: Vec<RbacRight>) -> kube::Result<Vec<RbacRight>> {
        let answers = stream::iter(rights).map(|right| async move {
            let allowed = self.may(user, home, &right).await?;
            Ok::<_, kube::Error>((!allowed).then_some(right))
        });
        let answers: Vec<Option<RbacRight>> = answers.buffered(AT_ONCE).try_collect().await?;
        Ok(answers.into_iter().flatten().collect())
    }

    async fn may(&self, user: &str, home: &str, right: &RbacRight) -> kube::Result<bool> {
        let namespace = if right.at_home {
            Some(self.home.clone())
        } else {
            self.sets.clone()
        };
        let groups = vec![
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{home}"),
            "system:authenticated".to_owned(),
        ];
        let attributes = ResourceAttributes {
            namespace,
            verb: Some(right.verb.clone()),
            group: Some(right.group.clone()),
            resource: Some(right.resource.clone()),
            subresource: right.subresource.clone(),
            name: right.name.clone(),
            ..ResourceAttributes::default()
        };
        let spec = SubjectAccessReviewSpec {
            user: Some(user.to_owned()),
            groups: Some(groups),
            resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        };
        may(&self.client, spec).await
    }

    /// Creates a StatefulSet that the policy denies, as a dry run.
    async fn probe(&self, webhooks: &[InstalledWebhook]) -> anyhow::Result<Probe> {
        let namespace = self.sets.as_deref().unwrap_or("default");
        let sets = cluster::objects(&self.client, Some(namespace), &cluster::sets());
        let parameters = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        match sets.create(&parameters, &invalid_set()?).await {
            Ok(_) => Ok(Probe::read(None, webhooks)),
            Err(kube::Error::Api(status)) => Ok(Probe::read(Some(&status.message), webhooks)),
            Err(error) => Err(error).context("failed to create a StatefulSet as a dry run"),
        }
    }
}

/// A StatefulSet without replicas and with an invalid annotation.
fn invalid_set() -> anyhow::Result<DynamicObject> {
    Ok(serde_json::from_value(json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "claim-rollout-doctor", "annotations": {keys::SYNC: "Sometimes"}},
        "spec": {
            "replicas": 0,
            "serviceName": "claim-rollout-doctor",
            "selector": {"matchLabels": {"app": "claim-rollout-doctor"}},
            "template": {
                "metadata": {"labels": {"app": "claim-rollout-doctor"}},
                "spec": {"containers": [{"name": "none", "image": "none"}]},
            },
        },
    }))?)
}

fn text(object: &Value, key: &str) -> String {
    object[key].as_str().unwrap_or_default().to_owned()
}

fn value(object: DynamicObject) -> kube::Result<Value> {
    serde_json::to_value(object).map_err(kube::Error::SerdeError)
}

/// None if the kind is forbidden, which is noted.
fn readable<T>(what: &str, answer: kube::Result<T>, unread: &mut Vec<(String, String)>) -> anyhow::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(status)) if status.code == 403 => {
            unread.push((what.to_owned(), status.message.clone()));
            Ok(None)
        }
        Err(error) => Err(error).with_context(|| format!("failed to read {what}")),
    }
}

/// None if the object is not found, or its kind is not served.
fn absent<T>(answer: kube::Result<T>) -> kube::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

fn known<T>(what: &str, answer: kube::Result<T>, unread: &mut Vec<(String, String)>) -> anyhow::Result<Known<T>> {
    let found = readable(what, absent(answer), unread)?;
    Ok(match found {
        None => Known::Unknown,
        Some(None) => Known::Missing,
        Some(Some(found)) => Known::Found(found),
    })
}
