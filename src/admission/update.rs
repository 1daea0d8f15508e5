//! An UPDATE of a managed StatefulSet: rows U0 to U5.

use std::mem;

use super::lookups::Lookups;
use super::message;
use super::request_templates::{policy, read_templates, replace_set, restore_metadata, restore_sizes};
use super::requested_change::RequestedChange;
use super::scope::is_skipped;
use super::settings::{MetadataOnlyChanges, ReCreate, Settings};
use super::stage;
use super::withdraw::{self, Return};
use super::{checks, mounts, newer_version, staged_message, user_keys};
use crate::templates::rules::Shrink;
use crate::templates::{ClaimTemplate, Diff, HELD, Phase, Revision, StagedChange, UpdatePolicy, keys};
use crate::wire::{Denial, Edit, Object, Remarks, Review, Verdict};

/// The request and its settings.
pub(super) struct Update<'r, 'a> {
    pub(super) review: &'r Review<'a>,
    pub(super) settings: &'r Settings,
    pub(super) old: &'r Object<'a>,
    pub(super) new: &'r Object<'a>,
}

/// The templates that the request asks for.
enum AskedTemplates {
    /// The live templates, value for value.
    Live,
    /// The same in other values. The API server denies some of them, such as another order or a status.
    LikeLive,
    /// The staged templates.
    Staged,
    /// Other templates, and their difference to the current templates.
    New(Vec<ClaimTemplate>, Diff),
}

