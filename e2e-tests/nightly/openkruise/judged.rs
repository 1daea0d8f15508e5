//! Which changes of the templates of an Advanced StatefulSet OpenKruise accepts. What claim-rollout answers to them is in
//! the admission table. All requests are dry runs.

use anyhow::ensure;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use super::manager::{DELETING, ROLLING, advanced};
use crate::world::namespace::PATIENCE;
use crate::world::{DRIVER, EXPANDABLE, FIXED, World, eventually};

/// A namespace in which the policy is not called.
pub(super) const ALONE: &str = "kruise-alone";
/// A class with `allowVolumeExpansion: false`; in [`FIXED`] the field is absent.
const NEVER: &str = "kruise-false";

/// A change of the templates, and a part of the answer; empty if it is accepted.
type TemplateUpdate = (&'static str, fn(&mut Value), &'static str);

/// The templates are `data`, `logs` and `temp`; the volumes of the latter two cannot grow.
const UPDATES: [TemplateUpdate; 10] = [
    ("a larger size", |set| size(set, 0, "2Gi"), ""),
    ("a smaller size", |set| size(set, 0, "512Mi"), ""),
    (
        "a larger size where allowVolumeExpansion is absent",
        |set| size(set, 1, "2Gi"),
        "",
    ),
    (
        "a larger size where allowVolumeExpansion is false",
        |set| size(set, 2, "2Gi"),
        "storage class kruise-false does not support volume expansion",
    ),
    (
        "another StorageClass",
        |set| template(set, 0)["spec"]["storageClassName"] = FIXED.into(),
        "volumeClaimTemplate can not be modified when OnRollingUpdate",
    ),
    (
        "other access modes",
        |set| template(set, 0)["spec"]["accessModes"] = json!(["ReadWriteMany"]),
        "volumeClaimTemplate can not be modified when OnRollingUpdate",
    ),
    (
        "a label",
        |set| template(set, 0)["metadata"]["labels"] = json!({"team": "blue"}),
        "",
    ),
    (
        "a selector",
        |set| template(set, 0)["spec"]["selector"] = json!({"matchLabels": {"disk": "new"}}),
        "",
    ),
    (
        "a template more",
        |set| {
            let mut more = template(set, 0).clone();
            more["metadata"]["name"] = "more".into();
            let templates = set["spec"]["volumeClaimTemplates"].as_array_mut();
            templates.into_iter().for_each(|all| all.push(more.clone()));
        },
        "volumeClaimTemplate can not be added or deleted when OnRollingUpdate",
    ),
    (
        "another name of a template",
        |set| template(set, 0)["metadata"]["name"] = "store".into(),
        "volumeClaimTemplate name can not be modified",
    ),
];

/// The strategy before and after the request.
const STRATEGIES: [[&str; 2]; 4] = [
    [ROLLING, ROLLING],
    [DELETING, ROLLING],
    [ROLLING, DELETING],
    [DELETING, DELETING],
];

fn template(set: &mut Value, index: usize) -> &mut Value {
    &mut set["spec"]["volumeClaimTemplates"][index]
}

fn size(set: &mut Value, index: usize, size: &str) {
    template(set, index)["spec"]["resources"]["requests"]["storage"] = size.into();
}

/// The name of the StatefulSet that has this strategy before the request.
fn name(before: &str) -> String {
    before.to_lowercase()
}

/// Creates a StatefulSet with each strategy, without replicas.
pub(super) async fn prepare(env: &World) -> anyhow::Result<()> {
    let ns = env.namespace(ALONE).await?;
    let class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": NEVER},
        "provisioner": DRIVER, "allowVolumeExpansion": false,
    });
    ns.target(&class).await?;
    for strategy in [ROLLING, DELETING] {
        let set = advanced(&name(strategy), strategy, 0, "1Gi");
        let set = set.class(FIXED).and_template("logs");
        let set = set.class(NEVER).and_template("temp");
        ns.done(&["create", "-f", "-"], &set.class(EXPANDABLE)).await?;
    }
    Ok(())
}

/// The answer to a change of the StatefulSet: empty if it is accepted.
async fn answer(sets: &Api<DynamicObject>, name: &str, edit: impl Fn(&mut Value)) -> anyhow::Result<String> {
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let answered = eventually("no other write at the same time", PATIENCE, async || {
        let mut set = serde_json::to_value(sets.get(name).await?)?;
        edit(&mut set);
        match sets.replace(name, &params, &serde_json::from_value(set)?).await {
            Ok(_) => Ok(Some(String::new())),
            Err(kube::Error::Api(status)) if status.reason == "Conflict" => Ok(None),
            Err(kube::Error::Api(status)) => Ok(Some(status.message)),
            Err(error) => Err(error.into()),
        }
    });
    answered.await
}

/// Every change under every strategy, with or without the feature gate of OpenKruise.
pub(super) async fn updates(env: &World, gate: bool) -> anyhow::Result<()> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1beta1", "StatefulSet"));
    let sets: Api<DynamicObject> = Api::namespaced_with(env.client.clone(), ALONE, &kind);
    let mut faults = Vec::new();
    for (change, edit, denied) in UPDATES {
        for [before, after] in STRATEGIES {
            let change_both = |set: &mut Value| {
                edit(set);
                set["spec"]["volumeClaimUpdateStrategy"]["type"] = after.into();
            };
            let found = answer(&sets, &name(before), change_both).await?;
            println!("{change}, {before} to {after}: {found:?}");
            // It goes by the strategy before the request.
            let expected = if gate && before == ROLLING { denied } else { "" };
            let is_as_expected = match expected {
                "" => found.is_empty(),
                _ => found.contains("\"vstatefulset.kb.io\" denied the request: ") && found.contains(expected),
            };
            if !is_as_expected {
                faults.push(format!(
                    "{change}, {before} to {after}: expected {expected:?}, but found {found:?}"
                ));
            }
        }
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

pub(super) async fn updates_with_the_gate(env: &World) -> anyhow::Result<()> {
    updates(env, true).await
}
