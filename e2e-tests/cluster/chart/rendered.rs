//! The objects that the chart renders.

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::deployed::{BOTH, BUILTIN, EVERYTHING, KUBEWARDEN, NETWORK, Objects, WARN, by_name, deployed, remove};
use super::features::check_features;
use super::foreign::{self, missing_api_fails_with_a_cure};
use super::manifests::{folders_of_deploy_are_accepted, install_manifests_hold_the_objects_of_deploy};
use super::values::check_values;
use super::{flags, folder, render};
use crate::world::{Cluster, Options};

async fn equals_deployed(cluster: &Cluster, values: &[&str], files: &[&str]) -> anyhow::Result<()> {
    let mut rendered = by_name(render(cluster, values).await?)?;
    for (name, object) in &mut rendered {
        match name.as_str() {
            // In `deploy/` only the object for retention has the setting.
            "ClusterAdmissionPolicy claim-rollout"
            | "ClusterAdmissionPolicy claim-rollout-claims"
            | "ClusterAdmissionPolicy claim-rollout-pods" => {
                remove(&mut object["spec"]["settings"], "retention");
            }
            "ConfigMap claim-rollout-settings" if values.contains(&WARN) => {
                let settings = &mut object["data"]["settings.yaml"];
                ensure!(settings["retention"] == "Warn", "{settings:#}");
                remove(settings, "retention");
            }
            _ => {}
        }
    }
    let deployed = deployed(files)?;
    let names = |objects: &Objects| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&rendered), names(&deployed), "{values:?}");
    for (name, expected) in &deployed {
        assert_eq!(&rendered[name], expected, "{values:?}: {name}");
    }
    Ok(())
}

async fn is_clean(cluster: &Cluster, values: &[&str]) -> anyhow::Result<()> {
    let path = folder();
    let path = path.to_str().context("a path in UTF-8")?;
    let output = cluster
        .run(
            "helm",
            &[&["lint", "--strict", path][..], &flags(values)].concat(),
            &[],
            "",
        )
        .await?;
    assert!(output.success, "{values:?}: {output:?}");

    let objects = render(cluster, values).await?;
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let apply = ["apply", "--server-side", "--dry-run=server", "-f", "-"];
    let applied = cluster.kubectl(&apply, &list.to_string()).await?;
    assert!(applied.success && applied.stderr.is_empty(), "{values:?}: {applied:?}");
    Ok(())
}

/// Values that were traps once.
const TRAPS: [&[&str]; 4] = [
    &["onlyNamespace=default"],
    &["admission=builtin", "gate.enabled=false"],
    &["admission=builtin", "webhook.certManager.enabled=true"],
    &[
        "admission=builtin",
        "webhook.port=10250",
        "webhook.metricsPort=9090",
        "controller.port=9091",
        "priorityClass.create=false",
    ],
];

/// The objects of the chart in each mode.
async fn renders_the_objects_of_deploy(cluster: &Cluster) -> anyhow::Result<()> {
    let both = BOTH;
    let kubewarden = [&both[..], &KUBEWARDEN, &["policy-retention.yaml"]].concat();
    let builtin = [&both[..], &BUILTIN, &["webhook/retention.yaml"]].concat();
    equals_deployed(cluster, &[WARN], &kubewarden).await?;
    equals_deployed(cluster, &[WARN, "admission=builtin"], &builtin).await?;
    equals_deployed(cluster, &["admission=none"], &both).await?;
    check_features(cluster).await?;
    check_values(cluster).await
}

#[tokio::test(flavor = "multi_thread")]
async fn chart_is_that_of_deploy_and_accepted_in_each_mode() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::without_controllers()).await?;
    for namespace in ["claim-rollout", "team-a"] {
        cluster
            .typed(&format!("create namespace {namespace} --save-config"))
            .await?;
    }
    // The API server warns about Deployments whose Pods the restricted level denies.
    cluster
        .typed("label namespace claim-rollout pod-security.kubernetes.io/warn=restricted")
        .await?;
    let plain = "create deployment plain --image=plain --dry-run=server -n claim-rollout";
    let plain = cluster.typed(plain).await?;
    ensure!(
        plain.stderr.contains("would violate PodSecurity \"restricted"),
        "{plain:?}"
    );

    renders_the_objects_of_deploy(&cluster).await?;
    missing_api_fails_with_a_cure(&cluster).await?;
    foreign::define(&cluster).await?;
    folders_of_deploy_are_accepted(&cluster).await?;
    for values in TRAPS {
        is_clean(&cluster, values).await?;
    }
    for admission in ["admission=kubewarden", "admission=builtin", "admission=none"] {
        is_clean(&cluster, &[&EVERYTHING[..], &NETWORK[..], &[admission]].concat()).await?;
        is_clean(&cluster, &[admission]).await?;
    }
    install_manifests_hold_the_objects_of_deploy(&cluster).await?;
    cluster.stop();
    Ok(())
}
