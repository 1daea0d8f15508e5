//! The host capabilities of Kubewarden that a policy may be granted, with the error texts of policy-server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::api::Api;
use super::questions::{CanI, GetResource, Resource};

/// The time for which policy-server caches an answer by default.
const CACHE: Duration = Duration::from_secs(5);

/// Answers and their times, by request.
type Cache = HashMap<Vec<u8>, (Instant, Vec<u8>)>;

/// The granted capabilities of one entry, the API, and the cache.
pub(crate) struct Capabilities {
    granted: Vec<String>,
    readable: Vec<Resource>,
    api: Arc<dyn Api>,
    cache: Mutex<Cache>,
}

impl Capabilities {
    pub(crate) fn new(granted: Vec<String>, readable: Vec<Resource>, api: Arc<dyn Api>) -> Self {
        Self {
            granted,
            readable,
            api,
            cache: Mutex::default(),
        }
    }

    /// No capability is granted.
    pub(crate) fn none() -> Self {
        Self::new(Vec::new(), Vec::new(), Arc::new(super::api::NoApi))
    }

    /// Answers a host call; the guest gets the error.
    pub(crate) fn answer(
        &self,
        binding: &str,
        namespace: &str,
        operation: &str,
        payload: &[u8],
    ) -> Result<Vec<u8>, String> {
        if binding != "kubewarden" {
            return Err(format!("unknown binding: {binding}"));
        }
        if (namespace, operation) == ("tracing", "log") {
            eprintln!("policy: {}", String::from_utf8_lossy(payload));
            return Ok(Vec::new());
        }
        let path = format!("{namespace}/{operation}");
        if !self.granted.iter().any(|pattern| grants(pattern, &path)) {
            return Err(format!(
                "Policy has not been granted access to the '{path}' host capability. The violation has been reported."
            ));
        }
        match (namespace, operation) {
            ("kubernetes", "get_resource") => self.get_resource(payload),
            ("kubernetes", "can_i") => self.can_i(payload),
            ("kubernetes", _) => Err(format!("unknown operation: {operation}")),
            _ => Err(format!("unknown namespace: {namespace}")),
        }
    }

    fn get_resource(&self, payload: &[u8]) -> Result<Vec<u8>, String> {
        let question: GetResource = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
        let GetResource { api_version, kind, .. } = &question;
        if !self
            .readable
            .iter()
            .any(|resource| resource.api_version == *api_version && resource.kind == *kind)
        {
            return Err(format!(
                "Policy has not been granted access to Kubernetes {api_version}/{kind} resources. The violation has been reported."
            ));
        }
        self.cached(question.disable_cache, payload, || {
            let mut object = self.api.get_resource(&question)?;
            if let Some(masks) = question.field_masks.as_ref().filter(|masks| !masks.is_empty()) {
                let paths: Vec<Vec<&str>> = masks.iter().map(|mask| mask.split('.').collect()).collect();
                prune(&mut object, &paths.iter().map(Vec::as_slice).collect::<Vec<_>>());
            }
            Ok(object)
        })
    }

    fn can_i(&self, payload: &[u8]) -> Result<Vec<u8>, String> {
        let question: CanI = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
        self.cached(question.disable_cache, payload, || {
            self.api.can_i(&question.subject_access_review)
        })
    }

    fn cached(
        &self,
        disabled: bool,
        payload: &[u8],
        ask: impl FnOnce() -> Result<Value, String>,
    ) -> Result<Vec<u8>, String> {
        let cache = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let known = cache()
            .get(payload)
            .filter(|(since, _)| since.elapsed() < CACHE)
            .map(|(_, answer)| answer.clone());
        if let Some(answer) = known.filter(|_| !disabled) {
            return Ok(answer);
        }
        let answer = ask()
            .map_err(|error| format!("Callback evaluation failure: {error}"))?
            .to_string()
            .into_bytes();
        cache().insert(payload.to_owned(), (Instant::now(), answer.clone()));
        Ok(answer)
    }
}

/// True iff an entry of `hostCapabilities` grants this path: `*`, a path, or a path that ends with `*`.
pub(crate) fn grants(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => path.starts_with(beginning),
        None => pattern == path,
    }
}

/// Keeps only the masked fields; a mask applies to each item of a list.
pub(crate) fn prune(value: &mut Value, masks: &[&[&str]]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| prune(item, masks)),
        Value::Object(fields) => fields.retain(|key, field| {
            let below: Vec<&[&str]> = masks
                .iter()
                .filter_map(|mask| mask.split_first())
                .filter(|(first, _)| *first == key)
                .map(|(_, rest)| rest)
                .collect();
            if below.iter().all(|mask| !mask.is_empty()) {
                prune(field, &below);
            }
            !below.is_empty()
        }),
        _ => {}
    }
}
