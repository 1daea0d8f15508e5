//! `claim-rollout plan`: what would happen, before anything does.
//!
//! | file | holds |
//! |---|---|
//! | [`manifest`], [`overlay`] | what users write, and what of it a request would ask for |
//! | [`request`] | the request, and what the policy answers |
//! | [`gather`] | what the cluster knows; the only part that asks anybody |
//! | [`decide`] | from these to the report |
//! | [`forecast`] | the order: the controller's decision, asked again and again |
//! | [`rows`], [`ceilings`], [`budgets`] | what stands in the way of each claim |
//! | [`report`], [`render`] | what is said, as data and as text |

mod budgets;
mod ceilings;
mod decide;
mod forecast;
mod gather;
mod inputs;
mod manifest;
mod overlay;
mod render;
mod report;
mod request;
mod rows;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::Value;
use serde_json::json;
use serde_json::value::RawValue;

use self::inputs::Inputs;
use self::render::{TableColumns, render};
use self::report::Report;
use self::request::{KUBECTL, Requester};
use super::ClusterArguments;
use super::class_limits::{self, ClassNumber};
use super::files::{self, read_settings};
use super::output::{self, OutputFormat, print};
use super::recorded::Recorded;
use crate::webhook::engine::check_settings;

/// Show what would happen to claims and Pods, before anything does
///
/// Takes the StatefulSets of a manifest, as `kubectl apply -f` would, and asks the policy's own decision and the
/// controller's. Of the manifest are taken labels, annotations and spec, laid over what is there; what the API server
/// would fill in, or another webhook change, is not. Nothing is written. Without a manifest the named sets are planned as
/// they are.
///
/// Exits with 0 if everything would go through, with 1 if the change would be refused or something stands in the way of
/// a claim, and with 2 if no plan could be made.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// StatefulSets; their staged change is planned, or that of the manifest.
    names: Vec<String>,
    /// The manifest, in YAML or JSON; `-` is the standard input. May be repeated.
    #[arg(short, long, value_name = "FILE")]
    filename: Vec<PathBuf>,
    /// A List of objects in the place of a cluster, in YAML or JSON: sets, claims, Pods, classes, quotas, and
    /// SubjectAccessReviews that say who may change claims.
    #[arg(long, value_name = "FILE")]
    cluster: Option<PathBuf>,
    /// The settings of the policy, in JSON or YAML; none are the defaults.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// The field manager that would apply the manifest, such as helm.
    #[arg(long, value_name = "NAME", default_value = KUBECTL)]
    field_manager: String,
    /// How often the controller may modify a PVC of a storage class in 24 hours, as its flag of the same name says: which PVCs
    /// have to wait for that is noted.
    #[arg(long = "modifications-per-24h", value_delimiter = ',', value_name = "CLASS=NUMBER")]
    modifications_per_day: Vec<ClassNumber>,
    /// The format.
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<OutputFormat>,
}

/// A set to plan.
struct PlanTarget {
    namespace: String,
    name: String,
    manifest: Option<(String, Value)>,
}

/// Runs the subcommand.
pub(crate) fn run(cluster: &ClusterArguments, arguments: &Arguments) -> ExitCode {
    let planned = super::runtime().and_then(|runtime| runtime.block_on(plan(cluster, arguments)));
    match planned {
        Ok(reports) if reports.iter().all(|report| report.goes_through) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {}", super::in_words(&error));
            ExitCode::from(2)
        }
    }
}

