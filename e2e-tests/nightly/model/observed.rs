//! The objects of a namespace, as texts that both sides share.

use anyhow::Context as _;
use claim_rollout::sim::dialogue::{ObservedObjects, claim_words, report_words, set_words};
use serde_json::Value;

use super::real::Real;
use super::surroundings::PROBE;
use crate::world::namespace::text;

impl Real<'_> {
    /// All objects.
    pub(super) async fn objects(&mut self) -> anyhow::Result<ObservedObjects> {
        let (set, report, claims) = futures::try_join!(
            self.get("statefulsets", "web"),
            self.get("claimrollouts", "web"),
            self.claims()
        )?;
        let mut objects = ObservedObjects::new();
        let uid = set.as_ref().map(|set| text(&set["metadata"]["uid"]));
        if let Some(set) = &set {
            let words = set_words(set, &mut self.revisions);
            objects.insert("set".to_owned(), self.seen("set", set, words)?);
        }
        if let Some(report) = &report {
            let is_of_the_set = report["spec"]["setRef"]["uid"].as_str() == uid.as_deref();
            let words = report_words(&text(&report["status"]["currentRevision"]), is_of_the_set);
            let ((_, version), words) = self.seen("report", report, words)?;
            objects.insert("report".to_owned(), (("one".to_owned(), version), words));
        }
        for claim in claims {
            let name = text(&claim["metadata"]["name"]);
            if name != PROBE {
                let words = claim_words(&claim, uid.as_deref(), &self.revisions);
                let seen = self.seen(&name, &claim, words)?;
                objects.insert(name, seen);
            }
        }
        Ok(objects)
    }

    /// An object as text, with its uid and the number of its changes.
    fn seen(&mut self, name: &str, object: &Value, words: String) -> anyhow::Result<((String, String), String)> {
        let uid = object["metadata"]["uid"].as_str().context("a uid")?.to_owned();
        let changes = self.changes(name, object, &words);
        Ok(((uid, changes.to_string()), words))
    }
}
