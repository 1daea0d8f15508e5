//! An UPDATE of a set that is looked after: rows U0 to U5.

use std::mem;

use super::asked::{policy, read_templates, take_back_metadata};
use super::judged::is_skipped;
use super::lookups::Lookups;
use super::message;
use super::review::{Object, Review};
use super::settings::{MetadataOnlyChanges, ReCreate, Settings};
use super::stage;
use super::verdict::{Edit, Refusal, Remarks, Verdict};
use super::wish::Wish;
use super::{authority, checks, newer, user_keys, withdraw};
use crate::templates::rules::Shrink;
use crate::templates::{ClaimTemplate, Diff, Phase, Record, Revision, UpdatePolicy, keys};

/// The request.
pub(super) struct Update<'r, 'a> {
    pub(super) review: &'r Review<'a>,
    pub(super) settings: &'r Settings,
    pub(super) old: &'r Object<'a>,
    pub(super) new: &'r Object<'a>,
}

/// What the request says about the templates.
enum Asked {
    /// The live ones, in their order.
    Live,
    /// The live ones in another order, which the API server would refuse.
    Reordered,
    /// The live ones but for labels and annotations of these, which the setting ignores.
    Ignored(Vec<String>),
    /// The staged ones.
    Staged,
    /// Something new, and how it differs from the live ones.
    New(Vec<ClaimTemplate>, Diff),
}

/// What is known once the templates have been judged.
#[derive(Default)]
struct Outcome {
    /// The record after the request, and its text.
    record: Option<(Record, String)>,
    edits: Vec<Edit>,
    remarks: Remarks,
}

impl Update<'_, '_> {
    pub(super) fn decide(&self, lookups: &mut dyn Lookups) -> Result<Verdict, Refusal> {
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
        let read = text.map(|text| Record::read(text, uid).map(|record| (record, text.to_owned())));
        let unreadable = read
            .as_ref()
            .and_then(|read| read.as_ref().err())
            .map(ToString::to_string);
        let staged = read.and_then(Result::ok);
        // Where nothing hangs on the live templates they may be what they are: the API server takes more than is read here.
        let unread = untouched && staged.is_none() && !self.is_switched_on(None);
        let live = if unread {
            Vec::new()
        } else {
            read_templates(self.old, "oldObject")?
        };
        let asked = if untouched {
            Asked::Live
        } else {
            self.asked(&live, staged.as_ref())?
        };

        let mut outcome = match asked {
            Asked::Live => self.unchanged(&live, staged, lookups)?,
            Asked::Reordered => {
                let mut outcome = self.unchanged(&live, staged, lookups)?;
                outcome.edits.push(Edit::RestoreTemplates);
                outcome
            }
            Asked::Ignored(templates) => {
                let mut outcome = self.unchanged(&live, staged, lookups)?;
                outcome.edits.push(Edit::RestoreTemplates);
                outcome.remarks.warnings.extend(message::ignored(&templates));
                outcome
            }
            Asked::Staged => {
                let mut outcome = self.kept(&live, staged, lookups)?;
                outcome.edits.push(Edit::RestoreTemplates);
                outcome
            }
            Asked::New(asked, diff) => self.new_wish(&live, asked, diff, staged, lookups)?,
        };
        outcome
            .remarks
            .warnings
            .extend(user_keys::warnings(Some(self.old), self.new));
        if let Some(why) = unreadable.filter(|_| self.new.metadata.annotations.get(keys::STAGED) == text) {
            outcome.remarks.warnings.push(message::unreadable(&why));
        }
        self.annotate(&mut outcome);
        Ok(Verdict::with(outcome.edits, outcome.remarks))
    }

    fn asked(&self, live: &[ClaimTemplate], staged: Option<&(Record, String)>) -> Result<Asked, Refusal> {
        let asked = read_templates(self.new, "object")?;
        let diff = Diff::between(live, &asked);
        if diff.is_empty() {
            let names = |list: &[ClaimTemplate]| list.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
            return Ok(if names(live) == names(&asked) {
                Asked::Live
            } else {
                Asked::Reordered
            });
        }
        if self.settings.metadata_only_changes == MetadataOnlyChanges::Ignore {
            let mut plain = asked.clone();
            let ignored = take_back_metadata(live, &mut plain);
            if Diff::between(live, &plain).is_empty() {
                return Ok(Asked::Ignored(ignored));
            }
        }
        let same_wish = staged.is_some_and(|(record, _)| Diff::between(&record.templates, &asked).is_empty());
        Ok(if same_wish {
            Asked::Staged
        } else {
            Asked::New(asked, diff)
        })
    }

