//! An UPDATE of a managed StatefulSet: rows U0 to U5.

use std::mem;

use super::asked::{policy, read_templates, replace_set, restore_metadata};
use super::asked_change::AskedChange;
use super::judged::is_skipped;
use super::lookups::Lookups;
use super::message;
use super::review::{Object, Review};
use super::settings::{MetadataOnlyChanges, ReCreate, Settings};
use super::stage;
use super::verdict::{Denial, Edit, Remarks, Verdict};
use super::{authority, mounts, newer, user_keys, withdraw};
use crate::templates::rules::Shrink;
use crate::templates::{ClaimTemplate, Diff, HELD, Phase, Revision, StagedChange, UpdatePolicy, keys};

/// The request and its settings.
pub(super) struct Update<'r, 'a> {
    pub(super) review: &'r Review<'a>,
    pub(super) settings: &'r Settings,
    pub(super) old: &'r Object<'a>,
    pub(super) new: &'r Object<'a>,
}

/// The templates that the request asks for.
enum AskedTemplates {
    /// The live templates, in their order.
    Live,
    /// The live templates in another order, which the API server denies.
    Reordered,
    /// The live templates; the changed labels and annotations of these templates are ignored (`metadataOnlyChanges`).
    Ignored(Vec<String>),
    /// The staged templates.
    Staged,
    /// Other templates, and their difference to the live templates.
    New(Vec<ClaimTemplate>, Diff),
}

/// The result of judging the templates.
#[derive(Default)]
struct Outcome {
    /// The staged change after the request, and its text.
    change: Option<(StagedChange, String)>,
    edits: Vec<Edit>,
    remarks: Remarks,
}

impl Update<'_, '_> {
    pub(super) fn decide(&self, lookups: &mut dyn Lookups) -> Result<Verdict, Denial> {
        let untouched = self.new.templates() == self.old.templates();
        if untouched && self.old.metadata.annotations.is_empty() && self.new.metadata.annotations.is_empty() {
            return Ok(Verdict::PASS);
        }
        user_keys::check(Some(self.old), self.new, self.settings)?;
        user_keys::check_authority(self.review, Some(self.old), self.new, self.settings, lookups)?;
        if newer::is_on(self.old) {
            return newer::update(self.review, self.settings, [self.old, self.new], lookups);
        }
        let text = self.old.metadata.annotations.get(keys::STAGED);
        let uid = &self.old.metadata.uid;
        let read = text.map(|text| StagedChange::read(text, uid).map(|change| (change, text.to_owned())));
        let unreadable = read
            .as_ref()
            .and_then(|read| read.as_ref().err())
            .map(ToString::to_string);
        let staged = read.and_then(Result::ok);
        // Templates that nothing depends on are not read: the API server accepts more than we can read.
        let unread = untouched && staged.is_none() && !self.is_switched_on(None);
        let live = if unread {
            Vec::new()
        } else {
            read_templates(self.old, "oldObject")?
        };
        let asked = if untouched {
            AskedTemplates::Live
        } else {
            self.asked(&live, staged.as_ref())?
        };

        let mut outcome = match asked {
            AskedTemplates::Live => self.unchanged(&live, staged, lookups)?,
            AskedTemplates::Reordered => {
                let mut outcome = self.unchanged(&live, staged, lookups)?;
                outcome.edits.push(Edit::RestoreTemplates);
                outcome
            }
            AskedTemplates::Ignored(templates) => {
                let mut outcome = self.unchanged(&live, staged, lookups)?;
                outcome.edits.push(Edit::RestoreTemplates);
                outcome.remarks.warnings.extend(message::ignored(&templates));
                outcome
            }
            AskedTemplates::Staged => {
                let mut outcome = self.kept(&live, staged, lookups)?;
                outcome.edits.push(Edit::RestoreTemplates);
                outcome
            }
            AskedTemplates::New(asked, diff) => self.new_templates(&live, asked, diff, staged, lookups)?,
        };
        self.check_mounts(&live, &outcome)?;
        outcome
            .remarks
            .warnings
            .extend(user_keys::warnings(Some(self.old), self.new));
        if let Some(why) = unreadable.filter(|_| self.new.metadata.annotations.get(keys::STAGED) == text) {
            outcome.remarks.warnings.push(message::staged_removed(&why));
        }
        self.annotate(&mut outcome);
        Ok(Verdict::with(outcome.edits, outcome.remarks))
    }

