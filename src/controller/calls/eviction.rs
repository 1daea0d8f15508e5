//! The request to evict a Pod.

use k8s_openapi::api::policy::v1::Eviction;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, ObjectMeta, Preconditions};
use kube::Client;
use kube::api::{Api, PostParams};
use kube::core::Status;

use super::api_calls;
use crate::api::ApiOutcome;
use crate::controller::objects::pod::SlimPod;

/// Asks the API server to evict the Pod of this name and uid.
pub(crate) async fn post_eviction(
    client: &Client,
    namespace: &str,
    [pod, uid]: [&str; 2],
    is_dry_run: bool,
) -> ApiOutcome<()> {
    let pods: Api<SlimPod> = Api::namespaced(client.clone(), namespace);
    let eviction = Eviction {
        metadata: ObjectMeta {
            name: Some(pod.to_owned()),
            ..ObjectMeta::default()
        },
        delete_options: Some(DeleteOptions {
            dry_run: is_dry_run.then(|| vec!["All".to_owned()]),
            preconditions: Some(Preconditions {
                uid: Some(uid.to_owned()),
                resource_version: None,
            }),
            ..DeleteOptions::default()
        }),
    };
    // `Api::evict` of kube 4.2 sends the options under a name that the API server ignores, so the precondition
    // would be lost.
    let post = PostParams {
        dry_run: is_dry_run,
        ..PostParams::default()
    };
    let outcome = api_calls::call(pods.create_subresource::<_, Status>("eviction", pod, &post, &eviction)).await;
    outcome.and_then(|_| ApiOutcome::Done(()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ApiOutcome, post_eviction};
    use crate::controller::fixtures::recording;

    /// Another Pod may have the name by now.
    #[tokio::test]
    async fn eviction_names_the_uid_of_the_pod() {
        for (is_dry_run, query) in [(false, ""), (true, "&dryRun=All")] {
            let done = json!({"kind": "Status", "status": "Success", "code": 201});
            let (client, received) = recording(move |_| Some((200, done.clone())));
            let outcome = post_eviction(&client, "shop", ["web-0", "u"], is_dry_run).await;
            assert_eq!(outcome, ApiOutcome::Done(()));
            let sent = received.take();
            let [request] = &sent[..] else { panic!("{sent:?}") };
            let target = "POST /api/v1/namespaces/shop/pods/web-0/eviction";
            assert_eq!((&*request.target(), &*request.query), (target, query));
            let mut expected = json!({
                "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web-0"},
                "deleteOptions": {"preconditions": {"uid": "u"}},
            });
            if is_dry_run {
                expected["deleteOptions"]["dryRun"] = json!(["All"]);
            }
            assert_eq!(request.body, expected);
        }
    }
}
