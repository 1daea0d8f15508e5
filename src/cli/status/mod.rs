//! `claim-rollout status`: the progress of rollouts.
//!
//! [`source`] reads the cluster, [`view`] selects the values to show, [`render`] draws them, [`follow`] repeats this
//! until the rollout is complete. [`view`] and [`render`] are pure.

mod follow;
mod pods;
mod render;
mod replacement;
mod rollout;
mod source;
mod view;

use std::io::{IsTerminal as _, stdout};

use clap::{Args, ValueEnum};
use serde_json::json;

use self::render::{Paint, Shape, render};
use self::source::StatusSource;
use self::view::StatusView;
use super::ClusterArguments;
use super::output::{self, print};

/// Show the progress of rollouts and the state of each PVC
///
/// Also shows whether the StatefulSet is being replaced, was replaced, or why not. `--watch` ends when every rollout is
/// complete. If the annotation replace-set of a StatefulSet is WhenComplete, or its replacement has begun, it ends when
/// the StatefulSet is replaced, or when that is not possible now.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Selection,
    /// Show every change until the rollout is complete, or until Ctrl-C
    #[arg(short, long, conflicts_with = "output")]
    watch: bool,
    /// Output format
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<StatusFormat>,
}

/// The output formats other than text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StatusFormat {
    /// More columns, and full values
    Wide,
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// Kind and name only
    Name,
}

/// The StatefulSets to show.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// Names of StatefulSets; all with a rollout if omitted
    names: Vec<String>,
    /// Show rollouts across all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
}

pub(crate) async fn run(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.watch {
        return watch(cluster, &arguments.which).await;
    }
    let views = source(cluster, &arguments.which).await?.load().await?;
    print(&text(&views, arguments.output)?)
}

/// Shows every change until the rollout is complete: the subcommand `watch`.
pub(crate) async fn watch(cluster: &ClusterArguments, which: &Selection) -> anyhow::Result<()> {
    follow::follow(&source(cluster, which).await?, stdout().is_terminal()).await
}

async fn source(cluster: &ClusterArguments, which: &Selection) -> anyhow::Result<StatusSource> {
    let (client, namespace) = cluster.connect().await?;
    let namespace = (!which.all_namespaces).then_some(namespace);
    Ok(StatusSource::new(client, namespace, which.names.clone()))
}

fn text(views: &[StatusView], output: Option<StatusFormat>) -> anyhow::Result<String> {
    let document = || json!({"apiVersion": "cli.claim-rollout.io/v1alpha1", "kind": "StatusList", "items": views});
    Ok(match output {
        None => render(views, shape(Width::OfTerminal)),
        Some(StatusFormat::Wide) => render(views, shape(Width::Unlimited)),
        Some(StatusFormat::Json) => output::json(&document())?,
        Some(StatusFormat::Yaml) => output::yaml(&document())?,
        Some(StatusFormat::Name) => views.iter().map(resource_name).collect(),
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

/// The maximum width of lines.
#[derive(Clone, Copy)]
enum Width {
    OfTerminal,
    Unlimited,
}

/// The drawing style for standard output.
fn shape(width: Width) -> Shape {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    Shape {
        paint: if output::is_coloured() {
            Paint::Coloured
        } else {
            Paint::Plain
        },
        width: match width {
            Width::OfTerminal => Some(columns.unwrap_or(80)),
            Width::Unlimited => None,
        },
    }
}
