//! AdmissionReviews with sentences as names: `reviews/<sentence>.json` is the request,
//! `reviews/<sentence>.expected.json` the answer.
//!
//! ```json
//! {"settings": {…}, "claims": [SubjectAccessReview with a status, …], "response": {"allowed": …, "patch": [decoded], …}}
//! ```
//!
//! `UPDATE_EXPECTED=1` writes the answers anew, for a review before the commit; settings and PVCs stay.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use claim_rollout::webhook::AdmissionReview;
use claim_rollout::webhook::engine::payload;
use claim_rollout::wire;
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::world::installation::binary;
use crate::world::policy_host::policy;
use crate::world::policy_host::{Api, Capabilities, GetResource, Module, Resource, Subject, run};
use crate::world::recorded::{AskedRight, Recorded};

/// The content of an `.expected.json`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    #[serde(default = "empty")]
    pub(crate) settings: Value,
    /// The objects of the cluster, in the format of `claim-rollout review --claims`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    claims: Vec<Value>,
    #[serde(default)]
    response: Value,
}

fn empty() -> Value {
    json!({})
}

/// A review and its expected answer.
pub(crate) struct Fixture {
    pub(crate) sentence: String,
    pub(crate) body: Vec<u8>,
    pub(crate) expected: Expected,
}

/// The folder of the reviews.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/reviews"))
}

/// All reviews, sorted by name.
pub(crate) fn fixtures() -> anyhow::Result<Vec<Fixture>> {
    let names = std::fs::read_dir(folder())?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<anyhow::Result<BTreeSet<String>>>()?;
    let sentences = names.iter().filter_map(|name| name.strip_suffix(".json"));
    let sentences = sentences.filter(|name| !name.ends_with(".expected"));
    sentences
        .map(|sentence| {
            let expected = folder().join(format!("{sentence}.expected.json"));
            let expected = std::fs::read(&expected).unwrap_or_else(|_| b"{}".to_vec());
            Ok(Fixture {
                sentence: sentence.to_owned(),
                body: std::fs::read(folder().join(format!("{sentence}.json")))?,
                expected: serde_json::from_slice(&expected).with_context(|| sentence.to_owned())?,
            })
        })
        .collect()
}

impl Fixture {
    /// The payload for the policy, if the body is a review at all.
    pub(crate) fn payload(&self) -> Option<Vec<u8>> {
        let review = AdmissionReview::read(&self.body).ok()?;
        let settings = to_raw_value(&self.expected.settings).ok()?;
        Some(payload(review.request, &settings))
    }

    /// The objects of the cluster.
    pub(crate) fn cluster(&self) -> Recorded {
        Recorded(self.expected.claims.clone())
    }

    /// The command that answers this one review.
    fn replay(&self) -> String {
        let list = json!({"kind": "List", "items": self.expected.claims});
        format!(
            "claim-rollout review --settings <(echo '{}') --claims <(echo '{list}') 'e2e-tests/reviews/{}.json'",
            self.expected.settings, self.sentence
        )
    }

    /// The answer of the program: the response with its patch decoded, or the error.
    fn shell(&self) -> anyhow::Result<Value> {
        let scratch = tempfile::tempdir()?;
        let write = |name: &str, value: &Value| {
            let path = scratch.path().join(name);
            std::fs::write(&path, value.to_string()).map(|()| path)
        };
        let output = Command::new(binary()?)
            .arg("review")
            .arg("--settings")
            .arg(write("settings.json", &self.expected.settings)?)
            .arg("--claims")
            .arg(write(
                "claims.json",
                &json!({"kind": "List", "items": self.expected.claims}),
            )?)
            .arg(folder().join(format!("{}.json", self.sentence)))
            .output()?;
        let code = output.status.code();
        if code == Some(2) {
            return Ok(json!({"error": String::from_utf8(output.stderr)?.trim_end()}));
        }
        let review: Value = serde_json::from_slice(&output.stdout)?;
        let allowed = review["response"]["allowed"] == true;
        ensure!(code == Some(i32::from(!allowed)), "exit code {code:?} for {review}");
        decoded(&review["response"])
    }
}

