//! Checks that the API server calls the policy, and what happens to requests while the policy is unavailable.

use serde_json::Value;

use super::cel;
use super::deployed::{Deployed, KubewardenDeployment};
use super::finding::{Finding, Fix, apply};
use super::rights::{Account, OURS};
use crate::claims::class::Known;
use crate::controller::kubewarden::{WebhookPolicy, policy_of};
use crate::templates::keys;

/// The answer to a dry-run StatefulSet with an annotation value that the policy denies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// The policy denied the request.
    Denied,
    /// The request was accepted.
    Accepted,
    /// The API server could not call the policy.
    Unreachable(String),
    /// Another answer, for example because the user lacks a right.
    Unknown(String),
}

/// A webhook that calls claim-rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstalledWebhook {
    /// Kind and name of the configuration that contains the webhook.
    pub(crate) configuration: String,
    /// The index of the webhook in the configuration.
    pub(crate) place: usize,
    pub(crate) name: String,
    pub(crate) part: WebhookPart,
    pub(crate) by: By,
    /// `failurePolicy: Fail`.
    pub(crate) fails_closed: bool,
    /// The expressions of `matchConditions`, which name accounts; empty without conditions.
    pub(crate) conditions: String,
    /// It has a `caBundle`.
    pub(crate) is_trusted: bool,
}

/// The requests that a webhook is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WebhookPart {
    /// Updates of StatefulSets.
    Sets,
    /// Creation of PVCs.
    Claims,
    /// Deletion of Pods.
    Pods,
    /// Requests after which a retention policy deletes PVCs.
    Retention,
}

/// The server behind a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// A policy-server of Kubewarden.
    Kubewarden,
    /// `claim-rollout webhook`.
    BuiltIn,
}

impl Probe {
    /// Reads the error message of the API server; none if it accepted the request. `webhooks` are ours: the names of
    /// those of Kubewarden begin as those of all objects, which `fullnameOverride` of the chart changes.
    pub(super) fn read(message: Option<&str>, webhooks: &[InstalledWebhook]) -> Self {
        let is_ours = |message: &str| {
            let mut webhooks = webhooks.iter();
            message.contains(OURS) || webhooks.any(|webhook| message.contains(&format!("\"{}\"", webhook.name)))
        };
        match message {
            None => Self::Accepted,
            Some(message) if message.contains("denied the request") && message.contains(keys::SYNC) => Self::Denied,
            Some(message) if message.contains("failed calling webhook") && is_ours(message) => {
                Self::Unreachable(message.to_owned())
            }
            Some(message) => Self::Unknown(message.to_owned()),
        }
    }
}

impl InstalledWebhook {
    /// The webhooks of a configuration that call claim-rollout, by name and path. `kind` is the kind of the
    /// configuration.
    /// `fullname` is what the names of all objects begin with.
    pub(super) fn list(kind: &str, configuration: &Value, fullname: &str) -> Vec<Self> {
        let name = configuration["metadata"]["name"].as_str().unwrap_or_default();
        let webhooks = configuration["webhooks"].as_array().into_iter().flatten().enumerate();
        let read =
            webhooks.filter_map(|(place, webhook)| Self::read(format!("{kind}/{name}"), place, webhook, fullname));
        read.collect()
    }

    fn read(configuration: String, place: usize, webhook: &Value, fullname: &str) -> Option<Self> {
        let name = webhook["name"].as_str().unwrap_or_default();
        let client = &webhook["clientConfig"];
        let path = client["service"]["path"].as_str().or_else(|| {
            let (_, rest) = client["url"].as_str()?.split_once("://")?;
            rest.split_once('/').map(|(_, path)| path)
        });
        let first = name.split('.').next().unwrap_or_default();
        // The policy objects of Kubewarden have the names that the chart gives them.
        let own = match policy_of(name) {
            Some(WebhookPolicy::OfCluster(policy)) => policy.strip_prefix(fullname),
            _ => None,
        };
        let own = own.map(|rest| format!("{OURS}{rest}")).unwrap_or_default();
        let words = [first, path.unwrap_or_default(), &own];
        let contains = |word: &str| words.iter().any(|text| text.contains(word));
        let parts = [
            ("claim-rollout-claims", WebhookPart::Claims),
            ("claim-rollout-pods", WebhookPart::Pods),
            ("claim-rollout-retention", WebhookPart::Retention),
            ("claim-rollout", WebhookPart::Sets),
        ];
        let (_, part) = parts.into_iter().find(|(word, _)| contains(word))?;
        let by = match policy_of(name) {
            Some(WebhookPolicy::OfNamespace) => return None,
            Some(WebhookPolicy::OfCluster(_)) => By::Kubewarden,
            None => By::BuiltIn,
        };
        let filled = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        Some(Self {
            configuration,
            place,
            name: name.to_owned(),
            part,
            by,
            // The default of the API.
            fails_closed: webhook["failurePolicy"] != "Ignore",
            conditions: cel::conditions(&webhook["matchConditions"]),
            is_trusted: filled(&client["caBundle"]),
        })
    }

