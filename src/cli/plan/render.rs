//! Renders a plan as text.

use super::report::{
    ClaimReport, ClaimValues, PlanOutcome, PlanReport, PlanVerdict, PlannedAction, PodOutcome, ReplacementOrigin,
    ReplacementReport, TargetReport,
};
use crate::cli::output::{OutputFormat, table};
use crate::cli::process::program;
use crate::replace::Fault;
use crate::templates::UpdatePolicy;
use crate::templates::show::printable;

/// The plans, one below the other.
pub(crate) fn render(reports: &[PlanReport], format: Option<OutputFormat>) -> String {
    let wide = format == Some(OutputFormat::Wide);
    let blocks: Vec<String> = reports.iter().map(|report| block(report, wide)).collect();
    blocks.join("\n")
}

fn block(report: &PlanReport, wide: bool) -> String {
    let mut text = format!(
        "StatefulSet {}/{}: {}\n",
        report.namespace,
        report.name,
        headline(report)
    );
    if let Some(verdict) = &report.verdict {
        if let Some(why) = &verdict.decided_here {
            text += &format!(
                "  decided here, without the other policies and defaults of the API server: {}\n",
                printable(why)
            );
        }
        for line in verdict.message.iter().chain(&verdict.warnings) {
            text += &format!("  {}\n", printable(line));
        }
    }
    if let Some(idle) = report.target.as_ref().and_then(|target| target.idle.as_ref()) {
        text += &format!("  {}\n", printable(idle));
    }
    if !report.claims.is_empty() && !report.is_nothing_to_do() {
        text += "\n";
        text += &claims(&report.claims, wide, report.pods);
    }
    text += "\n";
    for obstacle in &report.obstacles {
        text += &format!("Obstacle: {}\n", printable(obstacle));
    }
    if let Some(replacement) = &report.replacement {
        text += &replaced(report, replacement);
    }
    for note in &report.notes {
        text += &format!("Note: {}\n", printable(note));
    }
    text + &summary(report) + "\n"
}

/// What happens to the set after the rollout, and what would prevent it now.
fn replaced(report: &PlanReport, replacement: &ReplacementReport) -> String {
    let on_delete =
        report.target.as_ref().map(|target| &*target.update_policy) == Some(UpdatePolicy::OnClaimDelete.as_str());
    let when = if on_delete {
        "at once"
    } else {
        "when the rollout is complete"
    };
    let origin = match replacement.asked_by {
        ReplacementOrigin::Annotation => "the annotation replace-set",
        ReplacementOrigin::Setting => "the setting defaultReplaceSet",
    };
    let mut text =
        format!("Replacement: {when}, the StatefulSet gets these templates without a restart of its Pods ({origin})\n");
    for Fault { reason, message } in &replacement.prevented_by {
        text += &format!("  not now: {reason}: {}\n", printable(message));
    }
    let program = program();
    text + &format!(
        "  not checked: the guard, and whether the API server would accept it (a dry run of {program} replace does)\n"
    )
}

fn headline(report: &PlanReport) -> String {
    let how = |target: &TargetReport| {
        format!(
            "revision {} ({}, {})",
            target.revision, target.update_policy, target.sync
        )
    };
    let outcome = report.verdict.as_ref().map(|verdict| verdict.outcome);
    match (outcome, report.target.as_ref().map(how)) {
        (Some(PlanOutcome::Refused), _) => "the change would be denied".to_owned(),
        (Some(PlanOutcome::Created), _) => "it would be created".to_owned(),
        (Some(PlanOutcome::Staged), Some(target)) => format!("the change would be staged, {target}"),
        (Some(PlanOutcome::AlreadyStaged), Some(target)) => format!("the change is staged already, {target}"),
        (Some(PlanOutcome::Withdrawn), _) => "the staged change would be withdrawn".to_owned(),
        (Some(_), None) => "the templates stay as they are".to_owned(),
        (Some(_), Some(target)) => format!("the staged change stays as it is, {target}"),
        (None, Some(target)) => format!("{target} is staged"),
        (None, None) => "nothing is staged".to_owned(),
    }
}

/// A column: its heading, whether it is shown, and its cells.
type Column<'a> = (&'a str, bool, &'a dyn Fn(&ClaimReport) -> String);

