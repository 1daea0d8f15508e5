//! An answer of the policy, and the laws that every answer obeys.

use claim_rollout::admission::{self, Lookups};
use serde_json::Value;

/// Limits: the message of a denial, one warning (in the API server), and all warnings together.
const MAX_MESSAGE: usize = 2048;
const MAX_WARNING: usize = 256;
const MAX_WARNINGS: usize = 4096;

/// An answer of `validate`.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The answer as text.
    pub(crate) text: String,
    /// The answer as a value.
    pub(crate) value: Value,
}

impl Answer {
    /// Sends the payload twice, and checks the answer. `lookups` must create equal lookups each time.
    ///
    /// Returns `None` if neither the answer nor the payload can be decoded: the policy returns unread parts unchanged,
    /// such as half a surrogate pair or a number that is too large.
    pub(crate) fn to<L: Lookups>(payload: &[u8], lookups: impl Fn() -> L) -> Option<Self> {
        let bytes = admission::validate(payload, &mut lookups());
        assert_eq!(
            bytes,
            admission::validate(payload, &mut lookups()),
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
            "a message is on a denial only, and on each: {text}"
        );
        assert_eq!(
            accepted,
            value["code"].is_null(),
            "a code is on a denial only, and on each: {text}"
        );
        assert!(
            accepted || matches!(value["code"].as_u64(), Some(400 | 403)),
            "an unknown code: {text}"
        );
        assert!(
            message.chars().count() <= MAX_MESSAGE || !has_valid_settings(payload),
            "a message that is too long: {text}"
        );
        assert!(
            accepted || value["mutated_object"].is_null(),
            "denied and mutated: {text}"
        );
        let lines = value["warnings"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        for line in lines.chain([message]) {
            assert!(!line.contains(char::is_control), "a control character: {line:?}");
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

    /// True iff it accepts, and has nothing else.
    pub(crate) fn is_silent(&self) -> bool {
        let mut fields = self.value.as_object().into_iter().flatten();
        self.accepted() && fields.all(|(key, value)| key == "accepted" || value.is_null())
    }

    /// The mutated object, if there is one.
    pub(crate) fn mutated(&self) -> Option<&Value> {
        self.value.get("mutated_object").filter(|object| !object.is_null())
    }
}

/// Messages about settings may be longer: they list all faults.
fn has_valid_settings(payload: &[u8]) -> bool {
    let settings = serde_json::from_slice::<Value>(payload)
        .map(|value| value["settings"].clone())
        .unwrap_or_default();
    admission::validate_settings(settings.to_string().as_bytes()).starts_with(b"{\"valid\":true")
}
