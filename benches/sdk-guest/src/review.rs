//! The input of the decision, from the types of the SDK and k8s-openapi.

use claim_rollout::admission::Review;
use claim_rollout::admission::review::{
    Annotations, GroupVersionKind, Object, ObjectMeta, Options, Resource, Spec, Text,
};
use claim_rollout::claims::Owner;
use k8s_openapi::api::apps::v1::StatefulSet;
use kubewarden_policy_sdk::request::KubernetesAdmissionRequest;
use serde::Serialize;
use serde_json::{Result, Value};

/// The domain of our annotations.
const OURS: &str = "claim-rollout.io/";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The new and the old StatefulSet, taken out of the request.
pub(crate) fn typed(mut request: KubernetesAdmissionRequest) -> Result<(KubernetesAdmissionRequest, [StatefulSet; 2])> {
    let [new, old] = [&mut request.object, &mut request.old_object].map(Value::take);
    let sets = [serde_json::from_value(new)?, serde_json::from_value(old)?];
    Ok((request, sets))
}

/// The parts of an object that the decision reads as JSON; `None` where they are absent.
#[derive(Default)]
pub(crate) struct Texts {
    templates: Option<String>,
    update_strategy: Option<String>,
    retention: Option<String>,
    ordinals: Option<String>,
    selector: Option<String>,
    last_applied: Option<String>,
    managed_fields: Option<String>,
    finalizers: Option<String>,
    pod_template: Option<String>,
    status: Option<String>,
}

impl Texts {
    /// The texts of both objects. Without a change of the templates, and without a staged change, the decision does not
    /// read the large ones.
    pub(crate) fn of([new, old]: [&StatefulSet; 2]) -> Result<[Self; 2]> {
        let [asked, live] = [new, old].map(|set| set.spec.as_ref().map(|spec| &spec.volume_claim_templates));
        let is_staged = [new, old].iter().any(|set| {
            let annotations = set.metadata.annotations.as_ref();
            annotations.is_some_and(|annotations| annotations.contains_key("claim-rollout.io/staged"))
        });
        let all = asked != live || is_staged;
        Ok([Self::of_one(new, all)?, Self::of_one(old, all)?])
    }

    fn of_one(set: &StatefulSet, all: bool) -> Result<Self> {
        let Some(spec) = &set.spec else {
            return Ok(Self::default());
        };
        let small = Self {
            templates: text(spec.volume_claim_templates.as_ref())?,
            update_strategy: text(spec.update_strategy.as_ref())?,
            retention: text(spec.persistent_volume_claim_retention_policy.as_ref())?,
            ordinals: text(spec.ordinals.as_ref())?,
            selector: text(Some(&spec.selector))?,
            ..Self::default()
        };
        if !all {
            return Ok(small);
        }
        let metadata = &set.metadata;
        let annotations = metadata.annotations.as_ref();
        Ok(Self {
            last_applied: text(annotations.and_then(|annotations| annotations.get(LAST_APPLIED)))?,
            managed_fields: text(metadata.managed_fields.as_ref())?,
            finalizers: text(metadata.finalizers.as_ref())?,
            pod_template: text(Some(&spec.template))?,
            status: text(set.status.as_ref())?,
            ..small
        })
    }
}

fn text(part: Option<&impl Serialize>) -> Result<Option<String>> {
    part.map(serde_json::to_string).transpose()
}

/// The input of the decision.
pub(crate) fn of<'a>(
    request: &'a KubernetesAdmissionRequest,
    [new, old]: [&'a StatefulSet; 2],
    [new_texts, old_texts]: &'a [Texts; 2],
) -> Review<'a> {
    let option = |key: &str| {
        request
            .options
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .into()
    };
    Review {
        uid: (&*request.uid).into(),
        kind: GroupVersionKind {
            group: (&*request.kind.group).into(),
            version: (&*request.kind.version).into(),
            kind: (&*request.kind.kind).into(),
        },
        // The SDK reads a GroupVersionResource as one with `kind`, so the name of the resource is lost.
        resource: Resource {
            group: (&*request.resource.group).into(),
            resource: "statefulsets".into(),
        },
        sub_resource: (&*request.sub_resource).into(),
        name: (&*request.name).into(),
        namespace: (&*request.namespace).into(),
        operation: (&*request.operation).into(),
        user: (&*request.user_info.username).into(),
        user_uid: (&*request.user_info.uid).into(),
        groups: request.user_info.groups.iter().map(|group| (&**group).into()).collect(),
        user_extra: None,
        options: Options {
            field_manager: option("fieldManager"),
            propagation_policy: option("propagationPolicy"),
            orphan_dependents: request
                .options
                .get("orphanDependents")
                .and_then(Value::as_bool)
                .unwrap_or_default(),
        },
        object: Some(object(new, new_texts)),
        old_object: Some(object(old, old_texts)),
    }
}

fn object<'a>(set: &'a StatefulSet, texts: &'a Texts) -> Object<'a> {
    Object {
        api_version: "apps/v1".into(),
        kind: "StatefulSet".into(),
        metadata: metadata(set, texts),
        spec: Spec {
            replicas: set.spec.as_ref().and_then(|spec| spec.replicas).map(i64::from),
            templates: texts.templates.as_deref(),
            pod_template: texts.pod_template.as_deref(),
            update_strategy: texts.update_strategy.as_deref(),
            retention: texts.retention.as_deref(),
            ordinals: texts.ordinals.as_deref(),
            selector: texts.selector.as_deref(),
            ..Spec::default()
        },
        status: texts.status.as_deref(),
        ..Object::default()
    }
}

fn metadata<'a>(set: &'a StatefulSet, texts: &'a Texts) -> ObjectMeta<'a> {
    let metadata = &set.metadata;
    let annotations = metadata.annotations.iter().flatten();
    let ours = annotations.filter(|(key, _)| key.starts_with(OURS));
    let owner = metadata
        .owner_references
        .iter()
        .flatten()
        .find(|owner| owner.controller == Some(true));
    ObjectMeta {
        name: borrowed(metadata.name.as_ref()),
        namespace: borrowed(metadata.namespace.as_ref()),
        uid: borrowed(metadata.uid.as_ref()),
        resource_version: borrowed(metadata.resource_version.as_ref()),
        annotations: Annotations(ours.map(|(key, value)| ((&**key).into(), (&**value).into())).collect()),
        last_applied: texts.last_applied.as_deref(),
        managed_fields: texts.managed_fields.as_deref(),
        finalizers: texts.finalizers.as_deref(),
        controller: owner.map(|owner| Owner {
            api_version: owner.api_version.clone(),
            kind: owner.kind.clone(),
            name: owner.name.clone(),
            uid: owner.uid.clone(),
            controller: true,
            block_owner_deletion: owner.block_owner_deletion == Some(true),
        }),
        terminating: metadata.deletion_timestamp.is_some(),
        ..ObjectMeta::default()
    }
}

fn borrowed(text: Option<&String>) -> Text<'_> {
    text.map_or("", |text| text).into()
}
