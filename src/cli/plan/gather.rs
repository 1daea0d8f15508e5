//! Reads the cluster state for a plan, as a List like that of `--objects`.

use anyhow::Context as _;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use kube::Client;
use kube::api::{Api, ApiResource, ListParams, PostParams};
use serde_json::{Value, json};

use crate::cli::cluster;
use crate::cli::lists::list;
use crate::cli::plan::unreadable::sift;
use crate::cli::recorded::Recorded;

/// The kinds to read, the versions of which the first that is served is read, and whether they are namespaced.
const KINDS: [(&str, &[&str], &str, bool); 7] = [
    ("apps", &["v1"], "StatefulSet", true),
    ("", &["v1"], "PersistentVolumeClaim", true),
    ("", &["v1"], "Pod", true),
    ("", &["v1"], "ResourceQuota", true),
    ("", &["v1"], "LimitRange", true),
    ("storage.k8s.io", &["v1"], "StorageClass", false),
    ("storage.k8s.io", &["v1", "v1beta1"], "VolumeAttributesClass", false),
];

/// The kinds without which there is no plan.
const NEEDED: [&str; 2] = ["StatefulSet", "PersistentVolumeClaim"];

/// Reads the objects of a namespace, and whether the user of this client may change PVCs.
///
/// # Errors
/// If sets or claims cannot be read. Other forbidden kinds are noted in the result.
pub(crate) async fn gather(client: &Client, namespace: &str) -> anyhow::Result<Recorded> {
    let mut items = authority(client, namespace).await?;
    let (mut unread, mut skipped) = (Vec::new(), Vec::new());
    for (group, versions, kind, namespaced) in KINDS {
        for version in versions {
            let resource = cluster::kind(group, version, kind);
            let within = namespaced.then_some(namespace);
            match list(client, within, &resource, &ListParams::default()).await {
                Ok(listed) => {
                    items.extend(listed.items.into_iter().map(|object| whole(object, &resource)));
                    skipped.extend(listed.unread);
                }
                Err(kube::Error::Api(status)) if status.code == 403 && !NEEDED.contains(&kind) => {
                    unread.push((kind, status.message.clone()));
                }
                // Not served: if no version is, the cluster has no such object.
                Err(kube::Error::Api(status)) if status.code == 404 && !NEEDED.contains(&kind) => continue,
                Err(error) => {
                    return Err(error).with_context(|| format!("failed to read {kind} in namespace {namespace}"));
                }
            }
            break;
        }
    }
    let mut state = Recorded::read(&json!({"kind": "List", "items": items}))?;
    for (kind, why) in unread {
        state.cannot_read(kind, why);
    }
    skipped.into_iter().for_each(|object| state.skip(object));
    sift(&mut state);
    Ok(state)
}

/// Adds apiVersion and kind, which the items of a list do not have.
fn whole(mut object: Value, resource: &ApiResource) -> Value {
    object["apiVersion"] = json!(resource.api_version);
    object["kind"] = json!(resource.kind);
    object
}

/// What the policy may ask about the user: verb, group and resource.
const RIGHTS: [(&str, &str, &str); 3] = [
    ("patch", "", "persistentvolumeclaims"),
    ("delete", "apps", "statefulsets"),
    ("create", "apps", "statefulsets"),
];

/// The user, and which of these rights they have, as SubjectAccessReviews like those of the policy.
async fn authority(client: &Client, namespace: &str) -> anyhow::Result<Vec<Value>> {
    let who: Api<SelfSubjectReview> = Api::all(client.clone());
    let me = who
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await?;
    let me = &me.status.and_then(|status| status.user_info).unwrap_or_default();
    let mut reviews = Vec::new();
    for (verb, group, resource) in RIGHTS {
        let attributes = ResourceAttributes {
            namespace: Some(namespace.to_owned()),
            verb: Some(verb.to_owned()),
            group: (!group.is_empty()).then(|| group.to_owned()),
            resource: Some(resource.to_owned()),
            ..ResourceAttributes::default()
        };
        let status = access(client, &attributes).await?;
        reviews.push(json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": me.username, "groups": me.groups, "resourceAttributes": attributes},
            "status": status.map(|status| json!({"allowed": status.allowed, "denied": status.denied.unwrap_or(false)})),
        }));
    }
    Ok(reviews)
}

/// Whether the user of this client may do this.
pub(super) async fn access(
    client: &Client,
    attributes: &ResourceAttributes,
) -> kube::Result<Option<SubjectAccessReviewStatus>> {
    let asked: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let question = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes.clone()),
            non_resource_attributes: None,
        },
        ..SelfSubjectAccessReview::default()
    };
    Ok(asked.create(&PostParams::default(), &question).await?.status)
}
