use super::{
    Authority, Frozen, MetadataOnlyChanges, Mode, NAMES, OwnedSets, PvcChecks, ReCreate, Retention, Settings, Shrink,
    TemplateChanges,
};
use crate::templates::{ReplaceSet, UpdatePolicy};

#[test]
fn settings_empty_are_the_defaults() {
    for text in ["", " ", "null", "{}"] {
        assert_eq!(Settings::read(text), Ok(Settings::default()), "{text:?}");
    }
}

/// A setting, a value of it as JSON, and what the value changes in the defaults.
type SettingValue = (&'static str, &'static str, fn(&mut Settings));

const VALUES: [SettingValue; 43] = [
    ("mode", r#""Stage""#, |s| s.mode = Mode::Stage),
    ("mode", r#""ValidateOnly""#, |s| s.mode = Mode::ValidateOnly),
    ("defaultUpdatePolicy", r#""OnClaimDelete""#, |s| {
        s.default_update_policy = UpdatePolicy::OnClaimDelete;
    }),
    ("defaultUpdatePolicy", r#""InPlace""#, |s| {
        s.default_update_policy = UpdatePolicy::InPlace;
    }),
    ("defaultReplaceSet", r#""Never""#, |s| {
        s.default_replace_set = ReplaceSet::Never;
    }),
    ("defaultReplaceSet", r#""WhenComplete""#, |s| {
        s.default_replace_set = ReplaceSet::WhenComplete;
    }),
    ("allowReCreate", "false", |s| s.recreate = ReCreate::Denied),
    ("allowReCreate", "true", |s| s.recreate = ReCreate::Allowed),
    ("metadataOnlyChanges", r#""Rollout""#, |s| {
        s.metadata_only_changes = MetadataOnlyChanges::Rollout;
    }),
    ("metadataOnlyChanges", r#""Ignore""#, |s| {
        s.metadata_only_changes = MetadataOnlyChanges::Ignore;
    }),
    ("metadataOnlyChanges", r#""Deny""#, |s| {
        s.metadata_only_changes = MetadataOnlyChanges::Deny;
    }),
    ("shrink", r#""Deny""#, |s| s.shrink = Shrink::Deny),
    ("shrink", r#""Recover""#, |s| s.shrink = Shrink::Recover),
    ("shrink", r#""Keep""#, |s| s.shrink = Shrink::Keep),
    ("immutableFields", r#""Deny""#, |s| s.immutable_fields = Frozen::Deny),
    ("immutableFields", r#""NewPVCs""#, |s| {
        s.immutable_fields = Frozen::ForNewClaims;
    }),
    ("templateChanges", r#""Deny""#, |s| {
        s.template_changes = TemplateChanges::Deny;
    }),
    ("templateChanges", r#""Allow""#, |s| {
        s.template_changes = TemplateChanges::Allow;
    }),
    ("maxStorage", "{}", |s| s.max_storage = vec![]),
    ("maxStorage", r#"{"fast":"1Ti","*":"100Gi"}"#, |s| {
        s.max_storage = [("fast", "1Ti"), ("*", "100Gi")]
            .map(|(class, size)| (class.to_owned(), size.parse().expect("a size")))
            .to_vec();
    }),
    ("allowedVolumeAttributesClasses", "null", |s| {
        s.allowed_attributes_classes = None;
    }),
    ("allowedVolumeAttributesClasses", "[]", |s| {
        s.allowed_attributes_classes = Some(vec![]);
    }),
    ("allowedVolumeAttributesClasses", r#"["gold"]"#, |s| {
        s.allowed_attributes_classes = Some(vec!["gold".into()]);
    }),
    ("reservedKeyPrefixes", "[]", |s| s.reserved_key_prefixes = vec![]),
    ("reservedKeyPrefixes", r#"["a/"]"#, |s| {
        s.reserved_key_prefixes = vec!["a/".into()];
    }),
    ("reservedKeyPrefixes", r#"["example.com/"]"#, |s| {
        s.reserved_key_prefixes = vec!["example.com/".into()];
    }),
    ("authority", r#""RequirePatchOnPVCs""#, |s| {
        s.authority = Authority::RequirePatchOnPVCs;
    }),
    ("authority", r#""TrustSetEditors""#, |s| {
        s.authority = Authority::TrustSetEditors;
    }),
    ("pvcChecks", r#""Ignore""#, |s| s.pvc_checks = PvcChecks::Ignore),
    ("pvcChecks", r#""Off""#, |s| s.pvc_checks = PvcChecks::Ignore),
    ("pvcChecks", r#""Warn""#, |s| s.pvc_checks = PvcChecks::Warn),
    ("pvcChecks", r#""Deny""#, |s| s.pvc_checks = PvcChecks::Deny),
    ("maxPVCLookups", "1", |s| s.max_pvc_lookups = 1),
    ("maxPVCLookups", "1000", |s| s.max_pvc_lookups = 1000),
    ("retention", r#""Ignore""#, |s| s.retention = Retention::Ignore),
    ("retention", r#""Off""#, |s| s.retention = Retention::Ignore),
    ("retention", r#""Warn""#, |s| s.retention = Retention::Warn),
    ("retention", r#""Deny""#, |s| s.retention = Retention::Deny),
    ("ownedSets", r#""Skip""#, |s| s.owned_sets = OwnedSets::Skip),
    ("ownedSets", r#""Stage""#, |s| s.owned_sets = OwnedSets::Stage),
    ("stageOwnedBy", r#"["example.com/Database"]"#, |s| {
        s.stage_owned_by = vec!["example.com/Database".into()];
    }),
    ("controllerAccounts", r#"["robot"]"#, |s| {
        s.controller_accounts = vec!["robot".into()];
    }),
    ("statefulSetControllerAccounts", r#"["a","b"]"#, |s| {
        s.stateful_set_controller_accounts = vec!["a".into(), "b".into()];
    }),
];

#[test]
fn setting_is_read_with_each_of_its_values() {
    for (name, value, change) in VALUES {
        let mut expected = Settings::default();
        change(&mut expected);
        let text = format!(r#"{{"{name}": {value}}}"#);
        assert_eq!(Settings::read(&text), Ok(expected), "{text}");
    }
    for name in NAMES {
        assert!(VALUES.iter().any(|(setting, ..)| *setting == name), "{name}");
    }
}

#[test]
fn setting_not_valid_names_the_expected_value() {
    let domains = r#"expected a list of domains with a slash at the end, such as "example.com/""#;
    let sizes = r#"expected a size by storage class, such as {"*": "1Ti"}"#;
    let users = "expected a list of user names";
    let owners = r#"expected a list of kinds, such as ["monitoring.coreos.com/Prometheus"]"#;
    let table = [
        ("mode", r#""divert""#, "expected one of Stage, ValidateOnly"),
        ("mode", "null", "expected one of Stage, ValidateOnly"),
        (
            "defaultUpdatePolicy",
            r#""ReCreate""#,
            "expected one of OnClaimDelete, InPlace",
        ),
        ("allowReCreate", r#""true""#, "expected true or false"),
        ("metadataOnlyChanges", "[]", "expected one of Rollout, Ignore, Deny"),
        ("shrink", "true", "expected one of Deny, Recover, Keep"),
        ("maxStorage", r#"{"*":1}"#, sizes),
        ("maxStorage", r#"{"*":"0"}"#, sizes),
        ("maxStorage", r#"{"*":"1Gi","*":"2Gi"}"#, sizes),
        ("maxStorage", r#""1Gi""#, sizes),
        (
            "allowedVolumeAttributesClasses",
            r#""gold""#,
            "expected a list of names",
        ),
        ("allowedVolumeAttributesClasses", r#"[""]"#, "expected a list of names"),
        ("reservedKeyPrefixes", r#"["example.com"]"#, domains),
        ("reservedKeyPrefixes", r#"["a/b/"]"#, domains),
        ("reservedKeyPrefixes", r#"["/"]"#, domains),
        ("reservedKeyPrefixes", r#"["/a"]"#, domains),
        (
            "authority",
            r#""Everybody""#,
            "expected one of RequirePatchOnPVCs, TrustSetEditors",
        ),
        ("pvcChecks", "1", "expected one of Warn, Ignore, Deny"),
        ("maxPVCLookups", "0", "expected a whole number from 1 to 1000"),
        ("maxPVCLookups", "1001", "expected a whole number from 1 to 1000"),
        ("maxPVCLookups", "1.5", "expected a whole number from 1 to 1000"),
        ("retention", r#""On""#, "expected one of Ignore, Warn, Deny"),
        ("ownedSets", "{}", "expected one of Skip, Stage"),
        ("stageOwnedBy", r#"["Prometheus"]"#, owners),
        ("controllerAccounts", r#"[""]"#, users),
        ("controllerAccounts", "[]", users),
        ("statefulSetControllerAccounts", "[1]", users),
        ("unheardOf", "1", "no such setting"),
    ];
    for (name, value, expected) in table {
        let text = format!(r#"{{"{name}":{value}}}"#);
        let is_known = NAMES.contains(&name);
        let found = if is_known {
            format!(", but found {value}")
        } else {
            String::new()
        };
        assert_eq!(
            Settings::read(&text),
            Err(format!("settings: {name}: {expected}{found}")),
            "{text}"
        );
    }
}

#[test]
fn settings_with_faults_name_all_of_them() {
    let text = r#"{"authority":"Everybody","controllerAccounts":1,"defaultUpdatePolicy":"ReCreate","shrunk":true}"#;
    let message = "settings: authority: expected one of RequirePatchOnPVCs, TrustSetEditors, but found \"Everybody\"; \
                   controllerAccounts: expected a list of user names, but found 1; defaultUpdatePolicy: expected one of \
                   OnClaimDelete, InPlace, but found \"ReCreate\"; shrunk: no such setting";
    assert_eq!(Settings::read(text), Err(message.to_owned()));
}

#[test]
fn settings_not_an_object_or_with_duplicate_key_fail() {
    for text in [
        "[]",
        "1",
        "{",
        "{}x",
        r#"{"authority":"TrustSetEditors","authority":"TrustSetEditors"}"#,
    ] {
        assert!(Settings::read(text).is_err(), "{text}");
    }
}
