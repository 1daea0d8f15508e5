//! The host capabilities of Kubewarden that a policy may be granted, with the error texts of policy-server.

use std::sync::Arc;

use claim_rollout::admission::Lookups;

use super::api::{Api, AsNative};
use super::questions::{CanI, GetResource, Resource};

/// The kinds that the policy may read.
const READABLE: [(&str, &str); 4] = [
    ("v1", "PersistentVolumeClaim"),
    ("apps/v1", "StatefulSet"),
    ("storage.k8s.io/v1", "StorageClass"),
    ("storage.k8s.io/v1", "VolumeAttributesClass"),
];

/// The granted capabilities of one entry, and the API.
pub(crate) struct Capabilities {
    granted: Vec<String>,
    readable: Vec<Resource>,
    api: Arc<dyn Api>,
}

impl Capabilities {
    pub(crate) fn new(granted: Vec<String>, readable: Vec<Resource>, api: Arc<dyn Api>) -> Self {
        Self { granted, readable, api }
    }

    /// All that the policy asks for is granted, and answered as the native code is answered.
    pub(crate) fn answering(lookups: impl Lookups + Clone + Send + Sync + 'static) -> Self {
        let readable = READABLE.map(|(api_version, kind)| Resource {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        });
        Self::new(
            vec!["kubernetes/*".to_owned()],
            readable.to_vec(),
            Arc::new(AsNative(lookups)),
        )
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
        let is_whole = question.field_masks.as_ref().is_none_or(|masks| masks.is_empty());
        uncached(question.disable_cache && is_whole, || self.api.get_resource(&question))
    }

    fn can_i(&self, payload: &[u8]) -> Result<Vec<u8>, String> {
        let question: CanI = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
        uncached(question.disable_cache, || {
            self.api.can_i(&question.subject_access_review)
        })
    }
}

/// An answer for now. policy-server also caches answers and leaves out fields, if a policy asks for that; ours never does.
fn uncached(as_ours: bool, ask: impl FnOnce() -> Result<String, String>) -> Result<Vec<u8>, String> {
    if !as_ours {
        return Err("expected a question for a whole object without the cache".to_owned());
    }
    let answer = ask().map_err(|error| format!("Callback evaluation failure: {error}"))?;
    Ok(answer.into_bytes())
}

/// True iff an entry of `hostCapabilities` grants this path: `*`, a path, or a path that ends with `*`.
fn grants(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => path.starts_with(beginning),
        None => pattern == path,
    }
}
