//! Each setting that allows a change is checked again before the rollout.

use crate::api::Settings;
use crate::api::settings::NAMES;
use crate::rollout::action::Action;
use crate::rollout::fixtures::{owner, template, web as fixture, writes};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::Snapshot;
use crate::templates::rules::Shrink;
use crate::templates::{ClaimTemplate, ReplaceSet};
use std::sync::Arc;

/// A rule of the settings: settings that deny the staged change, settings that allow it, the change of the [`fixture`],
/// the reason, and a part of the message.
struct SettingsRule {
    denies: &'static str,
    allows: &'static str,
    change: fn(&mut Snapshot),
    reason: &'static str,
    message: &'static str,
}

fn staged(web: &mut Snapshot, change: fn(&mut ClaimTemplate)) {
    let mut wanted = template("data", "2Gi");
    change(&mut wanted);
    web.stage(vec![wanted]);
}

fn labelled(web: &mut Snapshot) {
    staged(web, |data| {
        data.labels.insert("example.com/x".to_owned(), "y".to_owned());
    });
}

fn owned(web: &mut Snapshot) {
    web.set.controller = Some(owner("Database", "web", "owner-uid"));
}

const RULES: [SettingsRule; 11] = [
    SettingsRule {
        denies: r#"{"mode": "ValidateOnly"}"#,
        allows: r#"{"mode": "Stage"}"#,
        change: |_| {},
        reason: "ValidateOnly",
        message: "mode is ValidateOnly",
    },
    SettingsRule {
        denies: r#"{"maxStorage": {"*": "1Gi"}}"#,
        allows: r#"{"maxStorage": {"*": "2Gi"}}"#,
        change: |_| {},
        reason: "StagedChangeNotAllowed",
        message: "expected at most 1Gi, but found 2Gi",
    },
    SettingsRule {
        denies: r#"{"allowedVolumeAttributesClasses": ["silver"]}"#,
        allows: r#"{"allowedVolumeAttributesClasses": ["gold"]}"#,
        change: |web| staged(web, |data| data.volume_attributes_class_name = Some("gold".to_owned())),
        reason: "StagedChangeNotAllowed",
        message: "expected one of silver, but found gold",
    },
    SettingsRule {
        denies: r#"{"metadataOnlyChanges": "Deny"}"#,
        allows: r#"{"metadataOnlyChanges": "Rollout"}"#,
        change: labelled,
        reason: "StagedChangeNotAllowed",
        message: "metadataOnlyChanges is not Rollout",
    },
    SettingsRule {
        denies: r#"{"metadataOnlyChanges": "Ignore"}"#,
        allows: "{}",
        change: labelled,
        reason: "StagedChangeNotAllowed",
        message: "metadataOnlyChanges is not Rollout",
    },
    SettingsRule {
        denies: r#"{"reservedKeyPrefixes": ["example.com/"]}"#,
        allows: r#"{"reservedKeyPrefixes": []}"#,
        change: labelled,
        reason: "StagedChangeNotAllowed",
        message: "metadata.labels[example.com/x]: is reserved",
    },
    SettingsRule {
        denies: r#"{"immutableFields": "Deny"}"#,
        allows: r#"{"immutableFields": "NewPVCs"}"#,
        change: |web| {
            staged(web, |data| {
                data.spec.insert("storageClassName".to_owned(), "fast".into());
            });
        },
        reason: "StagedChangeNotAllowed",
        message: "spec.storageClassName: cannot change",
    },
    SettingsRule {
        denies: r#"{"templateChanges": "Deny"}"#,
        allows: r#"{"templateChanges": "Allow"}"#,
        change: |web| {
            web.set.replace_set = Some(ReplaceSet::WhenComplete);
            web.stage(vec![template("data", "2Gi"), template("logs", "1Gi")]);
        },
        reason: "StagedChangeNotAllowed",
        message: "[logs]: a template cannot be added without the setting templateChanges: Allow",
    },
    SettingsRule {
        denies: r#"{"ownedSets": "Skip"}"#,
        allows: r#"{"ownedSets": "Stage"}"#,
        change: owned,
        reason: "SetOwned",
        message: "owned by Database web",
    },
    SettingsRule {
        denies: r#"{"stageOwnedBy": ["example.org/Database", "example.com/Cache"]}"#,
        allows: r#"{"stageOwnedBy": ["example.org/Database", "example.com/Database"]}"#,
        change: owned,
        reason: "SetOwned",
        message: "owned by Database web",
    },
    // Previous targets are unknown: whether a claim may get smaller is decided for each claim.
    SettingsRule {
        denies: r#"{"shrink": "Recover"}"#,
        allows: r#"{"shrink": "Deny"}"#,
        change: |web| {
            if web.settings.shrink == Shrink::Recover {
                web.stage(vec![template("data", "500Mi")]);
            }
        },
        reason: "StagedChangeNotAllowed",
        message: "cannot shrink, expected at least 1Gi, but found 500Mi",
    },
];

#[test]
fn staged_change_is_checked_again_by_each_rule() {
    let web = |settings: &str, change: fn(&mut Snapshot)| {
        let mut web = fixture();
        web.settings = Arc::new(Settings::read(settings).expect(settings));
        change(&mut web);
        web
    };
    for rule in RULES {
        let allowed = web(rule.allows, rule.change);
        assert_eq!(writes(&allowed).len(), 1, "{}", rule.allows);
        let denied = plan(&web(rule.denies, rule.change));
        let stalled = &denied.progress.stalled;
        assert_eq!((stalled.holds, stalled.reason), (true, rule.reason), "{}", rule.denies);
        assert!(stalled.message.contains(rule.message), "{}", stalled.message);
        let only_emits = |action: &Action| matches!(action, Action::Event(_));
        assert!(denied.actions.iter().all(only_emits), "{}", rule.denies);
    }
}

#[test]
fn settings_that_need_no_requester_each_have_a_rule() {
    let elsewhere = [
        // The staged change contains the policy in force.
        "defaultUpdatePolicy",
        // What happens after the rollout.
        "defaultReplaceSet",
        // The controller never re-creates claims.
        "allowReCreate",
        // About the requester and the request.
        "authority",
        "pvcChecks",
        "maxPVCLookups",
        "retention",
        "controllerAccounts",
        "statefulSetControllerAccounts",
    ];
    for name in NAMES {
        let has_rule = RULES.iter().any(|rule| rule.denies.contains(&format!("\"{name}\"")));
        assert_ne!(has_rule, elsewhere.contains(&name), "{name}");
    }
}
