//! Plans the effects of a request on a cluster state. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use serde_json::Value;

use super::forecast::{AT_LAST, claims_of, forecast};
use super::inputs::{Decider, Inputs, PlanTarget};
use super::replacement::replacement;
use super::report::{PlanOutcome, PlanReport, PlanVerdict, PodOutcome, TargetReport};
use super::request::RequestAnswer;
use super::{budgets, request, rows, unreadable};
use crate::admission::{CanI, CannotAsk, Get, Lookups, Settings};
use crate::api::ReadyReason;
use crate::cli::recorded::Recorded;
use crate::controller::objects::conversion;
use crate::gate::{StagedAt, Target};
use crate::rollout::milestones::Milestones;
use crate::rollout::volume_snapshot::ReCreateAnswers;
use crate::rollout::{Budgets, Quotas, Snapshot, plan};
use crate::templates::{ClaimTemplate, Diff, Phase, Revision, Strategy, Sync};

/// The plan for one set.
///
/// # Errors
/// If there is neither the set nor a manifest, or an object cannot be read.
pub(crate) fn report(inputs: &Inputs<'_>) -> anyhow::Result<PlanReport> {
    let PlanTarget {
        namespace,
        name,
        manifest,
    } = inputs.target;
    let mut skipped = inputs.state.skipped().iter();
    if let Some(unread) = skipped.find(|unread| unread.is("StatefulSet", namespace, name)) {
        anyhow::bail!("{unread}");
    }
    let live = inputs.state.one("apps/v1", "StatefulSet", namespace, name);
    let mut report = PlanReport {
        namespace: namespace.clone(),
        name: name.clone(),
        source: manifest.as_ref().map(|(source, _)| source.clone()),
        goes_through: true,
        verdict: None,
        target: None,
        pods: PodOutcome::KeepRunning,
        claims: Vec::new(),
        replacement: None,
        obstacles: Vec::new(),
        notes: Vec::new(),
    };
    match (manifest, live) {
        (None, None) => anyhow::bail!("StatefulSet {name} not found in namespace {namespace}"),
        (None, Some(live)) => roll_out(inputs, &mut report, live, live)?,
        (Some((_, manifest)), None) => create(inputs, &mut report, manifest)?,
        (Some((_, manifest)), Some(live)) => update(inputs, &mut report, live, manifest)?,
    }
    for (kind, why) in inputs.state.unreadable() {
        report.notes.push(format!("{kind}: not checked ({why})"));
    }
    let stuck = report.claims.iter().any(rows::is_stuck);
    report.goes_through &= report.obstacles.is_empty() && !stuck;
    Ok(report)
}

/// Plans the creation of a set.
fn create(inputs: &Inputs<'_>, report: &mut PlanReport, manifest: &Value) -> anyhow::Result<()> {
    let mut new = manifest.clone();
    new["metadata"]["namespace"] = inputs.target.namespace.as_str().into();
    let answer = answer(inputs, report, None, &new)?;
    let outcome = if let Ok(stored) = &answer.stored {
        let existing = existing(inputs, stored)?;
        let mut note = "the StatefulSet does not exist yet: its PVCs will be created from these templates".to_owned();
        if !existing.is_empty() {
            note += &format!(", but these exist and stay as they are: {}", existing.join(", "));
        }
        report.notes.push(note);
        PlanOutcome::Created
    } else {
        PlanOutcome::Refused
    };
    give_verdict(report, outcome, inputs.decider, answer);
    Ok(())
}

/// The PVCs that a new set finds, highest ordinal first: of one of the same name before it, or from a backup.
fn existing(inputs: &Inputs<'_>, stored: &Value) -> anyhow::Result<Vec<String>> {
    let set = conversion::set(stored).context("failed to read the StatefulSet as it would be stored")?;
    let all = inputs
        .state
        .all("v1", "PersistentVolumeClaim", &inputs.target.namespace);
    let names = all.filter_map(|claim| claim["metadata"]["name"].as_str());
    let mut found: Vec<(u32, &str)> = names.filter_map(|name| Some((set.place_of(name)?.1, name))).collect();
    found.sort_unstable_by(|one, other| other.cmp(one));
    Ok(found.into_iter().map(|(_, name)| name.to_owned()).collect())
}

fn update(inputs: &Inputs<'_>, report: &mut PlanReport, live: &Value, manifest: &Value) -> anyhow::Result<()> {
    let new = request::asked(live, manifest, inputs.manager);
    let answer = answer(inputs, report, Some(live), &new)?;
    let Ok(stored) = answer.stored.clone() else {
        give_verdict(report, PlanOutcome::Refused, inputs.decider, answer);
        return Ok(());
    };
    let outcome = outcome(live, &new, &stored)?;
    give_verdict(report, outcome, inputs.decider, answer);
    if matches!(inputs.decider, Decider::Here(_)) {
        report.obstacles.extend(request::forbidden(live, &stored));
    }
    roll_out(inputs, report, live, &stored)
}

