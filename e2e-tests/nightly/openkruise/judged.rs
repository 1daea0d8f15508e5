//! Which changes of the templates OpenKruise accepts, and which claim-rollout does: of an Advanced StatefulSet, and of
//! an `apps/v1` StatefulSet with the same change. All requests are dry runs.

use anyhow::ensure;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use super::manager::{DELETING, ROLLING, advanced};
use crate::world::namespace::PATIENCE;
use crate::world::web::Web;
use crate::world::{DRIVER, EXPANDABLE, FIXED, World, eventually};

/// A namespace in which the policy is not called.
pub(super) const ALONE: &str = "kruise-alone";
/// A class with `allowVolumeExpansion: false`; in [`FIXED`] the field is absent.
const NEVER: &str = "kruise-false";
/// A namespace with both.
const TOGETHER: &str = "kruise-judged";
/// Who denies a request.
const OPENKRUISE: &str = "OpenKruise";
const CLAIM_ROLLOUT: &str = "claim-rollout";
const API_SERVER: &str = "API server";
/// The columns of each row.
const COLUMNS: [&str; 3] = [
    "OpenKruise",
    "OpenKruise with claim-rollout",
    "apps/v1 with claim-rollout",
];

/// A change of the templates, a part of OpenKruise's answer, and of that of claim-rollout; empty if it is accepted.
struct TemplateUpdate {
    change: &'static str,
    edit: fn(&mut Value),
    kruise: &'static str,
    ours: &'static str,
}

/// The templates are `data`, `logs` and `temp`; the volumes of the latter two cannot grow.
const UPDATES: &[TemplateUpdate] = &[
    TemplateUpdate {
        change: "a larger size",
        edit: |set| size(set, 0, "2Gi"),
        kruise: "",
        ours: "",
    },
    TemplateUpdate {
        change: "a smaller size",
        edit: |set| size(set, 0, "512Mi"),
        kruise: "",
        ours: "cannot shrink, expected at least 1Gi, but found 512Mi",
    },
    // claim-rollout warns of PVCs that cannot grow, and denies it with `pvcChecks: Deny`. These have no PVC.
    TemplateUpdate {
        change: "a larger size where allowVolumeExpansion is absent",
        edit: |set| size(set, 1, "2Gi"),
        kruise: "",
        ours: "",
    },
    TemplateUpdate {
        change: "a larger size where allowVolumeExpansion is false",
        edit: |set| size(set, 2, "2Gi"),
        kruise: "storage class kruise-false does not support volume expansion",
        ours: "",
    },
    TemplateUpdate {
        change: "another StorageClass",
        edit: |set| *template(set, 0, "/spec/storageClassName") = json!(FIXED),
        kruise: "volumeClaimTemplate can not be modified when OnRollingUpdate",
        ours: "spec.storageClassName: cannot change",
    },
    TemplateUpdate {
        change: "other access modes",
        edit: |set| *template(set, 0, "/spec/accessModes") = json!(["ReadWriteMany"]),
        kruise: "volumeClaimTemplate can not be modified when OnRollingUpdate",
        ours: "spec.accessModes: cannot change",
    },
    TemplateUpdate {
        change: "a label",
        edit: |set| *template(set, 0, "/metadata/labels") = json!({"team": "blue"}),
        kruise: "",
        ours: "",
    },
    TemplateUpdate {
        change: "a selector",
        edit: |set| *template(set, 0, "/spec/selector") = json!({"matchLabels": {"disk": "new"}}),
        kruise: "",
        ours: "spec.selector: cannot change",
    },
    TemplateUpdate {
        change: "a template more",
        edit: |set| {
            let mut more = template(set, 0, "").clone();
            more["metadata"]["name"] = "more".into();
            templates(set).push(more);
        },
        kruise: "volumeClaimTemplate can not be added or deleted when OnRollingUpdate",
        ours: "[more]: a template cannot be added",
    },
    TemplateUpdate {
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
pub(super) async fn prepare(env: &World) -> anyhow::Result<()> {
    let class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": NEVER},
        "provisioner": DRIVER, "allowVolumeExpansion": false,
    });
    env.cluster.done(&["create", "-f", "-"], &class.to_string()).await?;
    let with_others = |web: &Web| {
        let web = web.class(FIXED).and_template("logs");
        let web = web.class(NEVER).and_template("temp");
        web.class(EXPANDABLE)
    };
    for namespace in [ALONE, TOGETHER] {
        env.cluster.done(&["create", "namespace", namespace], "").await?;
        for strategy in [ROLLING, DELETING] {
            let name = name(strategy);
            let plain = Web::replicas(0).named(&name).policy(policy(strategy));
            for set in [advanced(&name, strategy, 0, "1Gi"), plain] {
                let create = ["create", "-n", namespace, "-f", "-"];
                env.cluster.done(&create, &with_others(&set).to_string()).await?;
            }
        }
    }
    Ok(())
}

