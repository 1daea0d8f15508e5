//! The coverage of the cases, so that a new row, setting, field or reason cannot be forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::ensure;
use claim_rollout::admission::settings::NAMES;
use claim_rollout::claims::{Foreign, Obstacle, Owner};
use claim_rollout::templates::rules::TemplateNames;
use claim_rollout::templates::{FaultKind, FrozenChange, Quantity};

use super::case::Case;
use super::fields;
use super::notation::Found;
use super::settings::positions;

/// The rows of the table in `src/admission/decide.rs` that judge requests.
const ROWS: [&str; 14] = [
    "C1", "C2", "C3", "S1", "U0", "U1", "U2", "U3", "U5", "P1", "G1", "R1", "K1", "N1",
];
/// The states that a Pod may wait for.
const WAITS: [&str; 8] = [
    "is not yet at revision",
    "is Applied",
    "is Expanding",
    "is NodeExpanding",
    "is Modifying",
    "is Infeasible",
    "is paused by the annotation",
    "are replaced together",
];
/// Every kind of answer.
const WORDS: [&str; 26] = [
    "pass",
    "mutate",
    "deny 400",
    "deny 403",
    "templates",
    "restored",
    "kept",
    "-staged",
    "-withdraw",
    "-phase",
    "-ready",
    "-finalizer",
    "-partition",
    "phase=Staged",
    "phase=RollingOut",
    "phase=Complete",
    "staged:InPlace",
    "staged:OnClaimDelete",
    "staged:ReCreate",
    "by:annotation",
    "by:client-side-apply",
    "by:server-side-apply",
    "who",
    "revision",
    "class=gold",
    "storage=20Gi",
];

/// The rows, words, settings and messages of the cases so far.
#[derive(Default)]
pub(super) struct Seen {
    rows: BTreeMap<&'static str, usize>,
    words: BTreeSet<String>,
    settings: BTreeMap<String, BTreeSet<String>>,
    sentences: BTreeSet<String>,
    /// Each message, with the row and the sentence of its case.
    messages: Vec<(String, &'static str, String)>,
}

impl Seen {
    /// Notes a case with the expected answer.
    pub(super) fn note(&mut self, case: &Case, found: &Found) {
        *self.rows.entry(case.row).or_default() += 1;
        self.words.extend(found.words.iter().cloned());
        for (name, value) in case.settings.as_object().into_iter().flatten() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            self.settings.entry(name.clone()).or_default().insert(value);
        }
        self.sentences.insert(case.sentence.clone());
        let of_case = |message: &String| (message.clone(), case.row, case.sentence.clone());
        self.messages.extend(found.messages.iter().map(of_case));
    }

    /// The row and the sentence of the first case with such a message.
    fn first(&self, part: &str) -> Option<(&'static str, &str)> {
        let (_, row, sentence) = self.messages.iter().find(|(message, ..)| message.contains(part))?;
        Some((row, sentence))
    }

    /// A table of the reasons, each with its first case.
    pub(super) fn witnesses(&self) -> String {
        let line = |reason: &String| {
            let (row, sentence) = self.first(reason)?;
            Some(format!("| `{reason}` | {row} | `{sentence}` |\n"))
        };
        reasons().iter().filter_map(line).collect()
    }

    /// Fails with the names of what is missing.
    pub(super) fn ensure_everything(&self) -> anyhow::Result<()> {
        let mut missing: Vec<String> = Vec::new();
        let mut need = |holds: bool, what: &dyn fmt::Display| missing.extend((!holds).then(|| what.to_string()));
        for row in ROWS {
            need(self.rows.contains_key(row), &row);
        }
        for wait in WAITS {
            need(self.first(wait).is_some(), &wait);
        }
        for word in WORDS {
            need(self.words.contains(word), &word);
        }
        for name in NAMES {
            let found = self.settings.get(name).map_or(0, BTreeSet::len);
            let positions = positions(name);
            // A setting that takes any value needs at least two values.
            need(found >= 2 || !positions.is_empty(), &name);
            for position in positions {
                let seen = self.settings.get(name).is_some_and(|seen| seen.contains(&position));
                need(seen, &format!("{name}: {position}"));
            }
        }
        for (path, _) in fields::leaves() {
            need(self.sentences.iter().any(|sentence| sentence.starts_with(&path)), &path);
        }
        for reason in reasons() {
            need(self.first(&reason).is_some(), &reason);
        }
        ensure!(missing.is_empty(), "no case has: {}", missing.join("; "));
        Ok(())
    }
}

