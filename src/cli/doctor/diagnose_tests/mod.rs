//! Installations as tables: their state in words, and what `doctor` finds.

mod fixtures;
mod tables;
mod words;

use std::process::ExitCode;

use self::tables::{BEFORE, FAULTS, HARMLESS, INVENTORIES};
use self::words::facts;
use super::absent::inventory;
use super::finding::Finding;
use super::{OutputFormat, Severity, before, code, diagnose, rendered, summary, text};
use crate::cli::json_tests::{has_the_words, is_as_described};
use crate::rollout::fixtures::rows;

/// Where the files of this version are.
const FILES: &str = concat!(
    "https://raw.githubusercontent.com/claim-rollout/claim-rollout/v",
    env!("CARGO_PKG_VERSION"),
    "/"
);
const FOLDERS: &str = "https://github.com/claim-rollout/claim-rollout/deploy/";
const APPLY: &str = "kubectl apply --server-side --force-conflicts";
/// The webhook for StatefulSets.
const OF_SETS: &str = "mutatingwebhookconfiguration/claim-rollout-webhook[claim-rollout.claim-rollout.io]";

/// The only finding, if there is one, is the one in the row, and its fix begins as there.
fn is_the_finding(found: &[Finding<String>], [what, subject, state, fix]: [&str; 4]) {
    let lines: Vec<[String; 2]> = found
        .iter()
        .map(|finding| {
            let subject = format!("{:?} {}", finding.severity, finding.subject);
            [subject, finding.found.clone()]
        })
        .collect();
    if subject.is_empty() {
        assert!(lines.is_empty(), "{what}: {lines:?}");
        return;
    }
    assert_eq!(lines, [[subject.replace("{}", OF_SETS), state.to_owned()]], "{what}");
    let found = found[0].fix.replace(APPLY, "apply").replace(FILES, "");
    let found = found.replace(FOLDERS, "deploy/");
    assert!(found.starts_with(fix) && !fix.is_empty(), "{what}: {found}");
}

#[test]
fn diagnose_each_fault_is_one_finding() {
    for [what, state, subject, found, fix] in [FAULTS, HARMLESS].into_iter().flat_map(rows) {
        is_the_finding(&diagnose(&facts(state)), [what, subject, found, fix]);
    }
}

#[test]
fn before_an_installation_each_obstacle_is_a_finding() {
    for [what, state, subject, found, fix] in rows(BEFORE) {
        let facts = facts(state);
        let findings = rendered(&facts, before::judge(&facts));
        is_the_finding(&findings, [what, subject, found, fix]);
        assert!(text(&findings, Some(OutputFormat::Json)).is_ok(), "{what}");
    }
}

#[test]
fn inventory_of_each_installation_is_the_first_line() {
    for [what, state, expected] in rows(INVENTORIES) {
        assert_eq!(inventory(&facts(state)), expected, "{what}");
    }
}

/// The parts of an installation, and what may hide one.
const PARTS: [&str; 10] = [
    "has definition",
    "held",
    "BuiltIn Sets",
    "guarded",
    "controller claim-rollout-controller mine",
    "server mine",
    "settings {} / {}",
    "policy-server",
    "unknown webhooks",
    "unknown definition",
];

#[test]
fn diagnose_part_of_an_installation_is_repaired() {
    for part in PARTS {
        let found = diagnose(&facts(&format!("empty; {part}")));
        let is_absent = |finding: &Finding<String>| finding.subject == "claim-rollout";
        assert!(!found.is_empty() && !found.iter().any(is_absent), "{part}");
    }
}

#[test]
fn summary_before_an_installation_has_its_command() {
    let install = "\nto install: helm install claim-rollout oci://ghcr.io/claim-rollout/charts/claim-rollout -n claim-rollout \
                   --create-namespace";
    let checked = "checked Kubernetes v1.37.1, Kubewarden none, 2 StorageClasses (1 can expand) and the annotations of 1 \
                   StatefulSets: ";
    let line = before::summary(&facts("empty"), 0);
    let expected = format!("{checked}nothing is in the way{install} --set admission=builtin, or ");
    assert!(line.starts_with(&expected), "{line}");
    let line = before::summary(&facts("empty; kubewarden v1.37.2"), 2);
    assert!(line.contains(&format!(": findings 2{install}, or ")), "{line}");
}

#[test]
fn annotations_before_an_installation_are_listed() {
    let mut facts = facts("@update-policy InPlace; @staged {}");
    facts.sets.extend(self::facts("").sets);
    let findings = rendered(&facts, super::sets::judge_before(&facts.sets));
    let [finding] = &findings[..] else {
        panic!("{findings:?}")
    };
    assert_eq!(finding.subject, "statefulset.apps/default/web");
    assert_eq!(finding.found, "claim-rollout.io/staged, claim-rollout.io/update-policy");
    assert_eq!(
        finding.fix,
        "kubectl annotate -n default statefulset.apps/web claim-rollout.io/staged- claim-rollout.io/update-policy-, \
         unless somebody wants them"
    );
}

#[test]
fn diagnose_errors_come_first() {
    assert_eq!(text(&[], None).expect("text"), "");
    assert_eq!(
        summary(&facts(""), &[]),
        "checked the definition, webhooks, guard, rights, settings and accounts, the Lease, replacements, 2 StorageClasses and \
         1 StatefulSets: nothing is wrong"
    );
    let facts = facts("no webhook 2; no Lease");
    let found = diagnose(&facts);
    let severities: Vec<Severity> = found.iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::Error, Severity::Warning]);
    for (findings, expected) in [
        (&found[..], ExitCode::FAILURE),
        (&found[1..], ExitCode::SUCCESS),
        (&[], ExitCode::SUCCESS),
    ] {
        assert_eq!(code(findings), expected, "{findings:?}");
    }
    let expected = "\
error: lease/claim-rollout/claim-rollout-controller: expected a controller that holds it, but found none
  to fix it: kubectl rollout restart -n claim-rollout deployment/claim-rollout-controller
warning: mutatingwebhookconfiguration/claim-rollout-webhook: ";
    assert!(text(&found, None).expect("text").starts_with(expected));
    is_as_described(&[text(&found, Some(OutputFormat::Json)).expect("text")]);
    has_the_words("FindingList", "severity", &[Severity::Error, Severity::Warning]);
    assert!(summary(&facts, &found).ends_with(": errors 1, warnings 1"));
}
