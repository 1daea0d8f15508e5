//! `claim-rollout review`: answers one AdmissionReview without a cluster.

use std::io::{IsTerminal as _, Write as _, stderr, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::value::RawValue;

use super::files;
use super::output::note;
use crate::admission::{self, Lookups};
use crate::webhook::engine::{check_settings, payload};
use crate::webhook::envelope::{AdmissionResponse, AdmissionReview};

/// Answer one AdmissionReview as the policy in a cluster would
///
/// Prints an AdmissionReview with the response. Exits with 0 if the request is allowed, with 1 if it is denied, and
/// with 2 if the input is not an AdmissionReview or the settings are invalid.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Policy settings file (JSON or YAML); built-in defaults if omitted
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// File with a List of objects (JSON or YAML) for the lookups of the policy; a SubjectAccessReview with a status
    /// states whether its user may patch PVCs
    #[arg(long, value_name = "FILE", alias = "claims")]
    objects: Option<PathBuf>,
    /// AdmissionReview file (v1, JSON); `-` for standard input
    #[arg(default_value = "-")]
    file: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let response = match answer(arguments) {
        Ok(response) => response,
        Err(error) => {
            note(&format!("error: {error:#}"));
            return ExitCode::from(2);
        }
    };
    if stderr().is_terminal() {
        note(&summary(&response));
    }
    let mut review = response.to_review();
    review.push(b'\n');
    // A closed pipe is no error; the exit code carries the decision.
    stdout().write_all(&review).ok();
    if response.allowed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Reads the files and decides.
fn answer(arguments: &Arguments) -> anyhow::Result<AdmissionResponse> {
    let settings = files::settings(arguments.settings.as_deref())?;
    check_settings(&settings)?;
    let lookups = arguments.objects.as_deref().map(files::objects).transpose()?;
    let mut lookups = lookups.unwrap_or_default();
    let body = files::bytes(&arguments.file)?;
    Ok(decide(&AdmissionReview::read(&body)?, &settings, &mut lookups))
}

/// The response to a review, as the webhook gives it.
fn decide(review: &AdmissionReview<'_>, settings: &RawValue, lookups: &mut dyn Lookups) -> AdmissionResponse {
    review.respond(&admission::validate(&payload(review.request, settings), lookups))
}

/// The decision in one line.
fn summary(response: &AdmissionResponse) -> String {
    let message = response.status.as_ref().and_then(|status| status.message.as_deref());
    match (response.allowed, &response.patch) {
        (false, _) => format!("denied: {}", message.unwrap_or("no reason given")),
        (true, None) => format!("allowed, unchanged{}", warnings(&response.warnings)),
        (true, Some(_)) => format!("allowed, with a patch{}", warnings(&response.warnings)),
    }
}

fn warnings(warnings: &[String]) -> String {
    if warnings.is_empty() {
        String::new()
    } else {
        format!(": {}", warnings.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::summary;
    use crate::webhook::envelope::AdmissionReview;

    #[test]
    fn summary_is_one_line() {
        let body =
            br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","object":{}}}"#;
        let review = AdmissionReview::read(body).expect("a review");
        for (answer, expected) in [
            (r#"{"accepted":true}"#, "allowed, unchanged"),
            (
                r#"{"accepted":true,"mutated_object":{"a":1},"warnings":["x","y"]}"#,
                "allowed, with a patch: x; y",
            ),
            (r#"{"accepted":false,"message":"no"}"#, "denied: no"),
        ] {
            assert_eq!(summary(&review.respond(answer.as_bytes())), expected);
        }
    }
}
