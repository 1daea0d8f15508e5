//! The objects of a namespace, as texts that both sides share.

use anyhow::Context as _;
use claim_rollout::controller::FIELD_MANAGER;
use claim_rollout::sim::dialogue::{ObservedClaim, ObservedObjects, ObservedReport, ObservedSet, target_of};
use claim_rollout::templates::{ClaimTemplate, Quantity, Ready, StagedChange, keys};
use serde_json::Value;

use super::real::Real;
use super::surroundings::PROBE;

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Whole Gi; any other size is returned unchanged.
fn gi(value: &Value) -> Option<String> {
    let written = value.as_str()?;
    let quantity = written.parse::<Quantity>().ok()?;
    let whole = quantity.whole();
    Some(if whole & ((1 << 30) - 1) == 0 {
        (whole >> 30).to_string()
    } else {
        written.to_owned()
    })
}

/// Whether our applies own a field, and whether they own it alone.
fn ours(object: &Value, field: &str) -> (bool, bool) {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let owners = entries.filter(|entry| entry["fieldsV1"].pointer(field).is_some());
    let is_ours = |entry: &Value| entry["manager"] == FIELD_MANAGER && entry["operation"] == "Apply";
    let (mine, others): (Vec<&Value>, Vec<&Value>) = owners.partition(|entry| is_ours(entry));
    (!mine.is_empty(), !mine.is_empty() && others.is_empty())
}

impl Real<'_> {
    /// All objects.
    pub(super) async fn objects(&mut self) -> anyhow::Result<ObservedObjects> {
        let (set, report, claims) = futures::try_join!(
            self.get("statefulsets", "web"),
            self.get("claimrollouts", "web"),
            self.claims()
        )?;
        let mut objects = ObservedObjects::new();
        let uid = set.as_ref().and_then(|set| text(&set["metadata"]["uid"]));
        if let Some(set) = &set {
            let words = self.set(set)?.to_string();
            objects.insert("set".to_owned(), self.seen("set", set, words)?);
        }
        if let Some(report) = &report {
            let observed = ObservedReport {
                of_the_set: text(&report["spec"]["setRef"]["uid"]) == uid,
                content: text(&report["status"]["currentRevision"]).unwrap_or_default(),
            };
            let ((_, version), words) = self.seen("report", report, observed.to_string())?;
            objects.insert("report".to_owned(), (("one".to_owned(), version), words));
        }
        for claim in claims {
            let name = text(&claim["metadata"]["name"]).context("a name")?;
            if name != PROBE {
                let words = self.sight_of(&claim, uid.as_deref())?.to_string();
                let seen = self.seen(&name, &claim, words)?;
                objects.insert(name, seen);
            }
        }
        Ok(objects)
    }

    /// An object as text, with its uid and the number of its changes.
    fn seen(&mut self, name: &str, object: &Value, words: String) -> anyhow::Result<((String, String), String)> {
        let uid = text(&object["metadata"]["uid"]).context("a uid")?;
        let changes = self.changes(name, object, &words);
        Ok(((uid, changes.to_string()), words))
    }

    fn set(&mut self, set: &Value) -> anyhow::Result<ObservedSet> {
        let annotation = |key: &str| text(&set["metadata"]["annotations"][key]);
        let spec = &set["spec"];
        let uid = text(&set["metadata"]["uid"]).context("a uid")?;
        let live = ClaimTemplate::read_list(&spec["volumeClaimTemplates"].to_string())?;
        let staged = annotation(keys::STAGED).map(|staged| self.staged_change(&staged, &uid));
        let strategy = &spec["updateStrategy"];
        let owners = set["metadata"]["ownerReferences"].as_array();
        Ok(ObservedSet {
            replicas: spec["replicas"].as_u64().context("replicas")?,
            image: text(&spec["template"]["spec"]["containers"][0]["image"])
                .context("an image")?
                .replace("i:", ""),
            live: target_of(&live).to_string(),
            staged,
            annotations: [
                annotation(keys::UPDATE_POLICY),
                annotation(keys::PAUSED),
                annotation(keys::SYNC),
                annotation(keys::READY).map(|ready| self.ready(&ready)),
                annotation(keys::WITHDRAW).map(|revision| self.target_of(&revision)),
            ],
            partition: (strategy["type"] != "OnDelete")
                .then(|| strategy["rollingUpdate"]["partition"].as_u64().unwrap_or(0)),
            owned: owners.is_some_and(|owners| !owners.is_empty()),
            observed: set["metadata"]["generation"] == set["status"]["observedGeneration"],
        })
    }

    /// A staged change as text. Its revision is remembered for the labels of claims.
    fn staged_change(&mut self, staged: &str, uid: &str) -> String {
        if let Ok(change) = StagedChange::read(staged, uid) {
            let target = target_of(&change.templates).to_string();
            self.revisions.insert(change.revision().to_string(), target.clone());
            return format!("{target}:{}:{}", change.phase, change.update_policy);
        }
        let own = serde_json::from_str::<Value>(staged).unwrap_or_default();
        let its = own["uid"].as_str().unwrap_or_default().to_owned();
        match StagedChange::read(staged, &its) {
            Ok(change) => format!("{}:foreign", target_of(&change.templates)),
            Err(error) => error.to_string(),
        }
    }

    /// The annotation `ready`, if it has the format of our controller.
    fn ready(&self, ready: &str) -> String {
        ready.parse().map_or_else(
            |_| ready.to_owned(),
            |Ready { revision, ordinal }| format!("{}.{ordinal}", self.target_of(revision.as_str())),
        )
    }

    /// The target of a revision.
    fn target_of(&self, revision: &str) -> String {
        self.revisions
            .get(revision)
            .cloned()
            .unwrap_or_else(|| revision.to_owned())
    }

    fn sight_of(&self, claim: &Value, set: Option<&str>) -> anyhow::Result<ObservedClaim> {
        let (metadata, spec, status) = (&claim["metadata"], &claim["spec"], &claim["status"]);
        let owner = metadata["ownerReferences"].as_array().and_then(|owners| owners.first());
        let field = |field: &str| ours(claim, field);
        let resize = match status["allocatedResourceStatuses"]["storage"].as_str() {
            None => "",
            Some("ControllerResizeInProgress") => "Controller",
            Some("ControllerResizeInfeasible") => "ControllerInfeasible",
            Some("NodeResizePending") => "Node",
            Some(other) => other,
        };
        Ok(ObservedClaim {
            request: gi(&spec["resources"]["requests"]["storage"]).context("a size")?,
            capacity: gi(&status["capacity"]["storage"]),
            classes: [
                text(&spec["volumeAttributesClassName"]),
                text(&status["currentVolumeAttributesClassName"]),
            ],
            tier: text(&metadata["labels"]["tier"]),
            selected: metadata["labels"]["app"] == "web",
            revision: text(&metadata["labels"][keys::REVISION])
                .map(|label| self.target_of(label.split('.').next().unwrap_or_default())),
            owner: owner.map(|owner| if owner["uid"].as_str() == set { "set" } else { "other" }),
            terminating: !metadata["deletionTimestamp"].is_null(),
            ours: [
                field("/f:spec/f:resources/f:requests/f:storage").1,
                field("/f:spec/f:volumeAttributesClassName").0,
                field("/f:metadata/f:labels/f:tier").0,
            ],
            resize: resize.to_owned(),
            modify: text(&status["modifyVolumeStatus"]["status"]).unwrap_or_default(),
        })
    }
}
