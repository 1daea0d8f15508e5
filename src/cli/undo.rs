//! `claim-rollout undo`: back to an earlier wish.

use anyhow::{Context as _, ensure};
use clap::Args;

use super::ClusterArguments;
use super::history::unknown;
use super::output::print;
use super::revisions::{self, HistoryEntry, RevisionHistory, TemplateOrigin};
use super::withdraw::{DryRun, patch, remark, withdraw};
use crate::controller::objects;
use crate::templates::diff::Change;
use crate::templates::{Diff, Revision};

/// Go back to an earlier wish for the claims of a StatefulSet
///
/// The templates of that wish are asked for again, so the policy judges them as any other change: a claim never gets
/// smaller, but labels, annotations and attributes classes go back. Going back to the templates that the set has drops
/// what is staged, as `withdraw` does.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The StatefulSet.
    name: String,
    /// The wish to go back to, as `history` shows it: its revision, or its number. The one before what is staged, if
    /// none is named.
    #[arg(long, value_name = "REVISION")]
    to_revision: Option<String>,
    /// `server`: ask the API server what would become of it, and store nothing.
    #[arg(long, value_name = "MODE", default_value = "none")]
    dry_run: DryRun,
}

/// How to go back.
#[derive(Clone, Debug, PartialEq)]
enum Way<'a> {
    /// Drop what is staged.
    Withdraw(Revision),
    /// Ask for the templates of this wish.
    Ask(&'a HistoryEntry),
}

/// Runs the subcommand.
pub(crate) async fn run(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<()> {
    let (client, namespace) = cluster.connect().await?;
    let (set, history) = revisions::read(&client, &namespace, &arguments.name).await?;
    let dry_run = arguments.dry_run;
    let entry = match way(&history, arguments.to_revision.as_deref())? {
        Way::Withdraw(revision) => return withdraw(&client, &set, &history.set, &revision, dry_run).await,
        Way::Ask(entry) => entry,
    };
    let stored = patch(&client, &history.set, &revisions::patch(&set, entry), dry_run).await;
    let stored = stored.with_context(|| explain(&history, entry))?;
    let staged = objects::set(&stored)?.staged.map(|change| change.revision());
    ensure!(
        staged.as_ref() == Some(&entry.revision),
        "expected the policy to stage revision {}, but found that nobody did: is it installed?",
        entry.revision
    );
    let set = &history.set.name;
    print(&format!(
        "statefulset.apps/{set} rolled back to revision {}{}\n",
        entry.revision,
        remark(dry_run)
    ))
}

/// The way back to the wish that is asked for, or to the one before what is staged.
fn way<'a>(history: &'a RevisionHistory, asked: Option<&str>) -> anyhow::Result<Way<'a>> {
    let staged = history.set.staged.as_ref().map(|change| change.revision());
    let target = match asked {
        Some(asked) => history.find(asked).with_context(|| unknown(history, asked))?,
        None => {
            let mut before = history
                .entries
                .iter()
                .rev()
                .skip_while(|entry| Some(&entry.revision) != staged.as_ref());
            before.nth(1).with_context(|| {
                format!(
                    "expected a wish before the staged one of StatefulSet {}, but found none",
                    history.set.name
                )
            })?
        }
    };
    ensure!(
        staged.as_ref() != Some(&target.revision),
        "expected another revision than the staged one, but found {}",
        target.revision
    );
    Ok(match (target.place, staged) {
        (TemplateOrigin::Live, Some(staged)) => Way::Withdraw(staged),
        (TemplateOrigin::Live, None) => anyhow::bail!(
            "revision {} is what the set has, and nothing is staged",
            target.revision
        ),
        (TemplateOrigin::Kept, _) => Way::Ask(target),
    })
}

/// Why a refusal is to be expected, if one is.
fn explain(history: &RevisionHistory, entry: &HistoryEntry) -> String {
    let current = history
        .set
        .staged
        .as_ref()
        .map_or(&history.set.live, |change| &change.templates);
    let diff = Diff::between(current, &entry.templates);
    let smaller = |change: &Change| matches!(change, Change::Storage { from, to } if to < from);
    if diff.changed.iter().flat_map(|change| &change.changes).any(smaller) {
        return format!(
            "revision {} asks for less storage, and a claim never gets smaller; what has not begun can be dropped with \
             `claim-rollout withdraw {}`",
            entry.revision, history.set.name
        );
    }
    format!("revision {} was not accepted", entry.revision)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{Way, explain, way};
    use crate::cli::revisions::tests::{history, revision, stored};
    use crate::templates::Revision;

    fn kept() -> [Value; 2] {
        [stored(1, "2Gi"), stored(2, "3Gi")]
    }

    #[test]
    fn the_way_back_is_to_ask_again_or_to_withdraw() {
        let revised = |size| Revision::from_text(revision(size));
        for (staged, asked, expected) in [
            (Some("3Gi"), None, Ok(("ask", revised("2Gi")))),
            (Some("3Gi"), Some("1"), Ok(("ask", revised("2Gi")))),
            (Some("3Gi"), Some("0"), Ok(("withdraw", revised("3Gi")))),
            (Some("2Gi"), Some("2"), Ok(("ask", revised("3Gi")))),
            (None, Some("2"), Ok(("ask", revised("3Gi")))),
            (
                Some("3Gi"),
                Some("2"),
                Err("expected another revision than the staged one"),
            ),
            (None, Some("0"), Err("is what the set has, and nothing is staged")),
            (
                None,
                None,
                Err("expected a wish before the staged one of StatefulSet web, but found none"),
            ),
            (Some("3Gi"), Some("x"), Err("expected one of the revisions")),
        ] {
            let history = history(staged, &kept());
            let found = match way(&history, asked) {
                Ok(Way::Ask(entry)) => Ok(("ask", entry.revision.clone())),
                Ok(Way::Withdraw(revision)) => Ok(("withdraw", revision)),
                Err(error) => Err(error.to_string()),
            };
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{staged:?} {asked:?}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
                (found, expected) => panic!("{staged:?} {asked:?}: expected {expected:?}, but found {found:?}"),
            }
        }
        let first = history(Some("2Gi"), &[]);
        assert_eq!(
            way(&first, None).expect("a way"),
            Way::Withdraw(revised("2Gi")),
            "the first wish"
        );
    }

    #[test]
    fn less_storage_is_explained() {
        let history = history(Some("3Gi"), &kept());
        let explained = |asked: &str| explain(&history, history.find(asked).expect("a wish"));
        assert!(explained("1").contains("a claim never gets smaller"));
        assert!(!explained("2").contains("smaller"));
    }
}
