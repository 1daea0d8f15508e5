//! The control plane under the tests behaves like a real one: these are the behaviours that claim-rollout relies on.

use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::world::web::Web;
use crate::world::{ATTRIBUTES_CLASSES, Cluster, Driver, EXPANDABLE, FIXED, ON_FIRST_USE, Options, eventually};

const PATIENCE: Duration = Duration::from_secs(30);

/// A StatefulSet `name` of three replicas with a PVC `data` of 1Gi each.
fn set(name: &str, class: &str) -> StatefulSet {
    let web = Web::replicas(3).plain().named(name).class(class);
    serde_json::from_value(web.value()).expect("a StatefulSet")
}

/// Creates the StatefulSet and waits until its Pods are Ready.
async fn create_ready(client: &kube::Client, set: &StatefulSet) -> anyhow::Result<()> {
    let sets: Api<StatefulSet> = Api::default_namespaced(client.clone());
    let name = set.metadata.name.clone().unwrap_or_default();
    sets.create(&PostParams::default(), set).await?;
    let ready = eventually("three Pods to be ready", PATIENCE, async || {
        let status = sets.get(&name).await?.status.unwrap_or_default();
        Ok((status.ready_replicas == Some(3)).then_some(()))
    });
    ready.await
}

/// Waits for a state of the PVC.
async fn wait_for(
    claims: &Api<PersistentVolumeClaim>,
    name: &str,
    what: &str,
    wanted: impl Fn(&PersistentVolumeClaim) -> bool,
) -> anyhow::Result<()> {
    eventually(what, PATIENCE, async || {
        Ok(Some(claims.get(name).await?).filter(&wanted).map(drop))
    })
    .await
}

/// Asks for another size.
async fn resize(claims: &Api<PersistentVolumeClaim>, name: &str, size: &str) -> kube::Result<PersistentVolumeClaim> {
    let patch = json!({"spec": {"resources": {"requests": {"storage": size}}}});
    claims.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await
}

/// Whether the volume of the PVC has this size.
fn has_capacity(claim: &PersistentVolumeClaim, size: &str) -> bool {
    let capacity = claim.status.as_ref().and_then(|status| status.capacity.as_ref());
    capacity
        .and_then(|capacity| capacity.get("storage"))
        .is_some_and(|storage| storage.0 == size)
}

/// The HTTP status of an error.
fn error_code<T: std::fmt::Debug>(result: kube::Result<T>) -> u16 {
    match result {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("not an error: {other:?}"),
    }
}

#[tokio::test]
async fn claims_are_bound_grow_and_change_class() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let client = cluster.client().await?;
    let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(client.clone());
    let version = client.apiserver_version().await?;
    assert_eq!(
        version.git_version.split('.').nth(1),
        Some(cluster.minor().to_string().as_str())
    );
    create_ready(&client, &set("web", EXPANDABLE)).await?;
    for claim in claims.list(&ListParams::default()).await? {
        let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
        assert_eq!(phase, Some("Bound"));
        assert!(has_capacity(&claim, "1Gi"));
    }

    resize(&claims, "data-web-2", "2Gi").await?;
    wait_for(&claims, "data-web-2", "the claim to grow", |claim| {
        has_capacity(claim, "2Gi")
    })
    .await?;

    let gold = ATTRIBUTES_CLASSES[1];
    if cluster.modifies_volumes() {
        let patch = Patch::Merge(json!({"spec": {"volumeAttributesClassName": gold}}));
        claims.patch("data-web-1", &PatchParams::default(), &patch).await?;
        wait_for(&claims, "data-web-1", "the claim to change its class", |claim| {
            let status = claim.status.as_ref();
            status.and_then(|status| status.current_volume_attributes_class_name.as_deref()) == Some(gold)
        })
        .await?;
    }

    // The PVC protection, the garbage collector and kwok are all involved here.
    claims.delete("data-web-0", &DeleteParams::default()).await?;
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let old = claims.get("data-web-0").await?.metadata.uid;
    pods.delete("web-0", &DeleteParams::default()).await?;
    let renewed = eventually("a new claim for the new Pod", PATIENCE, async || {
        let claim = claims.get_opt("data-web-0").await?;
        Ok(claim
            .filter(|claim| claim.metadata.uid != old && has_capacity(claim, "1Gi"))
            .map(drop))
    });
    renewed.await?;
    cluster.stop();
    Ok(())
}

const GI: u64 = 1 << 30;

