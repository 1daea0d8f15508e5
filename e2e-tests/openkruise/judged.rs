//! Which changes of the templates OpenKruise accepts, and which claim-rollout does: of an Advanced StatefulSet, and of
//! an `apps/v1` StatefulSet with the same change. All requests are dry runs.

use anyhow::ensure;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use super::manager::{DELETING, ROLLING, advanced};
use crate::cluster::{FIXED, eventually};
use crate::environment::Environment;
use crate::scenarios::namespace::{PATIENCE, manifest};

/// A namespace in which the policy is not called.
pub(super) const ALONE: &str = "kruise-alone";
/// A namespace with both.
const TOGETHER: &str = "kruise-judged";
/// What OpenKruise's answer begins with.
const KRUISE: &str = "admission webhook \"vstatefulset.kb.io\" denied the request: ";

/// A change of the templates, a part of OpenKruise's answer, and of that of claim-rollout; empty if it is accepted.
struct Row {
    change: &'static str,
    edit: fn(&mut Value),
    kruise: &'static str,
    ours: &'static str,
}

/// The templates are `data` and `logs`, the latter in a class whose volumes cannot grow.
const UPDATES: &[Row] = &[
    Row {
        change: "a larger size",
        edit: |set| size(set, 0, "2Gi"),
        kruise: "",
        ours: "",
    },
    Row {
        change: "a smaller size",
        edit: |set| size(set, 0, "512Mi"),
        kruise: "",
        ours: "cannot shrink, expected at least 1Gi, but found 512Mi",
    },
    Row {
        change: "a larger size in a class without expansion",
        edit: |set| size(set, 1, "2Gi"),
        kruise: "storage class fixed does not support volume expansion",
        ours: "",
    },
    Row {
        change: "another StorageClass",
        edit: |set| *template(set, 0, "/spec/storageClassName") = json!(FIXED),
        kruise: "volumeClaimTemplate can not be modified when OnRollingUpdate",
        ours: "spec.storageClassName: cannot change",
    },
    Row {
        change: "other access modes",
        edit: |set| *template(set, 0, "/spec/accessModes") = json!(["ReadWriteMany"]),
        kruise: "volumeClaimTemplate can not be modified when OnRollingUpdate",
        ours: "spec.accessModes: cannot change",
    },
    Row {
        change: "a label",
        edit: |set| *template(set, 0, "/metadata/labels") = json!({"team": "blue"}),
        kruise: "",
        ours: "",
    },
    Row {
        change: "a selector",
        edit: |set| *template(set, 0, "/spec/selector") = json!({"matchLabels": {"disk": "new"}}),
        kruise: "",
        ours: "spec.selector: cannot change",
    },
    Row {
        change: "a template more",
        edit: |set| {
            let mut more = template(set, 0, "").clone();
            more["metadata"]["name"] = "more".into();
            templates(set).push(more);
        },
        kruise: "volumeClaimTemplate can not be added or deleted when OnRollingUpdate",
        ours: "[more]: a template cannot be added",
    },
    Row {
        change: "another name of a template",
        edit: |set| *template(set, 0, "/metadata/name") = "store".into(),
        kruise: "volumeClaimTemplate name can not be modified",
        ours: "[data]: a template cannot be removed or renamed",
    },
];

/// The strategy before and after the request.
const STRATEGIES: [[&str; 2]; 4] = [
    [ROLLING, ROLLING],
    [DELETING, ROLLING],
    [ROLLING, DELETING],
    [DELETING, DELETING],
];

fn templates(set: &mut Value) -> &mut Vec<Value> {
    match &mut set["spec"]["volumeClaimTemplates"] {
        Value::Array(templates) => templates,
        other => panic!("{other}"),
    }
}

fn template<'a>(set: &'a mut Value, index: usize, pointer: &str) -> &'a mut Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
    let template = &mut templates(set)[index];
    if key.is_empty() {
        return template;
    }
    &mut template.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}"))[key]
}

fn size(set: &mut Value, index: usize, size: &str) {
    template(set, index, "/spec/resources")["requests"]["storage"] = size.into();
}

fn kind(group: &str, version: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, "StatefulSet"))
}

fn api(env: &Environment, namespace: &str, resource: &ApiResource) -> Api<DynamicObject> {
    Api::namespaced_with(env.client.clone(), namespace, resource)
}

