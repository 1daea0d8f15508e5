//! The objects as texts that both sides share. Uids and resourceVersions differ between the sides, so a text contains
//! only which objects have changed, and a number for each object of the same name.

use std::collections::BTreeMap;
use std::fmt;

/// A StatefulSet.
#[derive(Clone, Debug, Default)]
pub struct ObservedSet {
    /// `spec.replicas`
    pub replicas: u64,
    /// The image of the Pod template.
    pub image: String,
    /// `spec.volumeClaimTemplates`
    pub live: String,
    /// A valid annotation `staged`: target, phase and policy.
    pub staged: Option<String>,
    /// The annotations `update-policy`, `paused`, `sync`, `ready` and `withdraw`.
    pub annotations: [Option<String>; 5],
    /// The partition; `None` with `OnDelete`.
    pub partition: Option<u64>,
    /// Another controller owns the set.
    pub owned: bool,
    /// The status has observed the generation.
    pub observed: bool,
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, Default)]
pub struct ObservedClaim {
    /// The requested size.
    pub request: String,
    /// The capacity; `None` until the claim is bound.
    pub capacity: Option<String>,
    /// The requested and the current attributes class.
    pub classes: [Option<String>; 2],
    /// The label `tier`.
    pub tier: Option<String>,
    /// The claim has the selector's label.
    pub selected: bool,
    /// The target that our label names.
    pub revision: Option<String>,
    /// The owner: `set` or `other`.
    pub owner: Option<&'static str>,
    /// The claim has a deletionTimestamp.
    pub terminating: bool,
    /// Fields that our field manager owns: the size (alone), the class and the tier (perhaps with others).
    pub ours: [bool; 3],
    /// The progress of a resize.
    pub resize: String,
    /// The progress of a change of the attributes class.
    pub modify: String,
}

/// A ClaimRollout.
#[derive(Clone, Debug, Default)]
pub struct ObservedReport {
    /// The ClaimRollout belongs to the existing set.
    pub of_the_set: bool,
    /// The contents, as a number.
    pub content: String,
}

/// All objects by name: uid, version and text.
pub type ObservedObjects = BTreeMap<String, ((String, String), String)>;

/// Finds what has changed between two observations.
#[derive(Clone, Debug, Default)]
pub struct ChangeTracker {
    uids: BTreeMap<String, Vec<String>>,
    last: ObservedObjects,
}

impl ChangeTracker {
    /// The changes since the previous call: one entry for each object that was written, created or deleted, and for
    /// each that changed without a write.
    pub fn changes(&mut self, now: ObservedObjects) -> Vec<String> {
        let mut changes = Vec::new();
        for (name, (identity, words)) in &now {
            let uid = &identity.0;
            let uids = self.uids.entry(name.clone()).or_default();
            if !uids.contains(uid) {
                uids.push(uid.clone());
            }
            let number = uids.iter().position(|known| known == uid).map_or(0, |at| at + 1);
            match self.last.get(name) {
                Some((before, was)) if before == identity && was == words => {}
                Some((before, _)) if before == identity => {
                    changes.push(format!("{name}#{number} without a write: {words}"));
                }
                _ => changes.push(format!("{name}#{number} {words}")),
            }
        }
        let deleted = self.last.keys().filter(|name| !now.contains_key(*name));
        changes.extend(deleted.map(|name| format!("{name} is deleted")));
        self.last = now;
        changes
    }
}

/// Writes the fields that are present, separated by spaces.
fn line(f: &mut fmt::Formatter<'_>, words: &[(&str, Option<String>)]) -> fmt::Result {
    let there = words.iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
    for (number, (key, value)) in there.enumerate() {
        let space = if number == 0 { "" } else { " " };
        write!(f, "{space}{key}{value}")?;
    }
    Ok(())
}

fn flag(holds: bool) -> Option<String> {
    holds.then(String::new)
}

impl fmt::Display for ObservedSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [policy, paused, sync, ready, withdraw] = self.annotations.clone();
        let words = [
            ("x", Some(self.replicas.to_string())),
            ("image=", Some(self.image.clone())),
            ("live=", Some(self.live.clone())),
            ("staged=", self.staged.clone()),
            ("policy=", policy),
            ("paused=", paused),
            ("sync=", sync),
            ("ready=", ready),
            ("withdraw=", withdraw),
            ("partition=", self.partition.map(|partition| partition.to_string())),
            ("owned", flag(self.owned)),
            ("observed", flag(self.observed)),
        ];
        line(f, &words)
    }
}

impl fmt::Display for ObservedClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [wanted, current] = self.classes.clone();
        let ours: String = ["s", "c", "t"]
            .iter()
            .zip(self.ours)
            .filter_map(|(letter, ours)| ours.then_some(*letter))
            .collect();
        let words = [
            ("", Some(self.request.clone())),
            ("has=", self.capacity.clone()),
            ("class=", wanted),
            ("current=", current),
            ("tier=", self.tier.clone()),
            ("revision=", self.revision.clone()),
            ("unselected", flag(!self.selected)),
            ("owner=", self.owner.map(str::to_owned)),
            ("ours=", Some(ours).filter(|ours| !ours.is_empty())),
            ("resize=", Some(self.resize.clone()).filter(|resize| !resize.is_empty())),
            ("modify=", Some(self.modify.clone()).filter(|modify| !modify.is_empty())),
            ("terminating", flag(self.terminating)),
        ];
        line(f, &words)
    }
}

impl fmt::Display for ObservedReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [
            ("content=", Some(self.content.clone())),
            ("of another set", flag(!self.of_the_set)),
        ];
        line(f, &words)
    }
}
