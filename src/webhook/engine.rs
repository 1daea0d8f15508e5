//! The engine behind the envelope. The server knows only this trait.

use std::pin::Pin;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::admission::{self, Lookups};

/// An evaluation in progress: Kubewarden's ValidationResponse in JSON, or the error.
pub type Evaluation<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, EngineError>> + Send + 'a>>;

/// Answers requests: the native decision, or a policy in a runtime.
pub trait Engine: Send + Sync {
    /// Answers one AdmissionRequest, as the API server wrote it. After the deadline nobody waits for the answer: the
    /// evaluation starts nothing new, and ends.
    fn evaluate<'a>(&'a self, request: &'a RawValue, deadline: Instant) -> Evaluation<'a>;
}

/// The reason why an engine cannot answer. The request is denied with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The settings are not what the policy expects.
    #[error("policy settings are invalid: {0}")]
    Settings(String),
    /// The evaluation ended without an answer.
    #[error("{0}")]
    Failed(String),
}

/// Opens the lookups of one request, on the thread that evaluates it, until a deadline.
type OpenLookups = dyn Fn(Instant) -> Box<dyn Lookups> + Send + Sync;

/// The decision of this crate, compiled for this machine.
#[derive(Clone)]
pub struct Native {
    settings: Arc<RawValue>,
    lookups: Arc<OpenLookups>,
}

impl Native {
    /// An engine with these settings. `lookups` opens the lookups of one request; they may block until
    /// the deadline.
    ///
    /// # Errors
    /// [`EngineError::Settings`] names all faults of the settings.
    pub fn new(
        settings: Box<RawValue>,
        lookups: impl Fn(Instant) -> Box<dyn Lookups> + Send + Sync + 'static,
    ) -> Result<Self, EngineError> {
        check_settings(&settings)?;
        Ok(Self {
            settings: settings.into(),
            lookups: Arc::new(lookups),
        })
    }
}

impl Engine for Native {
    fn evaluate<'a>(&'a self, request: &'a RawValue, deadline: Instant) -> Evaluation<'a> {
        let payload = payload(request, &self.settings);
        let lookups = Arc::clone(&self.lookups);
        Box::pin(async move {
            let evaluation = tokio::task::spawn_blocking(move || {
                // All threads may have been busy for a while.
                (Instant::now() < deadline).then(|| admission::validate(&payload, &mut *lookups(deadline)))
            });
            let failed = |why: &str| EngineError::Failed(why.to_owned());
            let answer = evaluation.await.map_err(|_| failed("the evaluation did not end"))?;
            answer.ok_or_else(|| failed("the evaluation did not start in time"))
        })
    }
}

/// The payload of the waPC call `validate`.
#[must_use]
pub fn payload(request: &RawValue, settings: &RawValue) -> Vec<u8> {
    let (request, settings) = (request.get(), settings.get());
    let mut payload = Vec::with_capacity(request.len() + settings.len() + 32);
    for part in [r#"{"request":"#, request, r#","settings":"#, settings, "}"] {
        payload.extend_from_slice(part.as_bytes());
    }
    payload
}

/// Checks settings with the rules of the decision.
///
/// # Errors
/// [`EngineError::Settings`] names all faults.
pub fn check_settings(settings: &RawValue) -> Result<(), EngineError> {
    settings_verdict(&admission::validate_settings(settings.get().as_bytes()))
}

/// Reads the answer to the waPC call `validate_settings`.
///
/// # Errors
/// [`EngineError::Settings`] if the settings are invalid, or the answer cannot be read.
pub fn settings_verdict(answer: &[u8]) -> Result<(), EngineError> {
    #[derive(Deserialize)]
    struct SettingsAnswer {
        valid: bool,
        message: Option<String>,
    }
    match serde_json::from_slice::<SettingsAnswer>(answer) {
        Ok(SettingsAnswer { valid: true, .. }) => Ok(()),
        Ok(SettingsAnswer { message, .. }) => Err(EngineError::Settings(
            message.unwrap_or_else(|| "no reason given".to_owned()),
        )),
        Err(_) => Err(EngineError::Settings("the policy returned no verdict".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Engine as _, EngineError, Native, payload, settings_verdict};
    use crate::admission::NoCluster;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).expect("JSON")
    }

    #[test]
    fn payload_keeps_request_and_settings_as_written() {
        let payload = payload(&raw(r#"{"b": 1.0,"a":2}"#), &raw(r#"{ }"#));
        assert_eq!(
            String::from_utf8(payload).expect("text"),
            r#"{"request":{"b": 1.0,"a":2},"settings":{ }}"#
        );
    }

    #[test]
    fn engine_with_invalid_settings_is_not_made() {
        let made = |settings: &str| Native::new(raw(settings), |_| Box::new(NoCluster)).is_ok();
        assert_eq!([made("{}"), made(r#"{"mode": "Divert"}"#)], [true, false]);
    }

    /// All threads may have been busy for a while, and nobody waits any more.
    #[tokio::test]
    async fn evaluation_after_the_deadline_does_not_begin() {
        for (left, begins) in [(Duration::from_secs(3600), 1), (Duration::ZERO, 0)] {
            let count = Arc::<AtomicUsize>::default();
            let counted = Arc::clone(&count);
            let native = Native::new(raw("{}"), move |_| {
                counted.fetch_add(1, Ordering::Relaxed);
                Box::new(NoCluster)
            });
            let answer = native.unwrap().evaluate(&raw("{}"), Instant::now() + left).await;
            assert_eq!(
                (answer.is_ok(), count.load(Ordering::Relaxed)),
                (begins == 1, begins),
                "{left:?}"
            );
        }
    }

    #[test]
    fn settings_verdict_needs_valid_true() {
        assert_eq!(settings_verdict(br#"{"valid":true,"message":null}"#), Ok(()));
        for answer in [
            r#"{"valid":false,"message":"mode: what"}"#,
            r#"{"valid":false}"#,
            "",
            "{}",
            "null",
        ] {
            assert!(
                matches!(settings_verdict(answer.as_bytes()), Err(EngineError::Settings(_))),
                "{answer}"
            );
        }
    }
}
