//! A chart that renders a Job if the live template has another size than its values: the Job deletes the StatefulSet
//! without its Pods, and patches the PVCs.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::world::helm::{CLIENT_SIDE, Release, SERVER_SIDE, VERSION, warnings};
use crate::world::namespace::{PATIENCE, TestNamespace, staged_change, text};
use crate::world::{World, eventually, until};

const TEMPLATE: &str = concat!(include_str!("chart/shapes.yaml"), include_str!("chart/recreating.yaml"));

/// An upgrade, and what it leaves behind.
struct Row {
    values: &'static str,
    /// Whether the Job is rendered, so that the StatefulSet is another one.
    recreates: bool,
    /// The size of the live template, and of what is staged.
    live: &'static str,
    staged: &'static str,
    warnings: &'static [&'static str],
    claims: &'static str,
    image: &'static str,
}

const FIRST: Row = Row {
    values: "size=1Gi",
    recreates: false,
    live: "1Gi",
    staged: "",
    warnings: &[],
    claims: "1Gi",
    image: "example/main:1",
};
const GROWN: Row = Row {
    values: "size=2Gi,recreate=true",
    recreates: true,
    live: "2Gi",
    claims: "2Gi",
    ..FIRST
};
const WITH_IMAGE: Row = Row {
    values: "size=3Gi,recreate=true,image=example/main:2",
    live: "3Gi",
    claims: "3Gi",
    image: "example/main:2",
    ..GROWN
};
/// Without the Job, the live templates stay.
const STAGED: Row = Row {
    values: "size=4Gi,image=example/main:2",
    recreates: false,
    staged: "4Gi",
    warnings: &["staged data 3Gi -> 4Gi"],
    claims: "4Gi",
    ..WITH_IMAGE
};
/// So the chart sees a difference until the Job has run.
const AFTER_IT: Row = Row {
    values: "size=4Gi,recreate=true,image=example/main:2",
    recreates: true,
    live: "4Gi",
    staged: "",
    warnings: &[],
    ..STAGED
};
const ROWS: [Row; 8] = [
    FIRST,
    GROWN,
    Row {
        recreates: false,
        ..GROWN
    },
    WITH_IMAGE,
    STAGED,
    Row {
        warnings: &[],
        ..STAGED
    },
    AFTER_IT,
    Row {
        recreates: false,
        ..AFTER_IT
    },
];

/// Waits for the Job, and does what its containers would do.
async fn run_job(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    let jobs = async || ns.all("batch", "v1", "Job").await;
    let job = until("the Job", jobs, |jobs| !jobs.is_empty()).await?.remove(0);
    for container in job["spec"]["template"]["spec"]["containers"]
        .as_array()
        .context("containers")?
    {
        let arguments: Vec<&str> = container["args"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(Value::as_str)
            .collect();
        ns.done(&arguments, "").await?;
    }
    let time = &job["metadata"]["creationTimestamp"];
    let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": time});
    let status = json!({"status": {
        "startTime": time, "completionTime": time, "succeeded": 1,
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
    }});
    let patch = [
        "patch",
        "job/recreate",
        "--subresource=status",
        "--type=merge",
        "-p",
        &status.to_string(),
    ];
    ns.done(&patch, "").await.map(drop)
}

/// Helm upgrades the release.
async fn upgrade(release: &Release<'_>, row: &Row) -> anyhow::Result<()> {
    let ns = release.ns;
    // Without the Job of the row, or with another one, Helm waits in vain.
    let upgrade = release.upgraded(VERSION, row.values, &["--timeout=120s"]);
    let output = if row.recreates {
        let (output, ran) = futures::join!(upgrade, run_job(ns));
        ran?;
        output?
    } else {
        upgrade.await?
    };
    ensure!(output.success, "{output:?}");
    let found = warnings(&output);
    let is_expected = |(found, expected): (&&str, &&str)| found.starts_with(expected);
    ensure!(
        found.len() == row.warnings.len() && found.iter().zip(row.warnings).all(is_expected),
        "expected {:?}, but found {found:#?}",
        row.warnings
    );
    Ok(())
}

/// Checks what the row leaves behind, when all is at rest.
async fn is_left(ns: &TestNamespace<'_>, row: &Row) -> anyhow::Result<Value> {
    ns.settled().await?;
    let size = |template: &Value| text(&template["spec"]["resources"]["requests"]["storage"]);
    let complete = eventually("the rollout to be complete", PATIENCE, async || {
        let set = ns.set().await?;
        let change = staged_change(&set)?;
        let is_complete = change.is_null() || change["phase"] == "Complete";
        Ok(is_complete.then_some((set, change)))
    });
    let (set, change) = complete.await.with_context(|| ns.log())?;
    ensure!(size(&change["templates"][0]) == row.staged, "{change:#}");
    ensure!(size(&set["spec"]["volumeClaimTemplates"][0]) == row.live, "{set:#}");
    for claim in ns.claims().await? {
        ensure!(size(&claim) == row.claims, "{claim:#}");
    }
    for pod in ns.all("", "v1", "Pod").await? {
        ensure!(pod["spec"]["containers"][0]["image"] == row.image, "{pod:#}");
        let owner = &pod["metadata"]["ownerReferences"][0]["uid"];
        ensure!(*owner == set["metadata"]["uid"], "the Pod belongs to {owner}");
    }
    Ok(set)
}

async fn played(env: &World, namespace: &str, way: &'static [&'static str]) -> anyhow::Result<()> {
    let ns = &env.managed(namespace).await?;
    let release = Release::of(TEMPLATE, ns, way);
    let (mut last, mut image, mut pods) = (Value::Null, "", Vec::new());
    for (index, row) in ROWS.iter().enumerate() {
        let number = format!("row {}", index + 1);
        upgrade(&release, row).await.with_context(|| number.clone())?;
        let set = is_left(ns, row).await.with_context(|| number.clone())?;
        let is_another = set["metadata"]["uid"] != last["metadata"]["uid"];
        ensure!(
            is_another == (row.recreates || index == 0),
            "{number}: another set: {is_another}"
        );
        let now = ns.pods().await?;
        ensure!(image != row.image || now == pods, "{number}: Pods restarted");
        (last, image, pods) = (set, row.image, now);
    }
    // The first size is below the live one now.
    let output = release.answered(&["rollback", "web", "1"]).await?;
    let denied = "cannot shrink, expected at least 4Gi, but found 1Gi";
    ensure!(!output.success && output.stderr.contains(denied), "{output:?}");
    let set = is_left(ns, &AFTER_IT).await?;
    ensure!(set["metadata"]["uid"] == last["metadata"]["uid"], "another set");
    ensure!(ns.pods().await? == pods, "Pods restarted");
    ns.writes_since(0).await.map(drop)
}

pub(super) async fn job_that_recreates_by_server_side_apply(env: &World) -> anyhow::Result<()> {
    played(env, "recreating-helm-4", SERVER_SIDE).await
}

pub(super) async fn job_that_recreates_by_client_side_apply(env: &World) -> anyhow::Result<()> {
    played(env, "recreating-helm-3", CLIENT_SIDE).await
}