    pub(super) fn subject(&self) -> String {
        format!("{}[{}]", self.configuration, self.name)
    }

    /// The name of the Kubewarden policy behind the webhook.
    fn policy(&self) -> &str {
        match policy_of(&self.name) {
            Some(WebhookPolicy::OfCluster(policy)) => policy,
            _ => self.name.split('.').next().unwrap_or_default(),
        }
    }

    /// The manifest that contains the webhook.
    fn manifest(&self) -> &'static str {
        match (self.by, self.part) {
            (By::Kubewarden, WebhookPart::Retention) => "deploy/policy-retention.yaml",
            (By::Kubewarden, _) => "deploy/policy.yaml",
            (By::BuiltIn, WebhookPart::Retention) => "deploy/webhook/retention.yaml",
            (By::BuiltIn, _) => "deploy/webhook/configuration.yaml",
        }
    }

    /// The command that restores the webhook.
    pub(super) fn apply(&self) -> Fix {
        Fix::restore(self.manifest())
    }
}

/// Faults in how the API server calls the policy of the installation in this namespace.
pub(super) fn judge(
    namespace: &str,
    webhooks: &Known<Vec<InstalledWebhook>>,
    probe: &Probe,
    deployed: &Deployed,
    monitored: &[String],
) -> Vec<Finding> {
    let none = Vec::new();
    let webhooks = match webhooks {
        Known::Found(webhooks) => webhooks,
        _ => &none,
    };
    let mut found: Vec<Finding> = webhooks
        .iter()
        .flat_map(|webhook| of_webhook(namespace, webhook, deployed))
        .collect();
    found.extend(twice(webhooks));
    found.extend(beside_sets(webhooks));
    found.extend(monitored.iter().map(|policy| of_monitored(policy)));
    // A policy in monitor mode is the cause.
    let accepted = *probe == Probe::Accepted && !monitored.is_empty();
    found.extend(
        (!accepted)
            .then(|| of_probe(namespace, webhooks, probe, deployed))
            .flatten(),
    );
    found
}

/// A policy object of Kubewarden that enforces nothing.
fn of_monitored(policy: &str) -> Finding {
    let subject = format!("clusteradmissionpolicy/{policy}");
    let fix = format!("kubectl patch {subject} --type=merge -p '{{\"spec\":{{\"mode\":\"protect\"}}}}'");
    let found = "monitor: it stages and denies nothing, and only logs what it would do";
    Finding::error(subject).but("mode protect", found).fix(fix)
}

fn of_probe(namespace: &str, webhooks: &[InstalledWebhook], probe: &Probe, deployed: &Deployed) -> Option<Finding> {
    let subject = "admission of StatefulSets";
    let expected = "the policy to deny an invalid annotation";
    let mut asked = webhooks.iter().filter(|webhook| webhook.part == WebhookPart::Sets);
    match probe {
        Probe::Denied => None,
        Probe::Accepted => {
            let (found, fix) = match asked.next() {
                Some(webhook) => (
                    format!("that it was accepted although {} is registered", webhook.subject()),
                    webhook.apply().then(", and check that the server behind it runs"),
                ),
                None => (
                    "that nothing calls it: templates cannot change, and annotations are not checked".to_owned(),
                    Fix::restore("deploy/webhook").by(format!(
                        "{}, or with Kubewarden {}",
                        apply("deploy/webhook"),
                        apply("deploy/policy.yaml")
                    )),
                ),
            };
            Some(Finding::error(subject).but(expected, found).fix(fix))
        }
        // The missing caBundle is the cause, and has a finding of its own.
        Probe::Unreachable(_) if asked.clone().any(|webhook| !webhook.is_trusted) => None,
        Probe::Unreachable(why) => {
            let fix = match asked.next().map(|webhook| webhook.by) {
                Some(By::Kubewarden) => "kubectl get pods -A -l app.kubernetes.io/component=policy-server".to_owned(),
                _ => deployed.restart(Account::Webhook, namespace),
            };
            Some(Finding::error(subject).but(expected, why).fix(fix))
        }
        Probe::Unknown(why) => {
            let fix = "run doctor as a user who may create StatefulSets in namespace default";
            Some(Finding::warning(subject).but(expected, why).fix(fix))
        }
    }
}

