//! The kinds in a bundle: which objects, and which of their fields.

use serde_json::Value;

use super::allowed::{allowed, only};
use super::scope::BundledSets;
use crate::cli::settings_in_use::is_our_policy;

/// One file of a bundle.
pub(super) struct BundleKind {
    pub(super) file: &'static str,
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    pub(super) place: Place,
    /// What the file contains, for the list in the bundle.
    pub(super) about: &'static str,
    /// True iff the object belongs into the bundle.
    pub(super) is_ours: fn(&Value, &BundledSets) -> bool,
    /// The fields, besides the metadata.
    pub(super) fields: &'static [&'static str],
}

/// Where the objects of a kind are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the namespace of the installation.
    Home,
    /// In each namespace with a StatefulSet of the bundle.
    OfSets,
    /// In the namespace of `--namespace`, or in all.
    All,
    /// The kind has no namespaces.
    Cluster,
}

/// The StatefulSets. They decide which other objects are in the bundle.
pub(super) const SETS: BundleKind = BundleKind {
    file: "statefulsets.yaml",
    group: "apps",
    version: "v1",
    kind: "StatefulSet",
    place: Place::All,
    about: "StatefulSets with an annotation of claim-rollout or a ClaimRollout; of the Pod template only labels, names \
            and images of containers, and the PVCs that it mounts",
    is_ours: |object, scope| scope.has_set(object),
    fields: &[
        "spec.replicas",
        "spec.serviceName",
        "spec.selector",
        "spec.podManagementPolicy",
        "spec.updateStrategy",
        "spec.minReadySeconds",
        "spec.revisionHistoryLimit",
        "spec.ordinals",
        "spec.persistentVolumeClaimRetentionPolicy",
        "spec.volumeClaimTemplates",
        "spec.template.metadata.labels",
        "spec.template.spec.containers[].name",
        "spec.template.spec.containers[].image",
        "spec.template.spec.volumes[].name",
        "spec.template.spec.volumes[].persistentVolumeClaim",
        "status",
    ],
};

/// The ClaimRollouts.
pub(super) const ROLLOUTS: BundleKind = BundleKind {
    file: "claimrollouts.yaml",
    group: "claim-rollout.io",
    version: "v1alpha1",
    kind: "ClaimRollout",
    place: Place::All,
    about: "all ClaimRollouts",
    is_ours: |_, _| true,
    fields: &["spec", "status"],
};

/// Every other kind.
pub(super) const OTHERS: [BundleKind; 11] = [
    BundleKind {
        file: "persistentvolumeclaims.yaml",
        group: "",
        version: "v1",
        kind: "PersistentVolumeClaim",
        place: Place::OfSets,
        about: "PVCs of these StatefulSets",
        is_ours: |object, scope| scope.has_claim(object),
        fields: &["spec", "status"],
    },
    BundleKind {
        file: "events.yaml",
        group: "",
        version: "v1",
        kind: "Event",
        place: Place::OfSets,
        about: "Events of these StatefulSets, their PVCs and their ClaimRollouts, not of their Pods",
        is_ours: |object, scope| scope.has_subject(object),
        fields: &[
            "type",
            "reason",
            "message",
            "count",
            "firstTimestamp",
            "lastTimestamp",
            "eventTime",
            "reportingComponent",
            "source",
            "involvedObject",
        ],
    },
    BundleKind {
        file: "settings.yaml",
        group: "",
        version: "v1",
        kind: "ConfigMap",
        place: Place::Home,
        about: "the settings in the ConfigMap of the installation",
        is_ours: |object, _| is_labelled(object) && object["data"].get("settings.yaml").is_some(),
        fields: &["data"],
    },
    BundleKind {
        file: "clusteradmissionpolicies.yaml",
        group: "policies.kubewarden.io",
        version: "v1",
        kind: "ClusterAdmissionPolicy",
        place: Place::Cluster,
        about: "policy objects of Kubewarden that run our module",
        is_ours: |object, _| is_our_policy(&object["spec"]),
        fields: &["spec", "status"],
    },
    BundleKind {
        file: "admissionpolicies.yaml",
        group: "policies.kubewarden.io",
        version: "v1",
        kind: "AdmissionPolicy",
        place: Place::All,
        about: "the same for one namespace",
        is_ours: |object, _| is_our_policy(&object["spec"]),
        fields: &["spec", "status"],
    },
    BundleKind {
        file: "mutatingwebhookconfigurations.yaml",
        group: "admissionregistration.k8s.io",
        version: "v1",
        kind: "MutatingWebhookConfiguration",
        place: Place::Cluster,
        about: "webhooks that call claim-rollout, without their paths, which are secret, and without certificates",
        is_ours: |object, _| calls_us(object),
        fields: WEBHOOK,
    },
    BundleKind {
        file: "validatingwebhookconfigurations.yaml",
        group: "admissionregistration.k8s.io",
        version: "v1",
        kind: "ValidatingWebhookConfiguration",
        place: Place::Cluster,
        about: "the same",
        is_ours: |object, _| calls_us(object),
        fields: WEBHOOK,
    },
    BundleKind {
        file: "validatingadmissionpolicies.yaml",
        group: "admissionregistration.k8s.io",
        version: "v1",
        kind: "ValidatingAdmissionPolicy",
        place: Place::Cluster,
        about: "the policies of the guard",
        is_ours: |object, _| is_labelled(object),
        fields: &["spec", "status"],
    },
    BundleKind {
        file: "validatingadmissionpolicybindings.yaml",
        group: "admissionregistration.k8s.io",
        version: "v1",
        kind: "ValidatingAdmissionPolicyBinding",
        place: Place::Cluster,
        about: "their bindings",
        is_ours: |object, _| is_labelled(object),
        fields: &["spec"],
    },
    BundleKind {
        file: "deployments.yaml",
        group: "apps",
        version: "v1",
        kind: "Deployment",
        place: Place::Home,
        about: "the Deployments of claim-rollout, with the arguments of their containers, but those of a token",
        is_ours: |object, _| is_labelled(object),
        fields: &[
            "spec.replicas",
            "spec.selector",
            "spec.template.metadata.labels",
            "spec.template.spec.serviceAccountName",
            "spec.template.spec.containers[].name",
            "spec.template.spec.containers[].image",
            "spec.template.spec.containers[].args",
            "spec.template.spec.containers[].resources",
            "status",
        ],
    },
    BundleKind {
        file: "leases.yaml",
        group: "coordination.k8s.io",
        version: "v1",
        kind: "Lease",
        place: Place::Home,
        about: "the Lease of the controller",
        is_ours: |object, _| object["metadata"]["name"] == crate::controller::LEASE,
        fields: &["spec"],
    },
];

