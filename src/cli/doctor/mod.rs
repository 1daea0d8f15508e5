//! `claim-rollout doctor`: what is wrong with an installation, and what heals it.
//!
//! | file | holds |
//! |---|---|
//! | [`facts`], [`gather`] | what is judged, and the only part that asks anybody |
//! | [`finding`] | what is said |
//! | [`definition`] | is ClaimRollout defined |
//! | [`admission`] | is the policy asked |
//! | [`guard`] | does the API server itself keep the rules of the guard |
//! | [`rights`] | may the accounts do what they need to |
//! | [`leader`] | does a controller lead |
//! | [`classes`], [`sets`] | what keeps the claims of sets from following |

mod admission;
mod classes;
mod definition;
mod facts;
mod finding;
mod gather;
mod guard;
mod leader;
mod rights;
mod sets;

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::json;

use self::facts::Facts;
use self::finding::{Finding, Severity};
use self::gather::Place;
use super::ClusterArguments;
use super::output::{self, print};

/// Where claim-rollout is installed, if nothing else is said.
const NAMESPACE: &str = "claim-rollout";

/// Say what is wrong with an installation, and what heals it
///
/// `--namespace` is that of the installation, claim-rollout if none is named. Looks at the definition of ClaimRollout, at how the
/// policy is asked, at the guard, at the rights of the accounts, at the Lease of the controller, at storage classes, and at every set. Nothing
/// is written: that the policy is asked is tried by a dry run.
///
/// Exits with 0 if there is no error, with 1 if there is, and with 2 if it could not look.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The namespace whose sets are looked after, if the controller is installed for one; all if none is named.
    #[arg(long, value_name = "NAMESPACE")]
    sets_of: Option<String>,
    /// The format.
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<DoctorFormat>,
}

/// The formats beside the usual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DoctorFormat {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// Runs the subcommand.
pub(crate) fn run(cluster: &ClusterArguments, arguments: &Arguments) -> ExitCode {
    let examined = super::runtime().and_then(|runtime| runtime.block_on(examine(cluster, arguments)));
    match examined {
        Ok(findings) if findings.iter().all(|finding| finding.severity != Severity::Error) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {}", super::in_words(&error));
            ExitCode::from(2)
        }
    }
}

/// Looks and prints.
async fn examine(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<Vec<Finding>> {
    let (client, _) = cluster.connect().await?;
    let place = Installation {
        client,
        home: cluster.namespace.clone().unwrap_or_else(|| NAMESPACE.to_owned()),
        sets: arguments.sets_of.clone(),
    };
    let facts = place.gather().await?;
    let findings = diagnose(&facts);
    print(&text(&findings, arguments.output)?)?;
    eprintln!("{}", summary(&facts, &findings));
    Ok(findings)
}

/// Everything that is wrong, errors first.
fn diagnose(facts: &InstallationFacts) -> Vec<Finding> {
    let unread = facts.unread.iter().map(|(what, why)| {
        let fix = format!("run it as somebody who may read {what}");
        Finding::warning(what).but("to read them", why).fix(fix)
    });
    let mut findings: Vec<Finding> = definition::judge(facts).into_iter().collect();
    findings.extend(admission::judge(&facts.namespace, &facts.webhooks, &facts.probe));
    findings.extend(guard::judge(&facts.namespace, &facts.guard));
    findings.extend(rights::judge(&facts.namespace, &facts.lacking));
    findings.extend(leader::judge(facts));
    findings.extend(classes::judge(facts));
    findings.extend(sets::judge(facts));
    findings.extend(unread);
    findings.sort_by_key(|finding| finding.severity);
    findings
}

/// What goes to the standard output: nothing where nothing is wrong. A document is one even if there is nothing in it.
fn text(findings: &[Finding], format: Option<DoctorFormat>) -> anyhow::Result<String> {
    let document = json!({"apiVersion": "cli.claim-rollout.io/v1alpha1", "kind": "FindingList", "items": findings});
    match format {
        None => Ok(findings.iter().map(Finding::to_string).collect()),
        Some(DoctorFormat::Json) => output::json(&document),
        Some(DoctorFormat::Yaml) => output::yaml(&document),
    }
}

/// One line on what was looked at.
fn summary(facts: &InstallationFacts, findings: &[Finding]) -> String {
    let count = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let looked = format!(
        "looked at the installation in {} and at {} StatefulSets",
        facts.namespace,
        facts.sets.len()
    );
    match (count(Severity::Error), count(Severity::Warning)) {
        (0, 0) => format!("{looked}: nothing is wrong"),
        (errors, warnings) => format!("{looked}: errors {errors}, warnings {warnings}"),
    }
}

#[cfg(test)]
#[path = "diagnose_tests/mod.rs"]
mod tests;
