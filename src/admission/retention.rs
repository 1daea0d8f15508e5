//! Row R1: claims that a request would delete through the retention policy of the set (KEP-1847).
//!
//! Kubernetes deletes them without a warning. With the setting `retention`, a warning names them first, or the request
//! is denied. Nothing is mutated.

use std::ops::Range;

use super::lookups::{CannotAsk, Get, Lookups};
use super::message;
use super::request_templates::read_templates;
use super::scope::is_skipped;
use super::settings::{Retention, Settings};
use crate::claims::retention::{Event, Fate, Ordinal, Ownership, PodUid, RetentionPolicy};
use crate::claims::{Claim, retention};
use crate::templates::{ClaimName, ClaimTemplate};
use crate::wire::{Denial, Error, Object, Review, read};

/// True iff the setting `retention` is not `Ignore`.
pub(super) fn is_on(settings: &Settings) -> bool {
    settings.retention != Retention::Ignore
}

/// A scale-down, or a change of the policy during a scale-down.
pub(super) fn update(
    review: &Review<'_>,
    settings: &Settings,
    [old, new]: [&Object<'_>; 2],
    lookups: &mut dyn Lookups,
) -> Result<Vec<String>, Denial> {
    if !is_on(settings) {
        return Ok(Vec::new());
    }
    let policy = policy(new)?;
    let before = ordinals(old, old.replicas())?;
    let mut scaled_down = removed(&before, &ordinals(new, new.replicas())?);
    let existing = old.existing_replicas().map_err(malformed)?;
    if policy != self::policy(old)? {
        scaled_down.extend(removed(&ordinals(old, existing)?, &before));
    }
    if policy.when_scaled == retention::RetentionType::Retain && policy == self::policy(old)? {
        return Ok(Vec::new());
    }
    Question::of_scale_down(review, settings, old, policy).answer(&scaled_down, lookups)
}

/// A scale-down through the subresource `scale`; the set is looked up.
pub(super) fn scale(
    review: &Review<'_>,
    settings: &Settings,
    [old, new]: [&Object<'_>; 2],
    lookups: &mut dyn Lookups,
) -> Result<Vec<String>, Denial> {
    if new.spec.replicas.unwrap_or(0) >= old.spec.replicas.unwrap_or(0) {
        return Ok(Vec::new());
    }
    let text = match lookups.get(&Get::set(review.namespace(), &old.metadata.name)) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(Vec::new()),
        Err(error) => return unknown(settings, &error),
    };
    let set = read(&text).ok_or_else(|| Denial::malformed(message::denial("the StatefulSet cannot be read")))?;
    if is_skipped(&set, settings) {
        return Ok(Vec::new());
    }
    let policy = policy(&set)?;
    if policy.when_scaled == retention::RetentionType::Retain {
        return Ok(Vec::new());
    }
    let before = ordinals(&set, old.spec.replicas.unwrap_or(0))?;
    let after = ordinals(&set, new.spec.replicas.unwrap_or(0))?;
    let scaled_down = removed(&before, &after);
    Question::of_scale_down(review, settings, &set, policy).answer(&scaled_down, lookups)
}

/// The deletion of a set.
pub(super) fn delete(
    review: &Review<'_>,
    settings: &Settings,
    old: &Object<'_>,
    lookups: &mut dyn Lookups,
) -> Result<Vec<String>, Denial> {
    let policy = policy(old)?;
    if policy.when_deleted == retention::RetentionType::Retain {
        return Ok(Vec::new());
    }
    let orphan = review.options.propagation_policy == "Orphan" || review.options.orphan_dependents;
    let question = Question {
        review,
        settings,
        set: old,
        policy,
        event: if orphan { Event::OrphanSet } else { Event::DeleteSet },
        why: "whenDeleted",
    };
    question.answer(&[ordinals(old, old.replicas())?], lookups)
}

fn malformed(error: Error) -> Denial {
    Denial::malformed(message::denial(&format!("request: {}", error.fault)))
}

fn policy(set: &Object<'_>) -> Result<RetentionPolicy, Denial> {
    let (deleted, scaled) = set.retention().map_err(malformed)?;
    Ok(RetentionPolicy::read(Some(&deleted), Some(&scaled)))
}

fn ordinals(set: &Object<'_>, replicas: i64) -> Result<Range<i64>, Denial> {
    let first = set.first_ordinal().map_err(malformed)?;
    Ok(first..first.saturating_add(replicas.max(0)))
}

/// The ordinals of `before` that are not in `after`, the higher ones first.
fn removed(before: &Range<i64>, after: &Range<i64>) -> Vec<Range<i64>> {
    let above = before.start.max(after.end)..before.end;
    let below = before.start..before.end.min(after.start);
    [above, below].into_iter().filter(|range| !range.is_empty()).collect()
}

fn unknown(settings: &Settings, error: &CannotAsk) -> Result<Vec<String>, Denial> {
    let line = message::retention_unknown(error);
    match settings.retention {
        Retention::Deny => Err(Denial::forbidden(line)),
        Retention::Ignore | Retention::Warn => Ok(vec![message::warning(&line)]),
    }
}

/// Which claims a request would delete.
struct Question<'q> {
    review: &'q Review<'q>,
    settings: &'q Settings,
    set: &'q Object<'q>,
    policy: RetentionPolicy,
    event: Event,
    why: &'static str,
}

/// The names of the claims that are deleted, and of those that may be deleted.
#[derive(Default)]
struct Deleted {
    claims: Vec<String>,
    maybe: Vec<String>,
    /// The number of claims that were not checked.
    unchecked: i64,
}

