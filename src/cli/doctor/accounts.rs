//! Checks that the accounts in the settings and in the conditions of the webhooks are those that act.

use super::admission::{InstalledWebhook, WebhookPart};
use super::agreement::{self, PlacedSettings};
use super::cel;
use super::facts::InstallationFacts;
use super::finding::{Finding, Severity};
use super::rights::Account;
use crate::api::Settings;
use crate::claims::class::Known;
use crate::cli::drift::find::DriftSet;
use crate::gate::target::policy_in_force;
use crate::rollout::missing_volumes;
use crate::templates::{Restart, UpdatePolicy};

/// The account of the controller, once for each group of rights that it needs for these sets under these settings.
pub(super) fn of_controller(sets: &[DriftSet], settings: &Settings) -> Vec<Account> {
    let replaces = |seen: &DriftSet| settings.replaces(seen.set.replace_set);
    let recreates = |seen: &DriftSet| policy_in_force(&seen.set, settings) == UpdatePolicy::ReCreate;
    let evicts = |seen: &DriftSet| {
        seen.set.restart == Restart::WhenNodeExpansionPends || missing_volumes::is_evicting(&seen.set, settings)
    };
    let mut accounts = vec![Account::Controller];
    accounts.extend(sets.iter().any(replaces).then_some(Account::Replacing));
    accounts.extend(sets.iter().any(recreates).then_some(Account::ReCreating));
    accounts.extend(sets.iter().any(evicts).then_some(Account::Evicting));
    accounts
}

/// Settings that do not know the controller, then webhooks that are not called for the StatefulSet controller, or that
/// are called for our own.
pub(super) fn judge(facts: &InstallationFacts) -> Vec<Finding> {
    let controller = facts.deployed.user(Account::Controller, &facts.namespace);
    let mut found: Vec<Finding> = facts
        .settings
        .iter()
        .filter_map(|placed| of_settings(placed, &controller))
        .collect();
    let Known::Found(webhooks) = &facts.webhooks else {
        return found;
    };
    let settings = agreement::of_controller(&facts.settings);
    found.extend(webhooks.iter().filter_map(|webhook| of_webhook(webhook, &settings)));
    let ours = webhooks
        .iter()
        .filter_map(|webhook| called_for_controller(webhook, &controller));
    found.extend(ours);
    found
}

fn of_settings(placed: &PlacedSettings, controller: &str) -> Option<Finding> {
    let settings = placed.settings.as_ref().ok()?;
    if settings.controller_accounts.iter().any(|account| account == controller) {
        return None;
    }
    let expected = format!("{controller} in controllerAccounts: the controller runs with this account");
    let found = "other accounts: the policy undoes what the controller writes";
    let fix = "add it, and restart the Deployments; with the chart, policy.settings.controllerAccounts";
    Some(Finding::error(placed.place.clone()).but(expected, found).fix(fix))
}

/// A webhook without which the API server denies the writes of the controller.
fn called_for_controller(webhook: &InstalledWebhook, controller: &str) -> Option<Finding> {
    if !webhook.fails_closed || webhook.conditions.is_empty() || cel::names(&webhook.conditions, controller) {
        return None;
    }
    let found = "other accounts: while the policy is unavailable, a StatefulSet that is being replaced stays absent";
    let fix = webhook.apply().then(", with that account in its matchConditions");
    let expected = format!("{controller} in its matchConditions");
    Some(Finding::warning(webhook.subject()).but(expected, found).fix(fix))
}

/// The webhooks for PVCs and Pods are called for the accounts of the StatefulSet controller only.
fn of_webhook(webhook: &InstalledWebhook, settings: &Settings) -> Option<Finding> {
    let misses = match webhook.part {
        WebhookPart::Claims => "new PVCs get the live templates",
        WebhookPart::Pods => "Pods are replaced before their PVCs are ready",
        WebhookPart::Sets | WebhookPart::Retention => return None,
    };
    let accounts = &settings.stateful_set_controller_accounts;
    let is_missing = |account: &&str| !cel::names(&webhook.conditions, account);
    let missing: Vec<&str> = accounts.iter().map(|account| &**account).filter(is_missing).collect();
    if webhook.conditions.is_empty() || missing.is_empty() {
        return None;
    }
    let expected = format!(
        "{} in its matchConditions, as in statefulSetControllerAccounts",
        missing.join(" and ")
    );
    // Each cluster uses one of the accounts.
    let severity = if missing.len() == accounts.len() {
        Severity::Error
    } else {
        Severity::Warning
    };
    let found = format!("other accounts: if that one creates Pods, {misses}");
    let fix = webhook.apply().then(", with that account in its matchConditions");
    let finding = Finding::error(webhook.subject()).but(expected, found).fix(fix);
    Some(Finding { severity, ..finding })
}

#[cfg(test)]
mod tests {
    use super::{Account, DriftSet, Restart, Settings, UpdatePolicy, of_controller};
    use crate::cli::drift::find::tests::changed;
    use crate::rollout::fixtures::{staged_change, template};
    use crate::templates::ReplaceSet;

    /// A state, the settings, the change of the set, and the further rights that the controller needs.
    type Row = (&'static str, &'static str, fn(&mut DriftSet), &'static [Account]);

    const REPLACE: &str = r#"{"defaultReplaceSet": "WhenComplete"}"#;

    const TEMPLATES: &str = r#"{"templateChanges": "Allow"}"#;

    const ROWS: [Row; 9] = [
        ("nothing asks for more", "{}", |_| {}, &[]),
        (
            "the annotation asks for a replacement",
            "{}",
            |seen| seen.set.replace_set = Some(ReplaceSet::WhenComplete),
            &[Account::Replacing],
        ),
        ("the setting does", REPLACE, |_| {}, &[Account::Replacing]),
        (
            "the annotation excludes it",
            REPLACE,
            |seen| seen.set.replace_set = Some(ReplaceSet::Never),
            &[],
        ),
        (
            "the annotation asks for a deletion of PVCs",
            "{}",
            |seen| seen.set.update_policy = Some(UpdatePolicy::ReCreate),
            &[Account::ReCreating],
        ),
        (
            "the annotation did when the change was staged",
            "{}",
            |seen| {
                let mut change = staged_change(vec![template("data", "2Gi")]);
                change.update_policy = UpdatePolicy::ReCreate;
                (seen.set.update_policy, seen.set.staged) = (None, Some(change));
            },
            &[Account::ReCreating],
        ),
        (
            "the annotation asks for evictions",
            "{}",
            |seen| seen.set.restart = Restart::WhenNodeExpansionPends,
            &[Account::Evicting],
        ),
        (
            "Pods follow an added template",
            TEMPLATES,
            |seen| seen.set.replace_set = Some(ReplaceSet::WhenComplete),
            &[Account::Replacing, Account::Evicting],
        ),
        (
            "a template cannot be added without a replacement",
            TEMPLATES,
            |_| {},
            &[],
        ),
    ];

    #[test]
    fn account_of_the_controller_needs_what_it_will_do() {
        for (what, settings, change, expected) in ROWS {
            let settings = Settings::read(settings).expect("settings");
            let found = of_controller(&[changed(change)], &settings);
            assert_eq!(found, [&[Account::Controller], expected].concat(), "{what}");
        }
    }
}
