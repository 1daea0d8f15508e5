//! Plans as tables: the world and the manifest in words, and the report in words.

mod tables;
mod world;

use std::process::ExitCode;

use serde_json::json;

use self::tables::{FROM_HERE, OBSTACLES, OF_CLAIMS, REPLACEMENTS, REQUESTS};
use self::world::{PlanWorld, manifest_of};
use crate::cli::plan::code;
use crate::cli::plan::report::{ClaimReport, ClaimValues, PlanReport, ReplacementOrigin};
use crate::rollout::fixtures::rows;

/// The plan of a manifest in words, or of what is staged.
fn planned(world: &str, manifest: &str) -> anyhow::Result<PlanReport> {
    PlanWorld::of(world).plan(manifest_of(manifest).as_ref())
}

/// The sizes, another storage class, the action, what happens to the Pod, and obstacles.
fn action(claim: &ClaimReport) -> String {
    let size = |values: &Option<ClaimValues>| values.as_ref().map_or("-".to_owned(), |values| values.storage.clone());
    let class = |values: &Option<ClaimValues>| values.as_ref().and_then(|values| values.storage_class.clone());
    let mut text = format!("{}>{}", size(&claim.now), size(&claim.then));
    if let Some(class) = class(&claim.then).filter(|then| Some(then) != class(&claim.now).as_ref()) {
        text += &format!(" {class}");
    }
    text += &format!(" {:?}", claim.action);
    for (is_so, word) in [(claim.pod_replaced, " pod"), (claim.pod_created, " new")] {
        text += if is_so { word } else { "" };
    }
    text + &claim
        .obstacles
        .iter()
        .map(|obstacle| format!(" !{obstacle}"))
        .collect::<String>()
}

/// Step, name and action of each PVC. Adjacent ones that differ only in the next step and the next ordinal are one.
fn actions(report: &PlanReport) -> String {
    let is_next = |one: &ClaimReport, next: &ClaimReport| {
        let step = one.step.map(|step| step + 1);
        action(one) == action(next) && step == next.step && one.row.ordinal == next.row.ordinal + 1
    };
    let runs = report.claims.chunk_by(is_next).map(|run| {
        let step = run[0].step.map_or("-".to_owned(), |step| step.to_string());
        let name = run[0].row.name.trim_start_matches("data-");
        let last = match run {
            [_] => String::new(),
            [.., last] => format!("..{}", last.row.ordinal),
            [] => panic!("no PVC"),
        };
        format!("{step} {name}{last} {}", action(&run[0]))
    });
    runs.collect::<Vec<_>>().join("; ")
}

/// The outcome of the request and who decided it, the update policy of what is staged or why it is idle, the Pods, and
/// whether all goes through.
fn head(report: &PlanReport) -> String {
    let mut words = Vec::new();
    if let Some(verdict) = &report.verdict {
        words.push(format!("{:?}", verdict.outcome));
        words.extend(verdict.decided_here.is_none().then(|| "there".to_owned()));
    }
    if let Some(target) = &report.target {
        words.push(target.update_policy.clone());
        words.extend(target.idle.as_ref().map(|idle| format!("({idle})")));
    }
    words.push(format!("{:?}", report.pods));
    words.extend(report.is_nothing_to_do().then(|| "nothing to do".to_owned()));
    words.extend((!report.goes_through).then(|| "stuck".to_owned()));
    words.join(", ")
}

/// The denial, the obstacles, the notes, and what prevents a replacement.
fn remarks(report: &PlanReport) -> String {
    let denial = report.verdict.iter().filter_map(|verdict| verdict.message.clone());
    let obstacles = report.obstacles.iter().map(|obstacle| format!("!{obstacle}"));
    let mut all: Vec<String> = denial.chain(obstacles).chain(report.notes.clone()).collect();
    if let Some(replacement) = &report.replacement {
        let reasons = replacement.prevented_by.iter().map(|fault| fault.reason.to_string());
        all.push(
            format!("replaced {}", reasons.collect::<Vec<_>>().join(" "))
                .trim_end()
                .to_owned(),
        );
    }
    all.join("; ")
}

#[test]
fn plan_of_each_request_is_that_of_the_controller() {
    let tables = [REQUESTS, FROM_HERE, OBSTACLES, OF_CLAIMS, REPLACEMENTS];
    for [what, world, manifest, expected, claims, remarked] in tables.iter().flat_map(|table| rows(table)) {
        let found = match planned(world, manifest) {
            Ok(report) => [head(&report), actions(&report), remarks(&report)],
            Err(error) => [error.to_string(), String::new(), String::new()],
        };
        assert_eq!(found, [expected, claims, remarked], "{what}");
    }
}

#[test]
fn plan_has_the_warnings_of_the_answer() {
    let warnings = |world: &str| {
        let report = planned(world, "2Gi m:1").expect("a plan");
        report.verdict.expect("a verdict").warnings
    };
    let staged = "claim-rollout: staged data 1Gi -> 2Gi; 3 PVCs will be updated in place, highest ordinal first (kubectl \
                  claim-rollout status web -n shop)";
    assert_eq!(warnings(""), [staged]);
    assert_eq!(warnings("answer no"), ["of the API server"]);
}

#[test]
fn plan_with_an_obstacle_fails() {
    let [fine, stuck] = ["", "; /spec/serviceName other"].map(|change| {
        let manifest = format!("1Gi m:1{change}");
        planned("", &manifest).expect("a plan")
    });
    assert_eq!(code(std::slice::from_ref(&fine)), ExitCode::SUCCESS);
    assert_eq!(code(&[fine, stuck]), ExitCode::FAILURE, "one of them has an obstacle");
}

#[test]
fn replacement_names_who_asks_and_each_fault() {
    let world = "staged 2Gi; settings defaultReplaceSet=WhenComplete; web-0 /metadata/labels/app web; \
                 web-1 /metadata/labels/app web; web-2 /metadata/labels/app web; \
                 web-0 /metadata/deletionTimestamp 2026-11-23T12:00:00Z";
    let replacement = planned(world, "").expect("a plan").replacement.expect("a replacement");
    assert_eq!(replacement.asked_by, ReplacementOrigin::Setting);
    let expected = json!({"askedBy": "Setting", "preventedBy": [
        {"reason": "PodTerminating", "message": "Pod web-0 is being deleted"},
    ]});
    assert_eq!(serde_json::to_value(&replacement).expect("JSON"), expected);
}