    /// Rows U0, U1 and U5: the request asks for the templates that the set has.
    fn unchanged(
        &self,
        live: &[ClaimTemplate],
        staged: Option<(Record, String)>,
        lookups: &mut dyn Lookups,
    ) -> Result<Outcome, Refusal> {
        let mut outcome = Outcome::default();
        let Some((record, text)) = staged else {
            if self.is_switched_on(None) && !live.is_empty() {
                outcome.record = Some(self.stage_live(live, None, lookups, &mut outcome.remarks)?);
            }
            return Ok(outcome);
        };
        if let Some(reason) = withdraw::reason(self.review, self.settings, [self.old, self.new], &record, live) {
            let revision = record.revision();
            let remarks = &mut outcome.remarks;
            remarks.audit.push(("withdrawn", revision.to_string()));
            remarks.audit.push(("withdrawn-by", reason.as_str().to_owned()));
            outcome.record = self.taken_back(live, &record, &revision, lookups, remarks);
            return Ok(outcome);
        }
        self.kept(live, Some((record, text)), lookups)
    }

    /// The record that takes back what claims have not reached, where the setting allows that and the requester may patch
    /// claims: the live templates are staged. Whatever speaks against it, the wish is withdrawn.
    fn taken_back(
        &self,
        live: &[ClaimTemplate],
        record: &Record,
        revision: &Revision,
        lookups: &mut dyn Lookups,
        remarks: &mut Remarks,
    ) -> Option<(Record, String)> {
        let policy = self.policy_after(Some(record));
        let recovers = self.settings.shrink == Shrink::Recover
            && policy == UpdatePolicy::InPlace
            && record.phase == Phase::RollingOut
            && checks::takes_back(&Diff::between(&record.templates, live));
        let staged = recovers.then(|| self.stage_live(live, Some(record), lookups, remarks));
        let diff = Diff::between(live, &record.templates);
        let line = message::withdrawn(&diff, revision, matches!(staged, Some(Ok(_))));
        remarks.warnings.insert(0, line);
        staged?
            .map_err(|refusal| remarks.warnings.push(message::not_taken_back(&refusal.message)))
            .ok()
    }

    /// The record of the templates that the set has, under the policy in force beside the record that was there.
    fn stage_live(
        &self,
        live: &[ClaimTemplate],
        before: Option<&Record>,
        lookups: &mut dyn Lookups,
        remarks: &mut Remarks,
    ) -> Result<(Record, String), Refusal> {
        let policy = self.policy_after(before);
        let wish = self.wish(live, live.to_vec(), live);
        stage::switch(Wish { policy, ..wish }, lookups, remarks)
    }

    /// The record as it was, whatever the request says about templates. What was staged while claims stayed as they are
    /// may reach them now: that is for who may change claims.
    fn kept(
        &self,
        live: &[ClaimTemplate],
        staged: Option<(Record, String)>,
        lookups: &mut dyn Lookups,
    ) -> Result<Outcome, Refusal> {
        let mut outcome = Outcome::default();
        if let Some((record, _)) = &staged
            && self.is_switched_on(Some(record))
        {
            let policy = self.policy_after(Some(record));
            authority::check(self.review, self.settings, authority::rollout(policy), lookups)?;
            let (set, replicas) = (&self.new.metadata.name, self.new.replicas());
            let diff = Diff::between(live, &record.templates);
            outcome
                .remarks
                .warnings
                .push(message::staged(set, &diff, replicas, policy));
        }
        outcome.record = staged;
        Ok(outcome)
    }