fn of_webhook(namespace: &str, webhook: &InstalledWebhook, deployed: &Deployed) -> Vec<Finding> {
    let mut found = Vec::new();
    let error = || Finding::error(webhook.subject());
    if webhook.part == WebhookPart::Sets && !webhook.fails_closed {
        let ignored = "Ignore: while the policy is unavailable, nothing is checked or staged";
        let fix = match webhook.by {
            By::Kubewarden => format!(
                "kubectl patch clusteradmissionpolicy/{} --type=merge -p '{{\"spec\":{{\"failurePolicy\":\"Fail\"}}}}'",
                webhook.policy()
            ),
            By::BuiltIn => format!(
                "kubectl patch {} --type=json -p '[{{\"op\":\"replace\",\"path\":\"/webhooks/{}/failurePolicy\",\"value\":\"Fail\"}}]'",
                webhook.configuration, webhook.place
            ),
        };
        found.push(error().but("failurePolicy Fail", ignored).fix(fix));
    }
    if webhook.fails_closed && webhook.conditions.is_empty() {
        let what = match webhook.part {
            WebhookPart::Claims => "creation of a PVC",
            WebhookPart::Pods => "deletion of a Pod by its StatefulSet",
            WebhookPart::Sets | WebhookPart::Retention => "update of a StatefulSet",
        };
        let without = format!("none: while the policy is unavailable, every {what} fails");
        found.push(error().but("matchConditions", without).fix(webhook.apply()));
    }
    if !webhook.is_trusted {
        let fix = match webhook.by {
            By::Kubewarden => match &deployed.kubewarden {
                Some(KubewardenDeployment { namespace, name, .. }) => {
                    format!("kubectl rollout restart -n {namespace} deployment/{name}")
                }
                None => "restart the Deployment of Kubewarden's controller".to_owned(),
            },
            By::BuiltIn => {
                let restart = deployed.restart(Account::Webhook, namespace);
                format!("{restart}: it writes the caBundle at startup")
            }
        };
        let empty = "none: the API server cannot trust the server";
        found.push(error().but("a caBundle", empty).fix(fix));
    }
    found
}

/// Both Kubewarden and the built-in webhook are called for StatefulSets.
fn twice(webhooks: &[InstalledWebhook]) -> Option<Finding> {
    let of = |by: By| {
        let mut sets = webhooks.iter().filter(|webhook| webhook.part == WebhookPart::Sets);
        sets.find(move |webhook| webhook.by == by)
    };
    let (kubewarden, built_in) = (of(By::Kubewarden)?, of(By::BuiltIn)?);
    let found = format!("two: also {}", kubewarden.configuration);
    let fix = format!(
        "kubectl delete {}, or kubectl delete clusteradmissionpolicy/{}",
        built_in.configuration,
        kubewarden.policy()
    );
    let finding = Finding::error(built_in.subject()).but("one webhook for StatefulSets", found);
    Some(finding.fix(fix))
}

/// A webhook for StatefulSets without those for PVCs and Pods.
fn beside_sets(webhooks: &[InstalledWebhook]) -> Vec<Finding> {
    let Some(sets) = webhooks.iter().find(|webhook| webhook.part == WebhookPart::Sets) else {
        return Vec::new();
    };
    let rules = [
        (
            WebhookPart::Claims,
            "also a webhook for new PVCs",
            "none: new PVCs get the live templates, and have to be updated later",
        ),
        (
            WebhookPart::Pods,
            "also a webhook for Pods",
            "none: Pods are replaced before their PVCs are ready",
        ),
    ];
    let missing = rules
        .into_iter()
        .filter(|(part, ..)| webhooks.iter().all(|webhook| webhook.part != *part));
    let finding = |(_, expected, found)| {
        Finding::warning(sets.configuration.clone())
            .but(expected, found)
            .fix(sets.apply())
    };
    missing.map(finding).collect()
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
