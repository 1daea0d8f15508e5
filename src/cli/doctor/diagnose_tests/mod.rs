mod absent;
mod before;
mod guards;
mod installation;
mod named;
mod sets;

use std::process::ExitCode;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::CustomResourceExt as _;
use serde_json::{Value, json};

use super::admission::{By, InstalledWebhook, Probe, WebhookPart};
use super::deployed::{Deployed, HelmRelease, OwnDeployment};
use super::facts::InstallationFacts;
use super::guard::GuardPolicy;
use super::rights::Account;
use super::{OutputFormat, Severity, code, diagnose, rendered, summary, text};
use crate::api::Settings;
use crate::claims::class::Known;
use crate::cli::drift::find::tests::{changed, even};
use crate::cli::json_tests::{has_the_words, is_as_described};
use crate::controller::crd::ClaimRollout;
use crate::json::Map;
use crate::rollout::fixtures::template;
use crate::templates::{Phase, UpdatePolicy, keys};

/// Where the files of this version are.
const FILES: &str = concat!(
    "https://raw.githubusercontent.com/claim-rollout/claim-rollout/v",
    env!("CARGO_PKG_VERSION"),
    "/"
);
const BUILT_IN: &str = "mutatingwebhookconfiguration/claim-rollout-webhook[claim-rollout.claim-rollout.io]";

