//! `plan` without a cluster.

use anyhow::{Context as _, ensure};

use super::plans::{plan, quota};
use super::{prepare, run};
use crate::world::World;
use crate::world::web::Web;

pub(super) async fn plan_from_files_equals_plan_from_cluster(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "from-files").await?;
    quota(&ns, "4Gi", "3Gi").await?;
    let new = Web::replicas(3).size("2Gi");
    let (_, from_cluster) = plan(&ns, &new).await?;

    let namespaced = ns.typed("get sts,pvc,pods,quota,limits -o yaml").await?;
    let classes = ns.typed("get storageclasses -o json").await?;
    let mut state: serde_json::Value = serde_saphyr::from_str(&namespaced.stdout)?;
    let mut classes: serde_json::Value = serde_json::from_str(&classes.stdout)?;
    if let (Some(items), Some(classes)) = (state["items"].as_array_mut(), classes["items"].as_array_mut()) {
        items.append(classes);
    }
    let file = ns.cluster.folder().join("state.yaml");
    std::fs::write(&file, serde_saphyr::to_string(&state)?)?;
    let file = file.to_string_lossy();
    let arguments = [
        "plan",
        "-f",
        "-",
        "--objects",
        &*file,
        "-o",
        "json",
        "--kubeconfig",
        "/nowhere",
    ];
    let output = run(&ns, &arguments, &new).await?;
    ensure!(output.code == Some(1), "{output:?}");
    let mut from_files = super::items(&output)?.remove(0);
    let note = "not checked whether the requester may change PVCs: no SubjectAccessReview was given";
    ensure!(from_files["notes"][0] == note, "{from_files:#}");
    from_files["notes"] = from_cluster["notes"].clone();
    let verdict = from_files["verdict"].as_object_mut().context("a verdict")?;
    let here = verdict.remove("decidedHere");
    ensure!(here == Some("--objects names no cluster".into()), "{here:?}");
    ensure!(
        from_files == from_cluster,
        "from files\n{from_files:#}\nfrom the cluster\n{from_cluster:#}"
    );
    Ok(())
}
