//! A row of the table: the request, the settings, the cluster, and the expected answer.

use std::fmt;

use claim_rollout::admission::{self, CanI, CannotAsk, Get, Lookups};
use claim_rollout::templates::show::cut;
use serde_json::{Value, json};

use super::changes::{Change, changes};
use super::objects::{Object, SET_CONTROLLER, put, web};
use crate::world::recorded::Recorded;
use crate::world::sdk;

/// One case.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// The row of the table in `src/admission/decide.rs` that the case belongs to; or another subject.
    pub(super) row: &'static str,
    /// The case in words.
    pub(super) sentence: String,
    pub(super) settings: Value,
    pub(super) request: Value,
    /// The payload that replaces the request and the settings.
    pub(super) payload: Option<Vec<u8>>,
    pub(super) cluster: Cluster,
    /// The expected answer; see `notation`.
    pub(super) expected: String,
}

/// The answer of policy.wasm to a payload in a cluster of these objects, or in a host that grants no capability.
pub(crate) type Guest<'g> = dyn Fn(&[u8], Option<&[Value]>) -> Result<Vec<u8>, String> + Sync + 'g;

/// The cluster that answers lookups.
#[derive(Clone, Debug)]
pub(super) enum Cluster {
    /// These objects; without objects there is no API server.
    Of(Vec<Value>),
    /// A host that grants no capability.
    NothingGranted,
}

/// The answer, and the lookups before it.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) json: Value,
    pub(super) asked: Vec<Lookup>,
}

/// A lookup.
#[derive(Debug)]
pub(super) enum Lookup {
    /// A SubjectAccessReview: the right, and whether it is the requester's in the namespace of the request.
    Right { right: String, of_requester: bool },
    /// An object.
    Object {
        kind: String,
        name: String,
        /// In the namespace of the request, if the kind has namespaces.
        is_here: bool,
    },
}

/// alice updates a StatefulSet with Helm. The settings ask for no authority; `settings` adds to them.
pub(super) fn update(row: &'static str, sentence: impl Into<String>, old: &Object, new: &Object) -> Case {
    Case::new(row, sentence, "UPDATE", [Some(old), Some(new)])
}

/// A StatefulSet is created.
pub(super) fn create(row: &'static str, sentence: impl Into<String>, new: &Object) -> Case {
    Case::new(row, sentence, "CREATE", [None, Some(new)])
}

/// A StatefulSet is deleted.
pub(super) fn delete(row: &'static str, sentence: impl Into<String>, old: &Object) -> Case {
    Case::new(row, sentence, "DELETE", [Some(old), None])
}

/// A user creates a PVC.
pub(super) fn creation(row: &'static str, sentence: impl Into<String>, user: &str, claim: &Object) -> Case {
    create(row, sentence, claim)
        .by(user)
        .of_kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
        .asking("/name", claim.0["metadata"]["name"].clone())
}

/// The StatefulSet controller deletes a Pod of `web`.
pub(super) fn deletion(row: &'static str, sentence: impl Into<String>, pod: &Object) -> Case {
    delete(row, sentence, pod)
        .by(SET_CONTROLLER)
        .of_kind("", "v1", "Pod", "pods")
        .asking(
            "/options",
            json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}),
        )
        .asking("/name", pod.0["metadata"]["name"].clone())
}

impl Case {
    fn new(row: &'static str, sentence: impl Into<String>, operation: &str, [old, new]: [Option<&Object>; 2]) -> Self {
        let request = json!({
            "uid": "7d1f0000-0000-4000-8000-000000000009", "operation": operation, "name": "web", "namespace": "shop",
            "userInfo": {"username": "alice", "groups": ["dev", "system:authenticated"]}, "dryRun": false,
            "options": {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "helm"},
            "object": new.map(|new| &new.0), "oldObject": old.map(|old| &old.0),
        });
        let case = Self {
            row,
            sentence: sentence.into(),
            settings: json!({"authority": "TrustSetEditors", "pvcChecks": "Ignore"}),
            request,
            payload: None,
            cluster: Cluster::Of(Vec::new()),
            expected: String::new(),
        };
        case.of_kind("apps", "v1", "StatefulSet", "statefulsets")
    }

