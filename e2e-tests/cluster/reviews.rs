//! The answers to the reviews in `reviews/`, of policy.wasm, the native code and the program.
//!
//! `UPDATE_EXPECTED=1` writes the answers anew, for a review before the commit; settings and PVCs stay.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use claim_rollout::admission;
use claim_rollout::webhook::AdmissionReview;
use claim_rollout::webhook::engine::payload;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::world::installation::binary;
use crate::world::policy_host::{Capabilities, Module, run, shared_policy};
use crate::world::recorded::Recorded;
use crate::world::reviews_stored::{Entry, Response, Stored};
use crate::world::sdk;

/// A review and its expected answer.
pub(crate) struct Fixture {
    pub(crate) sentence: String,
    pub(crate) body: Vec<u8>,
    pub(crate) settings: Value,
    claims: Vec<Value>,
    response: Option<Response>,
}

/// All reviews, sorted by name.
pub(crate) fn fixtures() -> anyhow::Result<Vec<Fixture>> {
    let stored = Stored::read()?;
    let fixture = |(sentence, entry): (&String, &Entry)| {
        Ok(Fixture {
            sentence: sentence.clone(),
            body: stored.body(sentence)?,
            settings: entry.settings(),
            claims: entry
                .claims
                .iter()
                .map(|name| stored.value(name))
                .collect::<anyhow::Result<_>>()?,
            response: entry.response.clone(),
        })
    };
    stored.reviews().map(fixture).collect()
}

impl Fixture {
    /// The payload for the policy, if the body is a review at all.
    pub(crate) fn payload(&self) -> Option<Vec<u8>> {
        let review = AdmissionReview::read(&self.body).ok()?;
        let settings = to_raw_value(&self.settings).ok()?;
        Some(payload(review.request, &settings))
    }

    /// The objects of the cluster.
    pub(crate) fn cluster(&self) -> Recorded {
        Recorded(self.claims.clone())
    }

    /// The command that answers this one review, whose files it writes to a folder.
    fn command(&self, folder: &Path) -> anyhow::Result<Command> {
        let list = json!({"kind": "List", "items": self.claims});
        let mut command = Command::new(binary()?);
        command.arg("review");
        for (option, name, content) in [
            (
                Some("--settings"),
                "settings.json",
                self.settings.to_string().as_bytes(),
            ),
            (Some("--objects"), "claims.json", list.to_string().as_bytes()),
            (None, "review.json", &*self.body),
        ] {
            let file = folder.join(name);
            std::fs::write(&file, content)?;
            command.args(option).arg(file);
        }
        Ok(command)
    }

    /// The command as text. Its files stay.
    fn replay(&self) -> anyhow::Result<String> {
        Ok(format!("{:?}", self.command(&tempfile::tempdir()?.keep())?))
    }

    /// The answer of the program.
    fn shell(&self) -> anyhow::Result<Response> {
        let scratch = tempfile::tempdir()?;
        let output = self.command(scratch.path())?.output()?;
        let code = output.status.code();
        if code == Some(2) {
            let error = String::from_utf8(output.stderr)?;
            return Ok(serde_json::from_value(json!({"error": error.trim_end()}))?);
        }
        let review: Value = serde_json::from_slice(&output.stdout)?;
        let allowed = review["response"]["allowed"] == true;
        ensure!(code == Some(i32::from(!allowed)), "exit code {code:?} for {review}");
        decoded(&review["response"])
    }
}

/// A readable response.
fn decoded(response: &Value) -> anyhow::Result<Response> {
    let mut flat = json!({"allowed": response["allowed"]});
    for (key, value) in [
        ("code", &response["status"]["code"]),
        ("message", &response["status"]["message"]),
        ("warnings", &response["warnings"]),
        ("auditAnnotations", &response["auditAnnotations"]),
    ] {
        if !value.is_null() {
            flat[key] = value.clone();
        }
    }
    if let Some(patch) = response["patch"].as_str() {
        let patch = base64::engine::general_purpose::STANDARD.decode(patch)?;
        flat["patch"] = serde_json::from_slice(&patch)?;
    }
    serde_json::from_value(flat).context("a response with other fields than a review has")
}

impl Recorded {
    /// For the guest.
    pub(crate) fn host(&self) -> Capabilities {
        Capabilities::answering(self.clone())
    }
}

/// The two answers, if policy.wasm answers unlike the native code.
fn unlike(module: &Module, fixture: &Fixture) -> Option<String> {
    // A body that is no review does not reach a policy; a policy that gets it nevertheless must not trap.
    let payload = fixture.payload().unwrap_or_else(|| fixture.body.clone());
    let native = admission::validate(&payload, &mut fixture.cluster());
    let wasm = run(module, &payload, fixture.cluster().host());
    (wasm.as_ref() != Ok(&native)).then(|| {
        let wasm = wasm.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let native = String::from_utf8_lossy(&native);
        format!("policy.wasm: {wasm:?}\nnative:      {native}")
    })
}

#[test]
fn every_review_answered_as_expected_by_wasm_and_native_code() -> anyhow::Result<()> {
    let module = shared_policy()?;
    let fixtures = fixtures()?;
    ensure!(fixtures.len() >= 20, "only {} reviews", fixtures.len());
    let update = std::env::var_os("UPDATE_EXPECTED").is_some();
    let mut stored = Stored::read()?;
    let mut report = String::new();
    for fixture in &fixtures {
        let found = Some(fixture.shell()?);
        let read = fixture
            .payload()
            .map_or(Ok(()), |payload| sdk::compare(&payload, &mut fixture.cluster()));
        let mut fault = unlike(&module, fixture).or_else(|| read.err().map(|error| error.to_string()));
        if let (true, Some((_, entry))) = (update, stored.entries.get_mut(&fixture.sentence)) {
            entry.response = found;
        } else if found != fixture.response && fault.is_none() {
            let [expected, found] = [&fixture.response, &found].map(serde_json::to_string_pretty);
            fault = Some(format!("expected: {}\nfound:    {}", expected?, found?));
        }
        if let Some(fault) = fault {
            writeln!(report, "{}\n{fault}\nreplay: {}\n", fixture.sentence, fixture.replay()?)?;
        }
    }
    if update {
        stored.write()?;
    }
    ensure!(report.is_empty(), "{report}UPDATE_EXPECTED=1 accepts what was found");
    Ok(())
}
