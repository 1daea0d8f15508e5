//! Known bugs of this kind of software, planted around the decision: each must break a guarantee.

use super::super::bugs::planted_bugs;
use super::memory::{Limit, ReadParts, SmallSight, SmallStep};
use super::objects::{HELD, SmallAnswer, SmallJournal, SmallSet, SmallStage};
use super::world::ReplaceWorld;

planted_bugs! { ReplaceBug:
    NoFinalizer: "S17: a Pod was deleted or restarted" in "crashes", "kubernetes#131284, redpanda-operator#1795, MOCO: deletes and creates without a finalizer";
    NoSecondPass: "S17: a Pod was deleted or restarted" in "crashes", "lets the set go although an object refers to it";
    NoVersionAtRelease: "S17: a Pod was deleted or restarted" in "an owner operator", "removes the finalizer from whatever has the name: the set of somebody else, with its Pods";
    NoLastVersion: "S17: an acknowledged write is lost" in "writes", "ours, once: creates what it has read last. The API server checks the version, and then deletes";
    JournalOfBefore: "S17: an acknowledged write is lost" in "an owner operator", "ECK, redpanda: creates what was journaled before the DELETE";
    PartitionIsReplicas: "S17: a Pod was deleted or restarted" in "a webhook changes the Pod template", "ours, once: a scale-up lets Pods above the partition restart";
    NoPartition: "S17: a Pod was deleted or restarted" in "a webhook changes the Pod template", "all others: the new set restarts every Pod if its revision differs";
    PartitionTooEarly: "S17: a Pod was deleted or restarted" in "a webhook changes the Pod template", "restores the partition before the revision is known";
    KeepsDelete: "S17: a PVC was deleted" in "PVCs follow", "leaves whenDeleted: Delete";
    RetainNotAwaited: "S17: a PVC was deleted" in "PVCs follow", "ours, once: a StatefulSet controller that has not seen Retain gives PVCs the old owner";
    RetentionForgotten: "L7: the replacement does not end" in "PVCs are to follow", "whenDeleted is not restored when a replacement is taken back";
    NamespaceByName: "S17: a StatefulSet that a user deleted comes back" in "the namespace", "ours, once: creates the set in another namespace of the name";
    CreatesWhatUsersDelete: "S17: a StatefulSet that a user deleted comes back" in "a user deletes", "redpanda, ECK: creates whenever a journal exists and the set does not";
    IgnoresForeground: "S17: a StatefulSet that a user deleted comes back" in "the guard is removed", "goes on although a user deleted the set with its Pods";
    ReportKeepsOwner: "S17: the ClaimRollout was deleted" in "crashes", "redpanda-operator#1795: an object of ours refers to the set that is deleted";
    JournalWithoutVersion: "S17: a StatefulSet that a user deleted comes back" in "two controllers that see everything, and a user who deletes", "of two controllers, the late one writes a journal that was deleted";
    ForgetsAfterCrash: "L7: the replacement does not end" in "crashes", "MOCO, RabbitMQ: does not create the set after a crash";
    KeepsFinalizer: "L7: the replacement does not end" in "crashes", "the finalizer of ours stays";
    LeavesFewerReplicas: "L7: the replacement does not end" in "GitOps without replicas", "the set that GitOps created without replicas stays as it is";
    NotAdopted: "L7: the replacement does not end" in "crashes", "ends before the ClaimRollout has the new owner";
    AnswerEndsNamespace: "L7: the replacement does not end" in "any answer", "ours, once: takes the 404 of a webhook for the end of the namespace: the set stays away";
    RetainUndone: "S17: an acknowledged write is lost" in "a user protects PVCs", "ours, once: a Retain that was acknowledged meanwhile becomes Delete again";
    BackupBelieved: "S17: a StatefulSet that a user deleted comes back" in "a backup of the journal", "ours, once: acts on a journal that a backup brought back";
    TriesForEver: "L7: the replacement does not end" in "the guard cannot be read", "the machine: a read that fails before the first write is tried for ever";
    LastVersionAwaited: "L7: the replacement does not end" in "the DELETED event cannot be read", "the machine: does not count its failures, and waits for the event while there is no StatefulSet";
    DenialForgotten: "L7: the replacement does not end" in "the mark is denied", "the machine: a denial before the DELETE is forgotten, and the step sent again";
    ConflictForEver: "L7: the replacement does not end" in "the mark is answered with a conflict", "the machine: a conflict that others only claim is repeated for ever";
    ConflictIsDone: "L7: a replacement is reported that is not done" in "writes", "the machine: a conflict is not repeated, and the next step follows";
    NoAnswerIsDone: "L7: a replacement is reported that is not done" in "any answer", "the machine: a write without an answer counts as done";
    ChecksCountForEver: "L7: the replacement does not end" in "the StatefulSet controller is stopped", "the machine: what was checked before the mark counts for ever";
    GuardCheckedOnce: "S17: a StatefulSet is deleted although its guard" in "the guard is removed, and time passes", "the machine: deletes because of a guard that was there once";
    PatientForEver: "L7: the replacement does not end" in "the StatefulSet controller is stopped", "the machine: forgets since when it waits for the status of what it has marked";
    SettlesForEver: "L7: the replacement does not end" in "crashes", "the machine: each read begins the two seconds without a reference anew";
    ReportsBeforeWrite: "L7: a replacement is reported that is not done" in "the quota is full", "the machine: reports how long there was no StatefulSet before the CREATE is answered";
    EndsWithCreate: "L7: the end of a replacement is reported that has not ended" in "crashes", "the machine: reports that the StatefulSet is replaced as soon as it is created";
}

