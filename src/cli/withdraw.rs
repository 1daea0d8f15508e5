//! `claim-rollout withdraw`: drops the staged change.

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueEnum};
use kube::Client;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::Value;

use super::cluster::{self, ClusterArguments, objects};
use super::completion::sets;
use super::lists::list;
use super::output::print;
use super::process::program;
use super::revisions;
use super::revisions::RevisionHistory;
use crate::controller::objects::conversion;
use crate::controller::read::metadata::Bare;
use crate::gate::SetView;
use crate::templates::{Revision, StagedError, keys};

/// The field manager of writes that users make with this program.
const FIELD_MANAGER: &str = "kubectl-claim-rollout";

/// Withdraw the staged change of a StatefulSet
///
/// PVCs that were updated already stay as they are: a volume does not shrink. Pods no longer wait for their PVCs, and
/// replicas that were not reached stay as they are. With the setting `shrink: Recover`, and the right to patch
/// persistentvolumeclaims, a larger size that a PVC asks for and has not reached is taken back.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the StatefulSet
    #[arg(add = sets())]
    name: String,
    /// Withdraw only if this revision is staged
    revision: Option<String>,
    /// `none`, or `server` to submit a server-side request without persisting it
    #[arg(long, value_name = "MODE", default_value = "none")]
    dry_run: DryRun,
}

/// The dry-run strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    /// Persist the request
    None,
    /// Submit a server-side request without persisting it
    Server,
}

pub(crate) async fn run(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<()> {
    let (client, namespace) = cluster.connect().await?;
    let (set, history) = revisions::read(&client, &namespace, &arguments.name).await?;
    let revision = staged(&history, arguments.revision.as_deref())?;
    withdraw(&client, &set, &history.set, &revision, arguments.dry_run).await
}

/// The staged revision, if it is the named one.
fn staged(history: &RevisionHistory, named: Option<&str>) -> anyhow::Result<Revision> {
    let set = &history.set;
    let Some(change) = &set.staged else {
        match &set.unreadable {
            Some(why) => bail!("the staged change of StatefulSet {} {}", set.name, unreadable(why)),
            None => bail!("StatefulSet {} has no staged change", set.name),
        }
    };
    let staged = change.revision();
    let named = named.unwrap_or(staged.as_str());
    ensure!(
        named == staged.as_str(),
        "revision {named} is not staged: the staged one is {staged}"
    );
    Ok(staged)
}

/// What to do about a staged change that cannot be read.
pub(crate) fn unreadable(why: &StagedError) -> String {
    format!("cannot be read ({why}): {} doctor shows what to do", program())
}

/// Withdraws the revision and prints the outcome.
pub(super) async fn withdraw(
    client: &Client,
    set: &Value,
    view: &SetView,
    revision: &Revision,
    dry_run: DryRun,
) -> anyhow::Result<()> {
    let stored = patch(client, view, &revisions::withdrawal(set, revision), dry_run).await?;
    if is_left(&stored) {
        take_off(client, view, &stored, dry_run).await?;
        bail!(
            "nothing was withdrawn: the policy did not consume the annotation {}, so it was removed again: is the policy \
             installed, and called for namespace {}?",
            keys::WITHDRAW,
            view.namespace
        );
    }
    if is_taken_back(&conversion::set(&stored)?, revision)? {
        return print(&taken_back(view, revision, dry_run));
    }
    let change = view.staged.as_ref().context("nothing is staged")?;
    let at_it = ListParams::default().labels(&format!("{}={}", keys::REVISION, change.label()));
    let claims = list::<Bare>(client, Some(&view.namespace), &cluster::claims(), &at_it).await;
    let claims = claims.context("failed to list the PVCs that were updated already")?;
    let names = claims.named().into_iter().filter_map(|claim| claim.metadata.name);
    let ours: Vec<String> = names.filter(|name| is_of(view, name)).collect();
    print(&message(&view.name, revision, &ours, dry_run))
}

/// The message if the live templates are staged in place of the withdrawn ones.
fn taken_back(set: &SetView, revision: &Revision, dry_run: DryRun) -> String {
    let withdrew = message(&set.name, revision, &[], dry_run);
    let status = format!("{} status -n {} {}", program(), set.namespace, set.name);
    format!("{withdrew}sizes that PVCs have not reached are taken back: {status}\n")
}

/// True iff the policy was not called: it always consumes the annotation.
fn is_left(stored: &Value) -> bool {
    stored["metadata"]["annotations"].get(keys::WITHDRAW).is_some()
}

/// Removes the annotation again. Otherwise it would withdraw a later staged change, once the policy is back.
async fn take_off(client: &Client, view: &SetView, stored: &Value, dry_run: DryRun) -> anyhow::Result<()> {
    if dry_run == DryRun::Server {
        return Ok(());
    }
    let sets = objects(client, Some(&view.namespace), &cluster::sets());
    let patch = serde_json::from_value(revisions::no_withdrawal(stored))?;
    let parameters = parameters(dry_run);
    let off = sets.patch(&view.name, &parameters, &Patch::<()>::Json(patch)).await;
    let off = off.with_context(|| {
        format!(
            "nothing was withdrawn, and the annotation {} is still set: remove it, or it withdraws a later change",
            keys::WITHDRAW
        )
    });
    off.map(drop)
}

/// True iff the live templates are staged in place of the revision, false if nothing is.
fn is_taken_back(stored: &SetView, revision: &Revision) -> anyhow::Result<bool> {
    let left = stored.staged.as_ref().map(|change| change.revision());
    let taken_back = left.as_ref() == Some(&Revision::of(&stored.live)) && left.as_ref() != Some(revision);
    ensure!(left.is_none() || taken_back, "revision {revision} is still staged");
    Ok(taken_back)
}

fn is_of(set: &SetView, claim: &str) -> bool {
    let templates = set.staged.iter().flat_map(|change| &change.templates).chain(&set.live);
    let mut places = templates.map(|template| crate::templates::names::ordinal_of(claim, &template.name, &set.name));
    places.any(|ordinal| ordinal.is_some())
}

fn message(set: &str, revision: &Revision, updated: &[String], dry_run: DryRun) -> String {
    let mut text = format!(
        "statefulset.apps/{set} withdrew revision {revision}{}\n",
        remark(dry_run)
    );
    if !updated.is_empty() {
        text += &format!("updated PVCs stay as they are: {}\n", updated.join(", "));
    }
    text
}

/// The remark of kubectl on a dry run.
pub(super) fn remark(dry_run: DryRun) -> &'static str {
    match dry_run {
        DryRun::None => "",
        DryRun::Server => " (server dry run)",
    }
}

