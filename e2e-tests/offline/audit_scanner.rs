//! The audit scanner of Kubewarden finds the kind of every rule that we ship.

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::world::document::text;

/// The groups that every API server serves.
const SERVED: [&str; 2] = ["", "apps"];

/// What the scanner cannot find among the rules: it looks up those with CREATE, by group and resource.
fn unknown(rules: &Value) -> anyhow::Result<Vec<Value>> {
    let rules = rules.as_array().context("rules")?;
    let texts = |rule: &Value, key: &str| -> Vec<String> {
        let list = rule[key].as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let is_looked_up = |rule: &&Value| {
        let operations = texts(rule, "operations");
        operations
            .iter()
            .any(|operation| operation == "CREATE" || operation == "*")
    };
    let is_found = |rule: &Value| {
        let is_served = |group: &String| SERVED.contains(&&**group);
        texts(rule, "apiGroups").iter().all(is_served)
            && texts(rule, "resources").iter().all(|resource| !resource.contains('/'))
    };
    let looked_up = rules.iter().filter(is_looked_up);
    Ok(looked_up.filter(|rule| !is_found(rule)).cloned().collect())
}

#[test]
fn audit_scanner_finds_the_kind_of_every_rule() -> anyhow::Result<()> {
    let metadata: Value = serde_saphyr::from_str(&text("policy-metadata.yml")?)?;
    assert_eq!(unknown(&metadata["rules"])?, Vec::<Value>::new(), "the metadata");
    let mut count = 0;
    for file in ["deploy/policy.yaml", "deploy/policy-retention.yaml"] {
        for object in serde_saphyr::from_multiple::<Value>(&text(file)?)? {
            assert_eq!(unknown(&object["spec"]["rules"])?, Vec::<Value>::new(), "{file}");
            count += 1;
        }
    }
    assert_eq!(count, 4);
    let rule = |group: &str, resource: &str, operation: &str| json!([{"apiGroups": [group], "resources": ["pods", resource], "operations": ["UPDATE", operation]}]);
    for (rules, expected) in [
        (rule("apps", "statefulsets", "CREATE"), 0),
        (rule("apps", "statefulsets/status", "CREATE"), 1),
        (rule("apps", "statefulsets/status", "*"), 1),
        (rule("apps", "statefulsets/status", "DELETE"), 0),
        (rule("apps.kruise.io", "statefulsets", "CREATE"), 1),
    ] {
        assert_eq!(unknown(&rules)?.len(), expected, "{rules}");
    }
    Ok(())
}
