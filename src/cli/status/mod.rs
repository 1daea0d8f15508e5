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
    /// StatefulSets; all with a rollout if none is named.
    names: Vec<String>,
    /// In all namespaces.
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Show every change until the rollout is complete, or until Ctrl-C.
    #[arg(short, long, conflicts_with = "output")]
    watch: bool,
    /// The format.
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Output>,
}

/// The formats beside the usual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// More columns, nothing cut off.
    Wide,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Kind and name only.
    Name,
}

/// Runs the subcommand.
pub(crate) async fn run(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<()> {
    let (client, namespace) = cluster.connect().await?;
    let namespace = (!arguments.all_namespaces).then_some(namespace);
    let source = Source::new(client, namespace, arguments.names.clone());
    if arguments.watch {
        return follow::follow(&source, stdout().is_terminal()).await;
    }
    let views = source.load().await?;
    print(&text(&views, arguments.output)?)
}

/// The whole output.
fn text(views: &[SetView], output: Option<Output>) -> anyhow::Result<String> {
    let document = || json!({"apiVersion": "cli.claim-rollout.io/v1alpha1", "kind": "StatusList", "items": views});
    Ok(match output {
        None => render(views, shape(Width::OfTerminal)),
        Some(Output::Wide) => render(views, shape(Width::Unlimited)),
        Some(Output::Json) => output::json(&document())?,
        Some(Output::Yaml) => output::yaml(&document())?,
        Some(Output::Name) => views.iter().map(resource_name).collect(),
    })
}

/// As kubectl names it; of a set without a rollout there is only the set.
fn resource_name(view: &SetView) -> String {
    let kind = if view.wish.is_some() {
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
