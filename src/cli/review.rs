//! `claim-rollout review`: one AdmissionReview in, the same with its response out; no cluster needed.

use std::fs;
use std::io::{IsTerminal as _, Read as _, Write as _, stderr, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::recorded::Recorded;
use crate::admission::Lookups;
use crate::webhook::engine::{check_settings, payload};
use crate::webhook::envelope::{Response, Review};
use crate::wire;

/// Decide one AdmissionReview, as the policy in a cluster would
///
/// Prints an AdmissionReview with the response. Exits with 0 if the request is allowed, with 1 if it is denied, and with 2
/// if the input is no AdmissionReview or the settings are invalid.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The settings of the policy, in JSON or YAML; none are the defaults.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// A List that answers what the policy would ask the cluster, in JSON or YAML: a SubjectAccessReview with a status
    /// says whether its user may patch claims.
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
    /// The AdmissionReview (v1, JSON); `-` is the standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let response = match answer(arguments) {
        Ok(response) => response,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::from(2);
        }
    };
    if stderr().is_terminal() {
        eprintln!("{}", summary(&response));
    }
    let mut review = response.to_review();
    review.push(b'\n');
    // Nobody who closes the pipe waits for the rest; the exit code still says what was decided.
    stdout().write_all(&review).ok();
    if response.allowed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Reads the files, and decides.
fn answer(arguments: &Arguments) -> anyhow::Result<Response> {
    let settings = match &arguments.settings {
        Some(path) => read_settings(&text(path)?).with_context(|| path.display().to_string())?,
        None => read_settings("{}")?,
    };
    check_settings(&settings)?;
    let mut lookups = match &arguments.claims {
        Some(path) => read_claims(&text(path)?).with_context(|| path.display().to_string())?,
        None => Recorded::default(),
    };
    let body = bytes(&arguments.file)?;
    Ok(decide(&Review::read(&body)?, &settings, &mut lookups))
}

/// The response to a review: what the webhook does between two sockets.
fn decide(review: &Review<'_>, settings: &RawValue, lookups: &mut dyn Lookups) -> Response {
    review.respond(&wire::validate(&payload(review.request, settings), lookups))
}

/// JSON is kept as it was written, so that the policy's own reader judges it; YAML becomes JSON, nothing becomes `{}`.
fn read_settings(text: &str) -> anyhow::Result<Box<RawValue>> {
    if let Ok(settings) = serde_json::from_str(text) {
        return Ok(settings);
    }
    match yaml(text)? {
        Value::Null => Ok(to_raw_value(&Value::Object(serde_json::Map::new()))?),
        settings => Ok(to_raw_value(&settings)?),
    }
}

fn read_claims(text: &str) -> anyhow::Result<Recorded> {
    let list = serde_json::from_str(text).or_else(|_| yaml(text))?;
    Ok(Recorded::read(&list)?)
}

fn yaml(text: &str) -> anyhow::Result<Value> {
    serde_saphyr::from_str(text).map_err(|error| anyhow::anyhow!("expected JSON or YAML, but found: {error}"))
}

fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path != Path::new("-") {
        return fs::read(path).with_context(|| path.display().to_string());
    }
    let mut bytes = Vec::new();
    stdin().read_to_end(&mut bytes).context("standard input")?;
    Ok(bytes)
}

fn text(path: &Path) -> anyhow::Result<String> {
    String::from_utf8(bytes(path)?).with_context(|| path.display().to_string())
}

/// What a person wants to know first, in one line.
fn summary(response: &Response) -> String {
    let told = response.status.as_ref().and_then(|status| status.message.as_deref());
    match (response.allowed, &response.patch) {
        (false, _) => format!("denied: {}", told.unwrap_or("no reason given")),
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
    use super::{read_claims, read_settings, summary};
    use crate::webhook::envelope::Review;

    #[test]
    fn settings_are_json_as_written_or_yaml_or_nothing() {
        let read = |text| read_settings(text).expect("settings").get().to_owned();
        assert_eq!(read("{ \"mode\" : 1,\"mode\":2}"), "{ \"mode\" : 1,\"mode\":2}");
        assert_eq!(
            read("mode: Divert\nmaxStorage:\n  \"*\": 1Ti\n"),
            r#"{"maxStorage":{"*":"1Ti"},"mode":"Divert"}"#
        );
        assert_eq!(read(""), "{}");
        assert_eq!(read("# nothing set\n"), "{}");
        assert!(read_settings("{").is_err());
        assert!(read_settings("a: b: c").is_err());
    }

    #[test]
    fn a_list_may_be_yaml() {
        assert!(read_claims("kind: List\nitems: []\n").is_ok());
        assert!(read_claims("just text").is_err());
    }

    #[test]
    fn the_summary_is_one_line() {
        let body =
            br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","object":{}}}"#;
        let review = Review::read(body).expect("a review");
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
