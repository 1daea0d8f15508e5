//! The settings of the policy.

use crate::json::{self, Map, Value};
use crate::templates::UpdatePolicy;

/// What an administrator may set. The first value named is the default; empty settings work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `authority`: who may ask for a change.
    pub authority: Authority,
    /// `controllerAccount`: the user name of the controller, whose own updates always pass.
    pub controller_account: String,
    /// `defaultUpdatePolicy`: the update policy of a set without the annotation.
    pub default_update_policy: UpdatePolicy,
}

/// Who may ask for a change of the templates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authority {
    /// Who may `patch persistentvolumeclaims` in the namespace: the change reaches them.
    #[default]
    RequirePatchOnClaims,
    /// Whoever may update the set.
    TrustSetEditors,
}

/// The account that the manifests of this project run the controller as.
pub const DEFAULT_CONTROLLER_ACCOUNT: &str = "system:serviceaccount:claim-rollout:claim-rollout-controller";

impl Default for Settings {
    fn default() -> Self {
        Self {
            authority: Authority::default(),
            controller_account: DEFAULT_CONTROLLER_ACCOUNT.to_owned(),
            default_update_policy: UpdatePolicy::default(),
        }
    }
}

impl Settings {
    /// Reads settings from JSON; `null` and an empty text mean the defaults.
    ///
    /// # Errors
    /// All faults in one sentence.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        match json::read(text) {
            Ok(Value::Null) => Ok(Self::default()),
            Ok(Value::Object(fields)) => Self::from_fields(&fields),
            _ => Err("settings: expected a JSON object without duplicate keys".to_owned()),
        }
    }

    fn from_fields(fields: &Map<Value>) -> Result<Self, String> {
        let mut settings = Self::default();
        let mut faults = Vec::new();
        for (key, value) in fields {
            let text = value.as_str().unwrap_or_default();
            let outcome = match key.as_str() {
                "authority" => set(
                    &mut settings.authority,
                    text,
                    Authority::parse,
                    "RequirePatchOnClaims, TrustSetEditors",
                ),
                "controllerAccount" => {
                    let parse = |text: &str| (!text.is_empty()).then(|| text.to_owned());
                    set(&mut settings.controller_account, text, parse, "a user name")
                }
                "defaultUpdatePolicy" => {
                    // ReCreate deletes claims: it is never a default.
                    let parse = |text: &str| text.parse().ok().filter(|policy| *policy != UpdatePolicy::ReCreate);
                    set(
                        &mut settings.default_update_policy,
                        text,
                        parse,
                        "OnClaimDelete, InPlace",
                    )
                }
                _ => Err("no such setting"),
            };
            match outcome {
                Ok(()) => {}
                Err("no such setting") => faults.push(format!("{key}: no such setting")),
                Err(allowed) => faults.push(format!("{key}: expected {allowed}")),
            }
        }
        if faults.is_empty() {
            Ok(settings)
        } else {
            Err(format!("settings: {}", faults.join("; ")))
        }
    }
}

fn set<T>(
    target: &mut T,
    text: &str,
    parse: impl Fn(&str) -> Option<T>,
    allowed: &'static str,
) -> Result<(), &'static str> {
    *target = parse(text).ok_or(allowed)?;
    Ok(())
}

impl Authority {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "RequirePatchOnClaims" => Some(Self::RequirePatchOnClaims),
            "TrustSetEditors" => Some(Self::TrustSetEditors),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Authority, Settings, UpdatePolicy};

    #[test]
    fn empty_settings_are_the_defaults() {
        for text in ["", " ", "null", "{}"] {
            assert_eq!(Settings::read(text), Ok(Settings::default()), "{text:?}");
        }
    }

    #[test]
    fn every_setting_is_read() {
        let text = r#"{"authority":"TrustSetEditors","controllerAccount":"robot","defaultUpdatePolicy":"InPlace"}"#;
        let expected = Settings {
            authority: Authority::TrustSetEditors,
            controller_account: "robot".to_owned(),
            default_update_policy: UpdatePolicy::InPlace,
        };
        assert_eq!(Settings::read(text), Ok(expected));
    }

    #[test]
    fn all_faults_are_reported_in_one_sentence() {
        let text = r#"{"authority":"Everybody","controllerAccount":1,"defaultUpdatePolicy":"ReCreate","shrink":true}"#;
        let message = "settings: authority: expected RequirePatchOnClaims, TrustSetEditors; \
                       controllerAccount: expected a user name; defaultUpdatePolicy: expected OnClaimDelete, InPlace; shrink: no such setting";
        assert_eq!(Settings::read(text), Err(message.to_owned()));
    }

    #[test]
    fn what_is_no_object_or_has_a_key_twice_is_refused() {
        for text in [
            "[]",
            "1",
            "{",
            r#"{"authority":"TrustSetEditors","authority":"TrustSetEditors"}"#,
        ] {
            assert!(Settings::read(text).is_err(), "{text}");
        }
    }
}
