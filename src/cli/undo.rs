//! `claim-rollout undo`: rolls back to a previous revision.

use anyhow::{Context as _, bail, ensure};
use clap::Args;

use super::cluster::ClusterArguments;
use super::completion::sets;
use super::history::unknown;
use super::output::print;
use super::revisions::{self, HistoryEntry, RevisionHistory};
use super::withdraw::{DryRun, patch, remark, withdraw};
use crate::controller::objects::conversion;
use crate::templates::{Diff, Revision};

/// Roll back to a previous revision of volumeClaimTemplates
///
/// Requests the templates of that revision again, so the policy judges them as any other change: a PVC never gets
/// smaller, but labels, annotations and attributes classes go back. Going back to the live templates withdraws the
/// staged change, as `withdraw` does.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the StatefulSet
    #[arg(add = sets())]
    name: String,
    /// Revision to roll back to, by name or number as in `history`; the one before the staged revision, or the live one, if omitted
    #[arg(long, value_name = "REVISION")]
    to_revision: Option<String>,
    /// `none`, or `server` to submit a server-side request without persisting it
    #[arg(long, value_name = "MODE", default_value = "none")]
    dry_run: DryRun,
}

/// The way to roll back.
#[derive(Clone, Debug, PartialEq)]
enum Way<'a> {
    /// Withdraw the staged change.
    Withdraw(Revision),
    /// Request the templates of this revision.
    Ask(&'a HistoryEntry),
}

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
    let staged = conversion::set(&stored)?.staged.map(|change| change.revision());
    ensure!(
        staged.as_ref() == Some(&entry.revision),
        not_staged(entry, staged.as_ref())
    );
    let set = &history.set.name;
    print(&format!(
        "statefulset.apps/{set} rolled back to revision {}{}\n",
        entry.revision,
        remark(dry_run)
    ))
}

/// The way back to the requested revision, or to the one before the staged one.
fn way<'a>(history: &'a RevisionHistory, asked: Option<&str>) -> anyhow::Result<Way<'a>> {
    let staged = history.set.staged.as_ref().map(|change| change.revision());
    let target = match asked {
        Some(asked) => history.find(asked).with_context(|| unknown(history, asked))?,
        None => {
            // After a replacement, nothing is staged and the live revision is one of the history.
            let (place, is_it): (&str, &dyn Fn(&HistoryEntry) -> bool) = match &staged {
                Some(staged) => ("staged", &|entry| entry.revision == *staged),
                None => ("live", &|entry| entry.is_live),
            };
            let mut before = history.entries.iter().rev().skip_while(|entry| !is_it(entry));
            before.nth(1).with_context(|| {
                format!(
                    "StatefulSet {} has no revision before the {place} one",
                    history.set.name
                )
            })?
        }
    };
    ensure!(
        staged.as_ref() != Some(&target.revision),
        "revision {} is staged already",
        target.revision
    );
    Ok(match staged {
        _ if !target.is_live => Way::Ask(target),
        Some(staged) => Way::Withdraw(staged),
        None => bail!("revision {} is live already, and nothing is staged", target.revision),
    })
}

/// The error if the request was accepted, but another revision is staged after it, or none.
fn not_staged(entry: &HistoryEntry, staged: Option<&Revision>) -> String {
    let instead = staged.map(|staged| format!(", but {staged} is"));
    // Without the policy, the API server denies the request.
    format!(
        "revision {} was not staged{}: a setting of the policy ignores a part of it (shrink: Keep or \
         metadataOnlyChanges: Ignore), as its warning shows",
        entry.revision,
        instead.unwrap_or_default()
    )
}

/// Explains why the revision was not staged.
fn explain(history: &RevisionHistory, entry: &HistoryEntry) -> String {
    if Diff::between(&history.set.live, &entry.templates).takes_back() {
        return format!(
            "revision {} has less storage than the live templates, and a PVC never gets smaller",
            entry.revision
        );
    }
    format!("failed to stage revision {}", entry.revision)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{RevisionHistory, Way, explain, not_staged, way};
    use crate::cli::revisions::tests::{history, revision, set, stored, template};
    use crate::templates::Revision;

    fn kept() -> [Value; 2] {
        [stored(1, "2Gi"), stored(2, "3Gi")]
    }

    #[test]
    fn way_to_live_templates_is_to_withdraw() {
        let revised = |size| Revision::from_text(revision(size));
        for (staged, asked, expected) in [
            (Some("3Gi"), None, Ok(("ask", revised("2Gi")))),
            (Some("3Gi"), Some("1"), Ok(("ask", revised("2Gi")))),
            (Some("3Gi"), Some("0"), Ok(("withdraw", revised("3Gi")))),
            (Some("2Gi"), Some("2"), Ok(("ask", revised("3Gi")))),
            (None, Some("2"), Ok(("ask", revised("3Gi")))),
            (Some("3Gi"), Some("2"), Err("is staged already")),
            (None, Some("0"), Err("is live already, and nothing is staged")),
            (None, None, Err("StatefulSet web has no revision before the live one")),
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
        // The history as it is after a replacement.
        let mut live = set(None);
        live["spec"]["volumeClaimTemplates"] = json!([template("3Gi")]);
        let replaced = RevisionHistory::of(&live, &kept()).expect("a history");
        assert_eq!(way(&replaced, None).ok(), replaced.find("1").map(Way::Ask));
        let first = history(Some("2Gi"), &[]);
        assert_eq!(
            way(&first, None).expect("a way"),
            Way::Withdraw(revised("2Gi")),
            "the first revision"
        );
    }

    #[test]
    fn revision_that_the_settings_ignore_is_not_staged() {
        let history = history(Some("3Gi"), &kept());
        let entry = history.find("1").expect("a revision");
        let [two, three] = ["2Gi", "3Gi"].map(revision);
        let why = "a setting of the policy ignores a part of it (shrink: Keep or metadataOnlyChanges: Ignore), as its \
                   warning shows";
        let staged = Revision::from_text(three.clone());
        assert_eq!(
            not_staged(entry, Some(&staged)),
            format!("revision {two} was not staged, but {three} is: {why}")
        );
        assert_eq!(not_staged(entry, None), format!("revision {two} was not staged: {why}"));
    }

    #[test]
    fn explain_less_storage() {
        let mut live = set(None);
        live["spec"]["volumeClaimTemplates"] = json!([template("3Gi")]);
        let history = RevisionHistory::of(&live, &kept()).expect("a history");
        let explained = |asked: &str| explain(&history, history.find(asked).expect("a revision"));
        assert!(explained("1").contains("a PVC never gets smaller"));
        assert!(!explained("2").contains("smaller"));
    }
}
