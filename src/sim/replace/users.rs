//! Users, scalers, GitOps tools, and the controllers of namespaces and quotas.

use super::objects::{PLACES, POD, SmallAnswer, SmallJournal, SmallSet, SmallStage};
use super::world::{Propagation, ReplaceWorld};

/// What somebody does once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ReplaceAction {
    /// An autoscaler, or a user.
    Scale(u8),
    Label,
    Image,
    /// Changes `whenDeleted` to `Delete`.
    DeleteClaims,
    /// Changes `whenDeleted` to `Retain`, also where it is `Retain` because of us.
    RetainClaims,
    /// Restores the Secret of the last journal from a backup.
    RestoreJournal,
    Delete(Propagation),
    DeletePod(u8),
    /// Creates the StatefulSet from a manifest, if there is none.
    Create {
        grown: bool,
        replicas: u8,
    },
    RemoveGuard,
    FillQuota,
    DeleteNamespace,
    CreateNamespace,
}

impl ReplaceWorld {
    /// Does it, if the API server accepts it.
    pub(super) fn act(&mut self, action: ReplaceAction) -> SmallAnswer {
        match action {
            ReplaceAction::Scale(replicas) => self.write(|set| set.replicas = replicas),
            ReplaceAction::Label => self.write(|set| set.label += 1),
            ReplaceAction::Image => self.write(|set| (set.image, set.image_of_user) = (1, true)),
            ReplaceAction::DeleteClaims => self.write(|set| (set.deletes_claims, set.retained_by_user) = (true, true)),
            ReplaceAction::RetainClaims => {
                let answer = self.write(|set| (set.deletes_claims, set.retained_by_user) = (false, true));
                self.truth.deletes_claims &= answer != SmallAnswer::Done;
                answer
            }
            ReplaceAction::RestoreJournal => self.restore_journal(),
            ReplaceAction::Delete(propagation) => self.delete_by_user(propagation),
            ReplaceAction::DeletePod(place) => {
                self.truth.excused |= 1 << place;
                self.dependents[POD][usize::from(place)]
                    .take()
                    .map_or(SmallAnswer::NotFound, |_| SmallAnswer::Done)
            }
            ReplaceAction::Create { grown, replicas } => self.create_from_manifest(grown, replicas),
            ReplaceAction::RemoveGuard => {
                self.guard = false;
                SmallAnswer::Done
            }
            ReplaceAction::FillQuota => {
                self.room = false;
                SmallAnswer::Done
            }
            ReplaceAction::DeleteNamespace => {
                self.namespace_ends = true;
                self.note_delete();
                SmallAnswer::Done
            }
            ReplaceAction::CreateNamespace if self.namespace == 0 => {
                (self.namespace, self.namespace_ends) = (2, false);
                SmallAnswer::Done
            }
            ReplaceAction::CreateNamespace => SmallAnswer::Conflict,
        }
    }

    /// A write that the API server acknowledges.
    fn write(&mut self, write: impl FnOnce(&mut SmallSet)) -> SmallAnswer {
        let answer = self.change(write);
        let truth = &mut self.truth;
        if let Some(set) = self.set.filter(|_| answer == SmallAnswer::Done) {
            (truth.replicas, truth.label) = (set.replicas, set.label);
            truth.image = if set.image_of_user { set.image } else { truth.image };
            truth.deletes_claims |= set.deletes_claims;
            self.excuse_from(set.replicas);
        }
        answer
    }

    fn restore_journal(&mut self) -> SmallAnswer {
        let Some(backup) = self.backup.filter(|_| self.journal.is_none()) else {
            return SmallAnswer::NotFound;
        };
        let version = self.next_version();
        self.journal = Some(SmallJournal {
            version,
            restored: true,
            ..backup
        });
        SmallAnswer::Done
    }

    fn excuse_from(&mut self, replicas: u8) {
        let places = usize::from(replicas)..PLACES;
        self.truth.excused |= places.fold(0, |bits, place| bits | 1 << place);
    }

    fn delete_by_user(&mut self, propagation: Propagation) -> SmallAnswer {
        let Some(set) = self.set else {
            return SmallAnswer::NotFound;
        };
        if self.guard && set.ours {
            return SmallAnswer::Denied;
        }
        // Without the guard, such a DELETE leaves no trace that is not also of ours: the set is kept rather than lost.
        let is_seen = !set.ours || set.uid != 1 || propagation == Propagation::Foreground;
        // We have not seen the set that somebody created while there was none.
        let is_unseen = |journal: SmallJournal| journal.stage == SmallStage::Releasing && journal.set.uid != set.uid;
        self.delete(propagation);
        self.note_delete();
        self.truth.deleted = is_seen;
        if !set.ours && self.journal.is_some_and(is_unseen) {
            self.truth.creating = u8::MAX;
        }
        SmallAnswer::Done
    }

    fn create_from_manifest(&mut self, grown: bool, replicas: u8) -> SmallAnswer {
        let answer = self.create(SmallSet {
            replicas,
            grown,
            deletes_claims: self.truth.deletes_claims,
            ..SmallSet::default()
        });
        if answer == SmallAnswer::Done {
            let truth = &mut self.truth;
            (truth.foreign, truth.deleted, truth.label, truth.image) = (true, false, 0, 0);
            self.excuse_from(replicas);
        }
        answer
    }

    /// The namespace controller deletes what it may, and the namespace when nothing is left.
    pub(super) fn end_namespace(&mut self) {
        if !self.namespace_ends {
            return;
        }
        if self.set.is_some_and(|set| !(set.terminating || self.guard && set.ours)) {
            self.delete(Propagation::Background);
        }
        self.drop_dependents(|_| true);
        if self.set.is_none() && self.namespace != 0 {
            self.namespace = 0;
            self.note_delete();
        }
    }
}