/// The answer to a change of the StatefulSet: empty if it is accepted.
async fn answer(sets: &Api<DynamicObject>, name: &str, edit: impl Fn(&mut Value)) -> anyhow::Result<String> {
    let answered = eventually("no other write at the same time", PATIENCE, async || {
        let mut set = serde_json::to_value(sets.get(name).await?)?;
        edit(&mut set);
        let replaced = sets.replace(name, &dry_run(), &serde_json::from_value(set)?).await;
        text(replaced)
    });
    answered.await
}

/// The answer as text, unless it lost a race.
fn text(answer: kube::Result<DynamicObject>) -> anyhow::Result<Option<String>> {
    match answer {
        Ok(_) => Ok(Some(String::new())),
        Err(kube::Error::Api(status)) if status.reason == "Conflict" => Ok(None),
        Err(kube::Error::Api(status)) => Ok(Some(status.message)),
        Err(error) => Err(error.into()),
    }
}

fn dry_run() -> PostParams {
    PostParams {
        dry_run: true,
        ..PostParams::default()
    }
}

/// Who denies a request with this answer.
fn who(answer: &str) -> &'static str {
    match answer {
        "" => "",
        _ if answer.contains("\"vstatefulset.kb.io\" denied the request: ") => OPENKRUISE,
        _ if answer.contains(" denied the request: claim-rollout: ") => CLAIM_ROLLOUT,
        _ => API_SERVER,
    }
}

/// The answers of one row, which are printed and compared.
#[derive(Default)]
struct Judgments {
    faults: Vec<String>,
}

impl Judgments {
    /// Each answer of [`COLUMNS`] with who is expected to deny the request, and a part of the message.
    fn add(&mut self, row: &str, answers: [(String, (&str, &str)); 3]) {
        let denied = answers.each_ref().map(|(found, _)| who(found));
        println!("{row:<90} {:<14} {:<14} {}", denied[0], denied[1], denied[2]);
        for (column, (found, (by, part))) in COLUMNS.into_iter().zip(answers) {
            if (who(&found), found.contains(part)) != (by, true) {
                let fault = format!("{row}, {column}: expected {by:?} to deny it with {part:?}, but found {found:?}");
                self.faults.push(fault);
            }
        }
    }

    fn end(self) -> anyhow::Result<()> {
        ensure!(self.faults.is_empty(), "{}", self.faults.join("\n"));
        Ok(())
    }
}

/// The expectation for a message of one of them; none if the request is accepted.
fn by(who: &'static str, message: &'static str) -> (&'static str, &'static str) {
    if message.is_empty() { ("", "") } else { (who, message) }
}

/// An Advanced StatefulSet without claim-rollout, one with it, and an `apps/v1` StatefulSet with it.
fn columns(env: &World) -> [Api<DynamicObject>; 3] {
    let (kruise, apps) = (kind("apps.kruise.io", "v1beta1"), kind("apps", "v1"));
    [(ALONE, &kruise), (TOGETHER, &kruise), (TOGETHER, &apps)]
        .map(|(namespace, kind)| Api::namespaced_with(env.client.clone(), namespace, kind))
}

/// Every change under every strategy, with or without the feature gate of OpenKruise.
pub(super) async fn updates(env: &World, gate: bool) -> anyhow::Result<()> {
    let [alone, together, plain] = columns(env);
    let mut answers = Judgments::default();
    for row in UPDATES {
        for [before, after] in STRATEGIES {
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
            let kruise = by(OPENKRUISE, kruise);
            let both = if ours.is_empty() { kruise } else { (CLAIM_ROLLOUT, ours) };
            let name = name(before);
            let found = [
                (answer(&alone, &name, edit).await?, kruise),
                (answer(&together, &name, edit).await?, both),
                (answer(&plain, &name, edit).await?, by(CLAIM_ROLLOUT, row.ours)),
            ];
            answers.add(&format!("{}, {before} to {after}", row.change), found);
        }
    }
    answers.end()
}

pub(super) async fn updates_with_the_gate(env: &World) -> anyhow::Result<()> {
    updates(env, true).await
}
