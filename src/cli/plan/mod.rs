//! `claim-rollout plan`: shows the effects of a change before it is made.
//!
//! | file | content |
//! |---|---|
//! | [`manifest`], [`targets`], [`overlay`] | the manifest, its StatefulSets, and the object that a request would ask for |
//! | [`dry_run`] | sends the request as a dry run |
//! | [`request`] | the same request without the API server, and the decision of the policy |
//! | [`gather`], [`inputs`] | reads the cluster; what is read |
//! | [`decide`] | makes the report from these |
//! | [`forecast`], [`creation`], [`recreation`] | the order of the rollout, from the decision of the controller |
//! | [`rows`], [`budgets`] | the obstacles of each PVC |
//! | [`unreadable`] | the objects that cannot be read |
//! | [`replacement`] | whether the set would be replaced after the rollout |
//! | [`report`], [`render`] | the report as data and as text |

mod budgets;
mod creation;
mod decide;
mod dry_run;
mod forecast;
mod gather;
mod inputs;
mod manifest;
mod overlay;
mod recreation;
mod render;
mod replacement;
mod report;
mod request;
mod rows;
mod targets;
mod unreadable;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::ensure;
use clap::Args;
use kube::Client;
use serde_json::value::RawValue;

use self::dry_run::DryRunRequest;
use self::inputs::{Decider, Inputs, PlanTarget};
use self::render::render;
use self::report::PlanReport;
use self::request::KUBECTL;
use self::targets::{manifests, targets};
use super::class_limits::{self, ClassNumber};
use super::cluster::ClusterArguments;
use super::completion::sets;
use super::files;
use super::output::{self, OutputFormat, note, one_of, print};
use super::process::exit;
use super::recorded::Recorded;
use super::settings_in_use::{self, FoundSettings};
use crate::webhook::engine::check_settings;

/// Show the effects of a change on PVCs and Pods before it is made
///
/// Sends the StatefulSets of a manifest to the API server as `kubectl apply` does, in a dry run: whether the change would
/// be denied, its warnings, and whether Pods restart are the answer of the API server. What follows for PVCs is the
/// decision of the controller. Without a manifest, plans the staged changes of the named StatefulSets. Writes nothing.
///
/// With `--objects`, or for a user who may not patch the StatefulSet, the policy's decision is made here, without the
/// defaults of the API server and without other policies.
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
    /// The field manager takes fields from other ones, as in `kubectl apply --server-side --force-conflicts`
    #[arg(long)]
    force_conflicts: bool,
    /// Modifications of a PVC in any 24 hours, for each storage class, as in the flag of the controller; PVCs that have
    /// to wait are noted
    #[arg(long = "modifications-per-24h", value_delimiter = ',', value_name = "CLASS=NUMBER")]
    modifications_per_day: Vec<ClassNumber>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", value_parser = one_of(OutputFormat::OF_TABLES))]
    output: Option<OutputFormat>,
}

pub(crate) fn run(cluster: &ClusterArguments, arguments: &Arguments) -> ExitCode {
    exit(async { Ok(code(&plan(cluster, arguments).await?)) }, 2)
}

