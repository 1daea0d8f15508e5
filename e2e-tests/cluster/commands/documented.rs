//! `docs/commands.md` shows what the commands print.

use anyhow::Context as _;

use super::{items, prepare, run};
use crate::world::book::Book;
use crate::world::namespace::{PATIENCE, TestNamespace};
use crate::world::web::Web;
use crate::world::{World, eventually};

/// The sections that this scenario runs in order; the later sections have scenarios of their own.
const STORY: [&str; 4] = [
    "## plan: what would happen",
    "## status: how far it is",
    "## The same with kubectl",
    "## history, undo, withdraw: what was asked for, and back",
];

/// Runs the next command, which must be this one, and compares its output.
async fn types(book: &mut Book, ns: &TestNamespace<'_>, command: &str) -> anyhow::Result<()> {
    let documented = book.expect(command)?;
    let words: Vec<&str> = command.split(' ').collect();
    let output = match words[0] {
        "kubectl" => ns.kubectl(&words[1..], "").await?,
        _ => run(ns, &words[1..], "").await?,
    };
    let mut printed = output.stderr + &output.stdout;
    // `recordPodEvent` in `pkg/controller/statefulset/stateful_pod_control.go` up to 1.34.
    if ns.cluster.minor() < 35 {
        printed = printed.replace(" create ", " Create ");
    }
    book.compare(&documented, &printed);
    Ok(())
}

pub(super) async fn document_shows_command_output(env: &World) -> anyhow::Result<()> {
    let mut book = Book::under(&STORY, "docs/commands.md")?;
    let ns = prepare(env, "shop").await?;
    let file = ns.cluster.folder().join("web.yaml");
    std::fs::write(&file, Web::replicas(3).size("2Gi").to_string())?;
    types(&mut book, &ns, "claim-rollout plan -f web.yaml").await?;
    types(&mut book, &ns, "kubectl apply -f web.yaml").await?;
    ns.until_complete(3, "2Gi").await?;
    ns.until_event("ClaimRolloutComplete").await?;

    ns.typed("create quota storage --hard=requests.storage=8Gi").await?;
    ns.until_quota("used", "6Gi").await?;
    std::fs::write(&file, Web::replicas(3).size("4Gi").to_string())?;
    types(&mut book, &ns, "claim-rollout plan -f web.yaml").await?;
    types(&mut book, &ns, "claim-rollout status web").await?;
    types(&mut book, &ns, "kubectl get claimrollouts").await?;
    types(&mut book, &ns, "kubectl get claimrollouts -o wide").await?;
    types(&mut book, &ns, "kubectl wait --for=condition=Ready claimrollout/web").await?;
    types(&mut book, &ns, "kubectl describe sts web").await?;

    ns.typed("apply -f web.yaml").await?;
    let stuck = eventually(
        "the quota to be named, and the target to be kept",
        PATIENCE,
        async || {
            let exceeds = ns.rollout().await?["status"]["conditions"][2]["reason"] == "WouldExceedQuota";
            let targets = items(&run(&ns, &["history", "web", "-o", "json"], "").await?)?;
            Ok((exceeds && targets.last().is_some_and(|last| last["number"] == 2)).then_some(()))
        },
    );
    stuck.await.with_context(|| ns.log())?;
    types(&mut book, &ns, "claim-rollout history web").await?;
    types(&mut book, &ns, "claim-rollout undo web").await?;
    // The PVCs are written again, for this staging.
    ns.until_complete(3, "2Gi").await?;
    types(&mut book, &ns, "claim-rollout withdraw web").await?;
    book.end()
}
