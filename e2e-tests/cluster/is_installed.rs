//! The policy objects of `deploy/`, and the rights of the policy-server.

use anyhow::Context as _;
use serde_json::Value;

use crate::world::policy_host::{Shipped, documents};

/// The policy objects.
fn shipped() -> anyhow::Result<[Shipped; 4]> {
    Ok([
        Shipped::sets()?,
        Shipped::claims()?,
        Shipped::pods()?,
        Shipped::retention()?,
    ])
}

/// The content of policy-metadata.yml.
fn metadata() -> anyhow::Result<Value> {
    Ok(serde_saphyr::from_str(include_str!("../../policy-metadata.yml"))?)
}

/// The texts of a list.
fn texts(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Group, version, resource and operation of every rule.
fn rules(of: &Value) -> Vec<[String; 4]> {
    let mut all = Vec::new();
    for rule in of["rules"].as_array().into_iter().flatten() {
        for group in texts(&rule["apiGroups"]) {
            for version in texts(&rule["apiVersions"]) {
                for resource in texts(&rule["resources"]) {
                    let operations = texts(&rule["operations"]);
                    all.extend(
                        operations
                            .iter()
                            .map(|on| [group, version, resource, on].map(str::to_owned)),
                    );
                }
            }
        }
    }
    all.sort();
    all
}

#[test]
fn module_metadata_equals_first_policy_object() -> anyhow::Result<()> {
    let [first, ..] = shipped()?;
    let (mut asked, mut documented) = (rules(&first.spec), rules(&metadata()?));
    asked.sort();
    documented.sort();
    assert_eq!(asked, documented);
    Ok(())
}

#[test]
fn only_the_intended_objects_fail_closed_or_mutate() -> anyhow::Result<()> {
    let table = shipped()?.map(|Shipped { name, spec }| {
        let text = |key: &str| spec[key].to_string().replace('"', "");
        let conditions = spec["matchConditions"].as_array().map_or(0, Vec::len);
        let [fails, mutating, audit] = ["failurePolicy", "mutating", "backgroundAudit"].map(text);
        (name, fails, mutating, audit, conditions > 0)
    });
    let row = |name: &str, fails: &str, mutating: &str| {
        (
            name.to_owned(),
            fails.to_owned(),
            mutating.to_owned(),
            "false".to_owned(),
            true,
        )
    };
    assert_eq!(
        table,
        [
            row("claim-rollout", "Fail", "true"),
            row("claim-rollout-claims", "Ignore", "true"),
            row("claim-rollout-pods", "Ignore", "false"),
            row("claim-rollout-retention", "Ignore", "false"),
        ]
    );
    Ok(())
}

/// The plural of a kind.
fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    if kind.ends_with("ss") {
        format!("{kind}es")
    } else {
        format!("{kind}s")
    }
}

#[test]
fn policy_server_rights_are_exactly_the_context_aware_resources() -> anyhow::Result<()> {
    let mut needed: Vec<String> = Vec::new();
    let metadata = metadata()?;
    for policy in shipped()? {
        for resource in policy.spec["contextAwareResources"].as_array().context("a list")? {
            let known = metadata["contextAwareResources"].as_array().context("a list")?;
            assert!(
                known.contains(resource),
                "{}: {resource} is not in the metadata",
                policy.name
            );
            let version = resource["apiVersion"].as_str().context("a version")?;
            let group = version.split_once('/').map_or("", |(group, _)| group);
            let kind = resource["kind"].as_str().context("a kind")?;
            needed.push(format!("{group}/{}: get", plural(kind)));
        }
    }
    needed.push("authorization.k8s.io/subjectaccessreviews: create".to_owned());
    needed.sort();
    needed.dedup();
    let objects = documents("policy-server-rbac.yaml")?;
    let mut granted = Vec::new();
    for rule in objects[0]["rules"].as_array().context("rules")? {
        for group in texts(&rule["apiGroups"]) {
            let resources = texts(&rule["resources"]).into_iter();
            granted.extend(resources.map(|it| format!("{group}/{it}: {}", texts(&rule["verbs"]).join(", "))));
        }
    }
    granted.sort();
    assert_eq!(granted, needed);
    Ok(())
}
