//! `claim-rollout doctor`: diagnoses an installation.
//!
//! | file | content |
//! |---|---|
//! | [`facts`], [`gather`] | the facts, and the reads from the cluster |
//! | [`finding`] | a finding as data and as text |
//! | [`absent`] | whether it is installed at all, and which parts |
//! | [`before`] | what a cluster needs before an installation |
//! | [`definition`] | checks the CustomResourceDefinition |
//! | [`admission`] | checks the webhooks of the policy |
//! | [`guard`] | checks the guard |
//! | [`accounts`] | checks the accounts in settings and conditions |
//! | [`cel`] | what a condition names |
//! | [`agreement`] | checks that the settings of the policy and of the controller agree |
//! | [`deployed`] | how it was installed, and the command that restores it |
//! | [`rights`] | checks the rights of the accounts |
//! | [`native`] | whether Kubernetes can update PVCs itself |
//! | [`leader`] | checks the Lease of the controller |
//! | [`replacing`] | checks replacements of StatefulSets in progress |
//! | [`classes`], [`sets`] | check StorageClasses and StatefulSets |

mod absent;
mod accounts;
mod admission;
mod agreement;
mod before;
mod cel;
mod classes;
mod definition;
mod deployed;
mod facts;
mod finding;
mod gather;
mod guard;
mod leader;
mod native;
mod replacing;
mod rights;
mod sets;

use std::process::ExitCode;

use clap::Args;

use self::facts::InstallationFacts;
use self::finding::{Finding, Severity};
use self::gather::Installation;
use super::cluster::{ClusterArguments, HOME};
use super::output::{self, OutputFormat, note, one_of, print};
use super::process::exit;

/// Diagnose an installation and show how to fix it
///
/// Prints first what of claim-rollout is installed. Checks the definition of ClaimRollout, the webhooks of the policy, the
/// guard, the settings, the rights of the accounts, the Lease of the controller, storage classes, replacements in
/// progress, and every StatefulSet; with `--namespace`, only those that a controller for this namespace manages. The
/// commands that fix something are those of Helm, if the installation was made by Helm. Writes nothing: a dry run checks
/// that the API server calls the policy.
///
/// Exits with 0 if there is no error, with 1 if there is one, and with 2 if the checks failed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Namespace of the installation
    #[arg(long, value_name = "NAMESPACE", default_value = HOME)]
    system_namespace: String,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", value_parser = one_of(&[OutputFormat::Json, OutputFormat::Yaml]))]
    output: Option<OutputFormat>,
    /// Before an installation: check the versions of Kubernetes and Kubewarden and whether a StorageClass can expand, and
    /// list StatefulSets that already have annotations of claim-rollout.io. Nobody has checked who wrote them
    #[arg(long)]
    pre: bool,
}

pub(crate) fn run(cluster: &ClusterArguments, arguments: &Arguments) -> ExitCode {
    exit(async { Ok(code(&examine(cluster, arguments).await?)) }, 2)
}

/// The exit code: only errors fail.
fn code(findings: &[Finding<String>]) -> ExitCode {
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Checks the installation and prints the findings.
async fn examine(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<Vec<Finding<String>>> {
    let (client, _) = cluster.connect().await?;
    let place = Installation {
        client,
        home: arguments.system_namespace.clone(),
        sets: cluster.namespace.clone(),
    };
    let facts = place.gather().await?;
    if arguments.pre {
        let findings = rendered(&facts, before::judge(&facts));
        print(&text(&findings, arguments.output)?)?;
        note(&before::summary(&facts, findings.len()));
        return Ok(findings);
    }
    let findings = diagnose(&facts);
    note(&absent::inventory(&facts));
    print(&text(&findings, arguments.output)?)?;
    note(&summary(&facts, &findings));
    Ok(findings)
}

/// All findings about an installation, errors first.
fn diagnose(facts: &InstallationFacts) -> Vec<Finding<String>> {
    let mut findings = match absent::judge(facts) {
        Some(absent) => vec![absent],
        None => of_parts(facts),
    };
    findings.extend(replacing::judge(facts));
    findings.extend(native::judge(facts));
    findings.extend(classes::judge(facts));
    findings.extend(before::judge_version(facts));
    findings.extend(sets::judge(facts));
    rendered(facts, findings)
}

/// These findings and one for each thing that cannot be read, errors first, with fixes for this installation.
fn rendered(facts: &InstallationFacts, mut findings: Vec<Finding>) -> Vec<Finding<String>> {
    findings.extend(facts.unread.iter().map(|(what, why)| {
        let fix = format!("run doctor as a user who may read {what}");
        Finding::warning(what).but("read access", why).fix(fix)
    }));
    findings.extend(facts.skipped.iter().map(sets::skipped));
    findings.sort_by_key(|finding| finding.severity);
    let rendered = findings
        .into_iter()
        .map(|finding| finding.rendered(|fix| facts.deployed.fix(fix)));
    rendered.collect()
}

/// The findings about the parts of an installation.
fn of_parts(facts: &InstallationFacts) -> Vec<Finding> {
    let mut findings: Vec<Finding> = definition::judge(facts).into_iter().collect();
    findings.extend(admission::judge(
        &facts.namespace,
        &facts.webhooks,
        &facts.probe,
        &facts.deployed,
        &facts.monitored,
    ));
    findings.extend(guard::judge(
        &facts.namespace,
        &facts.deployed,
        facts.guards_openkruise(),
        &facts.guard,
    ));
    findings.extend(rights::judge(&facts.namespace, &facts.lacking, |account| {
        facts.deployed.account(account)
    }));
    findings.extend(rights::judge_policy_servers(&facts.policy_servers));
    findings.extend(accounts::judge(facts));
    findings.extend(agreement::judge(&facts.settings));
    findings.extend(leader::judge(facts));
    findings
}

/// The text for standard output: empty without findings. JSON and YAML are complete documents even then.
fn text(findings: &[Finding<String>], format: Option<OutputFormat>) -> anyhow::Result<String> {
    let lines = || findings.iter().map(ToString::to_string).collect();
    output::list(format, "FindingList", &findings, lines)
}

/// The summary in one line.
fn summary(facts: &InstallationFacts, findings: &[Finding<String>]) -> String {
    let count = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let checked = format!(
        "checked the definition, webhooks, guard, rights, settings and accounts, the Lease, replacements, {} StorageClasses \
         and {} StatefulSets",
        facts.classes.len(),
        facts.sets.len()
    );
    match (count(Severity::Error), count(Severity::Warning)) {
        (0, 0) => format!("{checked}: nothing is wrong"),
        (errors, warnings) => format!("{checked}: errors {errors}, warnings {warnings}"),
    }
}

#[cfg(test)]
#[path = "diagnose_tests/mod.rs"]
mod tests;
