//! The API server's audit log: who wrote what, so that a test can count writes exactly.

use std::path::Path;

use serde::Deserialize;

/// One write to a claim, a Pod, a StatefulSet or an object of `claim-rollout.io`, and how it was answered.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Event")]
pub(crate) struct Entry {
    /// `create`, `update`, `patch` (an apply is one), `delete` or `deletecollection`.
    pub(crate) verb: String,
    /// Who it counts for: the impersonated user, if there is one.
    pub(crate) user: String,
    /// The plural name of the resource.
    pub(crate) resource: String,
    /// Such as `status`; empty for the object itself.
    pub(crate) subresource: String,
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name; empty if the server was to make one up.
    pub(crate) name: String,
    /// The HTTP status of the answer.
    pub(crate) code: u16,
    /// What the client calls itself.
    pub(crate) user_agent: String,
    /// Path and query, where `fieldManager`, `force` and `dryRun` are.
    pub(crate) uri: String,
    /// When it was answered.
    pub(crate) stage_timestamp: String,
}

impl Entry {
    /// Whether nothing was to be stored.
    pub(crate) fn dry_run(&self) -> bool {
        self.uri.contains("dryRun=All")
    }

    /// Whether something was stored.
    pub(crate) fn succeeded(&self) -> bool {
        (200..300).contains(&self.code) && !self.dry_run()
    }
}

/// A line of the log, as far as it matters here (`audit.k8s.io/v1`).
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
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ObjectRef {
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

impl From<Event> for Entry {
    fn from(event: Event) -> Self {
        Self {
            verb: event.verb,
            user: event.impersonated_user.unwrap_or(event.user).username,
            resource: event.object_ref.resource,
            subresource: event.object_ref.subresource,
            namespace: event.object_ref.namespace,
            name: event.object_ref.name,
            code: event.response_status.code,
            user_agent: event.user_agent,
            uri: event.request_uri,
            stage_timestamp: event.stage_timestamp,
        }
    }
}

/// Reads the whole log; a last line without an end is still being written and is left out.
pub(super) fn read(log: &Path) -> anyhow::Result<Vec<Entry>> {
    let text = std::fs::read_to_string(log)?;
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    complete.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}
