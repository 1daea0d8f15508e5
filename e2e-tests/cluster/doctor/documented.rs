//! `docs/commands.md` shows what the doctor prints.

use super::examined::Examined;
use crate::world::book::Book;

/// Runs the next command, which must be this one, and compares its output.
async fn types(book: &mut Book, env: &Examined, command: &str) -> anyhow::Result<()> {
    let documented = book.expect(command)?;
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let output = match command.split_once(' ') {
        Some(("kubectl", _)) => env.done(&words, "").await?,
        _ => env.run(&words).await?,
    };
    // The first line of the doctor is before its findings, on standard error as the last one.
    let shown = match output.stderr.split_once('\n') {
        Some((first, rest)) => format!("{first}\n{}{rest}", output.stdout),
        None => output.stdout + &output.stderr,
    };
    book.compare(&documented, &shown);
    Ok(())
}

pub(super) async fn document_shows_doctor_output(env: &mut Examined) -> anyhow::Result<()> {
    let mut book = Book::under(&["## doctor: what is wrong with the installation"], "docs/commands.md")?;
    types(&mut book, env, "claim-rollout doctor").await?;
    let unknown = ["annotate", "statefulset/web", "claim-rollout.io/sync=Sometimes"];
    env.faults(&unknown, "").await?;
    types(&mut book, env, "claim-rollout doctor").await?;
    let fix = "kubectl annotate -n faults statefulset.apps/web claim-rollout.io/sync-";
    types(&mut book, env, fix).await?;
    types(&mut book, env, "claim-rollout doctor").await?;
    book.end()
}
