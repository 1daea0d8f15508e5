//! What the values of the chart change in its objects.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

use super::deployed::{EVERYTHING, NETWORK, by_name};
use super::rows::{B, ERRORS, K, Parts, ROWS};
use super::{helm, render};
use crate::world::Cluster;
use crate::world::document::text;

/// The number of renderings at a time.
const AT_A_TIME: usize = 2;

pub(super) async fn check_values(cluster: &Cluster) -> anyhow::Result<()> {
    let chart: Value = serde_saphyr::from_str(&text("charts/claim-rollout/Chart.yaml")?)?;
    let version = chart["appVersion"].as_str().context("a version")?;
    let rows = ROWS.iter().map(async |row| row_holds(cluster, version, *row).await);
    stream::iter(rows)
        .buffer_unordered(AT_A_TIME)
        .try_collect::<()>()
        .await?;
    let errors = ERRORS.iter().map(async |(values, message)| {
        let values: Vec<&str> = values.split(' ').collect();
        let output = helm(cluster, &["template", "claim-rollout"], &values).await?;
        let is_as_expected = output.success == message.is_empty() && output.stderr.contains(message);
        ensure!(is_as_expected, "{values:?}: {output:?}");
        Ok(())
    });
    stream::iter(errors)
        .buffer_unordered(AT_A_TIME)
        .try_collect::<()>()
        .await?;
    other_name_reaches_every_object(cluster).await?;
    common_metadata_is_on_every_object(cluster).await?;
    each_selector_selects_the_pods_of_a_deployment(cluster).await
}

async fn row_holds(
    cluster: &Cluster,
    version: &str,
    (admission, values, parts): (&str, &str, Parts),
) -> anyhow::Result<()> {
    let all: Vec<&str> = values.split_whitespace().chain([admission]).collect();
    let objects = by_name(render(cluster, &all).await?)?;
    for (part, expected) in parts {
        let (name, path) = part.rsplit_once(' ').context("a name and a path")?;
        let mut found = Vec::new();
        for (_, object) in objects.iter().filter(|(object, _)| is_like(object, name)) {
            found_at(object, path.split('/').skip(1), &mut found);
        }
        let expected = expected.replace("VERSION", version);
        let holds = match (expected.split_once(' '), found.is_empty()) {
            (_, true) => expected == "null",
            (Some(("has", words)), _) => found.iter().all(|value| shown(value).contains(words)),
            (Some(("lacks", words)), _) => found.iter().all(|value| !shown(value).contains(words)),
            _ => {
                let expected: Value = serde_json::from_str(&expected)?;
                found.iter().all(|value| **value == expected)
            }
        };
        ensure!(
            holds,
            "{admission} {values}: {part}: expected {expected}, but found {found:#?}"
        );
    }
    Ok(())
}

/// Whether a text is like a pattern, in which `*` stands for any text.
fn is_like(text: &str, pattern: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else {
        return text == pattern;
    };
    let Some(rest) = text.strip_prefix(before) else {
        return false;
    };
    (0..=rest.len()).any(|at| rest.get(at..).is_some_and(|rest| is_like(rest, after)))
}

