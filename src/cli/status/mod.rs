//! `claim-rollout status`: what is being rolled out, and how far each claim is.
//!
//! [`source`] reads the cluster, [`view`] makes of it what there is to show, [`render`] draws that, [`follow`] does so
//! until the rollout is complete. All but the first and the last are pure.

mod follow;
mod render;
mod source;
mod view;

use std::io::{IsTerminal as _, stdout};

use clap::Args;
use serde_json::json;

use self::render::{Paint, Shape, render};
use self::source::Source;
use self::view::SetView;
use super::ClusterArguments;
use super::output::{self, Format, print};

/// Show what is being rolled out, and how far each claim is
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The StatefulSet; all with a rollout if none is named.
    name: Option<String>,
    /// In all namespaces.
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Show every change until the rollout is complete, or until Ctrl-C.
    #[arg(short, long, conflicts_with = "output")]
    watch: bool,
    /// The format.
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

/// Runs the subcommand.
pub(crate) async fn run(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<()> {
    let (client, namespace) = cluster.connect().await?;
    let namespace = (!arguments.all_namespaces).then_some(namespace);
    let source = Source::new(client, namespace, arguments.name.clone());
    if arguments.watch {
        return follow::follow(&source, stdout().is_terminal()).await;
    }
    let views = source.load().await?;
    print(&text(&views, arguments.output)?)
}

/// The whole output.
fn text(views: &[SetView], output: Option<Format>) -> anyhow::Result<String> {
    let document = || json!({"kind": "StatusList", "items": views});
    Ok(match output {
        None => render(views, shape(Width::OfTerminal)),
        Some(Format::Wide) => render(views, shape(Width::Unlimited)),
        Some(Format::Json) => output::json(&document())?,
        Some(Format::Yaml) => output::yaml(&document())?,
    })
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
