//! Settings of the policy, with every value.

use claim_rollout::admission::validate_settings;
use serde_json::{Map, Value, json};

use super::choices::Choices;
use super::values::trouble;

/// Every setting of the design with its values, the default first. A setting that this version does not have is left
/// out.
fn known() -> Vec<(&'static str, Vec<Value>)> {
    let words = |words: &[&str]| words.iter().map(|word| json!(word)).collect::<Vec<Value>>();
    vec![
        ("authority", words(&["RequirePatchOnPVCs", "TrustSetEditors"])),
        ("defaultUpdatePolicy", words(&["OnClaimDelete", "InPlace"])),
        ("controllerAccounts", vec![json!(["robot"]), json!(["alice", "robot"])]),
        ("stageOwnedBy", vec![json!([]), json!(["apps/ReplicaSet"])]),
        ("mode", words(&["Stage", "ValidateOnly"])),
        ("allowReCreate", vec![json!(false), json!(true)]),
        ("defaultReplaceSet", words(&["Never", "WhenComplete"])),
        ("metadataOnlyChanges", words(&["Rollout", "Ignore", "Deny"])),
        ("shrink", words(&["Deny", "Recover"])),
        ("immutableFields", words(&["Deny", "NewPVCs"])),
        ("templateChanges", words(&["Deny", "Allow"])),
        (
            "maxStorage",
            vec![json!({"*": "15Gi"}), json!({"fast": "1Ti", "slow": "1Gi"}), json!({})],
        ),
        ("allowedVolumeAttributesClasses", vec![json!(["gold"]), json!([])]),
        ("reservedKeyPrefixes", vec![json!(["example.com/"]), json!([])]),
        ("pvcChecks", words(&["Warn", "Ignore", "Deny"])),
        ("maxPVCLookups", vec![json!(20), json!(1)]),
        ("retention", words(&["Ignore", "Warn", "Deny"])),
        ("ownedSets", words(&["Skip", "Stage"])),
        ("statefulSetControllerAccounts", vec![json!(["alice"]), json!([])]),
    ]
}

/// Settings; rarely with an error.
pub(crate) fn settings(choices: &mut dyn Choices) -> Value {
    if choices.one_in(64) {
        return trouble(choices);
    }
    let known = known();
    let mut settings = Map::new();
    if choices.one_in(2) {
        settings.insert("authority".to_owned(), json!("TrustSetEditors"));
    }
    for _ in 0..choices.below(4) {
        let (name, values) = choices.pick(&known);
        if exists(name, &values[0]) {
            settings.insert((*name).to_owned(), choices.pick(values).clone());
        }
    }
    if choices.one_in(64) {
        let (name, _) = choices.pick(&known);
        settings.insert((*name).to_owned(), trouble(choices));
    }
    Value::Object(settings)
}

/// Whether this version has the setting.
fn exists(name: &str, value: &Value) -> bool {
    let answer = validate_settings(json!({name: value}).to_string().as_bytes());
    answer.starts_with(b"{\"valid\":true")
}
