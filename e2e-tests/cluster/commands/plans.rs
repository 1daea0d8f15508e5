//! The output of `plan`, compared with the rollout that follows.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::{items, prepare, run};
use crate::world::installation::USER;
use crate::world::namespace::{TestNamespace, text};
use crate::world::web::Web;
use crate::world::{Output, World};

/// The plan of this manifest, as JSON.
pub(crate) async fn plan(ns: &TestNamespace<'_>, manifest: &Web) -> anyhow::Result<(Output, Value)> {
    plan_with(ns, &[], manifest).await
}

/// The same with further arguments.
pub(super) async fn plan_with(
    ns: &TestNamespace<'_>,
    arguments: &[&str],
    manifest: &Web,
) -> anyhow::Result<(Output, Value)> {
    let arguments = [&["plan", "-f", "-", "-o", "json"], arguments].concat();
    let output = run(ns, &arguments, manifest).await?;
    let mut plans = items(&output).with_context(|| format!("{output:?}"))?;
    ensure!(plans.len() == 1, "{output:?}");
    Ok((output, plans.remove(0)))
}

/// The names and new sizes of PVCs, in the planned order.
fn steps(plan: &Value) -> Vec<(String, String)> {
    let claims = plan["claims"].as_array().map_or(&[][..], Vec::as_slice);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut steps: Vec<_> = claims
        .iter()
        .filter_map(|claim| {
            Some((
                claim["step"].as_u64()?,
                text(&claim["name"]),
                text(&claim["then"]["storage"]),
            ))
        })
        .collect();
    steps.sort();
    steps.into_iter().map(|(_, name, size)| (name, size)).collect()
}

/// The names of PVCs, in the order in which the controller wrote them.
async fn written(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<String>> {
    let mut writes = ns.writes_of(USER).await?;
    writes.retain(|entry| entry.resource == "persistentvolumeclaims" && entry.succeeded());
    Ok(writes.into_iter().map(|entry| entry.name).collect())
}

pub(super) async fn rollout_follows_the_plan(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "planned").await?;
    let before = (ns.set().await?, ns.claims().await?);
    let (output, planned) = plan(&ns, &Web::replicas(3).size("2Gi")).await?;
    ensure!(output.code == Some(0), "{output:?}");
    ensure!(
        (ns.set().await?, ns.claims().await?) == before,
        "a plan changes nothing"
    );

    let expected = ["data-web-2", "data-web-1", "data-web-0"].map(|name| (name.to_owned(), "2Gi".to_owned()));
    ensure!(steps(&planned) == expected, "{planned:#}");
    let revision = planned["target"]["revision"].as_str().context("a revision")?;
    let pods = ns.pods().await?;
    let applied = ns.apply(3, "2Gi").await?;
    let warning = planned["verdict"]["warnings"][0].as_str().context("a warning")?;
    ensure!(applied.stderr == format!("Warning: {warning}\n"), "{applied:?}");
    ns.until_complete(3, "2Gi").await?;
    ensure!(
        ns.staged_change().await?["revision"] == revision,
        "another revision was staged"
    );
    let order: Vec<String> = expected.into_iter().map(|(name, _)| name).collect();
    ensure!(written(&ns).await? == order, "{:?}", written(&ns).await?);
    ensure!(ns.pods().await? == pods, "no Pod was to be restarted");

    for arguments in [&["plan", "-f", "-"][..], &["plan", "web"]] {
        let again = run(&ns, arguments, &Web::replicas(3).size("2Gi")).await?;
        ensure!(
            again.code == Some(0) && again.stdout.ends_with("\nNothing to do.\n"),
            "{again:?}"
        );
    }
    Ok(())
}

/// Applies a growth whose plan is blocked at this PVC, and waits until the API server returns the error that the plan
/// names.
async fn fails_as_planned(ns: &TestNamespace<'_>, new: &Web, claim: &str) -> anyhow::Result<()> {
    let (output, planned) = plan(ns, new).await?;
    ensure!(output.code == Some(1) && planned["goesThrough"] == false, "{output:?}");
    let claims = planned["claims"].as_array().context("claims")?;
    let blocked: Vec<&Value> = claims.iter().filter(|planned| planned["action"] == "Blocked").collect();
    ensure!(blocked.len() == 1 && blocked[0]["name"] == claim, "{planned:#}");
    let words = blocked[0]["obstacles"][0].as_str().context("an obstacle")?;

    ns.target(new).await?;
    let refusal = |rollout: &Value| {
        let mut listed = rollout["status"]["claims"].as_array().into_iter().flatten();
        let refused = listed.find(|listed| listed["name"] == claim && listed["state"] == "Refused");
        refused.map(|refused| text(&refused["message"]))
    };
    let rollout = ns.until_reported(words, |rollout| refusal(rollout).is_some()).await?;
    let message = refusal(&rollout).context("an error")?;
    ensure!(
        message.contains(words),
        "planned was\n{words}\nbut the API server returns\n{message}"
    );
    let order: Vec<String> = steps(&planned).into_iter().map(|(name, _)| name).collect();
    ensure!(
        written(ns).await? == order,
        "planned {order:?}, written {:?}",
        written(ns).await?
    );
    Ok(())
}

/// A ResourceQuota with this limit. The API server reports this usage.
pub(super) async fn quota(ns: &TestNamespace<'_>, hard: &str, used: &str) -> anyhow::Result<()> {
    let hard = format!("--hard=requests.storage={hard},expandable.storageclass.storage.k8s.io/requests.storage={hard}");
    ns.typed(&format!("create quota storage {hard}")).await?;
    ns.until_quota("used", used).await
}

pub(super) async fn plan_names_limit_range_as_the_api_server_does(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "planned-limit").await?;
    let limit = "{apiVersion: v1, kind: LimitRange, metadata: {name: claims}, \
                 spec: {limits: [{type: PersistentVolumeClaim, max: {storage: 1536Mi}}]}}";
    ns.done(&["create", "-f", "-"], limit).await?;
    fails_as_planned(&ns, &Web::replicas(3).size("2Gi"), "data-web-2").await
}

pub(super) async fn plan_reports_missing_right_on_claims(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "planned-rights").await?;
    ns.give_rights_to_alice_and_bob().await?;
    ns.typed("create rolebinding bob-views --user=bob --clusterrole=view")
        .await?;
    let kubeconfig = ns.cluster.kubeconfig_for("bob", &[])?;
    let kubeconfig = kubeconfig.to_string_lossy();
    let new = Web::replicas(3).size("2Gi");
    let arguments = ["plan", "-f", "-", "--kubeconfig", &*kubeconfig];
    let planned = run(&ns, &arguments, &new).await?;
    ensure!(planned.code == Some(1), "{planned:?}");
    let tried = ns
        .kubectl(&["apply", "-f", "-", "--kubeconfig", &*kubeconfig], &new)
        .await?;
    let (_, words) = tried
        .stderr
        .split_once("denied the request: ")
        .with_context(|| tried.stderr.clone())?;
    ensure!(
        planned.stdout.contains(words.trim()),
        "planned\n{}\nbut kubectl prints\n{words}",
        planned.stdout
    );
    // The user cannot read cluster-scoped classes either. The plan states what it could not read.
    ensure!(
        planned.stdout.contains("Note: StorageClass: not checked ("),
        "{}",
        planned.stdout
    );
    Ok(())
}
