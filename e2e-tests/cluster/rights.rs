//! The rights that `deploy/` gives to an account, compared with the requests of the account.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::world::namespace::text;
use crate::world::policy_host::documents;
use crate::world::{Cluster, Entry, PATIENCE, eventually};

/// Verb and resource of everything that the rules of a role allow.
fn allowed(role: &Value) -> BTreeSet<String> {
    let texts =
        |rule: &Value, key: &str| -> Vec<String> { rule[key].as_array().into_iter().flatten().map(text).collect() };
    let mut allowed = BTreeSet::new();
    for rule in role["rules"].as_array().into_iter().flatten() {
        for group in texts(rule, "apiGroups") {
            for resource in texts(rule, "resources") {
                let verbs = texts(rule, "verbs");
                allowed.extend(verbs.iter().map(|verb| format!("{verb} {group}/{resource}")));
            }
        }
    }
    allowed
}

/// All rights of this account in these files of `deploy/`.
fn granted(files: &[&str], account: &str) -> anyhow::Result<BTreeSet<String>> {
    let mut objects = Vec::new();
    for file in files {
        objects.extend(documents(file)?);
    }
    let bound = objects.iter().filter(|object| {
        let subjects = object["subjects"].as_array();
        subjects.is_some_and(|subjects| subjects.iter().any(|subject| subject["name"] == account))
    });
    let mut granted = BTreeSet::new();
    for binding in bound {
        let reference = &binding["roleRef"];
        let mut roles = objects.iter();
        let role =
            roles.find(|role| role["kind"] == reference["kind"] && role["metadata"]["name"] == reference["name"]);
        granted.extend(allowed(role.with_context(|| format!("expected {reference}"))?));
    }
    Ok(granted)
}

/// Verb and resource of a request.
fn right(entry: &Entry) -> String {
    let resource = match entry.subresource.as_str() {
        "" => entry.resource.clone(),
        subresource => format!("{}/{subresource}", entry.resource),
    };
    format!("{} {}/{resource}", entry.verb, entry.group)
}

/// Checks that the account used all of its rights by now, and no others. `unseen` are rights that no request shows,
/// each with the reason.
pub(crate) async fn granted_rights_are_the_used_rights(
    cluster: &Cluster,
    files: &[&str],
    account: &str,
    unseen: &[(&str, &str)],
) -> anyhow::Result<()> {
    let user = format!("system:serviceaccount:claim-rollout:{account}");
    let unseen: BTreeSet<&str> = unseen.iter().map(|(right, _)| *right).collect();
    let granted = granted(files, account)?.into_iter();
    let expected: BTreeSet<String> = granted.filter(|right| !unseen.contains(right.as_str())).collect();
    let mut used = BTreeSet::new();
    let same = eventually("the used rights to equal the granted rights", PATIENCE, async || {
        let requests = cluster.requests().await?;
        let ours = requests.iter().filter(|entry| entry.user == user);
        // Everybody may ask about the own rights (ClusterRole system:basic-user).
        let is_of_all = |entry: &&Entry| entry.resource.is_empty() || entry.resource.starts_with("selfsubject");
        let ours = ours.filter(|entry| !is_of_all(entry));
        used.clear();
        for entry in ours {
            let right = right(entry);
            // An API server that has just started denies for a moment what its rules allow.
            ensure!(
                !entry.forbidden || expected.contains(&right),
                "it has no right to {entry:?}"
            );
            if !entry.forbidden {
                used.insert(right);
            }
        }
        Ok((used == expected).then_some(()))
    });
    same.await.with_context(|| {
        let unused: Vec<_> = expected.difference(&used).collect();
        let ungiven: Vec<_> = used.difference(&expected).collect();
        format!("given but not used: {unused:?}; used but not given: {ungiven:?}")
    })
}

/// No installation replaces a StatefulSet unless its administrator asked for that.
#[test]
fn rights_to_replace_are_in_their_own_file_only() -> anyhow::Result<()> {
    let (base, replacing) = (&["controller/rbac.yaml"][..], &["replace-sets.yaml"][..]);
    let of = |files| granted(files, crate::world::installation::ACCOUNT);
    let expected = ["create", "delete", "get", "update"].map(|verb| format!("{verb} apps/statefulsets"));
    let secrets = ["create", "delete", "get", "list", "update"].map(|verb| format!("{verb} /secrets"));
    let report = ["get claim-rollout.io/claimrollouts".to_owned()];
    let expected: BTreeSet<String> = expected.into_iter().chain(secrets).chain(report).collect();
    assert_eq!(of(replacing)?, expected);
    assert!(of(base)?.is_disjoint(&expected));
    let kustomization = include_str!("../../deploy/kustomization.yaml");
    assert!(!kustomization.contains("replace-sets"), "{kustomization}");
    Ok(())
}
