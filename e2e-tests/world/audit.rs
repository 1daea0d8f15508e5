//! The audit log of the API server: who wrote what, and what was stored. A test can count writes exactly, and sort them
//! in the order in which they took effect.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// One logged request with its answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Event")]
pub(crate) struct Entry {
    /// `create`, `update`, `patch` (also for an apply), `delete` or `deletecollection`; of the controller also `get`,
    /// `list` and `watch`.
    pub(crate) verb: String,
    /// The user, or the impersonated user.
    pub(crate) user: String,
    /// Somebody else wrote in the name of the user.
    impersonated: bool,
    /// The API group; empty for the core group.
    pub(crate) group: String,
    /// The plural name of the resource.
    pub(crate) resource: String,
    /// Such as `status`; empty for the object itself.
    pub(crate) subresource: String,
    /// The namespace of the object.
    pub(crate) namespace: String,
    /// The name of the object; empty if the API server generates it.
    pub(crate) name: String,
    /// The HTTP status of the answer.
    pub(crate) code: u16,
    /// The user agent of the client.
    pub(crate) user_agent: String,
    /// Path and query, with `fieldManager`, `force` and `dryRun`.
    pub(crate) uri: String,
    /// The time of the answer.
    pub(crate) stage_timestamp: String,
    /// The user had no right to the request.
    pub(crate) forbidden: bool,
    /// `metadata.uid` of the answer; empty if the answer is no object.
    pub(crate) uid: String,
    /// `metadata.resourceVersion` of the answer, 0 if the answer is no object. It counts the revisions of etcd, so it
    /// orders the writes of different objects too.
    pub(crate) version: u64,
    /// The object in the request.
    pub(crate) request: Body,
    /// The answer: the stored object, or a Status.
    pub(crate) response: Body,
}

/// An object of a request or an answer, without `managedFields`.
#[derive(Clone, Default, Deserialize)]
#[serde(from = "Option<Box<RawValue>>")]
pub(crate) struct Body(Option<Arc<str>>);

impl Body {
    /// The object; null if there is none.
    pub(crate) fn value(&self) -> Value {
        let parsed = self.0.as_ref().and_then(|text| serde_json::from_str(text).ok());
        parsed.unwrap_or_default()
    }

    fn metadata(&self) -> Metadata {
        let parsed = self.0.as_ref().and_then(|text| serde_json::from_str(text).ok());
        parsed.map(|Object { metadata }| metadata).unwrap_or_default()
    }
}

impl From<Option<Box<RawValue>>> for Body {
    fn from(text: Option<Box<RawValue>>) -> Self {
        Self(text.map(|text| text.get().into()))
    }
}

/// Prints an entry on one line.
impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.0.as_ref().map_or(0, |text| text.len());
        write!(f, "{length} bytes")
    }
}

impl Entry {
    /// Whether the request is a read.
    pub(crate) fn is_read(&self) -> bool {
        matches!(self.verb.as_str(), "get" | "list" | "watch")
    }

    /// Whether the request is a dry run. That of a DELETE is in its body.
    pub(crate) fn dry_run(&self) -> bool {
        self.uri.contains("dryRun=All") || self.verb == "delete" && self.request.value()["dryRun"].is_array()
    }

    /// Whether a scenario wrote in the name of the user: by impersonation, or by kubectl with the token of the user.
    pub(crate) fn is_pretended(&self) -> bool {
        self.impersonated || self.user_agent.starts_with("kubectl")
    }

    /// What was asked for, and the status of the answer: `update statefulsets/status 200`.
    pub(crate) fn kind(&self) -> String {
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        format!(
            "{} {}{slash}{} {}",
            self.verb, self.resource, self.subresource, self.code
        )
    }

    /// Whether something was stored.
    pub(crate) fn succeeded(&self) -> bool {
        (200..300).contains(&self.code) && !self.dry_run()
    }
}

/// The numbers of the entries of each kind, as text.
pub(crate) fn kinds(entries: &[Entry], kind: impl Fn(&Entry) -> String) -> String {
    let mut counts = BTreeMap::<String, usize>::new();
    for entry in entries {
        *counts.entry(kind(entry)).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} x {kind}")).collect();
    counts.join(", ")
}

/// A line of the log, with the fields that the tests need (`audit.k8s.io/v1`).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    verb: String,
    user: User,
    impersonated_user: Option<User>,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: ResponseStatus,
    #[serde(default)]
    user_agent: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    stage_timestamp: String,
    #[serde(default)]
    annotations: Annotations,
    #[serde(default)]
    request_object: Body,
    #[serde(default)]
    response_object: Body,
}

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    uid: String,
    resource_version: String,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ObjectRef {
    #[serde(rename = "apiGroup")]
    group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Annotations {
    #[serde(rename = "authorization.k8s.io/decision")]
    decision: String,
}

impl From<Event> for Entry {
    fn from(event: Event) -> Self {
        let Metadata { uid, resource_version } = event.response_object.metadata();
        Self {
            verb: event.verb,
            impersonated: event.impersonated_user.is_some(),
            user: event.impersonated_user.unwrap_or(event.user).username,
            group: event.object_ref.group,
            resource: event.object_ref.resource,
            subresource: event.object_ref.subresource,
            namespace: event.object_ref.namespace,
            name: event.object_ref.name,
            code: event.response_status.code,
            user_agent: event.user_agent,
            uri: event.request_uri,
            stage_timestamp: event.stage_timestamp,
            forbidden: event.annotations.decision == "forbid",
            uid,
            version: resource_version.parse().unwrap_or_default(),
            request: event.request_object,
            response: event.response_object,
        }
    }
}

/// The part of the log that was read.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// The length of that part.
    offset: u64,
    entries: Vec<Entry>,
}

impl Log {
    /// Reads all complete lines. A last line without a line end is still being written.
    pub(super) fn read(&mut self, file: &Path) -> anyhow::Result<&[Entry]> {
        let mut file = File::open(file)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        for line in text[..end].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            self.entries.push(serde_json::from_slice(line)?);
        }
        self.offset += end as u64;
        Ok(&self.entries)
    }
}