    /// True iff the controller does not roll out the staged change: the same templates are staged anew.
    fn is_held(&self) -> bool {
        self.old.metadata.annotations.get(keys::READY) == Some(HELD)
    }

    fn asked(&self, live: &[ClaimTemplate], staged: Option<&(StagedChange, String)>) -> Result<AskedTemplates, Denial> {
        let asked = read_templates(self.new, "object")?;
        let diff = Diff::between(live, &asked);
        if diff.is_empty() {
            let names = |list: &[ClaimTemplate]| list.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
            return Ok(if names(live) == names(&asked) {
                AskedTemplates::Live
            } else {
                AskedTemplates::Reordered
            });
        }
        if self.settings.metadata_only_changes == MetadataOnlyChanges::Ignore {
            let mut plain = asked.clone();
            let ignored = restore_metadata(live, &mut plain);
            if Diff::between(live, &plain).is_empty() {
                return Ok(AskedTemplates::Ignored(ignored));
            }
        }
        let is_staged =
            !self.is_held() && staged.is_some_and(|(change, _)| Diff::between(&change.templates, &asked).is_empty());
        Ok(if is_staged {
            AskedTemplates::Staged
        } else {
            AskedTemplates::New(asked, diff)
        })
    }

    /// Rows U0, U1 and U5: the request asks for the templates that the set has.
    fn unchanged(
        &self,
        live: &[ClaimTemplate],
        staged: Option<(StagedChange, String)>,
        lookups: &mut dyn Lookups,
    ) -> Result<Outcome, Denial> {
        let mut outcome = Outcome::default();
        let Some((change, text)) = staged else {
            if self.is_switched_on(None) && !live.is_empty() {
                outcome.change = Some(self.stage_live(live, None, lookups, &mut outcome.remarks)?);
            }
            return Ok(outcome);
        };
        if let Some(reason) = withdraw::reason(self.review, self.settings, [self.old, self.new], &change, live) {
            let revision = change.revision();
            let remarks = &mut outcome.remarks;
            remarks.audit.push(("withdrawn", revision.to_string()));
            remarks.audit.push(("withdrawn-by", reason.as_str().to_owned()));
            outcome.change = self.withdraw(live, &change, &revision, lookups, remarks);
            return Ok(outcome);
        }
        self.kept(live, Some((change, text)), lookups)
    }

    /// A withdrawal. With `shrink: Recover`, and if the requester may patch claims, the live templates are staged,
    /// which undoes a growth that claims have not reached. The withdrawal itself never depends on that.
    fn withdraw(
        &self,
        live: &[ClaimTemplate],
        change: &StagedChange,
        revision: &Revision,
        lookups: &mut dyn Lookups,
        remarks: &mut Remarks,
    ) -> Option<(StagedChange, String)> {
        let policy = self.policy_after(Some(change));
        let recovers = self.settings.shrink == Shrink::Recover
            && policy == UpdatePolicy::InPlace
            && change.phase == Phase::RollingOut
            && Diff::between(&change.templates, live).takes_back();
        let staged = recovers.then(|| self.stage_live(live, Some(change), lookups, remarks));
        let diff = Diff::between(live, &change.templates);
        let line = message::withdrawn(&diff, revision, matches!(staged, Some(Ok(_))));
        remarks.warnings.insert(0, line);
        staged?
            .map_err(|denial| remarks.warnings.push(message::not_taken_back(&denial.message)))
            .ok()
    }

