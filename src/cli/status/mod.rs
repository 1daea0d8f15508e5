//! `claim-rollout status`: the progress of rollouts.
//!
//! [`source`] reads the cluster, [`view`] selects the values to show, [`render`] draws them, [`follow`] repeats this
//! until the rollout is complete. [`view`] and [`render`] are pure.

mod changes;
mod follow;
mod line;
mod pods;
mod render;
mod replacement;
pub(crate) mod rollout;
mod screen;
mod set;
mod source;
mod view;
pub(crate) mod wait;

use std::io::{IsTerminal as _, stdout};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use self::line::Width;
use self::render::render;
use self::screen::{shape, terminal};
use self::source::StatusSource;
use self::view::StatusView;
use super::cluster::{ClusterArguments, duration};
use super::completion::sets;
use super::lists::warn;
use super::output::{self, OutputFormat, note, print};
use super::process::{exit, program, wait_for};

/// Show the progress of rollouts and the state of each PVC
///
/// Also shows whether the StatefulSet is being replaced, was replaced, or why not. `--watch` ends when every rollout is
/// complete or stalled. If the annotation replace-set of a StatefulSet is WhenComplete, or its replacement has begun, it
/// ends when the StatefulSet is replaced, or when that is not possible now.
///
/// An object that cannot be read is named on standard error and not shown. It is an error if it is a StatefulSet that was
/// asked for by its name.
///
/// With `--watch`, exits with 0 if every rollout is complete, with 1 if one is stalled, with 3 if the cluster cannot
/// be read, and with 124 after the time-out.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Selection,
    /// Show every change until the rollout is complete or stalled, or until Ctrl-C
    #[arg(short, long, conflicts_with = "output")]
    watch: bool,
    /// How long to watch, such as 10m; without a limit if omitted
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "watch")]
    timeout: Option<Duration>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<OutputFormat>,
}

/// The StatefulSets to show.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// Names of StatefulSets; all with a rollout if omitted
    #[arg(add = sets())]
    names: Vec<String>,
    /// Show rollouts across all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Only StatefulSets with these labels, such as app=web,tier!=test
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
}

pub(crate) fn run(cluster: &ClusterArguments, arguments: &Arguments) -> ExitCode {
    if arguments.watch {
        return code(watch_all(cluster, &arguments.which, arguments.timeout));
    }
    wait_for(async {
        let loaded = source(cluster, &arguments.which).await?.load().await?;
        warn(&loaded.unread);
        if !loaded.is_served {
            note(&format!("warning: {}", not_served()));
        }
        print(&text(&loaded.views, arguments.output)?)
    })
}

async fn watch_all(
    cluster: &ClusterArguments,
    which: &Selection,
    timeout: Option<Duration>,
) -> anyhow::Result<follow::FollowEnd> {
    let show = if stdout().is_terminal() {
        follow::Show::Drawing
    } else {
        follow::Show::Lines
    };
    let follow = follow::Follow {
        show,
        timeout,
        revision: None,
    };
    follow.run(&source(cluster, which).await?).await
}

/// Where the kind ClaimRollout is not served, nothing reports a rollout.
fn not_served() -> String {
    format!(
        "this cluster has no ClaimRollouts: claim-rollout is not installed, or only in part. See {} doctor",
        program()
    )
}

/// The exit code of a command that follows a rollout.
fn code(task: impl Future<Output = anyhow::Result<follow::FollowEnd>>) -> ExitCode {
    exit(async { Ok(ExitCode::from(task.await?.code())) }, 3)
}

async fn source(cluster: &ClusterArguments, which: &Selection) -> anyhow::Result<StatusSource> {
    let (client, namespace) = cluster.connect().await?;
    Ok(StatusSource {
        client,
        namespace: (!which.all_namespaces).then_some(namespace),
        names: which.names.clone(),
        selector: which.selector.clone(),
    })
}

fn text(views: &[StatusView], format: Option<OutputFormat>) -> anyhow::Result<String> {
    output::list(format, "StatusList", &views, || match format {
        Some(OutputFormat::Wide) => render(views, shape(Width::Wide)),
        Some(OutputFormat::Name) => views.iter().map(resource_name).collect(),
        _ => render(views, shape(terminal().0)),
    })
}

/// The resource as kubectl names it: the ClaimRollout, or the set if it has no rollout.
fn resource_name(view: &StatusView) -> String {
    let kind = if view.target.is_some() {
        "claimrollout.claim-rollout.io"
    } else {
        "statefulset.apps"
    };
    format!("{kind}/{}\n", view.name)
}
