//! A cluster without claim-rollout.

use super::{diagnose, healthy, installation, is_the_only_finding, policies, webhook, webhooks};
use crate::claims::class::Known;
use crate::cli::doctor::admission::{By, Probe, WebhookPart};
use crate::cli::doctor::facts::InstallationFacts;
use crate::cli::doctor::rights::{Account, RbacRight, of_policy_server};

const SUBJECT: &str = "claim-rollout";

/// Nothing is installed, so that accounts without rights have none.
fn empty() -> InstallationFacts {
    let mut facts = healthy();
    facts.definition = Known::Missing;
    facts.lease = Known::Missing;
    facts.probe = Probe::Accepted;
    webhooks(&mut facts).clear();
    policies(&mut facts).clear();
    let rights: Vec<RbacRight> = Account::Controller.rights().expect("a manifest");
    facts.lacking = vec![(Account::Controller, rights)];
    facts
}

#[test]
fn diagnose_empty_cluster_is_one_finding() {
    let helm = "helm install claim-rollout oci://ghcr.io/claim-rollout/charts/claim-rollout -n claim-rollout \
                --create-namespace";
    let expected = "Error claim-rollout | no part of it in this cluster";
    let mut facts = empty();
    let builtin = format!("{helm} --set admission=builtin, or ");
    is_the_only_finding("without Kubewarden", &facts, expected, &builtin);
    facts.deployed.kubewarden = Some(("kubewarden".to_owned(), "controller".to_owned()));
    is_the_only_finding("with Kubewarden", &facts, expected, &format!("{helm}, or "));
}

/// A part of an installation, or what may hide one.
type Part = (&'static str, fn(&mut InstallationFacts));

const PARTS: [Part; 10] = [
    ("the definition", |facts| facts.definition = healthy().definition),
    ("the Lease", |facts| facts.lease = healthy().lease),
    ("a webhook", |facts| {
        webhooks(facts).push(webhook(WebhookPart::Sets, By::BuiltIn));
    }),
    ("the guard", |facts| facts.guard = healthy().guard),
    ("a Deployment of the controller", |facts| {
        facts.deployed.controller = Some("mine".to_owned());
    }),
    ("a Deployment of the webhook", |facts| {
        facts.deployed.webhook = Some("mine".to_owned());
    }),
    ("settings", |facts| facts.settings = installation::settings("{}", "{}")),
    ("a policy-server with the policy", |facts| {
        facts.policy_servers = installation::policy_server(of_policy_server().expect("a manifest"));
    }),
    ("webhooks that cannot be read", |facts| facts.webhooks = Known::Unknown),
    ("a definition that cannot be read", |facts| {
        facts.definition = Known::Unknown;
    }),
];

#[test]
fn diagnose_part_of_an_installation_is_repaired() {
    for (what, add) in PARTS {
        let mut facts = empty();
        add(&mut facts);
        let found = diagnose(&facts);
        assert!(found.iter().all(|finding| finding.subject != SUBJECT), "{what}");
        assert!(!found.is_empty(), "{what}");
    }
}
