//! Whether claim-rollout is in the cluster at all: its parts, and the finding where there is none.

use super::admission::{By, WebhookPart};
use super::facts::InstallationFacts;
use super::finding::Finding;
use crate::claims::class::Known;

/// A part of an installation: its name in the first line, and whether it is there, if that can be read.
type InstalledPart = (&'static str, Option<bool>);

/// None if it cannot be read.
fn is_known<T>(known: &Known<T>, is_there: impl FnOnce(&T) -> bool) -> Option<bool> {
    match known {
        Known::Unknown => None,
        Known::Missing => Some(false),
        Known::Found(found) => Some(is_there(found)),
    }
}

/// What calls the policy.
fn policy(facts: &InstallationFacts) -> InstalledPart {
    let of_sets = match &facts.webhooks {
        Known::Found(webhooks) => webhooks.iter().find(|webhook| webhook.part == WebhookPart::Sets),
        _ => None,
    };
    let is_there = is_known(&facts.webhooks, |_| of_sets.is_some());
    let name = match of_sets.map(|webhook| webhook.by) {
        None => "policy",
        Some(By::BuiltIn) => "built-in webhook",
        Some(By::Kubewarden) if facts.monitored.is_empty() => "policy of Kubewarden",
        Some(By::Kubewarden) => "policy of Kubewarden in monitor mode",
    };
    (name, is_there)
}

/// The parts of an installation. The last one, the guard, is a choice.
fn parts(facts: &InstallationFacts) -> [InstalledPart; 4] {
    let controller = match is_known(&facts.lease, |_| true) {
        _ if facts.deployed.controller.is_some() => Some(true),
        Some(false) if facts.is_unread("deployments") => None,
        has_lease => has_lease,
    };
    let guard = is_known(&facts.guard, |policies| !policies.is_empty());
    [
        ("definition", is_known(&facts.definition, |_| true)),
        policy(facts),
        ("controller", controller),
        ("guard", guard),
    ]
}

/// True iff no part is there, and each can be read.
fn is_absent(facts: &InstallationFacts, parts: &[InstalledPart]) -> bool {
    parts.iter().all(|(_, is_there)| *is_there == Some(false))
        && matches!(&facts.webhooks, Known::Found(webhooks) if webhooks.is_empty())
        && facts.deployed.webhook.is_none()
        && facts.policy_servers.is_empty()
        && facts.settings.is_empty()
}

/// Whether it is installed, and what of it, in one line.
pub(super) fn inventory(facts: &InstallationFacts) -> String {
    let home = &facts.namespace;
    let parts = parts(facts);
    if is_absent(facts, &parts) {
        return "claim-rollout is not installed in this cluster".to_owned();
    }
    let named = |is_there: Option<bool>| -> Vec<&str> {
        let of = parts.iter().filter(|(_, found)| *found == is_there);
        of.map(|(name, _)| *name).collect()
    };
    let [needed @ .., _] = &parts;
    let is_whole = needed.iter().all(|(_, is_there)| *is_there != Some(false));
    let mut line = if named(None).len() == parts.len() {
        format!("it is not known whether claim-rollout is installed in namespace {home}")
    } else if is_whole {
        format!("claim-rollout is installed in namespace {home}")
    } else {
        format!("claim-rollout is only partly installed in namespace {home}")
    };
    if let Some(release) = &facts.deployed.release {
        line += &format!(" by release {} of Helm ({})", release.name, release.version);
    }
    let lists = [("found", Some(true)), ("missing", Some(false)), ("not readable", None)];
    for (mark, (word, is_there)) in lists
        .into_iter()
        .filter(|(_, is_there)| !named(*is_there).is_empty())
        .enumerate()
    {
        let begin = if mark == 0 { ": " } else { "; " };
        line += &format!("{begin}{word} {}", named(is_there).join(", "));
    }
    line
}

/// The command that installs it.
pub(super) fn install(facts: &InstallationFacts) -> String {
    let admission = if facts.deployed.kubewarden.is_some() {
        ""
    } else {
        " --set admission=builtin"
    };
    format!(
        "helm install claim-rollout oci://ghcr.io/claim-rollout/charts/claim-rollout -n {} --create-namespace{admission}, \
         or another way of https://github.com/claim-rollout/claim-rollout#install",
        facts.namespace
    )
}

/// One finding in place of one for each missing part. None if a part is there, or if one cannot be read.
pub(super) fn judge(facts: &InstallationFacts) -> Option<Finding> {
    let finding = || {
        Finding::error("claim-rollout")
            .but("it to be installed", "no part of it in this cluster")
            .fix(install(facts))
    };
    is_absent(facts, &parts(facts)).then(finding)
}
