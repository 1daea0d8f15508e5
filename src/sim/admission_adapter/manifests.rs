//! JSON of the objects of the model, and the set that the policy returns.

use serde_json::{Value, json};

use crate::claims::Manager;
use crate::sim::names::{self, Names, SET};
use crate::sim::objects::{
    ClaimObject, ClaimOwner, ModelTarget, ModifyState, ResizeState, SetObjectSpec, StagedAnnotation, Uid,
};
use crate::templates::{self, ClaimTemplate, keys};

/// The version of a staged change, and the next one.
const VERSION: &str = r#""version":1"#;
const NEWER: &str = r#""version":2"#;

/// The JSON of a claim.
pub(crate) fn claim_text(names: &mut Names, name: &str, claim: &ClaimObject) -> String {
    let mut object = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "uid": "c",
            "labels": if claim.selected { json!({"app": SET}) } else { json!({}) }},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": format!("{}Gi", claim.request)}},
            "volumeAttributesClassName": names::class(claim.class),
        },
    });
    if claim.owner == ClaimOwner::Other {
        object["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "Backup", "name": "backup", "uid": "b", "controller": true}]);
    }
    if let Some(class) = names::storage_class(claim.storage_class) {
        object["spec"]["storageClassName"] = class.into();
    }
    if let Some(target) = &claim.revision {
        object["metadata"]["labels"][keys::REVISION] = names.label(target).to_string().into();
    }
    let mut ours = json!({});
    if claim.our_size {
        ours["f:resources"]["f:requests"]["f:storage"] = json!({});
    }
    if claim.our_class.is_ours() {
        ours["f:volumeAttributesClassName"] = json!({});
    }
    let fields = json!({"f:spec": ours});
    object["metadata"]["managedFields"] = json!([{"manager": Manager::OURS, "operation": "Apply", "fieldsV1": fields}]);
    if claim.terminating {
        object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    }
    object["status"] = status(claim);
    object.to_string()
}

fn status(claim: &ClaimObject) -> Value {
    let mut status = json!({"phase": if claim.bound { "Bound" } else { "Pending" }});
    if claim.bound {
        status["capacity"] = json!({"storage": format!("{}Gi", claim.capacity)});
        status["currentVolumeAttributesClassName"] = names::class(claim.current_class).into();
    }
    let resize = match claim.resize {
        ResizeState::None => None,
        ResizeState::Controller => Some("ControllerResizeInProgress"),
        ResizeState::ControllerInfeasible => Some("ControllerResizeInfeasible"),
        ResizeState::Node if claim.errors.node => Some("NodeResizeInProgress"),
        ResizeState::Node => Some("NodeResizePending"),
    };
    if let Some(resize) = resize {
        status["allocatedResourceStatuses"] = json!({"storage": resize});
        status["allocatedResources"] = json!({"storage": format!("{}Gi", claim.resize_to)});
    }
    let pending = (claim.resize == ResizeState::Node).then_some("FileSystemResizePending");
    let conditions = claim.errors.kinds().chain(pending);
    let conditions = conditions.map(|kind| json!({"type": kind, "status": "True", "message": ""}));
    status["conditions"] = conditions.collect();
    let modify = match claim.modify {
        ModifyState::None => None,
        ModifyState::Pending => Some("Pending"),
        ModifyState::InProgress => Some("InProgress"),
        ModifyState::Infeasible => Some("Infeasible"),
    };
    if let Some(modify) = modify {
        let target = names::class(claim.modify_to);
        status["modifyVolumeStatus"] = json!({"status": modify, "targetVolumeAttributesClassName": target});
    }
    status
}