/// Adds the values at a path whose keys are patterns.
fn found_at<'v, 'p>(value: &'v Value, mut path: impl Iterator<Item = &'p str> + Clone, found: &mut Vec<&'v Value>) {
    let Some(pattern) = path.next() else {
        return found.extend((!value.is_null()).then_some(value));
    };
    let fields = value.as_object().into_iter().flatten();
    for (_, value) in fields.filter(|(key, _)| is_like(key, pattern)) {
        found_at(value, path.clone(), found);
    }
    for (index, value) in value.as_array().into_iter().flatten().enumerate() {
        if is_like(&index.to_string(), pattern) {
            found_at(value, path.clone(), found);
        }
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Every object of both modes, with every switch on.
async fn all_objects(cluster: &Cluster, values: &[&str]) -> anyhow::Result<Vec<Value>> {
    let mut all = Vec::new();
    for admission in [K, B] {
        let values = [&EVERYTHING[..], &NETWORK[..], values, &[admission]].concat();
        all.extend(render(cluster, &values).await?);
    }
    Ok(all)
}

/// The names of objects, and all references to them.
async fn other_name_reaches_every_object(cluster: &Cluster) -> anyhow::Result<()> {
    for object in all_objects(cluster, &["fullnameOverride=volumes"]).await? {
        let (kind, metadata) = (shown(&object["kind"]), &object["metadata"]);
        let what = format!("{kind} {}", metadata["name"]);
        let is_named = shown(&metadata["name"]).starts_with("volumes");
        ensure!(is_named || kind == "CustomResourceDefinition", "{what}");
        // The commands find the objects by it.
        assert_eq!(metadata["labels"]["app.kubernetes.io/name"], "claim-rollout", "{what}");
        // Domains, the paths of the webhook, the image and the Lease keep the name of the project.
        let text = object.to_string().replace("[\"claim-rollout-controller\"]", "");
        for part in [
            "-controller",
            "-webhook",
            "-settings",
            "-staged",
            ":claim-rollout-controller",
        ] {
            ensure!(!text.contains(&format!("\"claim-rollout{part}\"")), "{what}: {part}");
        }
    }
    Ok(())
}

async fn common_metadata_is_on_every_object(cluster: &Cluster) -> anyhow::Result<()> {
    let values = [
        r#"commonLabels={"example.com/team":"storage","app.kubernetes.io/name":"mine"}"#,
        r#"commonAnnotations={"example.com/contact":"storage@example.com"}"#,
    ];
    for object in all_objects(cluster, &values).await? {
        let metadata = [&object["metadata"], &object["spec"]["template"]["metadata"]];
        for metadata in metadata.into_iter().filter(|metadata| !metadata.is_null()) {
            let what = format!("{} {}", object["kind"], object["metadata"]["name"]);
            let (labels, annotations) = (&metadata["labels"], &metadata["annotations"]);
            assert_eq!(labels["example.com/team"], "storage", "{what}");
            // Selectors need the labels of the chart.
            assert_eq!(labels["app.kubernetes.io/name"], "claim-rollout", "{what}");
            assert_eq!(annotations["example.com/contact"], "storage@example.com", "{what}");
        }
    }
    Ok(())
}

/// Each has the release and the component, so that it selects nothing of another release.
async fn each_selector_selects_the_pods_of_a_deployment(cluster: &Cluster) -> anyhow::Result<()> {
    let mut kinds = BTreeSet::new();
    for object in all_objects(cluster, &[]).await? {
        let component = &object["metadata"]["labels"]["app.kubernetes.io/component"];
        let expected = json!({
            "app.kubernetes.io/component": component, "app.kubernetes.io/instance": "claim-rollout",
            "app.kubernetes.io/name": "claim-rollout",
        });
        let (kind, spec) = (shown(&object["kind"]), &object["spec"]);
        let selector = match kind.as_str() {
            "Service" => &spec["selector"],
            "NetworkPolicy" => &spec["podSelector"]["matchLabels"],
            "Deployment" | "PodDisruptionBudget" => &spec["selector"]["matchLabels"],
            _ => continue,
        };
        assert_eq!(*selector, expected, "{object:#}");
        if kind == "Deployment" {
            let template = &spec["template"];
            let spread = &template["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"];
            assert_eq!(*spread, expected, "{object:#}");
            for (key, value) in expected.as_object().into_iter().flatten() {
                assert_eq!(template["metadata"]["labels"][key], *value, "{object:#}");
            }
        }
        kinds.insert(format!("{kind} of the {component}"));
    }
    assert_eq!(kinds.len(), 8, "{kinds:?}");
    Ok(())
}
