//! Target `staged_change`: any text as the annotation `claim-rollout.io/staged`.

use claim_rollout::json;
use claim_rollout::templates::staged_change::{MAX_BYTES, VERSION};
use claim_rollout::templates::text::canonical_list;
use claim_rollout::templates::{ClaimTemplate, Diff, Revision, StagedChange, StagedError};
use serde_json::Value;

/// The uid of the StatefulSet.
const UID: &str = "u-1";

/// Reads a staged change, then the same text with the right uid, version and revision: a fuzzer cannot guess a hash.
///
/// # Laws
/// * A text that can be read can be written, and reading that returns an equal staged change of the same revision.
/// * A written text is canonical.
/// * The revision does not depend on the order of the templates.
/// * A staged change with another uid is an error.
pub fn staged_change(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let _ = StagedChange::read(text, UID).map(|change| check(&change, text));
    if let Some(signed) = signed(text)
        && let Ok(change) = StagedChange::read(&signed, UID)
    {
        check(&change, &signed);
    }
}

/// The text with a matching version, uid and revision.
fn signed(text: &str) -> Option<String> {
    // Our reader is stricter than serde_json. A text that it does not accept stays unacceptable.
    json::read(text).ok()?;
    let Ok(Value::Object(mut fields)) = serde_json::from_str(text) else {
        return None;
    };
    let templates = ClaimTemplate::list_from_value(fields.get("templates")?.clone()).ok()?;
    fields.insert("revision".to_owned(), Revision::of(&templates).as_str().into());
    fields.insert("uid".to_owned(), UID.into());
    fields.insert("version".to_owned(), VERSION.into());
    for (key, default) in [
        ("by", "alice"),
        ("manager", "helm"),
        ("phase", "RollingOut"),
        ("updatePolicy", "InPlace"),
    ] {
        fields.entry(key).or_insert_with(|| default.into());
    }
    Some(Value::Object(fields).to_string())
}

fn check(change: &StagedChange, text: &str) {
    assert!(
        text.len() <= MAX_BYTES,
        "a staged change of {} bytes was read",
        text.len()
    );
    assert!(
        StagedChange::read(text, "u-2").is_err(),
        "the staged change of another StatefulSet was read: {text}"
    );
    let written = match change.write() {
        Ok(written) => written,
        // A canonical quantity can be a few bytes longer than the original (`.1` is `100m`).
        Err(StagedError::TooLong { found }) => {
            assert!(found <= text.len() * 4, "{} bytes became {found}: {text}", text.len());
            return;
        }
        Err(error) => panic!("{error}: {text}"),
    };
    assert!(written.len() <= MAX_BYTES, "{} bytes were written", written.len());
    let again =
        StagedChange::read(&written, UID).unwrap_or_else(|error| panic!("{error}: {text} was written as {written}"));
    assert_eq!(again, *change, "{text} was written as {written}");
    assert_eq!(again.revision(), change.revision(), "{text} was written as {written}");
    // A quantity may change once more, see the target `quantity`, but not twice.
    if let Ok(settled) = again.write() {
        let third = StagedChange::read(&settled, UID).unwrap_or_else(|error| panic!("{error}: {settled}"));
        assert_eq!(third.write().as_ref(), Ok(&settled), "not canonical");
    }
    let value = json::read(&written).expect("JSON");
    assert_eq!(json::canonical(&value), written, "not canonical");
    check_templates(&change.templates, text);
}

/// The properties of templates that the controller and the policy rely on.
fn check_templates(templates: &[ClaimTemplate], text: &str) {
    let mut reversed = templates.to_vec();
    reversed.reverse();
    assert_eq!(Revision::of(&reversed), Revision::of(templates), "{text}");
    assert!(Diff::between(templates, &reversed).is_empty(), "{text}");
    let listed = canonical_list(templates);
    let again = ClaimTemplate::read_list(&listed).unwrap_or_else(|error| panic!("{error}: {listed}"));
    assert_eq!(again, *templates, "{text} was listed as {listed}");
    assert_eq!(
        Revision::of(&again),
        Revision::of(templates),
        "{text} was listed as {listed}"
    );
}
