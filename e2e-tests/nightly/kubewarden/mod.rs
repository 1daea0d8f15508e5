//! Kubewarden's own programs, where they are installed: `make kubewarden` runs `e2e.bats` and this.

mod server;

use std::process::Command;

use anyhow::{Context as _, ensure};
use claim_rollout::webhook::AdmissionReview;
use claim_rollout::webhook::engine::check_settings;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::cluster::reviews::{Fixture, fixtures};
use crate::world::policy_host::policy_file;
use crate::world::session::respond;

/// What is compared of a response.
const KEYS: [&str; 6] = ["uid", "allowed", "status", "patch", "auditAnnotations", "warnings"];

/// What kwctl finds: the response, or the error.
fn kwctl(fixture: &Fixture, review: &Value, session: &str) -> anyhow::Result<Result<Value, String>> {
    let folder = tempfile::tempdir()?;
    let [request, replay] = ["request.json", "session.yml"].map(|file| folder.path().join(file));
    std::fs::write(&request, review.to_string())?;
    std::fs::write(&replay, session)?;
    let output = Command::new("kwctl")
        .args(["run", "--allow-context-aware", "--settings-json"])
        .arg(fixture.settings.to_string())
        .arg("-r")
        .arg(&request)
        .arg("--replay-host-capabilities-interactions")
        .arg(&replay)
        .arg(policy_file())
        .output()
        .context("kwctl")?;
    if !output.status.success() {
        return Ok(Err(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let printed = String::from_utf8(output.stdout)?;
    let line = printed
        .lines()
        .rfind(|line| line.starts_with('{'))
        .with_context(|| printed.clone())?;
    Ok(Ok(serde_json::from_str(line)?))
}

/// The part of a response that is compared; a key without a value counts as absent.
fn compared(response: &Value) -> Value {
    let present = |key: &&str| !response[*key].is_null() && response[*key] != json!({}) && response[*key] != json!([]);
    let mut kept = json!({});
    for key in KEYS.into_iter().filter(present) {
        kept[key] = response[key].clone();
    }
    if let Some(status) = kept["status"].as_object_mut() {
        status.retain(|key, value| ["code", "message"].contains(&&**key) && !value.is_null());
    }
    kept
}

/// The review as kwctl and policy-server decode it: without equal keys, and no deeper than they read. None if they do
/// not read it at all.
fn decoded(body: &[u8]) -> Option<Value> {
    AdmissionReview::read(body).ok()?;
    serde_json::from_slice(body).ok()
}

#[test]
#[ignore = "needs kwctl: make kubewarden"]
fn kwctl_answers_recorded_reviews_as_native_code() -> anyhow::Result<()> {
    let mut counts = [0; 3];
    for fixture in fixtures()? {
        let name = &fixture.sentence;
        let Some(review) = decoded(&fixture.body) else {
            counts[0] += 1;
            continue;
        };
        let (body, settings) = (review.to_string(), to_raw_value(&fixture.settings)?);
        let read = AdmissionReview::read(body.as_bytes())?;
        if check_settings(&settings).is_err() {
            let found = kwctl(&fixture, &review, "[]")?;
            ensure!(found.is_err_and(|error| error.contains("settings")), "{name}");
            counts[1] += 1;
            continue;
        }
        let (expected, session) = respond(&read, &settings, fixture.cluster())?;
        let expected: Value = serde_json::from_slice(&expected.to_review())?;
        let expected = &expected["response"];
        let found = kwctl(&fixture, &review, session.as_deref().unwrap_or("[]"))?
            .map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        ensure!(
            compared(&found) == compared(expected),
            "{name}: {found:#}\nexpected {expected:#}"
        );
        counts[2] += 1;
    }
    let [unread, invalid, alike] = counts;
    println!("{alike} reviews alike, {invalid} with invalid settings, {unread} that are no review");
    ensure!(alike >= 80 && invalid >= 1, "{counts:?}");
    Ok(())
}