/// A unique part of every message with a reason.
fn reasons() -> Vec<String> {
    let text = || "x".to_owned();
    let size = Quantity::from_bytes(1);
    let change = FrozenChange {
        field: text(),
        from: None,
        to: None,
    };
    let not_bytes = |text: &str| text.parse::<Quantity>().expect("a quantity").bytes().expect_err("none");
    let faults = [
        FaultKind::Added(TemplateNames::Fixed),
        FaultKind::Added(TemplateNames::Deny),
        FaultKind::Added(TemplateNames::NotReplaced),
        FaultKind::Added(TemplateNames::MayChange),
        FaultKind::Removed(TemplateNames::Deny),
        FaultKind::Removed(TemplateNames::NotReplaced),
        FaultKind::Frozen(change),
        FaultKind::NoSize,
        FaultKind::NotASize(size, not_bytes("0")),
        FaultKind::NotASize(size, not_bytes("8Ei")),
        FaultKind::Shrinks {
            least: size,
            found: size,
        },
        FaultKind::TooLarge {
            most: size,
            found: size,
        },
        FaultKind::AttributesClass {
            found: text(),
            allowed: vec![],
        },
        FaultKind::Reserved(text()),
        FaultKind::Metadata(text()),
    ];
    let class = text;
    let obstacles = [
        Obstacle::Terminating,
        Obstacle::Foreign(Foreign::Owned { by: Owner::default() }),
        Obstacle::Foreign(Foreign::Selector {
            label: text(),
            value: text(),
        }),
        Obstacle::Differs { field: text() },
        Obstacle::NotBound,
        Obstacle::NoStorageClass,
        Obstacle::StorageClassMissing { class: class() },
        Obstacle::NotExpandable { class: class() },
        Obstacle::AttributesClassMissing { class: class() },
        Obstacle::AttributesClassOfAnother {
            class: class(),
            driver: text(),
        },
        Obstacle::Reached { capacity: size },
    ];
    faults
        .iter()
        .map(of_fault)
        .chain(obstacles.iter().map(of_obstacle))
        .collect()
}

/// Fails to compile for a new kind, which must be added to `reasons` too.
fn of_fault(fault: &FaultKind) -> String {
    match fault {
        FaultKind::Added(TemplateNames::MayChange) => "the first template cannot be added".to_owned(),
        FaultKind::Added(names) => format!("a template cannot be added{}", without(*names)),
        FaultKind::Removed(names) => format!("a template cannot be removed or renamed{}", without(*names)),
        FaultKind::Frozen(_) => "cannot change, expected".to_owned(),
        FaultKind::NoSize => "requests.storage: cannot be removed".to_owned(),
        FaultKind::NotASize(_, error) => format!("{error}, but found"),
        FaultKind::Shrinks { .. } => "cannot shrink, expected at least".to_owned(),
        FaultKind::TooLarge { .. } => "is limited, expected at most".to_owned(),
        FaultKind::AttributesClass { .. } => "volumeAttributesClassName: expected one of".to_owned(),
        FaultKind::Reserved(_) => "is reserved, expected no change".to_owned(),
        FaultKind::Metadata(_) => {
            "cannot change while the policy's setting metadataOnlyChanges is not Rollout".to_owned()
        }
    }
}

fn without(names: TemplateNames) -> &'static str {
    match names {
        TemplateNames::Fixed | TemplateNames::MayChange => "",
        TemplateNames::Deny => " without the setting templateChanges: Allow",
        TemplateNames::NotReplaced => " without the annotation claim-rollout.io/replace-set: WhenComplete",
    }
}

/// Fails to compile for a new kind, which must be added to `reasons` too.
fn of_obstacle(obstacle: &Obstacle) -> String {
    let part = match obstacle {
        Obstacle::Terminating => "being deleted",
        Obstacle::Foreign(Foreign::Selector { .. }) => "as in the selector; set it with kubectl label pvc",
        Obstacle::Foreign(_) => "owned by",
        Obstacle::Differs { .. } => "differs from the template's",
        Obstacle::NotBound => "not bound to a volume yet",
        Obstacle::NoStorageClass => "a PVC without a storage class cannot grow",
        Obstacle::StorageClassMissing { .. } => "storage class standard does not exist",
        Obstacle::NotExpandable { .. } => "does not have allowVolumeExpansion: true",
        Obstacle::AttributesClassMissing { .. } => "volume attributes class gold does not exist",
        Obstacle::AttributesClassOfAnother { .. } => "is for driver",
        Obstacle::Reached { .. } => "and a volume cannot shrink",
    };
    part.to_owned()
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<String> = self.rows.iter().map(|(row, cases)| format!("{row} {cases}")).collect();
        f.write_str(&rows.join(", "))
    }
}
