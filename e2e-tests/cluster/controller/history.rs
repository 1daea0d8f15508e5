//! The history of targets, in ControllerRevisions.

use std::collections::BTreeMap;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::namespace::{TestNamespace, text};
use crate::world::web::Web;
use crate::world::{World, until};

/// A StatefulSet that keeps three revisions, and whose selector matches all objects without a certain label: our
/// ControllerRevisions too.
fn greedy(size: &str) -> Web {
    let all = json!([{"key": "nobody-has-this", "operator": "DoesNotExist"}]);
    let selector = json!({"matchLabels": null, "matchExpressions": all});
    Web::replicas(1)
        .size(size)
        .spec(&json!({"revisionHistoryLimit": 3, "selector": selector}))
}

/// The owner of a ControllerRevision, its number, and the storage in its templates; for revisions of the StatefulSet
/// the image of its Pod template.
type Kept = (String, i64, Value);

async fn kept(ns: &TestNamespace<'_>) -> anyhow::Result<BTreeMap<String, Kept>> {
    let list = ns.typed("get controllerrevisions -o json").await?;
    let list: Value = serde_json::from_str(&list.stdout)?;
    let items = list["items"].as_array().into_iter().flatten();
    let kept = items.map(|item| {
        let owner = &item["metadata"]["ownerReferences"][0];
        ensure!(owner["controller"] == true, "{item:#}");
        let storage = &item["data"]["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"];
        let kept = (
            text(&owner["kind"]),
            item["revision"].as_i64().unwrap_or_default(),
            storage.clone(),
        );
        Ok((text(&item["metadata"]["name"]), kept))
    });
    kept.collect()
}

pub(super) async fn every_target_is_kept_and_not_adopted_by_a_statefulset(env: &World) -> anyhow::Result<()> {
    let ns = env.managed("history").await?;
    ns.target(&greedy("1Gi")).await?;
    ns.until_ready(1).await?;
    let own = kept(&ns).await?;
    ensure!(own.len() == 1, "{own:?}");
    let revisions = |set: &Value| json!([set["status"]["currentRevision"], set["status"]["updateRevision"]]);
    let (before, pods) = (revisions(&ns.set().await?), ns.pods().await?);

    let mut names = Vec::new();
    let sizes = ["2Gi", "3Gi", "4Gi", "5Gi"];
    for size in sizes {
        ns.target(&greedy(size)).await?;
        ns.until_complete(1, size).await?;
        names.push(format!("web-claims-{}", text(&ns.staged_change().await?["revision"])));
    }
    let target = |number: usize| ("ClaimRollout".to_owned(), number as i64 + 1, json!(sizes[number]));
    let mut expected = own.clone();
    expected.extend((1..4).map(|number| (names[number].clone(), target(number))));
    let found = kept(&ns).await?;
    ensure!(found == expected, "expected the last three: {found:#?}\n{}", ns.log());

    let latest = ns
        .done(&["get", "controllerrevision", &names[3], "-o", "json"], "")
        .await?;
    let latest: Value = serde_json::from_str(&latest.stdout)?;
    let annotations = &latest["metadata"]["annotations"];
    let by = json!({"claim-rollout.io/by": "admin", "claim-rollout.io/manager": "kubectl-client-side-apply"});
    ensure!(*annotations == by, "{annotations}");
    let owner = &latest["metadata"]["ownerReferences"][0]["uid"];
    let of_rollout = &latest["metadata"]["labels"]["claim-rollout.io/rollout-uid"];
    ensure!(of_rollout == owner, "{latest:#}");

    // A target that comes again gets a new number and is the latest.
    let tier = greedy("5Gi").template(&json!({"metadata": {"labels": {"tier": "a"}}}));
    for (manifest, number) in [(tier, 5), (greedy("5Gi"), 6)] {
        ns.target(&manifest).await?;
        ns.until_complete(1, "5Gi").await?;
        let name = format!("web-claims-{}", text(&ns.staged_change().await?["revision"]));
        let found = kept(&ns).await?;
        ensure!(
            found.get(&name).is_some_and(|kept| kept.1 == number),
            "{name}: {found:#?}"
        );
        let targets = found.values().filter(|kept| kept.0 == "ClaimRollout").count();
        ensure!(targets == 3, "{found:#?}");
    }

    let set = ns.settled().await?;
    ensure!(revisions(&set) == before, "the set has other revisions: {set:#}");
    ensure!(ns.pods().await? == pods, "a Pod was replaced");

    ns.typed("delete statefulset web").await?;
    until(
        "the history to be deleted",
        async || kept(&ns).await,
        |kept| kept.is_empty(),
    )
    .await
    .map(drop)
}
