//! A real API server calls the policy in its host, and obeys its answer.

use std::sync::Arc;

use anyhow::Context as _;
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{Api, PostParams};
use serde_json::json;

use crate::world::policy_host::policy;
use crate::world::policy_host::{KubeApi, PolicyHost, Shipped};
use crate::world::web::Web;
use crate::world::{Cluster, Options, Output};

/// Asks for another size of the template, as a user does.
async fn resize(cluster: &Cluster, user: &[&str], size: &str) -> anyhow::Result<Output> {
    let value =
        json!({"op": "replace", "path": "/spec/volumeClaimTemplates/0/spec/resources/requests/storage", "value": size});
    let patch = json!([value]).to_string();
    let arguments = [&["patch", "statefulset", "web", "--type=json", "-p", &patch], user].concat();
    cluster.kubectl(&arguments, "").await
}

/// A user who may edit StatefulSets but no PVCs is denied, because the policy asks the API server.
async fn user_without_claim_rights_fails(cluster: &Cluster) -> anyhow::Result<()> {
    let role = [
        "create",
        "clusterrole",
        "sets",
        "--verb=get,patch",
        "--resource=statefulsets.apps",
    ];
    assert!(cluster.kubectl(&role, "").await?.success);
    let binding = [
        "create",
        "clusterrolebinding",
        "sets",
        "--user=sam",
        "--clusterrole=sets",
    ];
    assert!(cluster.kubectl(&binding, "").await?.success);
    let refused = resize(cluster, &["--as=sam"], "2Gi").await?;
    assert!(
        !refused.success && refused.stderr.contains("patch persistentvolumeclaims"),
        "{refused:?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn api_server_calls_policy_for_its_requests_and_obeys() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let client = cluster.client().await?;
    let sets: Api<StatefulSet> = Api::namespaced(client.clone(), "default");
    let shipped = Shipped::sets()?;
    let entry = shipped.policy(&policy())?;
    let host = PolicyHost::start(vec![entry], Arc::new(KubeApi::new(client.clone()))).await?;
    let registration = shipped.registration().in_namespace("default");
    host.register(&client, &registration).await?;
    host.until_called(&client, &registration, true).await?;
    let called = host.requests(&shipped.name);

    // Without replicas, so that only the API server acts.
    let set = serde_json::from_value(Web::replicas(0).plain().value())?;
    sets.create(&PostParams::default(), &set).await?;
    for edit in [
        ["set", "image", "statefulset/web", "main=example/main:2"],
        ["scale", "statefulset", "web", "--replicas=0"],
    ] {
        assert!(cluster.kubectl(&edit, "").await?.success, "{edit:?}");
    }
    assert_eq!(
        host.requests(&shipped.name),
        called,
        "an unrelated change does not reach the policy"
    );

    user_without_claim_rights_fails(&cluster).await?;
    let staged = resize(&cluster, &[], "2Gi").await?;
    assert!(
        staged.success && staged.stderr.contains("staged data 1Gi -> 2Gi"),
        "{staged:?}"
    );
    let now = serde_json::to_value(sets.get("web").await?)?;
    let live = &now["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"];
    assert_eq!(live, "1Gi", "the live template is as it was");
    let change = now["metadata"]["annotations"]["claim-rollout.io/staged"]
        .as_str()
        .context("a staged change")?;
    assert!(change.contains(r#""storage":"2Gi""#), "{change}");

    let smaller = resize(&cluster, &[], "512Mi").await?;
    assert!(
        !smaller.success && smaller.stderr.contains("spec.volumeClaimTemplates"),
        "{smaller:?}"
    );

    host.unregister(&client, &registration).await?;
    host.stop().await?;
    cluster.stop();
    Ok(())
}