/// The answer of the API server, or the decision that the policy would make.
fn answer(
    inputs: &Inputs<'_>,
    report: &mut PlanReport,
    old: Option<&Value>,
    new: &Value,
) -> anyhow::Result<RequestAnswer> {
    if let Decider::Server(answer) = inputs.decider {
        return Ok(answer.clone());
    }
    let mut lookups = AssumingAllowed {
        state: inputs.state.clone(),
        assumed: false,
    };
    let (user, groups) = inputs.state.requester().unwrap_or(("unknown", &[]));
    let requester = (user, groups, inputs.manager);
    let answer = request::ask(old, new, requester, inputs.settings, &mut lookups)?;
    if lookups.assumed {
        report
            .notes
            .push("not checked whether the requester may change PVCs: no SubjectAccessReview was given".to_owned());
    }
    Ok(answer)
}

/// Answers lookups from the state. Without any SubjectAccessReview, the requester is assumed to be allowed.
struct AssumingAllowed {
    state: Recorded,
    assumed: bool,
}

impl Lookups for AssumingAllowed {
    fn can_i(&mut self, question: &CanI<'_>) -> Result<bool, CannotAsk> {
        if self.state.requester().is_none() {
            self.assumed = true;
            return Ok(true);
        }
        self.state.can_i(question)
    }

    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        self.state.get(question)
    }
}

fn give_verdict(report: &mut PlanReport, outcome: PlanOutcome, given: &Decider, answer: RequestAnswer) {
    report.goes_through = outcome != PlanOutcome::Refused;
    report.verdict = Some(PlanVerdict {
        outcome,
        decided_here: match given {
            Decider::Here(why) => Some(why.clone()),
            Decider::Server(_) => None,
        },
        message: answer.stored.err(),
        warnings: answer.warnings,
    });
}

/// The outcome of an accepted request, from the staged change before and after it.
fn outcome(live: &Value, asked: &Value, stored: &Value) -> anyhow::Result<PlanOutcome> {
    let (before, after) = (staged(live)?, staged(stored)?);
    Ok(match (before, after) {
        (Some(_), None) => PlanOutcome::Withdrawn,
        (before, Some(after)) if before.as_ref() != Some(&after) => PlanOutcome::Staged,
        (Some(_), Some(_)) if templates_differ(live, asked) => PlanOutcome::AlreadyStaged,
        _ => PlanOutcome::Unchanged,
    })
}

fn staged(set: &Value) -> anyhow::Result<Option<Revision>> {
    Ok(conversion::set(set)?.staged.map(|change| change.revision()))
}

fn templates_differ(live: &Value, asked: &Value) -> bool {
    let read = |set: &Value| ClaimTemplate::list_from_value(set["spec"]["volumeClaimTemplates"].clone());
    match (read(live), read(asked)) {
        (Ok(live), Ok(asked)) => !Diff::between(&live, &asked).is_empty(),
        _ => true,
    }
}

/// Adds what the controller would do with the stored set.
fn roll_out(inputs: &Inputs<'_>, report: &mut PlanReport, live: &Value, stored: &Value) -> anyhow::Result<()> {
    let snapshot = snapshot(inputs, live, stored)?;
    report.pods = pods(inputs, live, stored, &snapshot);
    let Some(change) = &snapshot.set.staged else {
        return Ok(());
    };
    let target = Target::of(&snapshot.set, &snapshot.settings);
    report.target = Some(TargetReport {
        revision: change.revision().to_string(),
        update_policy: crate::gate::target::update_policy(&snapshot.set).to_string(),
        sync: snapshot.set.sync.to_string(),
        idle: target.as_ref().err().map(ToString::to_string),
        reason: target.as_ref().err().map(|idle| idle.reason().as_str()),
    });
    report.replacement = replacement(inputs, stored, &snapshot.settings);
    report.notes.extend(leftovers(&snapshot, &change.templates));
    // The controller waits until they can be read.
    if unreadable::note(inputs.state, &snapshot.set, report) {
        return Ok(());
    }
    match target {
        Err(idle) => {
            if idle.is_stalled() {
                report.obstacles.push(idle.to_string());
            }
            return Ok(());
        }
        Ok(_) if snapshot.set.paused => report.notes.push("paused: nothing new is started".to_owned()),
        Ok(_) => {}
    }
    let mut judge = rows::Judge::new(inputs.state, &snapshot);
    report.notes.extend(judge.unchecked());
    let first = plan(&snapshot).progress.ready;
    let prevents = [ReadyReason::WouldExceedQuota, ReadyReason::ReCreateStopped];
    if prevents.iter().any(|reason| first.reason == reason.as_str()) {
        report.obstacles.push(first.message);
    }
    let before = claims_of(&snapshot);
    report.notes.extend(budgets::waits(inputs, &snapshot, &before));
    let forecast = forecast(snapshot.clone(), inputs.state.can_read("Pod"), |apply| {
        judge.check(apply)
    });
    report.claims = rows::rows(&before, &forecast, &judge, report.pods);
    Ok(())
}

