//! `claim-rollout plan`: shows the effects of a change before it is made.
//!
//! | file | content |
//! |---|---|
//! | [`manifest`], [`overlay`] | the manifest, and the object that a request would ask for |
//! | [`request`] | the request, and the answer of the policy |
//! | [`gather`] | reads the cluster |
//! | [`decide`] | makes the report from these |
//! | [`forecast`], [`anew`] | the order of the rollout, from the decision of the controller |
//! | [`rows`], [`ceilings`], [`budgets`] | the obstacles of each PVC |
//! | [`unread`] | the objects that cannot be read |
//! | [`replacement`] | whether the set would be replaced after the rollout |
//! | [`report`], [`render`] | the report as data and as text |

mod anew;
mod budgets;
mod ceilings;
mod decide;
mod forecast;
mod gather;
mod inputs;
mod manifest;
mod overlay;
mod render;
mod replacement;
mod report;
mod request;
mod rows;
mod unread;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use kube::Client;
use serde_json::Value;
use serde_json::json;
use serde_json::value::RawValue;

use self::inputs::Inputs;
use self::render::{TableColumns, render};
use self::report::PlanReport;
use self::request::{KUBECTL, Requester};
use super::ClusterArguments;
use super::class_limits::{self, ClassNumber};
use super::completion::sets;
use super::files::{self, read_settings};
use super::output::{self, OutputFormat, print};
use super::recorded::Recorded;
use super::settings_in_use;
use crate::webhook::engine::check_settings;

/// Show the effects of a change on PVCs and Pods before it is made
///
/// Reads the StatefulSets of a manifest, as `kubectl apply -f` does, and calls the decisions of the policy and of the
/// controller. Labels, annotations and spec of the manifest are laid over the live object; defaults of the API server
/// and changes by other webhooks are not included. Without a manifest, plans the staged changes of the named
/// StatefulSets. Writes nothing.
///
/// If the annotation or the setting asks to replace the StatefulSet after the rollout, lists what would prevent that now.
/// The guard and the dry runs of a replacement are not checked: `replace --dry-run` does that.
///
/// Exits with 0 if everything would go through, with 1 if the change would be denied or a PVC has an obstacle, and with
/// 2 if no plan could be made. What prevents a replacement now does not count, because it may end by itself.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Names of StatefulSets: those in the manifest, or those with a staged change
    #[arg(add = sets())]
    names: Vec<String>,
    /// Manifest file (YAML or JSON); `-` for standard input. May be repeated
    #[arg(short, long, value_name = "FILE")]
    filename: Vec<PathBuf>,
    /// File with a List of objects (YAML or JSON) in place of a cluster: StatefulSets, PVCs, Pods, classes, quotas, and
    /// SubjectAccessReviews that state who may change PVCs
    #[arg(long, value_name = "FILE")]
    objects: Option<PathBuf>,
    /// Policy settings file (JSON or YAML); those of the cluster if omitted, which are named on standard error
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Field manager that would apply the manifest, such as helm
    #[arg(long, value_name = "NAME", default_value = KUBECTL)]
    field_manager: String,
    /// Modifications of a PVC in any 24 hours, for each storage class, as in the flag of the controller; PVCs that have
    /// to wait are noted
    #[arg(long = "modifications-per-24h", value_delimiter = ',', value_name = "CLASS=NUMBER")]
    modifications_per_day: Vec<ClassNumber>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<OutputFormat>,
}

/// A set to plan.
struct PlanTarget {
    namespace: String,
    name: String,
    manifest: Option<(String, Value)>,
}

pub(crate) fn run(cluster: &ClusterArguments, arguments: &Arguments) -> ExitCode {
    let planned = super::runtime().and_then(|runtime| runtime.block_on(plan(cluster, arguments)));
    match planned {
        Ok(reports) => code(&reports),
        Err(error) => {
            eprintln!("error: {}", super::in_words(&error));
            ExitCode::from(2)
        }
    }
}

/// The exit code of a plan.
fn code(reports: &[PlanReport]) -> ExitCode {
    if reports.iter().all(|report| report.goes_through) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Plans and prints.
async fn plan(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<Vec<PlanReport>> {
    let (client, default_namespace) = if arguments.objects.is_some() {
        let named = cluster.namespace.clone();
        (None, named.unwrap_or_else(|| "default".to_owned()))
    } else {
        let (client, namespace) = cluster.connect().await?;
        (Some(client), namespace)
    };
    let targets = targets(arguments, cluster.namespace.as_deref(), &default_namespace)?;
    let (settings, place) = settings(arguments, client.as_ref()).await?;
    check_settings(&settings)?;
    let mut recorded = match &arguments.objects {
        Some(path) => files::read_list(&files::text(path)?).with_context(|| path.display().to_string())?,
        None => Recorded::default(),
    };
    unread::sift(&mut recorded);
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
    if let Some(place) = place {
        eprintln!("settings: {place}");
    }
    print(&text(&reports, arguments.output)?)?;
    Ok(reports)
}

/// The settings: those of the file, or else those of the cluster, with their place.
async fn settings(arguments: &Arguments, client: Option<&Client>) -> anyhow::Result<(Box<RawValue>, Option<String>)> {
    match (&arguments.settings, client) {
        (Some(path), _) => {
            let settings = read_settings(&files::text(path)?).with_context(|| path.display().to_string())?;
            Ok((settings, None))
        }
        (None, None) => Ok((read_settings("{}")?, None)),
        (None, Some(client)) => {
            let found = settings_in_use::read(client).await?;
            Ok((found.settings, Some(found.place)))
        }
    }
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

/// The sets to plan: those of the manifests, restricted to the given names if there are any; without a manifest, the
/// sets of these names.
fn targets(arguments: &Arguments, named: Option<&str>, default: &str) -> anyhow::Result<Vec<PlanTarget>> {
    ensure!(
        !(arguments.filename.is_empty() && arguments.names.is_empty()),
        "specify a manifest (-f web.yaml) or the name of a StatefulSet"
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

fn text(reports: &[PlanReport], format: Option<OutputFormat>) -> anyhow::Result<String> {
    let document = || json!({"apiVersion": "cli.claim-rollout.io/v1alpha1", "kind": "PlanList", "items": reports});
    Ok(match format {
        None => render(reports, TableColumns::Usual),
        Some(OutputFormat::Wide) => render(reports, TableColumns::Wide),
        Some(OutputFormat::Json) => output::json(&document())?,
        Some(OutputFormat::Yaml) => output::yaml(&document())?,
    })
}