/// Pods of the Deployments, whose logs are in the bundle.
pub(super) const PODS: BundleKind = BundleKind {
    file: "pods.yaml",
    group: "",
    version: "v1",
    kind: "Pod",
    place: Place::Home,
    about: "the state of the Pods of claim-rollout; their logs are in logs/",
    is_ours: |object, _| is_labelled(object),
    fields: &[
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.phase",
        "status.reason",
        "status.conditions",
        "status.startTime",
        "status.containerStatuses",
    ],
};

const WEBHOOK: &[&str] = &[
    "webhooks[].name",
    "webhooks[].clientConfig.service.namespace",
    "webhooks[].clientConfig.service.name",
    "webhooks[].clientConfig.service.port",
    "webhooks[].rules",
    "webhooks[].failurePolicy",
    "webhooks[].timeoutSeconds",
    "webhooks[].matchConditions",
    "webhooks[].matchPolicy",
    "webhooks[].namespaceSelector",
    "webhooks[].objectSelector",
    "webhooks[].reinvocationPolicy",
    "webhooks[].sideEffects",
];

impl BundleKind {
    /// The object as it is in the bundle.
    pub(super) fn shown(&self, object: &Value) -> Value {
        let mut shown = allowed(object, self.fields);
        if self.kind == "ConfigMap" {
            shown["data"] = only(&object["data"], &["settings.yaml"]);
        }
        if let Some(webhooks) = shown.get_mut("webhooks").and_then(Value::as_array_mut) {
            webhooks.retain(is_our_webhook);
        }
        let containers = shown.pointer_mut("/spec/template/spec/containers");
        for container in containers.and_then(Value::as_array_mut).into_iter().flatten() {
            hide_tokens(container.get_mut("args"));
        }
        shown
    }
}

/// Leaves out the value of `--token`.
fn hide_tokens(args: Option<&mut Value>) {
    let mut follows = false;
    for arg in args.and_then(Value::as_array_mut).into_iter().flatten() {
        let text = arg.as_str().unwrap_or_default();
        if follows {
            *arg = super::allowed::LEFT_OUT.into();
            follows = false;
        } else if text.starts_with("--token=") {
            *arg = format!("--token={}", super::allowed::LEFT_OUT).into();
        } else {
            follows = text == "--token";
        }
    }
}

fn is_labelled(object: &Value) -> bool {
    let metadata = &object["metadata"];
    let is_named = || {
        metadata["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("claim-rollout"))
    };
    metadata["labels"]["app.kubernetes.io/name"] == "claim-rollout" || is_named()
}

fn is_our_webhook(webhook: &Value) -> bool {
    webhook["name"]
        .as_str()
        .is_some_and(|name| name.contains("claim-rollout"))
}

fn calls_us(configuration: &Value) -> bool {
    configuration["webhooks"]
        .as_array()
        .is_some_and(|all| all.iter().any(is_our_webhook))
}