/// The result of judging the templates.
#[derive(Default)]
struct Outcome {
    /// The staged change after the request, and its text.
    change: Option<(StagedChange, String)>,
    /// True iff the PVCs that `ReCreate` deletes are those that the staged change before made necessary.
    keeps_time: bool,
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
        if newer_version::is_on(self.old) {
            return newer_version::update(self.review, self.settings, [self.old, self.new], lookups);
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
        let (asked, ignored) = if untouched {
            (AskedTemplates::Live, Vec::new())
        } else {
            self.asked(&live, staged.as_ref())?
        };

        let restores = !matches!(asked, AskedTemplates::Live) && self.old.spec.templates.is_some();
        let mut outcome = match asked {
            AskedTemplates::Live | AskedTemplates::LikeLive => self.unchanged(&live, staged, lookups)?,
            AskedTemplates::Staged => self.kept(&live, staged, lookups)?,
            AskedTemplates::New(asked, diff) => self.new_templates(&live, asked, &diff, staged.as_ref(), lookups)?,
        };
        if restores {
            outcome.edits.insert(0, Edit::RestoreTemplates);
        }
        outcome.remarks.warnings.extend(ignored);
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

    /// The staged templates, else the live ones.
    fn current<'w>(
        &self,
        live: &'w [ClaimTemplate],
        staged: Option<&'w (StagedChange, String)>,
    ) -> &'w [ClaimTemplate] {
        staged
            .filter(|_| !self.is_held())
            .map_or(live, |(change, _)| &change.templates)
    }

    /// What the request asks for, without what the settings ignore, and warnings about that.
    fn asked(
        &self,
        live: &[ClaimTemplate],
        staged: Option<&(StagedChange, String)>,
    ) -> Result<(AskedTemplates, Vec<String>), Denial> {
        let mut asked = read_templates(self.new, "object")?;
        let current = self.current(live, staged);
        let mut warnings = Vec::new();
        if self.settings.shrink == Shrink::Keep {
            warnings.extend(staged_message::sizes_kept(&restore_sizes([current, live], &mut asked)));
        }
        if self.settings.metadata_only_changes == MetadataOnlyChanges::Ignore {
            let mut like_live = asked.clone();
            let of_live = restore_metadata(live, &mut like_live);
            let ignored = if Diff::between(live, &like_live).is_empty() {
                asked = like_live;
                of_live
            } else {
                restore_metadata(current, &mut asked)
            };
            warnings.extend(staged_message::ignored(&ignored));
        }
        let diff = Diff::between(live, &asked);
        if diff.is_empty() {
            let is_same = warnings.is_empty() && self.old.has_templates_of(self.new);
            let asked = if is_same {
                AskedTemplates::Live
            } else {
                AskedTemplates::LikeLive
            };
            return Ok((asked, warnings));
        }
        let diff = if staged.is_some() {
            let mut of_current = Diff::between(current, &asked);
            of_current.add_unless_live(live, diff.changed);
            of_current
        } else {
            diff
        };
        if diff.is_empty() {
            return Ok((AskedTemplates::Staged, warnings));
        }
        Ok((AskedTemplates::New(asked, diff), warnings))
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
        let came_to = withdraw::classify(self.review, self.settings, [self.old, self.new], &change, live);
        if let Return::Withdraws(reason) = came_to {
            let revision = change.revision();
            let remarks = &mut outcome.remarks;
            remarks.audit.push(("withdrawn", revision.to_string()));
            remarks.audit.push(("withdrawn-by", reason.as_str().to_owned()));
            outcome.change = self.withdraw(live, &change, &revision, lookups, remarks);
            return Ok(outcome);
        }
        let still = (came_to == Return::Keeps).then(|| {
            let diff = Diff::between(live, &change.templates);
            staged_message::still_staged(&diff, &self.new.metadata.name, self.review.namespace())
        });
        outcome = self.kept(live, Some((change, text)), lookups)?;
        outcome.remarks.warnings.extend(still);
        Ok(outcome)
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
        let line = staged_message::withdrawn(&diff, revision, matches!(staged, Some(Ok(_))));
        remarks.warnings.insert(0, line);
        staged?
            .map_err(|denial| remarks.warnings.push(staged_message::not_taken_back(&denial.message)))
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
        stage::switch(RequestedChange { policy, ..change }, lookups, remarks)
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
            let diff = Diff::between(live, &change.templates);
            let switched = RequestedChange {
                policy,
                ..self.change(live, change.templates.clone(), live)
            };
            let checked = checks::check(&switched, &diff, lookups)?;
            let warnings = &mut outcome.remarks.warnings;
            let templates = diff.changed.len();
            warnings.push(staged_message::staged(&diff, &switched.reach(), policy, templates));
            warnings.extend(checked);
        }
        outcome.change = staged;
        Ok(outcome)
    }

    /// Row U3. `diff` is the difference to the current templates.
    fn new_templates(
        &self,
        live: &[ClaimTemplate],
        asked: Vec<ClaimTemplate>,
        diff: &Diff,
        staged: Option<&(StagedChange, String)>,
        lookups: &mut dyn Lookups,
    ) -> Result<Outcome, Denial> {
        let mut outcome = Outcome {
            keeps_time: staged.is_some() && !self.is_held() && !diff.needs_new_claims(),
            ..Outcome::default()
        };
        let change = self.change(self.current(live, staged), asked, live);
        outcome.change = Some(stage::stage(change, diff, lookups, &mut outcome.remarks)?);
        Ok(outcome)
    }

    fn change<'w>(
        &'w self,
        current: &'w [ClaimTemplate],
        asked: Vec<ClaimTemplate>,
        live: &'w [ClaimTemplate],
    ) -> RequestedChange<'w> {
        RequestedChange {
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
        // `phase`, `ready` and `staged-at` are kept and removed together with the staged change. A growth on top of it keeps
        // the time: a PVC that was created since then is not deleted for what was staged before that.
        let was = |key: &str| self.old.metadata.annotations.get(key);
        let change = outcome.change.as_ref();
        let is_kept = change.is_some_and(|(_, text)| was(keys::STAGED) == Some(text));
        let phase = change.map(|(change, _)| change.phase.flat(self.policy_after(Some(change))));
        let phase = phase.filter(|_| !is_kept || was(keys::PHASE).is_some());
        let keeps_time = is_kept || outcome.keeps_time;
        let kept = |key: &'static str, is_kept: bool| (key, was(key).filter(|_| is_kept));
        match &mut outcome.change {
            // The text is not used again.
            Some((_, text)) if found(keys::STAGED) != Some(text) => {
                outcome.edits.push(Edit::annotation(keys::STAGED, mem::take(text)));
            }
            None if found(keys::STAGED).is_some() => outcome.edits.push(Edit::no_annotation(keys::STAGED)),
            _ => {}
        }
        let [ready, time] = [kept(keys::READY, is_kept), kept(keys::STAGED_AT, keeps_time)];
        for (key, value) in [(keys::PHASE, phase), ready, time] {
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
            let line = staged_message::not_withdrawn(withdrawn, staged.as_ref());
            outcome.remarks.warnings.push(line);
        }
    }
}

/// True iff the update policy changes existing claims.
pub(super) fn touches_claims(policy: UpdatePolicy, settings: &Settings) -> bool {
    match policy {
        UpdatePolicy::OnClaimDelete => false,
        UpdatePolicy::InPlace => true,
        UpdatePolicy::ReCreate => settings.recreate == ReCreate::Allowed,
    }
}