    /// Stages the live templates, under the update policy in force with the staged change that existed before.
    fn stage_live(
        &self,
        live: &[ClaimTemplate],
        before: Option<&StagedChange>,
        lookups: &mut dyn Lookups,
        remarks: &mut Remarks,
    ) -> Result<(StagedChange, String), Denial> {
        let policy = self.policy_after(before);
        let change = self.change(live, live.to_vec(), live);
        stage::switch(AskedChange { policy, ..change }, lookups, remarks)
    }

    /// Keeps the staged change. If the request makes the staged change roll out, its requester must be allowed to
    /// change claims.
    fn kept(
        &self,
        live: &[ClaimTemplate],
        staged: Option<(StagedChange, String)>,
        lookups: &mut dyn Lookups,
    ) -> Result<Outcome, Denial> {
        let mut outcome = Outcome::default();
        if let Some((change, _)) = &staged
            && self.settings.replaces(replace_set(self.old))
            && !self.settings.replaces(replace_set(self.new))
            && Diff::between(live, &change.templates).renames()
        {
            return Err(Denial::forbidden(message::must_be_replaced()));
        }
        if let Some((change, _)) = &staged
            && self.is_switched_on(Some(change))
        {
            let policy = self.policy_after(Some(change));
            let sets = [self.old, self.new];
            user_keys::check_rollout(self.review, self.settings, (policy, false), sets, lookups)?;
            let (set, replicas) = (&self.new.metadata.name, self.new.replicas());
            let diff = Diff::between(live, &change.templates);
            outcome
                .remarks
                .warnings
                .push(message::staged(set, &diff, replicas, policy));
        }
        outcome.change = staged;
        Ok(outcome)
    }

    /// Row U3.
    fn new_templates(
        &self,
        live: &[ClaimTemplate],
        mut asked: Vec<ClaimTemplate>,
        mut diff: Diff,
        staged: Option<(StagedChange, String)>,
        lookups: &mut dyn Lookups,
    ) -> Result<Outcome, Denial> {
        let rolled_out = staged.as_ref().filter(|_| !self.is_held());
        let current = rolled_out.map_or(live, |(change, _)| &change.templates);
        let mut outcome = Outcome::default();
        let ignores = self.settings.metadata_only_changes == MetadataOnlyChanges::Ignore;
        if ignores {
            let ignored = restore_metadata(current, &mut asked);
            outcome.remarks.warnings.extend(message::ignored(&ignored));
        }
        if ignores || staged.is_some() {
            diff = Diff::between(current, &asked);
            diff.add_unless_live(live);
        }
        outcome.edits.push(Edit::RestoreTemplates);
        if diff.is_empty() {
            let kept = self.kept(live, staged, lookups)?;
            outcome.change = kept.change;
            outcome.remarks.warnings.extend(kept.remarks.warnings);
            return Ok(outcome);
        }
        let change = self.change(current, asked, live);
        outcome.change = Some(stage::stage(change, &diff, lookups, &mut outcome.remarks)?);
        Ok(outcome)
    }