/// The name of the StatefulSet that has this strategy before the request.
fn name(before: &str) -> String {
    before.to_lowercase()
}

/// The same policy as annotation, for `apps/v1`.
fn policy(strategy: &str) -> &'static str {
    if strategy == ROLLING {
        "InPlace"
    } else {
        "OnClaimDelete"
    }
}

/// Creates a StatefulSet of each kind with each strategy, without replicas.
pub(super) async fn prepare(env: &Environment) -> anyhow::Result<()> {
    let class = |class: &str| {
        format!(
            "  - metadata: {{name: logs}}
    spec: {{accessModes: [ReadWriteOnce], storageClassName: {class}, resources: {{requests: {{storage: 1Gi}}}}}}
"
        )
    };
    let logs = class(FIXED);
    for namespace in [ALONE, TOGETHER] {
        env.cluster.done(&["create", "namespace", namespace], "").await?;
        for strategy in [ROLLING, DELETING] {
            let name = name(strategy);
            let plain = manifest(0, "1Gi").replacen("name: web", &format!("name: {name}"), 1);
            let plain = plain.replace("InPlace", policy(strategy));
            for set in [advanced(&name, strategy, 0, "1Gi"), plain] {
                let create = ["create", "-n", namespace, "-f", "-"];
                env.cluster.done(&create, &format!("{set}{logs}")).await?;
            }
        }
    }
    Ok(())
}

/// The answer to a change of the StatefulSet: empty if it is accepted.
async fn answer(sets: &Api<DynamicObject>, name: &str, edit: impl Fn(&mut Value)) -> anyhow::Result<String> {
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let answered = eventually("no other write at the same time", PATIENCE, async || {
        let mut set = serde_json::to_value(sets.get(name).await?)?;
        edit(&mut set);
        match sets.replace(name, &dry_run, &serde_json::from_value(set)?).await {
            Ok(_) => Ok(Some(String::new())),
            Err(kube::Error::Api(status)) if status.reason == "Conflict" => Ok(None),
            Err(kube::Error::Api(status)) => Ok(Some(status.message)),
            Err(error) => Err(error.into()),
        }
    });
    answered.await
}

/// Every change under every strategy, with or without the feature gate of OpenKruise.
pub(super) async fn all(env: &Environment, gate: bool) -> anyhow::Result<()> {
    let (kruise, apps) = (kind("apps.kruise.io", "v1beta1"), kind("apps", "v1"));
    let [alone, together, plain] =
        [(ALONE, &kruise), (TOGETHER, &kruise), (TOGETHER, &apps)].map(|(namespace, kind)| api(env, namespace, kind));
    let mut faults = Vec::new();
    for row in UPDATES {
        for [before, after] in STRATEGIES {
            let name = name(before);
            let edit = |set: &mut Value| {
                (row.edit)(set);
                if set["apiVersion"] == "apps/v1" {
                    set["metadata"]["annotations"]["claim-rollout.io/update-policy"] = policy(after).into();
                } else {
                    set["spec"]["volumeClaimUpdateStrategy"]["type"] = after.into();
                }
            };
            // OpenKruise goes by the strategy before the request, claim-rollout by both.
            let kruise = if gate && before == ROLLING { row.kruise } else { "" };
            let ours = if [before, after].contains(&ROLLING) {
                row.ours
            } else {
                ""
            };
            for (column, sets, expected) in [
                ("OpenKruise", &alone, (KRUISE, kruise)),
                (
                    "both",
                    &together,
                    if ours.is_empty() { (KRUISE, kruise) } else { ("", ours) },
                ),
                ("apps/v1", &plain, ("", row.ours)),
            ] {
                let found = answer(sets, &name, edit).await?;
                println!("{column}, {}, {before} to {after}: {found}", row.change);
                let (from, expected) = expected;
                let is_it = match expected {
                    "" => found.is_empty(),
                    _ => {
                        found.starts_with(from)
                            && found.contains(expected)
                            && (from == KRUISE || !found.starts_with(KRUISE))
                    }
                };
                if !is_it {
                    faults.push(format!(
                        "{column}, {}, {before} to {after}: expected {from}{expected}, but found {found}",
                        row.change
                    ));
                }
            }
        }
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}
