//! `docs/commands.md`: the commands that the scenario in `documented` does not run.

use anyhow::Context as _;

use super::{prepare, run};
use crate::world::World;
use crate::world::book::Book;
use crate::world::namespace::TestNamespace;
use crate::world::reviews_stored::Stored;

pub(super) const DOCUMENT: &str = "docs/commands.md";

/// Runs the next command, which must be this one, and compares its output.
pub(super) async fn types(book: &mut Book, ns: &TestNamespace<'_>, command: &str) -> anyhow::Result<()> {
    let documented = book.expect(command)?;
    let words: Vec<&str> = command.split(' ').map(|word| word.trim_matches('\'')).collect();
    let output = match words[0] {
        "kubectl" => ns.kubectl(&words[1..], "").await?,
        _ => run(ns, &words[1..], "").await?,
    };
    book.compare(&documented, &(output.stdout + &output.stderr));
    Ok(())
}

pub(super) async fn document_shows_drift_and_watch_output(env: &World) -> anyhow::Result<()> {
    let sections = [
        "## drift: what differs",
        "## wait: for this change, in a script",
        "## pause, resume: one annotation",
    ];
    let mut book = Book::under(&sections, DOCUMENT)?;
    let ns = prepare(env, "mail").await?;
    types(&mut book, &ns, "claim-rollout drift").await?;
    let by_hand = r#"kubectl patch pvc data-web-0 -p '{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}'"#;
    types(&mut book, &ns, by_hand).await?;
    ns.until_all("the volume to grow", "pvc", |claims| {
        claims[0]["status"]["capacity"]["storage"] == "2Gi"
    })
    .await?;
    types(&mut book, &ns, "claim-rollout drift").await?;

    ns.apply(3, "2Gi").await?;
    types(&mut book, &ns, "claim-rollout wait web --timeout 10m").await?;
    types(&mut book, &ns, "claim-rollout status web --watch").await?;
    types(&mut book, &ns, "claim-rollout pause web").await?;
    types(&mut book, &ns, "claim-rollout resume web").await?;
    types(
        &mut book,
        &ns,
        "kubectl annotate statefulset web claim-rollout.io/update-policy=InPlace --overwrite",
    )
    .await?;
    book.end()
}

pub(super) async fn document_shows_review_output(env: &World) -> anyhow::Result<()> {
    let mut book = Book::under(&["## review: one request, without a cluster"], DOCUMENT)?;
    let ns = env.managed("no-cluster").await.context("a place to type")?;
    let review = Stored::read()?.body("a template shrinks")?;
    std::fs::write(ns.cluster.folder().join("review.json"), review)?;
    types(&mut book, &ns, "claim-rollout review review.json").await?;
    book.end()
}
