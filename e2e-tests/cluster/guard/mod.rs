//! The guard of `deploy/guard` on a real API server: for each of its rules, requests that are allowed and requests that
//! are denied.

mod guarded;
// A row is a line.
#[rustfmt::skip]
mod table;


use anyhow::ensure;
use serde_json::Value;

use crate::world::installation::USER;
use crate::world::until;
use guarded::{GUARDED, Guarded};
use table::Who;

/// The warnings of the API server about the types in the expressions.
async fn expressions_have_no_type_warning(env: &Guarded) -> anyhow::Result<()> {
    let get = ["get", "validatingadmissionpolicies", "-o", "json"];
    let read = async || {
        let policies: Value = serde_json::from_str(&env.done(&get, "").await?.stdout)?;
        ensure!(policies["items"].as_array().map(Vec::len) == Some(5), "{policies:#}");
        Ok(policies)
    };
    let are_checked = |policies: &Value| {
        let mut items = policies["items"].as_array().into_iter().flatten();
        items.all(|policy| policy["status"]["observedGeneration"] == policy["metadata"]["generation"])
    };
    let last = until("the types to be checked", read, are_checked).await?;
    for policy in last["items"].as_array().into_iter().flatten() {
        let warnings = &policy["status"]["typeChecking"]["expressionWarnings"];
        ensure!(warnings.is_null(), "{}: {warnings:#}", policy["metadata"]["name"]);
    }
    Ok(())
}

/// Every denial has the code 403: on other codes, clients delete and re-create a StatefulSet.
async fn every_denial_is_403(env: &Guarded, denials: usize) -> anyhow::Result<()> {
    let asked = ["admin", "alice", "bob", "mallory", USER];
    let mut entries = env.world.cluster.audit().await?;
    entries.retain(|entry| entry.namespace == GUARDED && asked.contains(&entry.user.as_str()));
    entries.retain(|entry| !entry.dry_run() && entry.code >= 300);
    let answers: Vec<u16> = entries.iter().map(|entry| entry.code).collect();
    ensure!(answers == vec![403; denials], "{answers:?}");
    Ok(())
}

/// Keys of ours on other kinds, and the finalizer.
const ELSEWHERE: [&str; 10] = [
    "revision",
    "by",
    "manager",
    "modified",
    "recreated-for",
    "of-set",
    "of-claim",
    "rollout-uid",
    "retry",
    "replacing",
];

/// The annotations of ours on a StatefulSet, without their prefix.
fn keys() -> impl Iterator<Item = &'static str> {
    let keys = include_str!("../../../src/templates/keys.rs").lines();
    let keys = keys.filter_map(|line| line.split_once(": &str = \"claim-rollout.io/")?.1.strip_suffix("\";"));
    keys.filter(|key| !key.is_empty() && !ELSEWHERE.contains(key))
}

#[test]
fn status_guard_names_every_annotation_of_ours() {
    let guard = include_str!("../../../deploy/guard/staged.yaml");
    let [named, unnamed]: [Vec<&str>; 2] = keys().partition(|key| guard.contains(&format!("'{key}'"))).into();
    assert!(named.len() > 5 && unnamed.is_empty(), "{named:?} {unnamed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn guard_on_real_api_server_matches_the_table() -> anyhow::Result<()> {
    let env = Guarded::build().await?;
    expressions_have_no_type_warning(&env).await?;
    let before = env.stored().await?;
    let mut rows: Vec<_> = [table::STAGED, table::OURS, table::CREATING, table::CONTROLLER].concat();
    if env.world.cluster.minor() >= 37 {
        rows.extend(table::SINCE_37);
    }
    // Through the status, none of them can be written.
    let through_status: Vec<String> = keys()
        .map(|key| {
            let patch = format!(r#"{{"metadata":{{"annotations":{{"claim-rollout.io/{key}":"true"}}}}}}"#);
            format!("patch statefulset/plain --subresource=status --type=merge -p {patch}")
        })
        .collect();
    rows.extend(through_status.iter().map(|typed| (Who::Alice, &**typed, table::STATUS)));
    let mut wrong = Vec::new();
    for row in &rows {
        wrong.extend(env.run(row).await.err().map(|error| error.to_string()));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    let denials = rows.iter().filter(|(.., expected)| !expected.is_empty()).count();
    every_denial_is_403(&env, denials).await?;
    ensure!(env.stored().await? == before, "something was written");
    env.world.stop().await
}
