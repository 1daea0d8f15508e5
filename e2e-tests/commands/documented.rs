//! `docs/commands.md` shows what the commands print.

use anyhow::Context as _;

use super::{Stage, items, run, scene};
use crate::book::Book;
use crate::cluster::eventually;
use crate::scenarios::scene::{PATIENCE, Scene, manifest};

/// The sections that this scenario runs in order; the later sections have scenarios of their own.
const STORY: [&str; 4] = [
    "## plan: what would happen",
    "## status: how far it is",
    "## The same with kubectl",
    "## history, undo, withdraw: what was asked for, and back",
];

/// Runs the next command, which must be this one, and compares its output.
async fn types(book: &mut Book, scene: &Scene<'_>, command: &str) -> anyhow::Result<()> {
    let documented = book.expect(command)?;
    let words: Vec<&str> = command.split(' ').collect();
    let output = match words[0] {
        "kubectl" => scene.kubectl(&words[1..], "").await?,
        _ => run(scene, &words[1..], "").await?,
    };
    book.compare(&documented, &(output.stderr + &output.stdout));
    Ok(())
}

pub(super) async fn document_shows_command_output(stage: &Stage) -> anyhow::Result<()> {
    let mut book = Book::under(&STORY, "docs/commands.md")?;
    let scene = scene(stage, "shop").await?;
    let file = scene.cluster.folder().join("web.yaml");
    std::fs::write(&file, manifest(3, "2Gi"))?;
    types(&mut book, &scene, "claim-rollout plan -f web.yaml").await?;
    types(&mut book, &scene, "kubectl apply -f web.yaml").await?;
    scene.until_complete(3, "2Gi").await?;
    scene.until_event("ClaimRolloutComplete").await?;

    scene
        .done(&["create", "quota", "storage", "--hard=requests.storage=8Gi"], "")
        .await?;
    scene.until_quota("used", "6Gi").await?;
    std::fs::write(&file, manifest(3, "4Gi"))?;
    types(&mut book, &scene, "claim-rollout plan -f web.yaml").await?;
    types(&mut book, &scene, "claim-rollout status web").await?;
    types(&mut book, &scene, "kubectl get claimrollouts").await?;
    types(&mut book, &scene, "kubectl get claimrollouts -o wide").await?;
    types(&mut book, &scene, "kubectl wait --for=condition=Ready claimrollout/web").await?;
    types(&mut book, &scene, "kubectl describe sts web").await?;

    scene.done(&["apply", "-f", "web.yaml"], "").await?;
    let stuck = eventually(
        "the quota to be named, and the target to be kept",
        PATIENCE,
        async || {
            let exceeds = scene.rollout().await?["status"]["conditions"][2]["reason"] == "WouldExceedQuota";
            let targets = items(&run(&scene, &["history", "web", "-o", "json"], "").await?)?;
            Ok((exceeds && targets.last().is_some_and(|last| last["number"] == 2)).then_some(()))
        },
    );
    stuck.await.with_context(|| scene.log())?;
    types(&mut book, &scene, "claim-rollout history web").await?;
    types(&mut book, &scene, "claim-rollout undo web").await?;
    types(&mut book, &scene, "claim-rollout withdraw web").await?;
    book.end()
}