/// The PVCs of templates that would be removed.
fn leftovers(snapshot: &Snapshot, wanted: &[ClaimTemplate]) -> Vec<String> {
    let set = &snapshot.set;
    let removed = Diff::between(&set.live, wanted).removed;
    let note = |template: &String| {
        let names = set
            .ordinals()
            .map(|ordinal| format!("{template}-{}-{ordinal}", set.name));
        let mut claims: Vec<String> = names.filter(|name| snapshot.claims.contains_key(name)).collect();
        claims.reverse();
        format!(
            "template {template} would be removed; its PVCs stay, and nothing manages them any more: {}",
            claims.join(", ")
        )
    };
    removed.iter().map(note).collect()
}

/// The snapshot that the controller would read.
fn snapshot(inputs: &Inputs<'_>, live: &Value, stored: &Value) -> anyhow::Result<Snapshot> {
    let mut set = conversion::set(stored).context("failed to read the StatefulSet as it would be stored")?;
    let namespace = &inputs.target.namespace;
    set.namespace.clone_from(namespace);
    // A dry run has counted the generation up.
    set.status_is_current = conversion::set(live)?.status_is_current;
    if live["spec"]["template"] != stored["spec"]["template"] {
        // Kubernetes has not named the new revision yet, but no Pod has it.
        set.update_revision = "of the new template".to_owned();
    }
    let settings = Settings::read(inputs.settings.get()).map_err(anyhow::Error::msg)?;
    let all = |kind| inputs.state.all("v1", kind, namespace);
    let mut claims = BTreeMap::new();
    for object in all("PersistentVolumeClaim") {
        let claim = conversion::claim(object)?;
        claims.insert(claim.name.clone(), claim);
    }
    let mut pods = BTreeMap::new();
    for object in all("Pod") {
        if let Some(pod) = conversion::pod(object)? {
            pods.insert(pod.name.clone(), pod);
        }
    }
    let others = inputs.state.all("apps/v1", "StatefulSet", namespace);
    let others = others.filter(|other| other["metadata"]["name"] != inputs.target.name);
    let siblings = others.map(conversion::sibling).collect::<Result<_, _>>()?;
    // The controller writes it first.
    if set.staged_at == StagedAt::Absent {
        set.staged_at = StagedAt::At(AT_LAST);
    }
    Ok(Snapshot {
        now: AT_LAST,
        settings: Arc::new(settings),
        halted: None,
        write_refused: None,
        not_evicted: None,
        recreate: ReCreateAnswers::default(),
        staged_before: None,
        set,
        claims,
        pods,
        siblings,
        refusals: BTreeMap::new(),
        quotas: quotas(inputs)?,
        budgets: Budgets::default(),
        previous: None,
        milestones: Milestones::default(),
        claim_events: BTreeMap::new(),
    })
}

/// The quotas that the controller would read.
fn quotas(inputs: &Inputs<'_>) -> anyhow::Result<Quotas> {
    if !inputs.state.can_read("ResourceQuota") {
        return Ok(Quotas::Unchecked);
    }
    let quotas = inputs
        .state
        .all("v1", "ResourceQuota", &inputs.target.namespace)
        .map(conversion::quota);
    let quotas: Vec<_> = quotas.collect::<Result<_, _>>()?;
    Ok(Quotas::Known(quotas.into_iter().flatten().collect()))
}

/// The outcome for Pods at an older revision.
fn pods(inputs: &Inputs<'_>, live: &Value, stored: &Value, snapshot: &Snapshot) -> PodOutcome {
    let set = &snapshot.set;
    if !inputs.state.can_read("Pod") {
        return PodOutcome::NotChecked;
    }
    if !set.replaces_pods() && Target::staged(set, &snapshot.settings).is_ok() {
        return PodOutcome::AfterTheReplacement;
    }
    let changed = live["spec"]["template"] != stored["spec"]["template"];
    let target = Target::of(set, &snapshot.settings);
    let follow = set.sync == Sync::LockStep && target.is_ok_and(|target| target.change.phase == Phase::RollingOut);
    let behind = |ordinal: u32| {
        snapshot
            .pod_of(ordinal)
            .is_some_and(|pod| pod.revision != set.update_revision)
    };
    let waits = set
        .ordinals()
        .any(|ordinal| behind(ordinal) && !set.is_below_partition(ordinal));
    match set.strategy {
        _ if !waits || !changed && !follow => PodOutcome::KeepRunning,
        Strategy::OnDelete => PodOutcome::WhenDeleted,
        Strategy::RollingUpdate | Strategy::Recreate if follow => PodOutcome::AfterTheirClaims,
        Strategy::RollingUpdate | Strategy::Recreate => PodOutcome::ByThemselves,
    }
}

#[cfg(test)]
#[path = "decide_tests/mod.rs"]
mod tests;
