//! The words of the tables: what is so in an installation, as in `no Lease; webhook 0 open`.

use serde_json::json;

use super::fixtures::{empty, guard, guard_policy, healthy, lease, own_deployment, policies, time, webhook, webhooks};
use crate::api::Settings;
use crate::claims::class::Known;
use crate::cli::doctor::admission::{By, Probe, WebhookPart};
use crate::cli::doctor::agreement::PlacedSettings;
use crate::cli::doctor::deployed::{HelmRelease, KubewardenDeployment};
use crate::cli::doctor::facts::{FoundJournal, InstallationFacts, SetInReplacement};
use crate::cli::doctor::guard::GuardPolicy;
use crate::cli::doctor::rights::{Account, PolicyServer, of_policy_server};
use crate::cli::drift::find::tests::act;
use crate::cli::lists::SkippedObject;
use crate::cli::status::rollout::Rollout;

/// The facts of a healthy installation after what the words of the text stand for, one after the other.
pub(super) fn facts(text: &str) -> InstallationFacts {
    let mut facts = healthy();
    for word in text.split("; ").filter(|word| !word.is_empty()) {
        let (name, rest) = word.split_once(' ').unwrap_or((word, ""));
        match name {
            "empty" => facts = empty(),
            "has" => facts.definition = healthy().definition,
            "no" => without(&mut facts, rest),
            "unknown" => unknown(&mut facts, rest),
            "settings" => facts.settings = settings(rest),
            "ConfigMap" => facts.settings.reverse(),
            "webhook" => of_webhook(&mut facts, rest),
            "policy" => of_policy(&mut facts, rest),
            "lacks" => lacks(&mut facts, rest),
            _ if is_of_parts(&mut facts, name, rest) || is_of_a_replacement(&mut facts, name, rest) => {}
            _ => act(&mut facts.sets[0], word),
        }
    }
    facts
}

/// Something of an installation does not exist.
fn without(facts: &mut InstallationFacts, what: &str) {
    match what {
        "guard" => policies(facts).clear(),
        "webhooks" => webhooks(facts).clear(),
        "definition" => facts.definition = Known::Missing,
        "Lease" => facts.lease = Known::Missing,
        "holder" => facts.lease = lease("", 999),
        "controller" => facts.deployed.controller = None,
        "expandable" => facts.classes.retain(|_, expands| !*expands),
        _ => match what.split_once(' ') {
            Some(("webhook", place)) => _ = webhooks(facts).remove(number(place)),
            Some(("policy", place)) => _ = policies(facts).remove(number(place)),
            _ => panic!("{what:?} is no part"),
        },
    }
}

/// Something cannot be read.
fn unknown(facts: &mut InstallationFacts, what: &str) {
    match what {
        "definition" => facts.definition = Known::Unknown,
        "webhooks" => facts.webhooks = Known::Unknown,
        "Lease" => facts.lease = Known::Unknown,
        "guard" => facts.guard = Known::Unknown,
        _ => panic!("{what:?} is no part"),
    }
}

/// The settings of a policy object and, after a slash, of the ConfigMap: JSON, or the value of one.
fn settings(texts: &str) -> Vec<PlacedSettings> {
    let places = ["clusteradmissionpolicy/claim-rollout", "configmap/s"];
    let placed = places.into_iter().zip(texts.split(" / ")).map(|(place, text)| {
        let text = match text.split_once('=') {
            Some((name, list)) if list.starts_with('[') => format!("{{\"{name}\":{list}}}"),
            Some((name, word)) => format!("{{\"{name}\":\"{word}\"}}"),
            None => text.to_owned(),
        };
        PlacedSettings {
            place: place.to_owned(),
            is_of_controller: place.starts_with("configmap/"),
            settings: Settings::read(&text),
        }
    });
    placed.collect()
}

/// A webhook: its place, and a fault or its conditions.
fn of_webhook(facts: &mut InstallationFacts, text: &str) {
    let (place, what) = text.split_once(' ').expect("a place");
    let webhook = &mut webhooks(facts)[number::<usize>(place)];
    match what {
        "open" => webhook.fails_closed = false,
        "untrusted" => webhook.is_trusted = false,
        "unconditional" => webhook.conditions.clear(),
        conditions => conditions.clone_into(&mut webhook.conditions),
    }
}

/// A policy of the guard, or each: its place, and a fault or its conditions.
fn of_policy(facts: &mut InstallationFacts, text: &str) {
    let (place, what) = text.split_once(' ').expect("a place");
    let places = if place == "*" {
        0..5
    } else {
        number(place)..number::<usize>(place) + 1
    };
    for policy in &mut policies(facts)[places] {
        match what {
            "unbound" => policy.denies = false,
            "open" => policy.fails_closed = false,
            conditions => conditions.clone_into(&mut policy.conditions),
        }
    }
}

/// An account lacks the right of these words, or all of its rights.
fn lacks(facts: &mut InstallationFacts, text: &str) {
    let (name, right) = text.split_once(' ').unwrap_or((text, ""));
    let account = match name {
        "Controller" => Account::Controller,
        "Replacing" => Account::Replacing,
        "Evicting" => Account::Evicting,
        _ => Account::OpenKruise,
    };
    let mut rights = account.rights().expect("a manifest");
    rights.retain(|found| right.is_empty() || found.to_string() == right);
    match facts.lacking.iter_mut().find(|(of, _)| *of == account) {
        Some((_, lacking)) => *lacking = rights,
        None => facts.lacking.push((account, rights)),
    }
}