/// The JSON of a set.
pub(crate) fn set_text(names: &mut Names, spec: &SetObjectSpec, owned: bool) -> String {
    let mut annotations: Vec<String> = Vec::new();
    let mut annotate = |key: &str, value: &str| {
        annotations.push(format!("{}:{}", Value::from(key), Value::from(value)));
    };
    if let Some(change) = &spec.staged {
        annotate(keys::STAGED, &staged_text(names, change));
    }
    if let Some((target, ordinal)) = &spec.ready {
        annotate(keys::READY, &format!("{}.{ordinal}", names.revision(target)));
    }
    if let Some(policy) = spec.policy {
        annotate(keys::UPDATE_POLICY, policy.as_str());
    }
    if spec.paused {
        annotate(keys::PAUSED, "true");
    }
    if spec.asynchronous {
        annotate(keys::SYNC, "Async");
    }
    if let Some(withdraw) = &spec.withdraw {
        annotate(keys::WITHDRAW, names.revision(withdraw).as_str());
    }
    let owner = if owned {
        r#","ownerReferences":[{"apiVersion":"v1","kind":"Operator","name":"o","uid":"o","controller":true}]"#
    } else {
        ""
    };
    let strategy = if spec.on_delete {
        r#"{"type":"OnDelete"}"#.to_owned()
    } else {
        format!(
            r#"{{"type":"RollingUpdate","rollingUpdate":{{"partition":{}}}}}"#,
            spec.partition
        )
    };
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{{"name":"{SET}","namespace":"default","uid":"u1","resourceVersion":"1","annotations":{{{}}}{owner}}},"spec":{{"replicas":{},"selector":{{"matchLabels":{{"app":"{SET}"}}}},"serviceName":"{SET}","updateStrategy":{strategy},"template":{{"spec":{{"containers":[{{"image":"i:{}"}}]}}}},"volumeClaimTemplates":{}}},"status":{{}}}}"#,
        annotations.join(","),
        spec.replicas,
        spec.image,
        names::text(&spec.live),
    )
}

fn staged_text(names: &mut Names, change: &StagedAnnotation) -> String {
    let newer = change.newer;
    let change = templates::StagedChange {
        by: "alice".to_owned(),
        manager: "kubectl".to_owned(),
        phase: change.phase(),
        replicas: change.replicas.into(),
        staging: names.label(&change.target).staging,
        templates: names.templates(&change.target),
        uid: format!("u{}", change.uid),
        update_policy: change.policy,
    };
    change.write().map_or_else(
        |_| String::new(),
        |text| if newer { text.replace(VERSION, NEWER) } else { text },
    )
}

/// The set that the policy returns. Fields that the policy never edits are those of the request.
pub(super) fn read_set(names: &Names, object: &Value, asked: &SetObjectSpec) -> Option<SetObjectSpec> {
    let annotation = |key: &str| object["metadata"]["annotations"][key].as_str();
    let staged = annotation(keys::STAGED).and_then(|text| read_staged(names, text));
    let live = ClaimTemplate::read_list(&object["spec"]["volumeClaimTemplates"].to_string()).ok()?;
    Some(SetObjectSpec {
        staged,
        ready: asked.ready.filter(|_| annotation(keys::READY).is_some()),
        policy: annotation(keys::UPDATE_POLICY).and_then(|policy| policy.parse().ok()),
        paused: annotation(keys::PAUSED) == Some("true"),
        asynchronous: annotation(keys::SYNC) == Some("Async"),
        withdraw: asked.withdraw.filter(|_| annotation(keys::WITHDRAW).is_some()),
        live: names::target(&live),
        ..*asked
    })
}

fn read_staged(names: &Names, text: &str) -> Option<StagedAnnotation> {
    let newer = templates::StagedChange::is_newer(text);
    let text = text.replace(NEWER, VERSION);
    let of = |uid: Uid| {
        let change = templates::StagedChange::read(&text, &format!("u{uid}")).ok()?;
        Some(StagedAnnotation {
            target: names.at(&change.label()).unwrap_or_else(|| ModelTarget {
                staging: ModelTarget::NEW,
                ..names::target(&change.templates)
            }),
            complete: change.phase == templates::Phase::Complete,
            replicas: u8::try_from(change.replicas).unwrap_or(u8::MAX),
            policy: change.update_policy,
            uid,
            newer,
        })
    };
    of(1).or_else(|| of(2))
}