/// A readable response: the patch decoded, the status flat, without the uid.
fn decoded(response: &Value) -> anyhow::Result<Value> {
    let mut flat = json!({"allowed": response["allowed"]});
    for (key, value) in [
        ("code", &response["status"]["code"]),
        ("message", &response["status"]["message"]),
        ("warnings", &response["warnings"]),
        ("auditAnnotations", &response["auditAnnotations"]),
    ] {
        if !value.is_null() {
            flat[key] = value.clone();
        }
    }
    if let Some(patch) = response["patch"].as_str() {
        let patch = base64::engine::general_purpose::STANDARD.decode(patch)?;
        flat["patch"] = serde_json::from_slice(&patch)?;
    }
    Ok(flat)
}

/// The kinds that a policy may read.
const READABLE: [(&str, &str); 4] = [
    ("v1", "PersistentVolumeClaim"),
    ("apps/v1", "StatefulSet"),
    ("storage.k8s.io/v1", "StorageClass"),
    ("storage.k8s.io/v1", "VolumeAttributesClass"),
];

impl Recorded {
    /// For the guest.
    pub(crate) fn host(&self) -> Capabilities {
        let resource = |(api_version, kind): (&str, &str)| Resource {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        };
        let readable = READABLE.into_iter().map(resource).collect();
        Capabilities::new(vec!["kubernetes/*".to_owned()], readable, Arc::new(self.clone()))
    }
}

impl Api for Recorded {
    fn get_resource(&self, question: &GetResource) -> Result<Value, String> {
        let GetResource {
            api_version,
            kind,
            name,
            namespace,
            ..
        } = question;
        let missing = || format!("Cannot find {api_version}/{kind} named '{name}' inside of namespace '{namespace:?}'");
        self.find((&**api_version, &**kind), namespace.as_deref(), name)?
            .cloned()
            .ok_or_else(missing)
    }

    fn can_i(&self, question: &Subject) -> Result<Value, String> {
        let asked = &question.resource_attributes;
        let text = |text: &'_ Option<String>| text.clone().unwrap_or_default();
        let [namespace, group, subresource] = [&asked.namespace, &asked.group, &asked.subresource].map(text);
        let right = AskedRight([
            ("namespace", &*namespace),
            ("verb", &*asked.verb),
            ("group", &*group),
            ("resource", &*asked.resource),
            ("subresource", &*subresource),
        ]);
        self.allows(&question.user, &right)
            .map(|allowed| json!({"allowed": allowed}))
    }
}

/// The error in the answers to one review, if there is one.
fn fault(module: &Module, fixture: &Fixture) -> anyhow::Result<Option<String>> {
    // A body that is no review does not reach a policy; a policy that gets it nevertheless must not trap.
    let payload = fixture.payload().unwrap_or_else(|| fixture.body.clone());
    let native = wire::validate(&payload, &mut fixture.cluster());
    let wasm = run(module, &payload, fixture.cluster().host());
    if wasm.as_ref() != Ok(&native) {
        let wasm = wasm.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let native = String::from_utf8_lossy(&native);
        return Ok(Some(format!("policy.wasm: {wasm:?}\nnative:      {native}")));
    }
    let found = fixture.shell()?;
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        let expected = Expected {
            response: found,
            ..fixture.expected.clone()
        };
        let text = serde_json::to_string_pretty(&expected)? + "\n";
        std::fs::write(folder().join(format!("{}.expected.json", fixture.sentence)), text)?;
        return Ok(None);
    }
    let expected = &fixture.expected.response;
    Ok((found != *expected).then(|| format!("expected: {expected:#}\nfound:    {found:#}")))
}

#[test]
fn every_review_answered_as_expected_by_wasm_and_native_code() -> anyhow::Result<()> {
    let module = policy();
    let fixtures = fixtures()?;
    ensure!(fixtures.len() >= 20, "only {} reviews", fixtures.len());
    let mut report = String::new();
    for fixture in &fixtures {
        if let Some(fault) = fault(&module, fixture)? {
            writeln!(report, "{}\n{fault}\nreplay: {}\n", fixture.sentence, fixture.replay())?;
        }
    }
    ensure!(report.is_empty(), "{report}UPDATE_EXPECTED=1 accepts what was found");
    Ok(())
}
