//! What is there, in words that mean the same on both sides: names of uids and resourceVersions differ, so it is told only
//! which object has changed, and the how-manieth of its name it is.

use std::collections::BTreeMap;
use std::fmt;

/// A StatefulSet.
#[derive(Clone, Debug, Default)]
pub struct SetSight {
    /// `spec.replicas`
    pub replicas: u64,
    /// What Pods run.
    pub image: String,
    /// The templates.
    pub live: String,
    /// The annotation `staged`, if it is a record of this set: wish, phase and policy.
    pub staged: Option<String>,
    /// The annotations `update-policy`, `paused`, `sync`, `ready` and `withdraw`.
    pub annotations: [Option<String>; 5],
    /// The partition; nothing with `OnDelete`.
    pub partition: Option<u64>,
    /// Another controller owns it.
    pub owned: bool,
    /// Its status is about its generation.
    pub observed: bool,
}

/// A claim.
#[derive(Clone, Debug, Default)]
pub struct ClaimSight {
    /// What it asks for.
    pub request: String,
    /// What it has; nothing before it is bound.
    pub capacity: Option<String>,
    /// The attributes class that it asks for, and the one that it has.
    pub classes: [Option<String>; 2],
    /// The label `tier`.
    pub tier: Option<String>,
    /// The selector's label is there.
    pub selected: bool,
    /// Our label: the wish that it names.
    pub revision: Option<String>,
    /// Who owns it: `set`, `other`.
    pub owner: Option<&'static str>,
    /// It is being deleted.
    pub terminating: bool,
    /// Fields that our field manager owns: the size alone, the class and the tier perhaps among others.
    pub ours: [bool; 3],
    /// How far a resize has come.
    pub resize: String,
    /// How far a change of the attributes class has come.
    pub modify: String,
}

/// A ClaimRollout.
#[derive(Clone, Debug, Default)]
pub struct ReportSight {
    /// It is about the set that is there.
    pub of_the_set: bool,
    /// What it says.
    pub says: String,
}

/// All objects: by name what tells one from another and from what it was before, and what it is in words.
pub type Sights = BTreeMap<String, ((String, String), String)>;

/// Remembers what was there, and tells what has changed since.
#[derive(Clone, Debug, Default)]
pub struct Witness {
    uids: BTreeMap<String, Vec<String>>,
    last: Sights,
}

impl Witness {
    /// What has changed: one entry for each object that was written, came or went, and for what was changed without a write.
    pub fn changes(&mut self, now: Sights) -> Vec<String> {
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
        let gone = self.last.keys().filter(|name| !now.contains_key(*name));
        changes.extend(gone.map(|name| format!("{name} is gone")));
        self.last = now;
        changes
    }
}

/// Words one after the other, without those that are not there.
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

impl fmt::Display for SetSight {
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

impl fmt::Display for ClaimSight {
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

impl fmt::Display for ReportSight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [
            ("says=", Some(self.says.clone())),
            ("of another set", flag(!self.of_the_set)),
        ];
        line(f, &words)
    }
}
