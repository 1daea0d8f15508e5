//! What `docs/commands.md` shows of the doctor.

use serde_json::json;

use super::stage::Stage;
use crate::book::Book;

/// Types the next command, which must be this one, and compares what it prints.
async fn types(book: &mut Book, stage: &Stage, command: &str) -> anyhow::Result<()> {
    let documented = book.expect(command)?;
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let output = stage.run(&words).await?;
    book.compare(&documented, &(output.stdout + &output.stderr));
    Ok(())
}

pub(super) async fn the_document_shows_what_the_doctor_says(stage: &mut Stage) -> anyhow::Result<()> {
    let mut book = Book::under(&["## doctor: what is wrong with the installation"], "docs/commands.md")?;
    types(&mut book, stage, "claim-rollout doctor").await?;
    let held = json!({
        "metadata": {"annotations": {"claim-rollout.io/held-partition": "0"}},
        "spec": {"updateStrategy": {"rollingUpdate": {"partition": 1}}},
    });
    let arguments = ["patch", "statefulset/web", "--type=merge", "-p", &held.to_string()];
    stage.faults(&arguments, "").await?;
    types(&mut book, stage, "claim-rollout doctor").await?;
    types(&mut book, stage, "claim-rollout lift -n faults web --dry-run=server").await?;
    types(&mut book, stage, "claim-rollout lift -n faults web").await?;
    types(&mut book, stage, "claim-rollout doctor").await?;
    book.end()
}
