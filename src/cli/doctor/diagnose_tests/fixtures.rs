//! The fixtures of the tables.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::CustomResourceExt as _;
use serde_json::json;

use crate::api::Settings;
use crate::claims::class::Known;
use crate::cli::doctor::admission::{By, InstalledWebhook, Probe, WebhookPart};
use crate::cli::doctor::deployed::{Deployed, OwnDeployment};
use crate::cli::doctor::facts::InstallationFacts;
use crate::cli::doctor::guard::GuardPolicy;
use crate::cli::doctor::rights::Account;
use crate::cli::drift::find::tests::even;
use crate::controller::crd::ClaimRollout;

pub(super) fn webhook(part: WebhookPart, by: By) -> InstalledWebhook {
    let name = match part {
        WebhookPart::Sets => "claim-rollout",
        WebhookPart::Claims => "claim-rollout-claims",
        WebhookPart::Pods => "claim-rollout-pods",
        WebhookPart::Retention => "claim-rollout-retention",
    };
    let (configuration, name) = match by {
        By::BuiltIn => ("claim-rollout-webhook".to_owned(), format!("{name}.claim-rollout.io")),
        By::Kubewarden => (
            format!("clusterwide-{name}"),
            format!("clusterwide-{name}.kubewarden.admission"),
        ),
    };
    InstalledWebhook {
        configuration: format!("mutatingwebhookconfiguration/{configuration}"),
        place: 0,
        name,
        part,
        by,
        fails_closed: part == WebhookPart::Sets,
        conditions: [
            Settings::default().stateful_set_controller_accounts,
            Settings::default().controller_accounts,
        ]
        .concat()
        .iter()
        .map(|account| format!("'{account}'"))
        .collect(),
        is_trusted: true,
    }
}

/// A Deployment with its account.
pub(super) fn own_deployment(name: &str, account: &str) -> OwnDeployment {
    OwnDeployment {
        name: name.to_owned(),
        account: account.to_owned(),
    }
}

/// A policy of the guard, as it is installed.
pub(super) fn guard_policy(name: &'static str) -> GuardPolicy {
    GuardPolicy {
        part: name,
        name: name.to_owned(),
        fails_closed: name != "claim-rollout-creating",
        denies: true,
        conditions: "['system:serviceaccount:claim-rollout:claim-rollout-controller']".to_owned(),
    }
}

/// The policies of the guard.
pub(super) fn guard() -> Vec<GuardPolicy> {
    let names = [
        "claim-rollout-staged",
        "claim-rollout-replacing",
        "claim-rollout-creating",
        "claim-rollout-controller-statefulsets",
        "claim-rollout-controller-persistentvolumeclaims",
    ];
    names.map(guard_policy).into()
}

/// A healthy installation: the built-in webhook, a controller with the Lease, and a set whose claims match its
/// templates.
pub(super) fn healthy() -> InstallationFacts {
    let own = serde_json::to_value(ClaimRollout::crd()).expect("JSON");
    let mut stored = own.clone();
    stored["status"] = json!({"conditions": [{"type": "Established", "status": "True"}]});
    InstallationFacts {
        now: time(1000),
        namespace: "claim-rollout".to_owned(),
        version: "v1.37.1".to_owned(),
        definition: Known::Found(stored),
        own_definition: own,
        probe: Probe::Denied,
        webhooks: Known::Found(vec![
            webhook(WebhookPart::Sets, By::BuiltIn),
            webhook(WebhookPart::Claims, By::BuiltIn),
            webhook(WebhookPart::Pods, By::BuiltIn),
        ]),
        guard: Known::Found(guard()),
        lacking: vec![(Account::Controller, Vec::new()), (Account::Webhook, Vec::new())],
        lease: lease("one", 998),
        classes: [("fixed".to_owned(), false), ("expandable".to_owned(), true)].into(),
        sets: vec![even()],
        rollouts: Vec::new(),
        marked: Vec::new(),
        journals: Vec::new(),
        deployed: Deployed {
            controller: Some(own_deployment("claim-rollout-controller", "claim-rollout-controller")),
            webhook: Some(own_deployment("claim-rollout-webhook", "claim-rollout-webhook")),
            ..Deployed::default()
        },
        policy_servers: Vec::new(),
        monitored: Vec::new(),
        settings: Vec::new(),
        unread: Vec::new(),
        skipped: Vec::new(),
    }
}

pub(super) fn time(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

/// The Lease with this holder, renewed at this second.
pub(super) fn lease(holder: &str, renewed: i64) -> Known<LeaseSpec> {
    Known::Found(LeaseSpec {
        holder_identity: Some(holder.to_owned()),
        renew_time: Some(MicroTime(time(renewed))),
        ..LeaseSpec::default()
    })
}

/// Nothing is installed, so that accounts without rights have none.
pub(super) fn empty() -> InstallationFacts {
    InstallationFacts {
        deployed: Deployed::default(),
        definition: Known::Missing,
        lease: Known::Missing,
        probe: Probe::Accepted,
        webhooks: Known::Found(Vec::new()),
        guard: Known::Found(Vec::new()),
        lacking: vec![(Account::Controller, Account::Controller.rights().expect("a manifest"))],
        ..healthy()
    }
}

pub(super) fn webhooks(facts: &mut InstallationFacts) -> &mut Vec<InstalledWebhook> {
    match &mut facts.webhooks {
        Known::Found(webhooks) => webhooks,
        _ => panic!("webhooks of the fixture"),
    }
}

pub(super) fn policies(facts: &mut InstallationFacts) -> &mut Vec<GuardPolicy> {
    match &mut facts.guard {
        Known::Found(policies) => policies,
        _ => panic!("the guard of the fixture"),
    }
}