    /// Row U3.
    fn new_wish(
        &self,
        live: &[ClaimTemplate],
        mut asked: Vec<ClaimTemplate>,
        mut diff: Diff,
        staged: Option<(Record, String)>,
        lookups: &mut dyn Lookups,
    ) -> Result<Outcome, Refusal> {
        let current = staged.as_ref().map_or(live, |(record, _)| &record.templates);
        let mut outcome = Outcome::default();
        let ignores = self.settings.metadata_only_changes == MetadataOnlyChanges::Ignore;
        if ignores {
            let ignored = take_back_metadata(current, &mut asked);
            outcome.remarks.warnings.extend(message::ignored(&ignored));
        }
        if ignores || staged.is_some() {
            diff = Diff::between(current, &asked);
        }
        outcome.edits.push(Edit::RestoreTemplates);
        if diff.is_empty() {
            let kept = self.kept(live, staged, lookups)?;
            outcome.record = kept.record;
            outcome.remarks.warnings.extend(kept.remarks.warnings);
            return Ok(outcome);
        }
        let wish = self.wish(current, asked, live);
        outcome.record = Some(stage::stage(wish, &diff, lookups, &mut outcome.remarks)?);
        Ok(outcome)
    }

    fn wish<'w>(
        &'w self,
        current: &'w [ClaimTemplate],
        asked: Vec<ClaimTemplate>,
        live: &'w [ClaimTemplate],
    ) -> Wish<'w> {
        Wish {
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

    /// The update policy in force after the request: the annotation, else the record's, else the setting.
    fn policy_after(&self, record: Option<&Record>) -> UpdatePolicy {
        policy(self.new, record, self.settings)
    }

    /// True iff what is staged reaches existing claims from this request on: the update policy in force changes, or an
    /// owner goes that kept the set from being staged. With nothing staged only an annotation that is set is such a wish.
    fn is_switched_on(&self, record: Option<&Record>) -> bool {
        let annotation = |set: &Object<'_>| set.metadata.annotations.get(keys::UPDATE_POLICY).map(str::to_owned);
        if record.is_none() && (annotation(self.new).is_none() || annotation(self.old) == annotation(self.new)) {
            return false;
        }
        let before = if is_skipped(self.old, self.settings) {
            UpdatePolicy::OnClaimDelete
        } else {
            policy(self.old, record, self.settings)
        };
        let after = self.policy_after(record);
        touches_claims(after, self.settings) && before != after
    }

    /// Puts the annotations that are not the user's to what they have to be.
    fn annotate(&self, outcome: &mut Outcome) {
        let found = |key: &str| self.new.metadata.annotations.get(key);
        // What was said of the staged change stays with it, and goes with it.
        let was = |key: &str| self.old.metadata.annotations.get(key);
        let record = outcome.record.as_ref();
        let is_kept = record.is_some_and(|(_, text)| was(keys::STAGED) == Some(text));
        let phase = record.map(|(record, _)| record.phase.flat(self.policy_after(Some(record))));
        let phase = phase.filter(|_| !is_kept || was(keys::PHASE).is_some());
        let ready = was(keys::READY).filter(|_| is_kept);
        match &mut outcome.record {
            // Nobody asks for the text any more.
            Some((_, text)) if found(keys::STAGED) != Some(text) => {
                outcome.edits.push(Edit::annotation(keys::STAGED, mem::take(text)));
            }
            None if found(keys::STAGED).is_some() => outcome.edits.push(Edit::no_annotation(keys::STAGED)),
            _ => {}
        }
        for (key, value) in [(keys::PHASE, phase), (keys::READY, ready)] {
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
        // It is consumed whatever it names; a user who meant something is told that it was not done.
        if outcome.remarks.audit.iter().all(|(key, _)| *key != "withdrawn") {
            let staged = outcome.record.as_ref().map(|(record, _)| record.revision());
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

/// Row U5 where nothing changes but that the owner goes which kept the set from being staged.
pub(super) fn check_freed(
    review: &Review<'_>,
    settings: &Settings,
    old: &Object<'_>,
    lookups: &mut dyn Lookups,
) -> Result<(), Refusal> {
    if newer::is_on(old) {
        return authority::check(review, settings, authority::rollout(UpdatePolicy::InPlace), lookups);
    }
    let text = old.metadata.annotations.get(keys::STAGED);
    let Some(record) = text.and_then(|text| Record::read(text, &old.metadata.uid).ok()) else {
        return Ok(());
    };
    let policy = policy(old, Some(&record), settings);
    if !touches_claims(policy, settings) {
        return Ok(());
    }
    authority::check(review, settings, authority::rollout(policy), lookups)
}
