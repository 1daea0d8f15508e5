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

/// What the policy may ask about the user: verb, group, resource and subresource.
const RIGHTS: [(&str, &str, &str, &str); 5] = [
    ("patch", "", "persistentvolumeclaims", ""),
    ("delete", "", "persistentvolumeclaims", ""),
    ("create", "", "pods", "eviction"),
    ("delete", "apps", "statefulsets", ""),
    ("create", "apps", "statefulsets", ""),
];

/// The user, and which of these rights they have, as SubjectAccessReviews like those of the policy.
async fn authority(client: &Client, namespace: &str) -> anyhow::Result<Vec<Value>> {
    let who: Api<SelfSubjectReview> = Api::all(client.clone());
    let me = who
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await?;
    let me = &me.status.and_then(|status| status.user_info).unwrap_or_default();
    let mut reviews = Vec::new();
    for (verb, group, resource, subresource) in RIGHTS {
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let attributes = ResourceAttributes {
            namespace: Some(namespace.to_owned()),
            verb: Some(verb.to_owned()),
            group: named(group),
            resource: Some(resource.to_owned()),
            subresource: named(subresource),
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

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;
    use serde_json::{Value, json};

    use super::authority;
    use crate::cli::plan::request::ask;
    use crate::cli::recorded::Recorded;
    use crate::controller::fixtures::serving;

    /// The policy asks for no right whose answer a plan does not have.
    #[tokio::test]
    async fn rights_are_those_that_the_policy_asks_for() {
        // What the API server answers to somebody who may do all that is asked.
        let client = serving(|request| {
            let mut asked = request.body.clone();
            asked["status"] = if request.path.ends_with("selfsubjectreviews") {
                json!({"userInfo": {"username": "alice", "groups": ["dev"]}})
            } else {
                json!({"allowed": true})
            };
            Some((200, asked))
        });
        let items = authority(&client, "shop").await.expect("answers");
        let mut state = Recorded::read(&json!({"kind": "List", "items": items})).expect("a list");
        let groups = vec!["dev".to_owned()];
        let set = |size: &str, annotations: &Value| {
            json!({
                "apiVersion": "apps/v1", "kind": "StatefulSet",
                "metadata": {
                    "name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "annotations": annotations,
                },
                "spec": {"volumeClaimTemplates": [
                    {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": size}}}},
                ]},
            })
        };
        let settings = json!({"allowReCreate": true, "pvcChecks": "Ignore"});
        let settings = to_raw_value(&settings).expect("JSON");
        for policy in ["OnClaimDelete", "InPlace", "ReCreate"] {
            let asked =
                json!({"claim-rollout.io/update-policy": policy, "claim-rollout.io/replace-set": "WhenComplete"});
            let [old, new] = [set("1Gi", &json!({})), set("2Gi", &asked)];
            let answer = ask(Some(&old), &new, ("alice", &groups, "helm"), &settings, &mut state);
            let stored = answer.expect("an answer").stored;
            assert_eq!(stored.err(), None, "{policy}");
        }
    }
}
