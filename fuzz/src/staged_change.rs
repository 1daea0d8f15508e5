//! Target `change`: the text of the annotation `claim-rollout.io/staged`, as anybody may have written it.

use claim_rollout::json;
use claim_rollout::templates::staged_change::{MAX_BYTES, VERSION};
use claim_rollout::templates::text::canonical_list;
use claim_rollout::templates::{ClaimTemplate, Diff, StagedChange, StagedError, Revision};
use serde_json::Value;

/// The set that the records are for.
const UID: &str = "u-1";

/// Reads a record, then the same text with the right uid, version and revision: no fuzzer finds a hash by chance.
///
/// # Laws
/// What can be read can be written, and read again gives an equal record of the same revision; what is written is
/// canonical; the revision does not go by the order of the templates; another uid makes it no record.
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

/// The text with the fields that bind it to its set and to its content.
fn signed(text: &str) -> Option<String> {
    // Ours refuses more than serde_json: what it refuses is no record whatever is put in.
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
    assert!(text.len() <= MAX_BYTES, "a record of {} bytes was read", text.len());
    assert!(
        StagedChange::read(text, "u-2").is_err(),
        "the record of one set was read as another's: {text}"
    );
    let written = match change.write() {
        Ok(written) => written,
        // A canonical quantity can be longer than the one that was read (`.1` is `100m`), but only by a few bytes.
        Err(StagedError::TooLong { found }) => {
            assert!(found <= text.len() * 4, "{} bytes became {found}: {text}", text.len());
            return;
        }
        Err(error) => panic!("{error}: {text}"),
    };
    assert!(written.len() <= MAX_BYTES, "{} bytes were written", written.len());
    let again = StagedChange::read(&written, UID).unwrap_or_else(|error| panic!("{error}: {text} was written as {written}"));
    assert_eq!(again, *change, "{text} was written as {written}");
    assert_eq!(again.revision(), change.revision(), "{text} was written as {written}");
    // A quantity may settle only the second time, see the target `quantity`; but then it has.
    if let Ok(settled) = again.write() {
        let third = StagedChange::read(&settled, UID).unwrap_or_else(|error| panic!("{error}: {settled}"));
        assert_eq!(third.write().as_ref(), Ok(&settled), "not canonical");
    }
    let value = json::read(&written).expect("JSON");
    assert_eq!(json::canonical(&value), written, "not canonical");
    check_templates(&change.templates, text);
}

/// What the controller and the policy rely on when they compare wishes.
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
