//! Every value of every setting, and the messages for invalid ones.

use claim_rollout::admission::settings::NAMES;
use claim_rollout::admission;
use serde_json::{Value, json};

use super::case::{Case, update};
use super::objects::web;

/// The values of a setting, as the policy lists them; none if it takes any value.
pub(super) fn positions(setting: &str) -> Vec<String> {
    let answer = admission::validate_settings(json!({setting: "?"}).to_string().as_bytes());
    let answer: Value = serde_json::from_slice(&answer).expect("an answer");
    let message = answer["message"].as_str().unwrap_or_default();
    let message = message.split_once(", but found").map_or(message, |(expected, _)| expected);
    let words = message.split_once("expected one of ").map(|(_, words)| words.split(", ").map(str::to_owned).collect());
    let is_bool = message.contains("expected true or false");
    words.unwrap_or_else(|| if is_bool { vec!["true".to_owned(), "false".to_owned()] } else { Vec::new() })
}

/// A setting, values that it does not take, and the message.
const WRONG: [(&str, &[&str], &str); 19] = [
    ("mode", &["\"divert\"", "null"], "expected one of Stage, ValidateOnly"),
    ("defaultUpdatePolicy", &["\"ReCreate\"", "\"OnDelete\""], "expected one of OnClaimDelete, InPlace"),
    ("defaultReplaceSet", &["\"Always\"", "true"], "expected one of Never, WhenComplete"),
    ("allowReCreate", &["\"true\"", "1"], "expected true or false"),
    ("metadataOnlyChanges", &["\"Refuse\""], "expected one of Rollout, Ignore, Deny"), // words: allowed
    ("shrink", &["true"], "expected one of Deny, Recover, Keep"),
    ("immutableFields", &["\"All\""], "expected one of Deny, NewPVCs"),
    ("templateChanges", &["true"], "expected one of Deny, Allow"),
    ("maxStorage", &["\"1Ti\"", "{\"*\":\"x\"}", "{\"*\":\"0\"}", "{\"*\":\"8Ei\"}", "{\"*\":1}", "{\"\":\"1Ti\"}", "{\"a\":\"1Ti\",\"a\":\"1Ti\"}"], "expected a size by storage class"),
    ("allowedVolumeAttributesClasses", &["\"gold\"", "[\"\"]"], "expected a list of names"),
    ("reservedKeyPrefixes", &["[\"example.com\"]", "[\"/\"]", "[\"a/b/\"]"], "expected a list of domains with a slash at the end"),
    ("authority", &["\"Anybody\""], "expected one of RequirePatchOnPVCs, TrustSetEditors"),
    ("pvcChecks", &["\"On\""], "expected one of Warn, Ignore, Deny"),
    ("maxPVCLookups", &["0", "1001", "1.5"], "expected a whole number from 1 to 1000"),
    ("retention", &["\"Refuse\""], "expected one of Ignore, Warn, Deny"), // words: allowed
    ("ownedSets", &["\"Divert\""], "expected one of Skip, Stage"),
    ("stageOwnedBy", &["[\"Prometheus\"]", "[\"a/b/C\"]"], "expected a list of kinds"),
    ("controllerAccounts", &["\"robot\"", "[]"], "expected a list of user names"),
    ("statefulSetControllerAccounts", &["\"ssc\"", "[1]"], "expected a list of user names"),
];

/// An invalid setting denies the request: the intention of its author is unknown.
pub(super) fn cases() -> Vec<Case> {
    let edit = |sentence: String| update("U0", sentence, &web(), &web().image("2"));
    let with = |sentence: &str, settings: &str| {
        let case = edit(sentence.to_owned());
        let payload = format!("{{\"settings\":{settings},\"request\":{}}}", case.request);
        case.payload(payload)
    };
    let mut cases: Vec<Case> = WRONG
        .iter()
        .flat_map(|(name, values, expected)| values.iter().map(move |value| (name, value, expected)))
        .map(|(name, value, expected)| {
            let fault = format!("deny 400 \"claim-rollout: settings: {name}: {expected}\"");
            with(&format!("the setting {name}: {value}"), &format!("{{\"{name}\":{value}}}")).expects(fault)
        })
        .collect();
    cases.extend([
        with("no settings", "{}").expects("pass"),
        with("settings that are null", "null").expects("pass"),
        with("settings that are a list", "[]").expects("deny 400 \"settings: expected a JSON object without duplicate keys\""),
        with("a setting is duplicated", "{\"mode\":\"Stage\",\"mode\":\"Stage\"}")
            .expects("deny 400 \"settings: expected a JSON object without duplicate keys\""),
        with("an unknown setting", "{\"modes\":1}").expects("deny 400 \"settings: modes: no such setting\""),
        with("everything is wrong at once", "{\"mode\":1,\"shrink\":2,\"x\":3}").expects(
            "deny 400 \"settings: mode: expected one of Stage, ValidateOnly, but found 1; shrink: expected one of Deny, Recover, Keep, but found 2; x: no such setting\"",
        ),
        edit("settings are left out".to_owned()).respelt(|text| text.replacen("\"settings\"", "\"x\"", 1)).expects("pass"),
    ]);
    assert!(NAMES.iter().all(|name| WRONG.iter().any(|(wrong, ..)| wrong == name)), "every setting has a wrong value");
    cases
}