fn claims(claims: &[ClaimReport], wide: bool, pods: PodOutcome) -> String {
    let now = |claim: &ClaimReport, field: fn(&ClaimValues) -> Option<String>| claim.now.as_ref().and_then(field);
    let class = |claim: &ClaimReport| attributes(claim).or_else(|| now(claim, |now| now.attributes_class.clone()));
    let has_class = wide || claims.iter().any(|claim| attributes(claim).is_some());
    let has_keys = wide || claims.iter().any(|claim| !claim.keys.is_empty());
    let keys = |claim: &ClaimReport| (!claim.keys.is_empty()).then(|| claim.keys.join(", "));
    let columns: [Column<'_>; 9] = [
        ("STEP", true, &|claim| or_dash(claim.step.map(|step| step.to_string()))),
        ("PVC", true, &|claim| claim.row.name.clone()),
        ("STORAGE", true, &storage),
        ("CAPACITY", wide, &|claim| {
            or_dash(now(claim, |now| now.capacity.clone()))
        }),
        ("STORAGECLASS", wide, &|claim| {
            or_dash(now(claim, |now| now.storage_class.clone()))
        }),
        ("ATTRIBUTESCLASS", has_class, &|claim| or_dash(class(claim))),
        ("LABELS", has_keys, &|claim| or_dash(keys(claim))),
        ("POD", true, &|claim| pod(claim, pods).to_owned()),
        ("PLAN", true, &plan),
    ];
    let shown: Vec<&Column<'_>> = columns.iter().filter(|(_, is_shown, _)| *is_shown).collect();
    let headings: Vec<&str> = shown.iter().map(|(heading, ..)| *heading).collect();
    let row = |claim: &ClaimReport| shown.iter().map(|(.., cell)| cell(claim)).collect::<Vec<String>>();
    table(&headings, &claims.iter().map(row).collect::<Vec<_>>())
}

/// What becomes of the Pod of the replica.
const fn pod(claim: &ClaimReport, pods: PodOutcome) -> &'static str {
    match pods {
        PodOutcome::NotChecked => "-",
        _ if claim.pod_created => "created",
        _ if claim.pod_replaced => "replaced",
        _ => "stays",
    }
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// `10Gi -> 20Gi`, or the size if it does not change.
fn storage(claim: &ClaimReport) -> String {
    match (&claim.now, &claim.then) {
        (Some(now), Some(then)) if now.storage != then.storage => format!("{} -> {}", now.storage, then.storage),
        (Some(now), _) => now.storage.clone(),
        (None, _) => or_dash(None),
    }
}

/// The change of the attributes class, if there is one.
fn attributes(claim: &ClaimReport) -> Option<String> {
    let (now, then) = (claim.now.as_ref()?, claim.then.as_ref()?);
    let name = |state: &ClaimValues| state.attributes_class.clone().unwrap_or_else(|| "none".to_owned());
    (now.attributes_class != then.attributes_class).then(|| format!("{} -> {}", name(now), name(then)))
}

fn plan(claim: &ClaimReport) -> String {
    let what = match claim.action {
        PlannedAction::Update => "update",
        PlannedAction::ReCreate => "deleted with its data and created anew",
        PlannedAction::UpToDate => "updated",
        PlannedAction::Wait => "in progress",
        PlannedAction::Create => "created from the desired template with its Pod",
        PlannedAction::Blocked => "blocked",
        PlannedAction::NotReached => "not reached",
        PlannedAction::Held => "kept",
    };
    let mut text = what.to_owned();
    if !claim.obstacles.is_empty() {
        text = format!("{text}: {}", claim.obstacles.join("; "));
    }
    if !claim.keeps.is_empty() {
        text = format!("{text}; keeps {}", claim.keeps.join(", "));
    }
    text
}

/// The summary in one line.
fn summary(report: &PlanReport) -> String {
    if let Some(PlanVerdict {
        outcome: PlanOutcome::Refused,
        ..
    }) = report.verdict
    {
        return "Nothing would change.".to_owned();
    }
    if report.is_nothing_to_do() {
        return "Nothing to do.".to_owned();
    }
    let (updated, stuck) = (
        report.count(PlannedAction::Update),
        report.count(PlannedAction::Blocked) + report.count(PlannedAction::NotReached),
    );
    let plural = if updated == 1 { "PVC" } else { "PVCs" };
    let mut parts = Vec::new();
    if !report.claims.is_empty() {
        parts.push(format!("{updated} {plural} to update, one replica after the other"));
    }
    match report.count(PlannedAction::ReCreate) {
        0 => {}
        count => parts.push(format!(
            "{count} to delete WITH THEIR DATA and to create anew, one replica after the other, whose Pods are evicted"
        )),
    }
    if stuck > 0 {
        parts.push(format!("{stuck} cannot be updated"));
    }
    parts.push(
        match report.pods {
            PodOutcome::KeepRunning => "no Pod is restarted",
            PodOutcome::AfterTheirClaims => "each Pod is replaced when its PVCs are ready",
            PodOutcome::ByThemselves => "Kubernetes replaces the Pods independently of their PVCs",
            PodOutcome::WhenDeleted => "each Pod is replaced when somebody deletes it",
            PodOutcome::AfterTheReplacement => {
                "after the replacement, each Pod is evicted to mount the new volume, lowest ordinal first"
            }
            PodOutcome::NotChecked => "not checked whether Pods are restarted",
        }
        .to_owned(),
    );
    let mut line = parts.join("; ");
    line.push('.');
    let first = line.remove(0).to_uppercase();
    format!("{first}{line}")
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