/// Patches a set and returns the result. The patch contains the uid and resourceVersion of the decision.
pub(super) async fn patch(client: &Client, set: &SetView, patch: &Value, dry_run: DryRun) -> anyhow::Result<Value> {
    let sets = objects(client, Some(&set.namespace), &cluster::sets());
    let stored = sets
        .patch(&set.name, &parameters(dry_run), &Patch::Merge(patch))
        .await?;
    Ok(serde_json::to_value(stored)?)
}

/// The parameters of a write that a user makes with this program.
pub(super) fn parameters(dry_run: DryRun) -> PatchParams {
    PatchParams {
        dry_run: dry_run == DryRun::Server,
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};

    use kube::Client;
    use kube::client::Body;
    use serde_json::json;

    use super::{DryRun, is_left, is_of, is_taken_back, message, staged, taken_back, withdraw};
    use crate::cli::revisions::RevisionHistory;
    use crate::cli::revisions::tests::{history, revision, set};
    use crate::templates::{Revision, keys};

    #[test]
    fn staged_revision_must_be_the_named_one() {
        let (one, two) = (revision("2Gi"), revision("3Gi"));
        let with = |named| staged(&history(Some("2Gi"), &[]), named).map(|staged| staged.to_string());
        assert_eq!(with(None).expect("staged"), one);
        assert_eq!(with(Some(&one)).expect("staged"), one);
        let error = with(Some(&two)).expect_err("another").to_string();
        assert_eq!(error, format!("revision {two} is not staged: the staged one is {one}"));
        let error = staged(&history(None, &[]), None).expect_err("nothing").to_string();
        assert_eq!(error, "StatefulSet web has no staged change");
        let mut unreadable = set(None);
        unreadable["metadata"]["annotations"] = json!({keys::STAGED: r#"{"version":2}"#});
        let unreadable = RevisionHistory::of(&unreadable, &[]).expect("a history");
        let error = staged(&unreadable, None).expect_err("unreadable").to_string();
        assert_eq!(
            error,
            "the staged change of StatefulSet web cannot be read (expected version 1): claim-rollout doctor shows what to do"
        );
    }

    #[test]
    fn message_names_the_updated_claims() {
        let text = |updated: &[&str], dry_run| {
            let updated: Vec<String> = updated.iter().map(|name| (*name).to_owned()).collect();
            message("web", &Revision::from_text("r"), &updated, dry_run)
        };
        assert_eq!(
            text(&[], DryRun::Server),
            "statefulset.apps/web withdrew revision r (server dry run)\n"
        );
        assert_eq!(
            text(&["data-web-2", "data-web-1"], DryRun::None),
            "statefulset.apps/web withdrew revision r\nupdated PVCs stay as they are: data-web-2, data-web-1\n"
        );
    }

    #[test]
    fn message_of_what_is_taken_back_has_a_whole_command() {
        let text = taken_back(&history(None, &[]).set, &Revision::from_text("r"), DryRun::None);
        assert_eq!(
            text,
            "statefulset.apps/web withdrew revision r\nsizes that PVCs have not reached are taken back: claim-rollout \
             status -n shop web\n"
        );
    }

    #[test]
    fn is_taken_back_reads_the_stored_set() {
        let withdrawn = Revision::from_text(revision("3Gi"));
        let live = Revision::of(&history(None, &[]).set.live);
        for (staged, named, expected) in [
            (None, &withdrawn, Some(false)),
            (Some("1Gi"), &withdrawn, Some(true)),
            (Some("3Gi"), &withdrawn, None),
            (Some("2Gi"), &withdrawn, None),
            (Some("1Gi"), &live, None),
        ] {
            let found = is_taken_back(&history(staged, &[]).set, named).ok();
            assert_eq!(found, expected, "{staged:?} after {named}");
        }
        let annotated = |key: &str| json!({"metadata": {"annotations": {key: "r"}}});
        assert!(is_left(&annotated("claim-rollout.io/withdraw")));
        assert!(!is_left(&annotated("claim-rollout.io/staged")));
        assert!(!is_left(&json!({"metadata": {}})));
    }

    #[test]
    fn is_of_another_set_is_false() {
        let set = history(Some("2Gi"), &[]).set;
        assert!(is_of(&set, "data-web-0"));
        assert!(!is_of(&set, "data-other-0"));
    }

    /// It would withdraw a later change.
    #[tokio::test]
    async fn annotation_that_nobody_consumes_is_removed_again() {
        let [merge, json] = ["merge-patch", "json-patch"].map(|kind| format!("application/{kind}+json"));
        for (dry_run, expected) in [(DryRun::None, vec![merge.clone(), json]), (DryRun::Server, vec![merge])] {
            let mut left = set(Some("2Gi"));
            left["metadata"]["annotations"][keys::WITHDRAW] = "r".into();
            let (sent, text) = (Arc::<Mutex<Vec<String>>>::default(), left.to_string());
            let noted = Arc::clone(&sent);
            let server = move |request: axum::http::Request<Body>| {
                let kind = request.headers()["content-type"].to_str().unwrap_or_default();
                noted
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(kind.to_owned());
                let response = axum::http::Response::new(Body::from(text.clone().into_bytes()));
                std::future::ready(Ok::<_, kube::Error>(response))
            };
            let client = Client::new(tower::service_fn(server), "default");
            let view = history(Some("2Gi"), &[]).set;
            let withdrawn = withdraw(&client, &left, &view, &Revision::from_text("r"), dry_run).await;
            let error = withdrawn.expect_err("the annotation is left").to_string();
            assert!(
                error.starts_with("nothing was withdrawn: the policy did not consume"),
                "{error}"
            );
            let sent = std::mem::take(&mut *sent.lock().unwrap_or_else(PoisonError::into_inner));
            assert_eq!(sent, expected, "{dry_run:?}");
        }
    }
}