    /// Sets the expected answer.
    pub(super) fn expects(mut self, expected: impl Into<String>) -> Self {
        self.expected = expected.into();
        self
    }

    /// Adds settings.
    pub(super) fn settings(mut self, settings: Value) -> Self {
        if let Value::Object(settings) = settings {
            settings
                .into_iter()
                .for_each(|(name, value)| self.settings[name] = value);
        }
        self
    }

    /// Uses the shipped settings.
    pub(super) fn shipped(mut self) -> Self {
        self.settings = json!({});
        self
    }

    /// Uses a cluster with these objects.
    pub(super) fn cluster(mut self, objects: Vec<Value>) -> Self {
        self.cluster = Cluster::Of(objects);
        self
    }

    /// Uses a host that grants no capability.
    pub(super) fn nothing_granted(mut self) -> Self {
        self.cluster = Cluster::NothingGranted;
        self
    }

    /// Sends the request as another user.
    pub(super) fn by(self, user: &str) -> Self {
        self.asking("/userInfo", json!({"username": user}))
    }

    /// Uses another field manager.
    pub(super) fn manager(self, manager: &str) -> Self {
        self.asking("/options/fieldManager", manager)
    }

    /// Sends the request for another kind.
    pub(super) fn of_kind(self, group: &str, version: &str, kind: &str, resource: &str) -> Self {
        let kind = json!({"group": group, "version": version, "kind": kind});
        let resource = json!({"group": group, "version": version, "resource": resource});
        self.asking("/kind", kind).asking("/resource", resource)
    }

    /// Sets a value in the request.
    pub(super) fn asking(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        put(&mut self.request, pointer, value.into()).expect("a pointer");
        self
    }

    /// Replaces the request and the settings by these bytes.
    pub(super) fn payload(mut self, payload: impl Into<Vec<u8>>) -> Self {
        self.payload = Some(payload.into());
        self
    }

    /// Changes the text of the payload.
    pub(super) fn respelt(self, change: impl Fn(String) -> String) -> Self {
        let text = String::from_utf8(self.bytes()).expect("UTF-8");
        let changed = change(text.clone());
        assert_ne!(text, changed, "{}: expected a change", self.sentence);
        self.payload(changed)
    }

    /// The payload for the policy.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let whole = || {
            json!({"request": self.request, "settings": self.settings})
                .to_string()
                .into_bytes()
        };
        self.payload.clone().unwrap_or_else(whole)
    }

    /// Calls the native code, and the guest where there is one; both answers must be equal.
    pub(super) fn answer(&self, guest: Option<&Guest<'_>>) -> Result<Answer, String> {
        let payload = self.bytes();
        let mut asked = Vec::new();
        let mut noting = Noting {
            lookups: self.lookups(),
            requester: &self.request["userInfo"],
            asked: &mut asked,
        };
        let native = admission::validate(&payload, &mut noting);
        sdk::compare(&payload, &mut *self.lookups()).map_err(|error| error.to_string())?;
        if let Some(guest) = guest {
            let wasm = guest(&payload, self.objects())?;
            if wasm != native {
                let [wasm, native] = [wasm, native].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                return Err(format!("policy.wasm: {wasm}; native: {native}"));
            }
        }
        let json = serde_json::from_slice(&native).map_err(|error| error.to_string())?;
        Ok(Answer { json, asked })
    }

    /// The objects of the cluster; none if the host grants no capability.
    pub(super) fn objects(&self) -> Option<&[Value]> {
        match &self.cluster {
            Cluster::Of(objects) => Some(objects),
            Cluster::NothingGranted => None,
        }
    }

    fn lookups(&self) -> Box<dyn Lookups> {
        match self.objects() {
            Some(objects) => Box::new(Recorded(objects.to_vec())),
            None => Box::new(NoCapability),
        }
    }

    /// The command that repeats this case. Writes its files.
    pub(super) fn replay(&self) -> String {
        let write = |name: &str, bytes: &[u8]| {
            let file = std::env::temp_dir().join(format!("claim-rollout-table-{name}.json"));
            // Best effort: the row shows the same.
            let _ = std::fs::write(&file, bytes);
            file.display().to_string()
        };
        let name: String = self
            .sentence
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '-' })
            .collect();
        let name = format!("{}-{name}", self.row);
        if let Some(payload) = &self.payload {
            return format!("no review; the payload is in {}", write(&name, payload));
        }
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": self.request});
        let claims = match &self.cluster {
            Cluster::Of(objects) if !objects.is_empty() => {
                let list = json!({"kind": "List", "items": objects});
                format!(
                    " --objects {}",
                    write(&format!("{name}-claims"), list.to_string().as_bytes())
                )
            }
            _ => String::new(),
        };
        let review = write(&name, review.to_string().as_bytes());
        format!(
            "claim-rollout review --settings <(echo '{}'){claims} {review}",
            self.settings
        )
    }
}

