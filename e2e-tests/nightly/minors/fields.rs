//! What the API server accepts, keeps and drops.

use std::fmt::Display;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::world::namespace::{TestNamespace, text};
use crate::world::web::Web;
use crate::world::{ATTRIBUTES_CLASSES, EXPANDABLE, World};

/// The namespace without claim-rollout.
pub(super) const ALONE: &str = "minors-alone";

const KEPT: &str = "kept";
const DROPPED: &str = "dropped";

/// Whether a field is in the stored object.
fn kept(field: &Value) -> String {
    if field.is_null() { DROPPED } else { KEPT }.to_owned()
}

/// Creates the object of this manifest, and returns it as it is stored.
async fn created(ns: &TestNamespace<'_>, manifest: &impl Display) -> anyhow::Result<Value> {
    let created = ns.done(&["create", "-f", "-", "-o", "json"], manifest).await?;
    Ok(serde_json::from_str(&created.stdout)?)
}

/// A PVC of 1Gi.
pub(super) fn claim(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": EXPANDABLE,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    })
}

/// The path and the kind of the first error, such as `spec: Forbidden`.
fn kind_of_error(stderr: &str) -> anyhow::Result<String> {
    let (_, errors) = stderr.split_once(" is invalid: ").with_context(|| stderr.to_owned())?;
    let words: Vec<&str> = errors.splitn(3, ": ").collect();
    ensure!(words.len() == 3, "{stderr}");
    Ok(words[..2].join(": "))
}

/// `ValidateStatefulSetUpdate` in `pkg/apis/apps/validation/validation.go`.
pub(super) async fn refusal(env: &World) -> anyhow::Result<String> {
    let ns = env.namespace(ALONE).await?;
    ns.target(&Web::replicas(1).plain()).await?;
    let refused = ns
        .kubectl(&["apply", "-f", "-"], &Web::replicas(1).size("2Gi").plain())
        .await?;
    ensure!(!refused.success, "{refused:?}");
    kind_of_error(&refused.stderr)
}

/// `validateVolumeClaimTemplates` there.
pub(super) async fn without_modes(env: &World) -> anyhow::Result<String> {
    let ns = env.namespace("minors-modes").await?;
    let manifest = Web::replicas(0)
        .plain()
        .template(&json!({"spec": {"accessModes": null}}));
    let answer = ns.kubectl(&["create", "-f", "-"], &manifest).await?;
    if answer.success {
        return Ok("accepted".to_owned());
    }
    let kind = kind_of_error(&answer.stderr)?;
    ensure!(
        kind == "spec.volumeClaimTemplates[0].spec.accessModes: Required value",
        "{kind}"
    );
    Ok("refused".to_owned())
}

/// `dropStatefulSetDisabledFields` in `pkg/registry/apps/statefulset/strategy.go`.
pub(super) async fn max_unavailable(env: &World) -> anyhow::Result<String> {
    let ns = env.namespace("minors-unavailable").await?;
    let strategy = json!({"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}});
    let set = created(&ns, &Web::replicas(0).plain().spec(&strategy)).await?;
    Ok(kept(&set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"]))
}

/// `DropDisabledFields` in `pkg/api/persistentvolumeclaim/util.go`.
pub(super) async fn class_name(env: &World) -> anyhow::Result<String> {
    let ns = env.namespace("minors-class").await?;
    let class = ATTRIBUTES_CLASSES[0];
    let mut claim = claim("data");
    claim["spec"]["volumeAttributesClassName"] = class.into();
    let claim = created(&ns, &claim).await?;
    let field = &claim["spec"]["volumeAttributesClassName"];
    ensure!(field.is_null() || text(field) == class, "{claim:#}");
    Ok(kept(field))
}