    fn change<'w>(
        &'w self,
        current: &'w [ClaimTemplate],
        asked: Vec<ClaimTemplate>,
        live: &'w [ClaimTemplate],
    ) -> AskedChange<'w> {
        AskedChange {
            review: self.review,
            settings: self.settings,
            old: self.old,
            new: self.new,
            policy: self.policy_after(None),
            current,
            live,
            asked,
        }
    }

    /// Denies a Pod template that mounts the volume of a template that is not live yet.
    fn check_mounts(&self, live: &[ClaimTemplate], outcome: &Outcome) -> Result<(), Denial> {
        let Some((change, _)) = &outcome.change else {
            return Ok(());
        };
        mounts::too_early(self.new, live, change).map_or(Ok(()), |volume| {
            Err(Denial::forbidden(message::mounted_too_early(volume)))
        })
    }

    /// The update policy in force after the request.
    fn policy_after(&self, change: Option<&StagedChange>) -> UpdatePolicy {
        policy(self.new, change, self.settings)
    }

    /// True iff the staged change reaches existing claims because of this request: the update policy in force changes,
    /// or the request removes the owner that kept the set from being staged. While nothing is staged, only setting the
    /// annotation counts.
    fn is_switched_on(&self, change: Option<&StagedChange>) -> bool {
        let annotation = |set: &Object<'_>| set.metadata.annotations.get(keys::UPDATE_POLICY).map(str::to_owned);
        if change.is_none() && (annotation(self.new).is_none() || annotation(self.old) == annotation(self.new)) {
            return false;
        }
        let before = if is_skipped(self.old, self.settings) {
            UpdatePolicy::OnClaimDelete
        } else {
            policy(self.old, change, self.settings)
        };
        let after = self.policy_after(change);
        touches_claims(after, self.settings) && before != after
    }

    /// Corrects the annotations that users may not write.
    fn annotate(&self, outcome: &mut Outcome) {
        let found = |key: &str| self.new.metadata.annotations.get(key);
        // `phase`, `ready` and `staged-at` are kept and removed together with the staged change.
        let was = |key: &str| self.old.metadata.annotations.get(key);
        let change = outcome.change.as_ref();
        let is_kept = change.is_some_and(|(_, text)| was(keys::STAGED) == Some(text));
        let phase = change.map(|(change, _)| change.phase.flat(self.policy_after(Some(change))));
        let phase = phase.filter(|_| !is_kept || was(keys::PHASE).is_some());
        let kept = |key: &'static str| (key, was(key).filter(|_| is_kept));
        match &mut outcome.change {
            // The text is not used again.
            Some((_, text)) if found(keys::STAGED) != Some(text) => {
                outcome.edits.push(Edit::annotation(keys::STAGED, mem::take(text)));
            }
            None if found(keys::STAGED).is_some() => outcome.edits.push(Edit::no_annotation(keys::STAGED)),
            _ => {}
        }
        for (key, value) in [(keys::PHASE, phase), kept(keys::READY), kept(keys::STAGED_AT)] {
            match value {
                _ if value == found(key) => {}
                Some(value) => outcome.edits.push(Edit::annotation(key, value.to_owned())),
                None => outcome.edits.push(Edit::no_annotation(key)),
            }
        }
        let Some(withdrawn) = found(keys::WITHDRAW) else {
            return;
        };
        outcome.edits.push(Edit::no_annotation(keys::WITHDRAW));
        // The annotation is always removed; a warning reports that nothing was withdrawn.
        if outcome.remarks.audit.iter().all(|(key, _)| *key != "withdrawn") {
            let staged = outcome.change.as_ref().map(|(change, _)| change.revision());
            let line = message::not_withdrawn(withdrawn, staged.as_ref());
            outcome.remarks.warnings.push(line);
        }
    }
}

/// True iff the update policy changes existing claims.
fn touches_claims(policy: UpdatePolicy, settings: &Settings) -> bool {
    match policy {
        UpdatePolicy::OnClaimDelete => false,
        UpdatePolicy::InPlace => true,
        UpdatePolicy::ReCreate => settings.recreate == ReCreate::Allowed,
    }
}

/// Row U5 for a request that only removes the owner that kept the set from being staged.
pub(super) fn check_freed(
    review: &Review<'_>,
    settings: &Settings,
    old: &Object<'_>,
    lookups: &mut dyn Lookups,
) -> Result<(), Denial> {
    if newer::is_on(old) {
        return authority::check(review, settings, authority::rollout(UpdatePolicy::InPlace), lookups);
    }
    let text = old.metadata.annotations.get(keys::STAGED);
    let Some(change) = text.and_then(|text| StagedChange::read(text, &old.metadata.uid).ok()) else {
        return Ok(());
    };
    let policy = policy(old, Some(&change), settings);
    if !touches_claims(policy, settings) {
        return Ok(());
    }
    authority::check(review, settings, authority::rollout(policy), lookups)
}