impl Deleted {
    fn add(&mut self, claim: &ClaimName, fate: Option<Fate>) {
        match fate {
            Some(Fate::Goes) => self.claims.push(claim.to_string()),
            Some(Fate::MayGo) => self.maybe.push(claim.to_string()),
            Some(Fate::Stays | Fate::IsGoing) | None => {}
        }
    }
}

impl<'q> Question<'q> {
    fn of_scale_down(
        review: &'q Review<'q>,
        settings: &'q Settings,
        set: &'q Object<'q>,
        policy: RetentionPolicy,
    ) -> Self {
        Self {
            review,
            settings,
            set,
            policy,
            event: Event::ScaleDown,
            why: "whenScaled",
        }
    }

    fn answer(&self, ordinals: &[Range<i64>], lookups: &mut dyn Lookups) -> Result<Vec<String>, Denial> {
        if ordinals.iter().all(Range::is_empty) && self.event != Event::DeleteSet {
            return Ok(Vec::new());
        }
        let deleted = match self.find(ordinals, lookups)? {
            Ok(deleted) => deleted,
            Err(error) => return unknown(self.settings, &error),
        };
        let mut lines = Vec::new();
        if !deleted.claims.is_empty() {
            lines.push(message::claims_deleted(&deleted.claims, self.why));
        }
        if !deleted.maybe.is_empty() {
            lines.push(message::claims_maybe_deleted(&deleted.maybe, self.why));
        }
        let found = !lines.is_empty();
        if deleted.unchecked > 0 {
            lines.push(message::claims_unchecked(
                deleted.unchecked,
                self.settings.max_pvc_lookups,
            ));
        }
        if found && self.settings.retention == Retention::Deny {
            return Err(Denial::forbidden(message::deletion_denied(&lines, self.why)));
        }
        Ok(lines.iter().map(|line| message::warning(line)).collect())
    }

    /// Finds the claims to be deleted, the highest ordinal first, until no lookups are left: replicas may be any
    /// number.
    fn find(&self, ordinals: &[Range<i64>], lookups: &mut dyn Lookups) -> Result<Result<Deleted, CannotAsk>, Denial> {
        let templates = read_templates(self.set, "oldObject")?;
        let mut deleted = Deleted::default();
        if templates.is_empty() {
            return Ok(Ok(deleted));
        }
        let each = i64::try_from(templates.len()).unwrap_or(i64::MAX);
        let replicas = ordinals
            .iter()
            .fold(0_i64, |sum, range| sum.saturating_add(range.end - range.start));
        let most = i64::from(self.settings.max_pvc_lookups);
        deleted.unchecked = replicas.saturating_mul(each).saturating_sub(most).max(0);
        let names = ordinals.iter().flat_map(|range| range.clone().rev());
        let names = names.flat_map(|ordinal| templates.iter().map(move |template| (ordinal, &template.name)));
        for (ordinal, template) in names.take(self.settings.max_pvc_lookups as usize) {
            let set = &self.set.metadata.name;
            let Some(Ok(name)) = u32::try_from(ordinal).ok().map(|at| ClaimName::new(template, set, at)) else {
                continue;
            };
            match self.fate(name.as_str(), ordinal, Ordinal::InRange, lookups) {
                Ok(fate) => deleted.add(&name, fate),
                Err(error) => return Ok(Err(error)),
            }
        }
        let left = most.saturating_sub(replicas.saturating_mul(each)).max(0);
        let end = ordinals.iter().map(|range| range.end).max().unwrap_or(0);
        let leftovers = self.leftovers(&templates, end, left, lookups, &mut deleted);
        Ok(leftovers.map(|()| deleted))
    }

    /// Finds the claims of previous scale-downs, which are deleted with the set. Their number is unknown: reads the
    /// ordinals above the range until a replica has no claims.
    fn leftovers(
        &self,
        templates: &[ClaimTemplate],
        end: i64,
        mut left: i64,
        lookups: &mut dyn Lookups,
        deleted: &mut Deleted,
    ) -> Result<(), CannotAsk> {
        let are_left = self.policy.when_scaled == retention::RetentionType::Retain;
        if self.event != Event::DeleteSet || !are_left {
            return Ok(());
        }
        let mut ordinal = end;
        loop {
            let mut found = false;
            for template in templates {
                let set = &self.set.metadata.name;
                let name = u32::try_from(ordinal).ok();
                let Some(Ok(name)) = name
                    .map(|at| ClaimName::new(&template.name, set, at))
                    .filter(|_| left > 0)
                else {
                    return Ok(());
                };
                left -= 1;
                let fate = self.fate(name.as_str(), ordinal, Ordinal::ScaledDown, lookups)?;
                found |= fate.is_some();
                deleted.add(&name, fate);
            }
            if !found {
                return Ok(());
            }
            ordinal += 1;
        }
    }

    /// The fate of a claim; `None` if it does not exist.
    fn fate(
        &self,
        claim: &str,
        ordinal: i64,
        position: Ordinal,
        lookups: &mut dyn Lookups,
    ) -> Result<Option<Fate>, CannotAsk> {
        let Some(text) = lookups.get(&Get::claim(self.review.namespace(), claim))? else {
            return Ok(None);
        };
        let claim = Claim::read(&text).map_err(|error| CannotAsk(error.to_string()))?;
        let pod = format!("{}-{ordinal}", self.set.metadata.name);
        let ownership = Ownership {
            owners: &claim.owners,
            policy: self.policy,
            set_name: &self.set.metadata.name,
            set_uid: &self.set.metadata.uid,
            pod: &pod,
            pod_uid: match position {
                Ordinal::InRange => PodUid::NotAsked,
                Ordinal::ScaledDown => PodUid::NoPod,
            },
            ordinal: position,
        };
        Ok(Some(ownership.fate(self.event)))
    }
}