impl ReplaceBug {
    /// What a machine, which may have just begun, sees of the objects.
    pub(super) fn show(self, sight: &mut SmallSight, begins: bool, world: &ReplaceWorld) {
        match (self, &mut sight.set, &mut sight.journal) {
            (Self::NoFinalizer, Some(set), _) => set.ours = true,
            (Self::NoFinalizer | Self::CreatesWhatUsersDelete, None, Some(journal)) => {
                journal.stage = SmallStage::Releasing;
                journal.namespace = world.namespace;
            }
            (Self::ForgetsAfterCrash, None, journal) => {
                journal.take_if(|_| begins);
            }
            (Self::KeepsDelete, Some(set), _) if set.ours => set.deletes_claims = false,
            (Self::RetainNotAwaited, Some(set), _) => set.observed = set.generation,
            (Self::PartitionTooEarly, Some(set), Some(journal)) if set.uid != journal.set.uid => {
                (set.observed, set.revision) = (set.generation, journal.set.revision);
            }
            (Self::IgnoresForeground, Some(set), _) => set.foreground = false,
            (Self::BackupBelieved, _, Some(journal)) => journal.restored = false,
            (Self::RetainUndone, set, journal) => {
                let journaled = journal.iter_mut().map(|journal| &mut journal.set);
                set.iter_mut()
                    .chain(journaled)
                    .for_each(|set| set.retained_by_user = false);
            }
            (Self::ReportKeepsOwner, Some(_), _) => sight.report = None,
            _ => {}
        }
    }

    /// What it sees of the other parts. It may have been misled by an answer.
    pub(super) fn show_parts(self, parts: &mut ReadParts, sight: &SmallSight, is_misled: bool) {
        match (self, &mut parts.namespace) {
            (Self::NamespaceByName, Some(namespace)) if sight.set.is_none() => {
                *namespace = sight.journal.map_or(*namespace, |journal| journal.namespace);
            }
            (Self::AnswerEndsNamespace, Some(namespace)) if is_misled => *namespace = 0,
            _ => {}
        }
        if matches!(self, Self::NoLastVersion | Self::JournalOfBefore) {
            parts.last = parts.last.and(Some(None));
        }
        if self == Self::RetainUndone {
            let last = parts.last.iter_mut().flatten();
            last.for_each(|set| set.retained_by_user = false);
        }
        let is_old = sight.set.is_some_and(|set| set.terminating);
        if self == Self::NoSecondPass && is_old {
            for one in parts.dependents.iter_mut().flatten().flatten().flatten() {
                one.owner = 0;
            }
        }
    }

    /// What it gets for an answer.
    pub(super) const fn answer(self, answer: SmallAnswer) -> SmallAnswer {
        match (self, answer) {
            (Self::DenialForgotten, SmallAnswer::Denied) => SmallAnswer::Unsure,
            (Self::ConflictForEver, SmallAnswer::Conflict) => SmallAnswer::Forgotten,
            (Self::ConflictIsDone, SmallAnswer::Conflict) | (Self::NoAnswerIsDone, SmallAnswer::Unsure) => {
                SmallAnswer::Done
            }
            _ => answer,
        }
    }

    /// True iff this limit of a time is never reached.
    pub(super) fn forgets(self, limit: Limit) -> bool {
        matches!(
            (self, limit),
            (Self::ChecksCountForEver | Self::GuardCheckedOnce, Limit::Checks)
                | (Self::PatientForEver, Limit::Patience)
                | (Self::SettlesForEver, Limit::Settling)
        )
    }

    /// What is sent instead of a step.
    pub(super) fn sent(self, step: SmallStep, world: &ReplaceWorld) -> SmallStep {
        let live = |(uid, version): (u8, u8)| world.set.map_or((uid, version), |set| (set.uid, set.version));
        match (self, step) {
            (Self::NoFinalizer, SmallStep::LetGo(set)) => SmallStep::LetGo(SmallSet { ours: false, ..set }),
            (Self::NoVersionAtRelease, SmallStep::LetGo(set)) => {
                let (uid, version) = live((set.uid, set.version));
                SmallStep::LetGo(SmallSet { uid, version, ..set })
            }
            (Self::JournalOfBefore, SmallStep::WriteJournal(journal)) => match world.journal {
                Some(before) if journal.stage == SmallStage::Releasing => {
                    let mut set = before.set;
                    set.version = journal.set.version;
                    SmallStep::WriteJournal(SmallJournal { set, ..journal })
                }
                _ => step,
            },
            (Self::PartitionIsReplicas, SmallStep::Create(set)) if set.partition == HELD => {
                SmallStep::Create(SmallSet {
                    partition: set.replicas,
                    ..set
                })
            }
            (Self::NoPartition, SmallStep::Create(set)) => SmallStep::Create(SmallSet { partition: 0, ..set }),
            (Self::KeepsDelete, SmallStep::Mark(seen, _)) => SmallStep::Mark(seen, false),
            (Self::RetentionForgotten, SmallStep::Unmark(seen, _)) => SmallStep::Unmark(seen, false),
            (Self::KeepsFinalizer, SmallStep::Unmark(..))
            | (Self::LeavesFewerReplicas, SmallStep::ScaleUp(..))
            | (Self::NotAdopted, SmallStep::OwnReport(_)) => SmallStep::Nothing,
            _ => step,
        }
    }
}
