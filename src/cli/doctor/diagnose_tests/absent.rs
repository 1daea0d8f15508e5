//! A cluster without claim-rollout.

use super::{
    diagnose, healthy, installation, is_the_only_finding, own_deployment, policies, release, webhook, webhooks,
};
use crate::claims::class::Known;
use crate::cli::doctor::absent::inventory;
use crate::cli::doctor::admission::{By, Probe, WebhookPart};
use crate::cli::doctor::deployed::{Deployed, KubewardenDeployment};
use crate::cli::doctor::facts::InstallationFacts;
use crate::cli::doctor::rights::{Account, RbacRight, of_policy_server};

const SUBJECT: &str = "claim-rollout";

/// Nothing is installed, so that accounts without rights have none.
pub(super) fn empty() -> InstallationFacts {
    let mut facts = healthy();
    facts.deployed = Deployed::default();
    facts.definition = Known::Missing;
    facts.lease = Known::Missing;
    facts.probe = Probe::Accepted;
    webhooks(&mut facts).clear();
    policies(&mut facts).clear();
    let rights: Vec<RbacRight> = Account::Controller.rights().expect("a manifest");
    facts.lacking = vec![(Account::Controller, rights)];
    facts
}

pub(super) fn kubewarden(version: &str) -> KubewardenDeployment {
    KubewardenDeployment {
        namespace: "kubewarden".to_owned(),
        name: "controller".to_owned(),
        version: version.to_owned(),
    }
}

#[test]
fn diagnose_empty_cluster_is_one_finding() {
    let helm = "helm install claim-rollout oci://ghcr.io/claim-rollout/charts/claim-rollout -n claim-rollout \
                --create-namespace";
    let expected = "Error claim-rollout | no part of it in this cluster";
    let mut facts = empty();
    let builtin = format!("{helm} --set admission=builtin, or ");
    is_the_only_finding("without Kubewarden", &facts, expected, &builtin);
    facts.deployed.kubewarden = Some(kubewarden("v1.37.2"));
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
        facts.deployed.controller = Some(own_deployment("claim-rollout-controller", "mine"));
    }),
    ("a Deployment of the webhook", |facts| {
        facts.deployed.webhook = Some(own_deployment("claim-rollout-webhook", "mine"));
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

/// What is installed, and the first line.
type Inventory = (&'static str, fn(&mut InstallationFacts), &'static str);

const INVENTORIES: [Inventory; 10] = [
    ("nothing", |_| {}, "claim-rollout is not installed in this cluster"),
    (
        "manifests, with the built-in webhook",
        |facts| *facts = healthy(),
        "claim-rollout is installed in namespace claim-rollout: found definition, built-in webhook, controller, guard",
    ),
    (
        "Helm, with Kubewarden",
        |facts| {
            *facts = healthy();
            *webhooks(facts) = vec![webhook(WebhookPart::Sets, By::Kubewarden)];
            facts.deployed.release = release("claim-rollout");
        },
        "claim-rollout is installed in namespace claim-rollout by release cr of Helm (0.1.0): found definition, policy of \
         Kubewarden, controller, guard",
    ),
    (
        "Kubewarden in monitor mode",
        |facts| {
            *facts = healthy();
            *webhooks(facts) = vec![webhook(WebhookPart::Sets, By::Kubewarden)];
            facts.monitored = vec!["claim-rollout".to_owned()];
        },
        "claim-rollout is installed in namespace claim-rollout: found definition, policy of Kubewarden in monitor mode, \
         controller, guard",
    ),
    (
        "without the guard, which is a choice",
        |facts| {
            *facts = healthy();
            policies(facts).clear();
        },
        "claim-rollout is installed in namespace claim-rollout: found definition, built-in webhook, controller; missing guard",
    ),
    (
        "the definition that an uninstall keeps",
        |facts| facts.definition = healthy().definition,
        "claim-rollout is only partly installed in namespace claim-rollout: found definition; missing policy, controller, guard",
    ),
    (
        "without the controller",
        |facts| {
            *facts = healthy();
            facts.deployed.controller = None;
            facts.lease = Known::Missing;
        },
        "claim-rollout is only partly installed in namespace claim-rollout: found definition, built-in webhook, guard; missing \
         controller",
    ),
    (
        "a controller outside of the cluster",
        |facts| {
            *facts = healthy();
            facts.deployed.controller = None;
        },
        "claim-rollout is installed in namespace claim-rollout: found definition, built-in webhook, controller, guard",
    ),
    (
        "settings alone",
        |facts| facts.settings = installation::settings("{}", "{}"),
        "claim-rollout is only partly installed in namespace claim-rollout: missing definition, policy, controller, guard",
    ),
    (
        "a user who may read little",
        |facts| {
            facts.definition = Known::Unknown;
            facts.webhooks = Known::Unknown;
            facts.lease = Known::Unknown;
            facts.guard = Known::Unknown;
        },
        "it is not known whether claim-rollout is installed in namespace claim-rollout: not readable definition, policy, controller, guard",
    ),
];

#[test]
fn inventory_of_each_installation_is_the_first_line() {
    for (what, change, expected) in INVENTORIES {
        let mut facts = empty();
        change(&mut facts);
        assert_eq!(inventory(&facts), expected, "{what}");
    }
}