/// Plans and prints.
async fn plan(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<Vec<PlanReport>> {
    let settings = match &arguments.settings {
        Some(path) => read_settings(&files::text(path)?).with_context(|| path.display().to_string())?,
        None => read_settings("{}")?,
    };
    check_settings(&settings)?;
    let (client, default_namespace) = if arguments.cluster.is_some() {
        let named = cluster.namespace.clone();
        (None, named.unwrap_or_else(|| "default".to_owned()))
    } else {
        let (client, namespace) = cluster.connect().await?;
        (Some(client), namespace)
    };
    let targets = targets(arguments, cluster.namespace.as_deref(), &default_namespace)?;
    let recorded = match &arguments.cluster {
        Some(path) => files::read_list(&files::text(path)?).with_context(|| path.display().to_string())?,
        None => Recorded::default(),
    };
    let mut gathered: BTreeMap<&str, Recorded> = BTreeMap::new();
    let mut reports = Vec::new();
    for target in &targets {
        let state = match &client {
            None => &recorded,
            Some(client) => {
                if !gathered.contains_key(target.namespace.as_str()) {
                    let state = gather::gather(client, &target.namespace).await?;
                    gathered.insert(&target.namespace, state);
                }
                &gathered[target.namespace.as_str()]
            }
        };
        reports.push(plan_one(target, state, &settings, arguments)?);
    }
    print(&text(&reports, arguments.output)?)?;
    Ok(reports)
}

fn plan_one(
    target: &PlanTarget,
    state: &Recorded,
    settings: &RawValue,
    arguments: &Arguments,
) -> anyhow::Result<PlanReport> {
    let (user, groups) = state.requester().unwrap_or(("unknown", &[]));
    let requester = Requester {
        user: user.to_owned(),
        groups: groups.to_vec(),
        manager: arguments.field_manager.clone(),
    };
    let manifest = target.manifest.as_ref();
    decide::report(&Inputs {
        namespace: &target.namespace,
        name: &target.name,
        manifest: manifest.map(|(source, manifest)| (source.as_str(), manifest)),
        state,
        requester: &requester,
        limits: &class_limits::limits(&arguments.modifications_per_day, &[]),
        now: u64::try_from(output::now().as_second()).unwrap_or(0),
        settings,
    })
}

/// What is to be planned: the sets of the manifests, those of these names only where any are named; without a manifest
/// the sets of these names.
fn targets(arguments: &Arguments, named: Option<&str>, default: &str) -> anyhow::Result<Vec<PlanTarget>> {
    ensure!(
        !(arguments.filename.is_empty() && arguments.names.is_empty()),
        "expected a manifest (-f web.yaml) or the name of a StatefulSet, but found neither"
    );
    let mut targets = Vec::new();
    let mut others = Vec::new();
    for path in &arguments.filename {
        let source = path.display().to_string();
        let documents = manifest::read(&files::text(path)?).with_context(|| source.clone())?;
        others.extend(documents.others);
        for set in documents.sets {
            let name = set["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let own = set["metadata"]["namespace"].as_str();
            if let (Some(own), Some(named)) = (own, named)
                && own != named
            {
                bail!("{source}: StatefulSet {name}: expected namespace {named} (--namespace), but found {own}");
            }
            let namespace = own.unwrap_or(default).to_owned();
            if arguments.names.is_empty() || arguments.names.contains(&name) {
                let manifest = Some((source.clone(), set));
                targets.push(PlanTarget {
                    namespace,
                    name,
                    manifest,
                });
            }
        }
    }
    if arguments.filename.is_empty() {
        targets.extend(arguments.names.iter().map(|name| PlanTarget {
            namespace: default.to_owned(),
            name: name.clone(),
            manifest: None,
        }));
    }
    let found = if others.is_empty() {
        "nothing".to_owned()
    } else {
        others.join(", ")
    };
    ensure!(
        !targets.is_empty(),
        "expected a StatefulSet in the manifest, but found {found}"
    );
    if !others.is_empty() {
        eprintln!("not planned: {found}");
    }
    Ok(targets)
}

/// The whole output.
fn text(reports: &[PlanReport], format: Option<OutputFormat>) -> anyhow::Result<String> {
    let document = || json!({"apiVersion": "cli.claim-rollout.io/v1alpha1", "kind": "PlanList", "items": reports});
    Ok(match format {
        None => render(reports, TableColumns::Usual),
        Some(OutputFormat::Wide) => render(reports, TableColumns::Wide),
        Some(OutputFormat::Json) => output::json(&document())?,
        Some(OutputFormat::Yaml) => output::yaml(&document())?,
    })
}