/// `| U3 | a template grows | {…} | old: … | new: … | what must be |`
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} | {} | {} ", self.row, self.sentence, self.settings)?;
        let base = web().0;
        for which in ["oldObject", "object"] {
            let object = &self.request[which];
            if !object.is_null() && self.payload.is_none() {
                let changes = changes(&base, object);
                let changes: Vec<String> = changes.iter().map(briefly).collect();
                write!(f, "| {which}: {} ", changes.join(" "))?;
            }
        }
        write!(f, "| {} |", self.expected)
    }
}

/// A difference from `web`, short enough for a row.
fn briefly(change: &Change<'_>) -> String {
    let value = change.after.map_or_else(|| "nothing".to_owned(), Value::to_string);
    format!("{}={}", change.path(), cut(&value, 100))
}

/// Records the lookups.
struct Noting<'n> {
    lookups: Box<dyn Lookups>,
    requester: &'n Value,
    asked: &'n mut Vec<Lookup>,
}

impl Lookups for Noting<'_> {
    fn can_i(&mut self, question: &CanI<'_>) -> Result<bool, CannotAsk> {
        let CanI { resource, verb, .. } = question;
        let text = |name: &str| self.requester[name].as_str().unwrap_or_default();
        let groups = self.requester["groups"].as_array().into_iter().flatten();
        let extra = question.extra.and_then(|extra| serde_json::from_str(extra).ok());
        let of_requester = (question.user, question.uid) == (text("username"), text("uid"))
            && groups.eq(&question.groups)
            && self.requester["extra"] == extra.unwrap_or(Value::Null)
            && question.namespace == "shop";
        let group = if question.group.is_empty() { "" } else { "." };
        let slash = if question.subresource.is_empty() { "" } else { "/" };
        let resource = format!("{resource}{group}{}{slash}{}", question.group, question.subresource);
        let right = format!("{verb}-{resource}");
        self.asked.push(Lookup::Right { right, of_requester });
        self.lookups.can_i(question)
    }

    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        let [kind, name] = [question.kind, question.name].map(str::to_owned);
        let is_here = question.namespace == (!kind.ends_with("Class")).then_some("shop");
        self.asked.push(Lookup::Object { kind, name, is_here });
        self.lookups.get(question)
    }
}

/// The error text that a guest gets without a capability.
struct NoCapability;

impl NoCapability {
    fn refused(what: &str) -> CannotAsk {
        CannotAsk(format!(
            "Host error: Policy has not been granted access to the 'kubernetes/{what}' host capability. The violation has \
             been reported."
        ))
    }
}

impl Lookups for NoCapability {
    fn can_i(&mut self, _: &CanI<'_>) -> Result<bool, CannotAsk> {
        Err(Self::refused("can_i"))
    }

    fn get(&mut self, _: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        Err(Self::refused("get_resource"))
    }
}