/// The exit code of a plan.
fn code(reports: &[PlanReport]) -> ExitCode {
    if reports.iter().all(|report| report.goes_through) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Where the objects come from.
enum PlanSource {
    Cluster(Client),
    Objects(Recorded),
}

/// Plans and prints.
async fn plan(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<Vec<PlanReport>> {
    // Before a cluster is needed: a missing file is the first error.
    let manifests = manifests(&arguments.filename)?;
    let (source, default_namespace) = match &arguments.objects {
        Some(path) => {
            let mut objects = files::objects(path)?;
            unreadable::sift(&mut objects);
            let named = cluster.namespace.clone();
            let namespace = named.unwrap_or_else(|| "default".to_owned());
            (PlanSource::Objects(objects), namespace)
        }
        None => {
            let (client, namespace) = cluster.connect_without_warnings().await?;
            (PlanSource::Cluster(client), namespace)
        }
    };
    let named = cluster.namespace.as_deref();
    let targets = targets(&arguments.names, manifests, named, &default_namespace)?;
    let FoundSettings { place, settings } = settings(arguments, &source).await?;
    note(&format!("settings: {place}"));
    check_settings(&settings)?;
    let reports = match &source {
        PlanSource::Cluster(client) => in_cluster(client, &targets, &settings, arguments).await?,
        PlanSource::Objects(objects) => {
            let here = Decider::Here("--objects names no cluster".to_owned());
            let plan = |target| plan_one(target, objects, &here, &settings, arguments);
            targets.iter().map(plan).collect::<anyhow::Result<_>>()?
        }
    };
    let format = arguments.output;
    print(&output::list(format, "PlanList", &reports, || {
        render(&reports, format)
    })?)?;
    Ok(reports)
}

/// Plans what the API server answers.
async fn in_cluster(
    client: &Client,
    targets: &[PlanTarget],
    settings: &RawValue,
    arguments: &Arguments,
) -> anyhow::Result<Vec<PlanReport>> {
    let mut gathered: BTreeMap<&str, Recorded> = BTreeMap::new();
    let mut reports = Vec::new();
    for target in targets {
        let namespace = &*target.namespace;
        let mut tries = TRIES;
        let decider = loop {
            if !gathered.contains_key(namespace) {
                gathered.insert(namespace, gather::gather(client, namespace).await?);
            }
            if let Some(decider) = decider(client, target, &gathered[namespace], arguments).await? {
                break decider;
            }
            gathered.remove(namespace);
            tries -= 1;
            ensure!(
                tries > 0,
                "StatefulSet {namespace}/{} changes again and again",
                target.name
            );
        };
        reports.push(plan_one(target, &gathered[namespace], &decider, settings, arguments)?);
    }
    Ok(reports)
}

/// Who answers the request for this target. None if the StatefulSet has changed since the state was read.
async fn decider(
    client: &Client,
    target: &PlanTarget,
    state: &Recorded,
    arguments: &Arguments,
) -> anyhow::Result<Option<Decider>> {
    let Some((_, manifest)) = &target.manifest else {
        return Ok(Some(Decider::Here("there is no request".to_owned())));
    };
    let request = DryRunRequest {
        namespace: &target.namespace,
        name: &target.name,
        manifest,
        live: state.one("apps/v1", "StatefulSet", &target.namespace, &target.name),
        manager: &arguments.field_manager,
        force: arguments.force_conflicts,
    };
    request.send(client).await
}

/// How often a StatefulSet is read that changes before the dry run, which happens while a controller writes.
const TRIES: u32 = 5;

/// The place of the settings where neither a file nor a cluster has any.
const BUILT_IN: &str =
    "the default ones, with defaultUpdatePolicy: OnClaimDelete; those of deploy/ have InPlace (--settings)";

/// The settings: those of the file, or else those of the cluster.
async fn settings(arguments: &Arguments, source: &PlanSource) -> anyhow::Result<FoundSettings> {
    let file = arguments.settings.as_deref();
    let place = match (file, source) {
        (None, PlanSource::Cluster(client)) => return settings_in_use::read(client).await,
        (None, PlanSource::Objects(_)) => BUILT_IN.to_owned(),
        (Some(path), _) => path.display().to_string(),
    };
    let settings = files::settings(file)?;
    Ok(FoundSettings { place, settings })
}

fn plan_one(
    target: &PlanTarget,
    state: &Recorded,
    decider: &Decider,
    settings: &RawValue,
    arguments: &Arguments,
) -> anyhow::Result<PlanReport> {
    decide::report(&Inputs {
        target,
        decider,
        state,
        manager: &arguments.field_manager,
        limits: &class_limits::limits(&arguments.modifications_per_day, &[]),
        now: u64::try_from(output::now().as_second()).unwrap_or(0),
        settings,
    })
}
