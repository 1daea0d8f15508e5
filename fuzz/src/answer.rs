//! An answer of the policy, and the laws that hold for every one of them.

use claim_rollout::admission::Lookups;
use claim_rollout::wire;
use serde_json::Value;

/// The longest refusal, the longest warning that the API server lets through, and the longest sum of them.
const MAX_MESSAGE: usize = 2048;
const MAX_WARNING: usize = 256;
const MAX_WARNINGS: usize = 4096;

/// What came out of `validate`.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its bytes, as text.
    pub(crate) text: String,
    /// The same, decoded.
    pub(crate) value: Value,
}

impl Answer {
    /// Asks twice, and checks what holds for every answer. `lookups` gives the same answers each time it is made.
    ///
    /// Nothing if the answer cannot be decoded because the payload cannot either: half a surrogate or a number beyond all
    /// bounds, in a part that nobody here reads, comes back as it came.
    pub(crate) fn to<L: Lookups>(payload: &[u8], lookups: impl Fn() -> L) -> Option<Self> {
        let bytes = wire::validate(payload, &mut lookups());
        assert_eq!(
            bytes,
            wire::validate(payload, &mut lookups()),
            "two answers to one question"
        );
        let text = String::from_utf8(bytes).expect("UTF-8");
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            assert!(serde_json::from_slice::<Value>(payload).is_err(), "no JSON: {text}");
            return None;
        };
        let answer = Self { text, value };
        answer.check(payload);
        Some(answer)
    }

    fn check(&self, payload: &[u8]) {
        let Self { text, value } = self;
        let accepted = value["accepted"].as_bool().expect("a verdict");
        let message = value["message"].as_str().unwrap_or_default();
        assert_eq!(
            accepted,
            message.is_empty(),
            "a refusal says why, and only a refusal: {text}"
        );
        assert_eq!(
            accepted,
            value["code"].is_null(),
            "a refusal has a code, and only a refusal: {text}"
        );
        assert!(
            accepted || matches!(value["code"].as_u64(), Some(400 | 403)),
            "an unknown code: {text}"
        );
        assert!(
            message.chars().count() <= MAX_MESSAGE || !has_valid_settings(payload),
            "an endless reason: {text}"
        );
        assert!(
            accepted || value["mutated_object"].is_null(),
            "refused and changed: {text}"
        );
        let lines = value["warnings"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        for line in lines.chain([message]) {
            assert!(!line.contains(char::is_control), "more than one line: {line:?}");
        }
        let mut all = 0;
        for warning in value["warnings"].as_array().into_iter().flatten() {
            let length = warning.as_str().expect("a string").chars().count();
            assert!((1..=MAX_WARNING).contains(&length), "{length} characters: {warning}");
            all += length;
        }
        assert!(all <= MAX_WARNINGS, "{all} characters of warnings: {text}");
    }

    pub(crate) fn accepted(&self) -> bool {
        self.value["accepted"] == true
    }

    /// The object that takes the place of the request's, if one does.
    pub(crate) fn mutated(&self) -> Option<&Value> {
        self.value.get("mutated_object").filter(|object| !object.is_null())
    }
}

/// Faults of settings are shown to whoever wrote them, all of them.
fn has_valid_settings(payload: &[u8]) -> bool {
    let settings = serde_json::from_slice::<Value>(payload)
        .map(|value| value["settings"].clone())
        .unwrap_or_default();
    wire::validate_settings(settings.to_string().as_bytes()).starts_with(b"{\"valid\":true")
}
