//! The differences between two settings documents. The policy object of Kubewarden has a copy of the settings, which
//! somebody may change.
//!
//! Only the meaning counts: an absent setting has its default, and lists have no order.

use std::fmt;

use super::settings::{NAMES, Settings};

/// A setting with two values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The name of the setting.
    pub setting: &'static str,
    /// The value in our document.
    pub ours: String,
    /// The value in the other document.
    pub theirs: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setting, ours, theirs } = self;
        write!(f, "{setting}: expected {ours}, but found {theirs}")
    }
}

/// Every setting that differs, in the order of [`NAMES`].
#[must_use]
pub fn differences(ours: &Settings, theirs: &Settings) -> Vec<Difference> {
    let values = NAMES.into_iter().zip(ours.values()).zip(theirs.values());
    let differing =
        values.filter_map(|((setting, ours), theirs)| (ours != theirs).then_some(Difference { setting, ours, theirs }));
    differing.collect()
}

#[cfg(test)]
mod tests {
    use super::{Settings, differences};
    use crate::api::settings::NAMES;

    fn between(ours: &str, theirs: &str) -> Vec<String> {
        let [ours, theirs] = [ours, theirs].map(|text| Settings::read(text).expect(text));
        differences(&ours, &theirs).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn documents_with_equal_meaning_do_not_differ() {
        let accounts = r#"{"controllerAccounts": ["system:serviceaccount:claim-rollout:claim-rollout-controller"]}"#;
        for (ours, theirs) in [
            ("", "{}"),
            (
                "{}",
                r#"{"mode": "Stage", "maxPVCLookups": 20, "allowReCreate": false}"#,
            ),
            ("{}", accounts),
            (
                r#"{"maxStorage": {"a": "1024Mi", "b": "1Ti"}}"#,
                r#"{"maxStorage": {"b": "1Ti", "a": "1Gi"}}"#,
            ),
            (
                r#"{"stageOwnedBy": ["a/B", "c/D"]}"#,
                r#"{"stageOwnedBy": ["c/D", "a/B", "a/B"]}"#,
            ),
        ] {
            assert_eq!(between(ours, theirs), [""; 0], "{ours} {theirs}");
        }
    }

    /// A value other than the default, and the message for it.
    const OTHERS: [(&str, &str, &str); 19] = [
        (
            "defaultUpdatePolicy",
            r#""InPlace""#,
            "expected OnClaimDelete, but found InPlace",
        ),
        (
            "defaultReplaceSet",
            r#""WhenComplete""#,
            "expected Never, but found WhenComplete",
        ),
        ("allowReCreate", "true", "expected false, but found true"),
        ("metadataOnlyChanges", r#""Deny""#, "expected Rollout, but found Deny"),
        ("shrink", r#""Recover""#, "expected Deny, but found Recover"),
        ("immutableFields", r#""NewPVCs""#, "expected Deny, but found NewPVCs"),
        ("templateChanges", r#""Allow""#, "expected Deny, but found Allow"),
        ("maxStorage", r#"{"*": "1Ti"}"#, "expected [], but found [*: 1Ti]"),
        ("allowedVolumeAttributesClasses", "[]", "expected any, but found []"),
        (
            "authority",
            r#""TrustSetEditors""#,
            "expected RequirePatchOnPVCs, but found TrustSetEditors",
        ),
        ("pvcChecks", r#""Ignore""#, "expected Warn, but found Ignore"),
        ("retention", r#""Warn""#, "expected Ignore, but found Warn"),
        ("ownedSets", r#""Stage""#, "expected Skip, but found Stage"),
        ("stageOwnedBy", r#"["a/B"]"#, "expected [], but found [a/B]"),
        ("controllerAccounts", r#"["robot"]"#, ", but found [robot]"),
        ("mode", r#""ValidateOnly""#, "expected Stage, but found ValidateOnly"),
        (
            "reservedKeyPrefixes",
            r#"["example.com/"]"#,
            ", but found [example.com/]",
        ),
        ("maxPVCLookups", "21", "expected 20, but found 21"),
        ("statefulSetControllerAccounts", r#"["robot"]"#, ", but found [robot]"),
    ];

    #[test]
    fn difference_names_the_setting_and_both_values() {
        for (name, value, words) in OTHERS {
            let found = between("{}", &format!(r#"{{"{name}": {value}}}"#));
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(
                found[0].starts_with(&format!("{name}: ")) && found[0].ends_with(words),
                "{found:?}"
            );
        }
        assert_eq!(OTHERS.map(|(name, ..)| name), NAMES);
        assert_eq!(
            between(r#"{"shrink": "Recover"}"#, "{}"),
            ["shrink: expected Recover, but found Deny"]
        );
    }
}
