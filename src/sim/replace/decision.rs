//! The real decision: small objects in, a small step out. Each answer is kept, because most states ask the same.

use rustc_hash::FxHashMap;

use super::bugs::ReplaceBug;
use super::manifests::{dependents_of, journal_of, live, secret_of, small_journal, small_set, version_of};
use super::memory::{Quiet, ReadParts, SmallMemory, SmallSight, SmallStep};
use super::objects::{HELD, SmallJournal, SmallSet};
use crate::api::Settings;
use crate::replace::next::SETTLING;
use crate::replace::world::{CountQuota, DryRuns, ReportOwner};
use crate::replace::{Journal, LastVersion, LiveSet, Millis, Part, SetVersion, Step, Waits, World, basis, next};

/// A time after the set was created.
const NOW: Millis = 1_767_229_200_000;

/// What the decision returned.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answered {
    Read(Part),
    Step(SmallStep),
}

/// The decision, its answers so far, and the bug that is planted around it.
#[derive(Debug, Default)]
pub(super) struct ReplaceDecisions {
    pub(super) bug: ReplaceBug,
    settings: Settings,
    known: FxHashMap<(SmallSight, SmallMemory, ReadParts), Answered>,
}

impl ReplaceDecisions {
    pub(super) fn with(bug: ReplaceBug) -> Self {
        Self { bug, ..Self::default() }
    }

    pub(super) fn next(&mut self, sight: &SmallSight, memory: &SmallMemory, parts: &ReadParts) -> Answered {
        let key = (*sight, *memory, *parts);
        if let Some(answered) = self.known.get(&key) {
            return *answered;
        }
        let answered = self.ask(sight, memory, parts);
        self.known.insert(key, answered);
        answered
    }

    fn ask(&self, sight: &SmallSight, memory: &SmallMemory, parts: &ReadParts) -> Answered {
        let set = sight.set.map(|set| live(&set));
        let full = CountQuota {
            name: "sets".to_owned(),
            hard: 1,
            used: 1,
        };
        let namespace = memory.namespace.or(parts.namespace);
        let world = World {
            now: NOW,
            settings: &self.settings,
            allowed: Ok(()),
            forced: false,
            unreadable: sight
                .journal
                .filter(|journal| !is_believed(journal))
                .map(|_| "a backup brought it back".to_owned()),
            journal: sight.journal.filter(is_believed).map(|journal| journal_of(&journal)),
            secret: sight.journal.map(|journal| secret_of(&journal).to_owned()),
            taken_back: false,
            report: match sight.report {
                None => ReportOwner::NoReport,
                Some(0) => ReportOwner::Nobody,
                Some(uid) => ReportOwner::Set(format!("u{uid}")),
            },
            guarded: parts.guard,
            dependents: parts.dependents.as_ref().map(dependents_of),
            quotas: parts.room.map(|room| if room { Vec::new() } else { vec![full] }),
            dry_runs: set.as_ref().filter(|_| parts.dry_runs).and_then(dry_runs),
            checked: memory.checked.map(|set| basis(&live(&set))),
            denied: None,
            namespace: namespace.map(|uid| if uid == 0 { String::new() } else { format!("n{uid}") }),
            last_version: parts
                .last
                .map(|last| last.map_or(LastVersion::Unknown, |last| LastVersion::Seen(live(&last)))),
            verified: memory.verified.map(|uid| format!("u{uid}")),
            managers_restored: memory.managers_restored.map(|uid| format!("u{uid}")),
            retained_at: memory.retained_at.map(i64::from),
            unreferenced_since: match memory.quiet {
                Quiet::No => None,
                Quiet::Since => Some(NOW),
                Quiet::Settled => Some(NOW - SETTLING),
            },
            waits_since: None,
            set,
        };
        match next(&world) {
            Step::Read(part) => Answered::Read(part),
            step => Answered::Step(small_step(&step, sight)),
        }
    }
}

/// As the controller reads it.
fn is_believed(journal: &SmallJournal) -> bool {
    journal_of(journal).is_of_secret(secret_of(journal))
}

fn dry_runs(set: &LiveSet) -> Option<DryRuns> {
    let created = Journal::prepare(set, None, NOW)?.recreated();
    Some(DryRuns {
        basis: basis(set),
        delete: Ok(()),
        create: Ok(()),
        created: Ok(LiveSet::new(created)),
    })
}

fn small_step(step: &Step, sight: &SmallSight) -> SmallStep {
    let number = |text: &str| text.get(1..).and_then(|digits| digits.parse().ok()).unwrap_or(0);
    let seen = |set: &SetVersion| (number(&set.uid), version_of(&set.resource_version));
    match step {
        Step::WriteJournal(journal) => SmallStep::WriteJournal(small_journal(journal)),
        Step::DisownReport => SmallStep::DisownReport,
        Step::Mark(set) => SmallStep::Mark(seen(set), true),
        Step::Delete { uid, resource_version } => SmallStep::Delete {
            uid: number(uid),
            version: resource_version.as_deref().map(version_of),
        },
        Step::LetGo(object) => SmallStep::LetGo(small_set(object)),
        Step::Create(object) => SmallStep::Create(SmallSet {
            managed_by_us: true,
            image_of_user: false,
            retained_by_user: false,
            ..small_set(object)
        }),
        Step::ScaleUp { set, replicas } => SmallStep::ScaleUp(seen(set), u8::try_from(*replicas).unwrap_or(HELD)),
        Step::DeleteRevision { name, .. } => SmallStep::DeleteRevision(number(name.trim_start_matches("we")) - 1),
        Step::RestoreStrategy { set, strategy } => {
            let partition = strategy["rollingUpdate"]["partition"].as_u64().unwrap_or_default();
            SmallStep::RestorePartition(seen(set), u8::try_from(partition).unwrap_or(HELD))
        }
        Step::RestoreManagers { set, .. } => SmallStep::RestoreManagers(seen(set)),
        Step::OwnReport { uid } => SmallStep::OwnReport(number(uid)),
        Step::DeleteJournal | Step::LeaveForeign(_) => SmallStep::DeleteJournal,
        Step::Unmark { set, when_deleted, .. } => SmallStep::Unmark(seen(set), when_deleted.is_some()),
        Step::Wait { waits, .. } => SmallStep::Wait(*waits == Waits::Settling),
        // No user of the model stages another change while the set is being replaced: the guard denies it.
        Step::RestoreStaged { .. } | Step::Read(_) => unreachable!("{step:?} for {sight:?}"),
        Step::End(_) => SmallStep::End,
    }
}
