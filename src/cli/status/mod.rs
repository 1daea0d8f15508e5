//! `claim-rollout status`: what is being rolled out, and how far each claim is.
//!
//! [`source`] reads the cluster, [`view`] makes of it what there is to show, [`render`] draws that, [`follow`] does so
//! until the rollout is complete. All but the first and the last are pure.

mod follow;
mod pods;
mod render;
mod rollout;
mod source;
mod view;

use std::io::{IsTerminal as _, stdout};

use clap::{Args, ValueEnum};
use serde_json::json;

use self::render::{Paint, Shape, render};
use self::source::Source;
use self::view::SetView;
use super::ClusterArguments;
use super::output::{self, print};

/// Show what is being rolled out, and how far each claim is
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Selection,
    /// Show every change until the rollout is complete, or until Ctrl-C.
    #[arg(short, long, conflicts_with = "output")]
    watch: bool,
    /// The format.
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<StatusFormat>,
}

/// The formats beside the usual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StatusFormat {
    /// More columns, nothing cut off.
    Wide,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Kind and name only.
    Name,
}

/// What is shown.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// StatefulSets; all with a rollout if none is named.
    names: Vec<String>,
    /// In all namespaces.
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
}

/// Runs the subcommand.
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

/// The whole output.
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

/// As kubectl names it; of a set without a rollout there is only the set.
fn resource_name(view: &StatusView) -> String {
    let kind = if view.target.is_some() {
        "claimrollout.claim-rollout.io"
    } else {
        "statefulset.apps"
    };
    format!("{kind}/{}\n", view.name)
}

/// How wide lines may get.
#[derive(Clone, Copy)]
enum Width {
    OfTerminal,
    Unlimited,
}

/// How to draw on the standard output of this process.
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