/// Changes a part of an installation; false if the word is another.
fn is_of_parts(facts: &mut InstallationFacts, name: &str, rest: &str) -> bool {
    match name {
        "Kubewarden" => webhooks(facts).push(webhook(part(rest), By::Kubewarden)),
        "BuiltIn" => webhooks(facts).push(webhook(part(rest), By::BuiltIn)),
        "kubewarden" => {
            facts.deployed.kubewarden = Some(KubewardenDeployment {
                namespace: "kubewarden".to_owned(),
                name: "controller".to_owned(),
                version: rest.to_owned(),
            });
        }
        "release" => {
            facts.deployed.release = Some(HelmRelease {
                namespace: "ops".to_owned(),
                name: "cr".to_owned(),
                version: "0.1.0".to_owned(),
            });
        }
        "controller" => {
            let (name, account) = rest.split_once(' ').expect("an account");
            facts.deployed.controller = Some(own_deployment(name, account));
        }
        "server" => facts.deployed.webhook = Some(own_deployment(rest, rest)),
        "guard" => {
            let named = |policy: &mut GuardPolicy| policy.name = policy.name.replacen("claim-rollout", rest, 1);
            policies(facts).iter_mut().for_each(named);
        }
        "held" => facts.lease = lease("one", 998),
        "guarded" => *policies(facts) = guard(),
        "policy-server" => {
            let server = PolicyServer {
                name: "default".to_owned(),
                namespace: "kw".to_owned(),
                account: "ps".to_owned(),
            };
            facts.policy_servers = vec![(server, of_policy_server().expect("a manifest"))];
        }
        "openkruise" => {
            facts.deployed.openkruise = true;
            if rest == "guarded" {
                policies(facts).push(GuardPolicy {
                    conditions: String::new(),
                    ..guard_policy("claim-rollout-openkruise")
                });
            }
        }
        _ => return is_of_the_cluster(facts, name, rest),
    }
    true
}

/// Changes what the cluster answers; false if the word is another.
fn is_of_the_cluster(facts: &mut InstallationFacts, name: &str, rest: &str) -> bool {
    match name {
        "monitored" => facts.monitored = vec![rest.to_owned()],
        "version" => rest.clone_into(&mut facts.version),
        "now" => facts.now = time(number(rest)),
        "unread" => {
            match rest {
                "leases" => facts.lease = Known::Unknown,
                _ => facts.classes.clear(),
            }
            facts.unread = vec![(rest.to_owned(), "forbidden".to_owned())];
        }
        "probe" => {
            let (answer, why) = rest.split_once(' ').unwrap_or((rest, ""));
            facts.probe = match answer {
                "Accepted" => Probe::Accepted,
                "Unreachable" => Probe::Unreachable(why.to_owned()),
                _ => Probe::Unknown(why.to_owned()),
            };
        }
        "definition" => {
            let (pointer, value) = rest.split_once(' ').expect("a value");
            let Known::Found(definition) = &mut facts.definition else {
                panic!("a definition of the fixture")
            };
            let field = pointer[1..].split('/').fold(definition, |object, key| &mut object[key]);
            *field = serde_json::from_str(value).expect("JSON");
        }
        "skipped" => {
            let (kind, name) = rest.split_once(' ').expect("a name");
            facts.skipped = vec![SkippedObject {
                kind: kind.to_owned(),
                namespace: "shop".to_owned(),
                name: name.to_owned(),
                why: "why".to_owned(),
            }];
        }
        _ => return false,
    }
    true
}

/// Changes a rollout or a replacement; false if the word is another.
fn is_of_a_replacement(facts: &mut InstallationFacts, name: &str, rest: &str) -> bool {
    let replaced = |name: &str, since: &str| SetInReplacement {
        namespace: "default".to_owned(),
        name: name.to_owned(),
        since: time(number(since)),
    };
    let journal = |content| FoundJournal {
        secret: "j".to_owned(),
        content,
    };
    match name {
        "rollout" => facts.rollouts.push(rollout(rest)),
        // The finalizer, since this second.
        "marked" => facts.marked = vec![replaced("web", rest)],
        // The journal of this set, since this second.
        "journal" => {
            let (name, since) = rest.split_once(' ').expect("a second");
            facts.journals.push(journal(Ok(replaced(name, since))));
        }
        "broken" if rest == "journal" => facts.journals.push(journal(Err("the hash does not fit".to_owned()))),
        _ => return false,
    }
    true
}

/// The rollout of the set `web`, with this condition.
fn rollout(condition: &str) -> Rollout {
    let condition = json!({
        "type": condition, "status": "True", "reason": "ClaimRefused", "message": "exceeded quota",
        "lastTransitionTime": "2026-11-28T12:00:00Z",
    });
    let metadata = json!({"namespace": "default", "name": "web"});
    let object = json!({"metadata": metadata, "status": {"conditions": [condition]}});
    serde_json::from_str(&object.to_string()).expect("a ClaimRollout")
}

fn part(word: &str) -> WebhookPart {
    match word {
        "Sets" => WebhookPart::Sets,
        "Claims" => WebhookPart::Claims,
        "Pods" => WebhookPart::Pods,
        _ => WebhookPart::Retention,
    }
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(digits: &str) -> T {
    digits.parse().expect("a number")
}