#[tokio::test]
async fn errors_come_from_the_same_programs_as_in_production() -> anyhow::Result<()> {
    let driver = Driver {
        maximum_bytes: 4 * GI,
        ..Driver::default()
    };
    let cluster = Cluster::start(Options {
        driver,
        ..Options::default()
    })
    .await?;
    let client = cluster.client().await?;
    let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(client.clone());

    create_ready(&client, &set("stiff", FIXED)).await?;
    assert_eq!(error_code(resize(&claims, "data-stiff-0", "2Gi").await), 403);
    create_ready(&client, &set("web", ON_FIRST_USE)).await?;
    driver_fails_until_its_limit_is_raised(&cluster, &claims).await?;
    file_system_expansion_is_left_to_the_node(&cluster, &claims).await?;

    let alice = Api::<PersistentVolumeClaim>::default_namespaced(cluster.client_for("alice", &[]).await?);
    assert_eq!(error_code(resize(&alice, "data-web-2", "2Gi").await), 403);
    let refused = cluster.kubectl(&["--as=carol", "delete", "pvc/data-web-2"], "").await?;
    assert!(!refused.success);
    assert!(
        refused.stderr.contains(r#"User "carol" cannot delete"#),
        "{}",
        refused.stderr
    );
    let expected = [
        ("admin", "patch", "data-stiff-0", 403),
        ("admin", "patch", "data-web-0", 200),
        ("admin", "patch", "data-web-1", 200),
        ("alice", "patch", "data-web-2", 403),
        ("carol", "delete", "data-web-2", 403),
    ];
    assert_eq!(
        written_by(&cluster, &["admin", "alice", "carol"]).await?,
        expected.map(|(user, verb, name, code)| (user.into(), verb.into(), name.into(), code))
    );
    cluster.stop();
    Ok(())
}

/// The driver allows at most 4Gi, at first.
async fn driver_fails_until_its_limit_is_raised(
    cluster: &Cluster,
    claims: &Api<PersistentVolumeClaim>,
) -> anyhow::Result<()> {
    resize(claims, "data-web-0", "5Gi").await?;
    let infeasible = |claim: &PersistentVolumeClaim| {
        let resources = claim
            .status
            .as_ref()
            .and_then(|status| status.allocated_resource_statuses.as_ref());
        resources
            .and_then(|resources| resources.get("storage"))
            .is_some_and(|state| state == "ControllerResizeInfeasible")
    };
    wait_for(
        claims,
        "data-web-0",
        "the error of the driver to be in the status",
        infeasible,
    )
    .await?;
    cluster.set_driver(&Driver::default())?;
    wait_for(claims, "data-web-0", "the claim to grow after all", |claim| {
        has_capacity(claim, "5Gi")
    })
    .await
}

/// The driver leaves the end of the expansion to the kubelet.
async fn file_system_expansion_is_left_to_the_node(
    cluster: &Cluster,
    claims: &Api<PersistentVolumeClaim>,
) -> anyhow::Result<()> {
    cluster.set_driver(&Driver {
        node_expansion_required: true,
        ..Driver::default()
    })?;
    resize(claims, "data-web-1", "2Gi").await?;
    wait_for(claims, "data-web-1", "the file system's turn", |claim| {
        let conditions = claim.status.as_ref().and_then(|status| status.conditions.as_ref());
        conditions.is_some_and(|all| all.iter().any(|condition| condition.type_ == "FileSystemResizePending"))
    })
    .await
}

/// The writes of these users to PVCs: user, verb, name, HTTP status.
async fn written_by(cluster: &Cluster, users: &[&str]) -> anyhow::Result<Vec<(String, String, String, u16)>> {
    let entries = cluster.audit().await?.into_iter();
    let theirs = entries
        .filter(|entry| entry.resource == "persistentvolumeclaims" && entry.subresource.is_empty())
        .filter(|entry| users.contains(&entry.user.as_str()));
    Ok(theirs
        .map(|entry| (entry.user, entry.verb, entry.name, entry.code))
        .collect())
}

#[tokio::test]
async fn two_clusters_run_side_by_side_one_survives_its_api_server() -> anyhow::Result<()> {
    let (one, other) = tokio::try_join!(Cluster::start(Options::default()), Cluster::start(Options::default()))?;
    let client = one.client().await?;
    create_ready(&client, &set("web", EXPANDABLE)).await?;
    let elsewhere: Api<StatefulSet> = Api::default_namespaced(other.client().await?);
    assert!(elsewhere.list(&ListParams::default()).await?.items.is_empty());
    other.stop();

    one.halt("kube-apiserver");
    one.resume("kube-apiserver")?;
    one.wait_for_api_server().await?;
    let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(client);
    resize(&claims, "data-web-2", "2Gi").await?;
    wait_for(&claims, "data-web-2", "the claim to grow", |claim| {
        has_capacity(claim, "2Gi")
    })
    .await?;
    one.stop();
    Ok(())
}