fn webhook(part: WebhookPart, by: By) -> InstalledWebhook {
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
fn own_deployment(name: &str, account: &str) -> OwnDeployment {
    OwnDeployment {
        name: name.to_owned(),
        account: account.to_owned(),
    }
}

/// The policies of the guard, as they are installed.
fn guard() -> Vec<GuardPolicy> {
    let names = [
        "claim-rollout-staged",
        "claim-rollout-replacing",
        "claim-rollout-creating",
        "claim-rollout-controller-statefulsets",
        "claim-rollout-controller-persistentvolumeclaims",
    ];
    let policy = |name: &'static str| GuardPolicy {
        part: name,
        name: name.to_owned(),
        fails_closed: name != "claim-rollout-creating",
        denies: true,
        conditions: "['system:serviceaccount:claim-rollout:claim-rollout-controller']".to_owned(),
    };
    names.map(policy).into()
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

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

/// The Lease with this holder, renewed at this second.
fn lease(holder: &str, renewed: i64) -> Known<LeaseSpec> {
    Known::Found(LeaseSpec {
        holder_identity: Some(holder.to_owned()),
        renew_time: Some(MicroTime(time(renewed))),
        ..LeaseSpec::default()
    })
}

fn release(namespace: &str) -> Option<HelmRelease> {
    Some(HelmRelease {
        namespace: namespace.to_owned(),
        name: "cr".to_owned(),
        version: "0.1.0".to_owned(),
    })
}

fn webhooks(facts: &mut InstallationFacts) -> &mut Vec<InstalledWebhook> {
    match &mut facts.webhooks {
        Known::Found(webhooks) => webhooks,
        _ => panic!("webhooks of the fixture"),
    }
}

fn policies(facts: &mut InstallationFacts) -> &mut Vec<GuardPolicy> {
    match &mut facts.guard {
        Known::Found(policies) => policies,
        _ => panic!("the guard of the fixture"),
    }
}

/// PVCs of OpenKruise's StatefulSets are updated, and the guard has the policy for them.
fn guard_openkruise(facts: &mut InstallationFacts) {
    facts.deployed.openkruise = true;
    let name = "claim-rollout-openkruise";
    policies(facts).push(GuardPolicy {
        part: name,
        name: name.to_owned(),
        fails_closed: true,
        denies: true,
        conditions: String::new(),
    });
}

fn definition(facts: &mut InstallationFacts) -> &mut Value {
    match &mut facts.definition {
        Known::Found(definition) => definition,
        _ => panic!("a definition of the fixture"),
    }
}

fn is_the_only_finding(what: &str, facts: &InstallationFacts, expected: &str, fix: &str) {
    let found = diagnose(facts);
    let lines: Vec<String> = found
        .iter()
        .map(|finding| format!("{:?} {} | {}", finding.severity, finding.subject, finding.found))
        .collect();
    assert_eq!(lines, [expected.replace("{}", BUILT_IN)], "{what}");
    let (fix, found) = (fix.replace(" -f deploy/", &format!(" -f {FILES}deploy/")), &found[0]);
    assert!(found.fix.starts_with(&fix), "{what}: {}", found.fix);
    assert!(!found.expected.is_empty(), "{what}");
}

#[test]
fn diagnose_each_fault_is_one_finding() {
    for (what, plant, expected, fix) in [installation::ROWS, guards::ROWS, named::ROWS].into_iter().flatten() {
        let mut facts = healthy();
        plant(&mut facts);
        is_the_only_finding(what, &facts, expected, fix);
    }
    for (what, plant, expected, fix) in sets::ROWS {
        let mut facts = healthy();
        facts.sets = vec![changed(plant)];
        is_the_only_finding(what, &facts, expected, fix);
    }
}

/// The state, and the change that makes it.
type Harmless = (&'static str, fn(&mut InstallationFacts));

const HARMLESS: [Harmless; 13] = [
    ("a healthy installation", |_| {}),
    ("a replacement that began a moment ago", |facts| {
        facts.marked = vec![installation::marked(941)];
        facts.sets[0].set.partition = 1_000_000_000;
        facts.journals = vec![
            installation::journal(Ok(("web", 900))),
            installation::journal(Ok(("db", 941))),
        ];
    }),
    ("another account of the controller, known everywhere", |facts| {
        let user = "system:serviceaccount:claim-rollout:mine";
        facts.deployed.controller = Some(own_deployment("claim-rollout-controller", "mine"));
        for policy in policies(facts) {
            policy.conditions = format!("['{user}']");
        }
        webhooks(facts)[0].conditions = format!("!(request.userInfo.username in ['{user}'])");
    }),
    (
        "StatefulSets of OpenKruise, with their part of the guard",
        guard_openkruise,
    ),
    ("StatefulSets of OpenKruise, for whoever may edit them", |facts| {
        facts.deployed.openkruise = true;
        let trust = r#"{"authority": "TrustSetEditors"}"#;
        facts.settings = installation::settings(trust, trust);
    }),
    ("another account in the conditions", |facts| {
        policies(facts)[0].conditions.insert_str(1, "'somebody', ");
    }),
    ("the webhooks of Kubewarden", |facts| {
        facts.webhooks = Known::Found(
            [
                WebhookPart::Sets,
                WebhookPart::Claims,
                WebhookPart::Pods,
                WebhookPart::Retention,
            ]
            .map(|part| webhook(part, By::Kubewarden))
            .into(),
        );
    }),
    ("a newer definition", |facts| {
        definition(facts)["spec"]["names"]["other"] = json!(1);
    }),
    ("a rollout in progress", |facts| {
        sets::stage(&mut facts.sets[0], "2Gi", Phase::RollingOut);
    }),
    ("claims with OnClaimDelete", |facts| {
        sets::stage(&mut facts.sets[0], "2Gi", Phase::RollingOut);
        facts.sets[0].set.update_policy = Some(UpdatePolicy::OnClaimDelete);
    }),
    ("an outdated set without an update policy", |facts| {
        facts.sets[0].set.update_policy = None;
        facts.sets[0].set.live = vec![template("data", "2Gi")];
        sets::of_class(&mut facts.sets[0], "fixed");
    }),
    ("a set that is being deleted", |facts| {
        facts.sets[0].set.terminating = true;
    }),
    ("known values", |facts| {
        facts.sets[0].annotations = Map::from_unsorted(
            [
                (keys::UPDATE_POLICY, "OnDelete"),
                (keys::SYNC, "Async"),
                (keys::PAUSED, "false"),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        )
        .unwrap();
    }),
];

#[test]
fn diagnose_healthy_state_is_no_finding() {
    for (what, change) in HARMLESS {
        let mut facts = healthy();
        change(&mut facts);
        assert_eq!(diagnose(&facts), [], "{what}");
    }
}

#[test]
fn diagnose_errors_come_first() {
    let mut facts = healthy();
    assert_eq!(text(&diagnose(&facts), None).expect("text"), "");
    assert_eq!(
        summary(&facts, &[]),
        "checked the definition, webhooks, guard, rights, settings and accounts, the Lease, replacements, 2 StorageClasses and \
         1 StatefulSets: nothing is wrong"
    );
    webhooks(&mut facts).pop();
    facts.lease = Known::Missing;
    let found = diagnose(&facts);
    let severities: Vec<Severity> = found.iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::Error, Severity::Warning]);
    for (findings, expected) in [
        (&found[..], ExitCode::FAILURE),
        (&found[1..], ExitCode::SUCCESS),
        (&[], ExitCode::SUCCESS),
    ] {
        assert_eq!(code(findings), expected, "{findings:?}");
    }
    let expected = "\
error: lease/claim-rollout/claim-rollout-controller: expected a controller that holds it, but found none
  to fix it: kubectl rollout restart -n claim-rollout deployment/claim-rollout-controller
warning: mutatingwebhookconfiguration/claim-rollout-webhook: ";
    assert!(text(&found, None).expect("text").starts_with(expected));
    is_as_described(&[text(&found, Some(OutputFormat::Json)).expect("text")]);
    has_the_words("FindingList", "severity", &[Severity::Error, Severity::Warning]);
    assert!(summary(&facts, &found).ends_with(": errors 1, warnings 1"));
}
