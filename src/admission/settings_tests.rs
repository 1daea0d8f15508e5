use super::{
    Authority, ClaimChecks, MetadataOnlyChanges, Mode, NAMES, OwnedSets, ReCreate, Retention, Settings, Shrink,
};
use crate::templates::UpdatePolicy;

#[test]
fn empty_settings_are_the_defaults() {
    for text in ["", " ", "null", "{}"] {
        assert_eq!(Settings::read(text), Ok(Settings::default()), "{text:?}");
    }
}

/// One setting in one position: its JSON, and what it changes in the defaults.
type Position = (&'static str, &'static str, fn(&mut Settings));

const POSITIONS: [Position; 33] = [
    ("mode", r#""Divert""#, |s| s.mode = Mode::Divert),
    ("mode", r#""ValidateOnly""#, |s| s.mode = Mode::ValidateOnly),
    ("defaultUpdatePolicy", r#""OnClaimDelete""#, |s| {
        s.default_update_policy = UpdatePolicy::OnClaimDelete;
    }),
    ("defaultUpdatePolicy", r#""InPlace""#, |s| {
        s.default_update_policy = UpdatePolicy::InPlace;
    }),
    ("allowReCreate", "false", |s| s.recreate = ReCreate::Refused),
    ("allowReCreate", "true", |s| s.recreate = ReCreate::Allowed),
    ("metadataOnlyChanges", r#""Rollout""#, |s| {
        s.metadata_only_changes = MetadataOnlyChanges::Rollout;
    }),
    ("metadataOnlyChanges", r#""Ignore""#, |s| {
        s.metadata_only_changes = MetadataOnlyChanges::Ignore;
    }),
    ("metadataOnlyChanges", r#""Reject""#, |s| {
        s.metadata_only_changes = MetadataOnlyChanges::Reject;
    }),
    ("shrink", r#""Refuse""#, |s| s.shrink = Shrink::Refuse),
    ("shrink", r#""Recover""#, |s| s.shrink = Shrink::Recover),
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
    ("authority", r#""RequirePatchOnClaims""#, |s| {
        s.authority = Authority::RequirePatchOnClaims;
    }),
    ("authority", r#""TrustSetEditors""#, |s| {
        s.authority = Authority::TrustSetEditors;
    }),
    ("claimChecks", r#""Off""#, |s| s.claim_checks = ClaimChecks::Off),
    ("claimChecks", r#""Warn""#, |s| s.claim_checks = ClaimChecks::Warn),
    ("claimChecks", r#""Enforce""#, |s| s.claim_checks = ClaimChecks::Enforce),
    ("maxClaimLookups", "0", |s| s.max_claim_lookups = 0),
    ("maxClaimLookups", "1000", |s| s.max_claim_lookups = 1000),
    ("retention", r#""Off""#, |s| s.retention = Retention::Off),
    ("retention", r#""Warn""#, |s| s.retention = Retention::Warn),
    ("retention", r#""Reject""#, |s| s.retention = Retention::Reject),
    ("ownedSets", r#""Skip""#, |s| s.owned_sets = OwnedSets::Skip),
    ("ownedSets", r#""Divert""#, |s| s.owned_sets = OwnedSets::Divert),
    ("controllerAccount", r#""robot""#, |s| {
        s.controller_account = "robot".into();
    }),
    ("statefulSetControllerAccounts", r#"["a","b"]"#, |s| {
        s.stateful_set_controller_accounts = vec!["a".into(), "b".into()];
    }),
];

#[test]
fn every_setting_is_read_in_each_of_its_positions() {
    for (name, value, change) in POSITIONS {
        let mut expected = Settings::default();
        change(&mut expected);
        let text = format!(r#"{{"{name}": {value}}}"#);
        assert_eq!(Settings::read(&text), Ok(expected), "{text}");
    }
    for name in NAMES {
        assert!(POSITIONS.iter().any(|(position, ..)| *position == name), "{name}");
    }
}

#[test]
fn a_wrong_value_is_answered_with_what_was_expected() {
    let domains = r#"expected a list of domains with a slash at the end, such as "example.com/""#;
    let sizes = r#"expected a size by storage class, such as {"*": "1Ti"}"#;
    let table = [
        ("mode", r#""divert""#, "expected one of Divert, ValidateOnly"),
        ("mode", "null", "expected one of Divert, ValidateOnly"),
        (
            "defaultUpdatePolicy",
            r#""ReCreate""#,
            "expected one of OnClaimDelete, InPlace",
        ),
        ("allowReCreate", r#""true""#, "expected true or false"),
        ("metadataOnlyChanges", "[]", "expected one of Rollout, Ignore, Reject"),
        ("shrink", "true", "expected one of Refuse, Recover"),
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
            "expected one of RequirePatchOnClaims, TrustSetEditors",
        ),
        ("claimChecks", "1", "expected one of Off, Warn, Enforce"),
        ("maxClaimLookups", "-1", "expected a whole number from 0 to 1000"),
        ("maxClaimLookups", "1001", "expected a whole number from 0 to 1000"),
        ("maxClaimLookups", "1.5", "expected a whole number from 0 to 1000"),
        ("retention", r#""On""#, "expected one of Off, Warn, Reject"),
        ("ownedSets", "{}", "expected one of Skip, Divert"),
        ("controllerAccount", r#""""#, "expected a user name"),
        ("statefulSetControllerAccounts", "[1]", "expected a list of names"),
        ("unheardOf", "1", "no such setting"),
    ];
    for (name, value, expected) in table {
        let text = format!(r#"{{"{name}":{value}}}"#);
        assert_eq!(
            Settings::read(&text),
            Err(format!("settings: {name}: {expected}")),
            "{text}"
        );
    }
}

#[test]
fn all_faults_are_reported_in_one_sentence() {
    let text = r#"{"authority":"Everybody","controllerAccount":1,"defaultUpdatePolicy":"ReCreate","shrunk":true}"#;
    let message = "settings: authority: expected one of RequirePatchOnClaims, TrustSetEditors; controllerAccount: expected a \
                   user name; defaultUpdatePolicy: expected one of OnClaimDelete, InPlace; shrunk: no such setting";
    assert_eq!(Settings::read(text), Err(message.to_owned()));
}

#[test]
fn what_is_no_object_or_has_a_key_twice_is_refused() {
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
