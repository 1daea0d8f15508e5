//! The table of decision one, in its order.
//!
//! *live* = the old object's templates, *asked* = the new object's, *staged* = the valid record in the old object,
//! *current* = staged, else live.
//!
//! | # | request | verdict |
//! |---|---|---|
//! | C3 | subresource, other kinds, DELETE and CONNECT, set managed by another controller | Pass |
//! | C2 | UPDATE by the controller's account | Pass |
//! | C1 | CREATE | what only the policy may write is removed; user keys are checked |
//! | U0 | asked = live, nothing staged | Pass; a forged record is removed |
//! | U1 | asked = live, staged: an unrelated edit | the record is kept as it was |
//! | U2 | asked = staged: the same wish again | live restored, record kept |
//! | U3 | asked is a new wish | `diff(current, asked)` allowed: Divert; else Refuse |

use crate::templates::{ClaimName, ClaimTemplate, Diff, Phase, Record, Sync, UpdatePolicy, keys};

use super::lookups::{CanI, Lookups};
use super::message::{self, SPEAKER};
use super::review::{Operation, Review, Set};
use super::rules;
use super::settings::{Authority, Settings};
use super::verdict::{Divert, Edit, Refusal, Verdict};

/// Decides what becomes of a request.
///
/// Total and deterministic. It asks `lookups` only when a new wish is about to be staged.
///
/// # Guarantees
/// * S14: a request that changes no template and leaves our annotations alone passes, without any edit.
/// * S15: what is staged is the semantic difference and nothing else; a frozen field, a shrink, an added or removed
///   template is refused.
/// * S16: what is inconsistent is refused.
#[must_use]
pub fn admit(review: &Review<'_>, settings: &Settings, lookups: &mut dyn Lookups) -> Verdict {
    decide(review, settings, lookups).unwrap_or_else(Verdict::Refuse)
}

fn decide(review: &Review<'_>, settings: &Settings, lookups: &mut dyn Lookups) -> Result<Verdict, Refusal> {
    let operation = review.operation().ok_or_else(|| {
        Refusal::malformed(format!(
            "{SPEAKER}request.operation: expected CREATE, UPDATE, DELETE or CONNECT"
        ))
    })?;
    let subresource = !review.sub_resource.is_empty();
    if subresource || !is_stateful_set(review) || matches!(operation, Operation::Delete | Operation::Connect) {
        return Ok(Verdict::Pass);
    }
    let object = consistent(review, review.object.as_ref(), "object")?;
    if operation == Operation::Create {
        return if object.metadata.has_controller {
            Ok(Verdict::Pass)
        } else {
            create(object)
        };
    }
    let old = consistent(review, review.old_object.as_ref(), "oldObject")?;
    if old.metadata.has_controller || review.user == settings.controller_account {
        return Ok(Verdict::Pass);
    }
    Update {
        review,
        settings,
        old,
        object,
    }
    .decide(lookups)
}

/// True iff the request is about `apps/v1 StatefulSet`.
#[must_use]
pub fn is_stateful_set(review: &Review<'_>) -> bool {
    review.kind.group == "apps" && review.kind.version == "v1" && review.kind.kind == "StatefulSet"
}

/// The object, if it is there and is what the request says it is.
fn consistent<'r, 'a>(review: &Review<'a>, set: Option<&'r Set<'a>>, which: &str) -> Result<&'r Set<'a>, Refusal> {
    let fault = |what: &str| Refusal::malformed(format!("{SPEAKER}request.{which}: expected {what}"));
    let set = set.ok_or_else(|| fault("a StatefulSet, but found nothing"))?;
    if set.kind != "StatefulSet" || set.api_version != "apps/v1" {
        return Err(fault("an object of the kind that request.kind says"));
    }
    let differs =
        |of_request: &str, of_object: &str| !of_request.is_empty() && !of_object.is_empty() && of_request != of_object;
    if differs(&review.name, &set.metadata.name) {
        return Err(fault("the name that request.name says"));
    }
    if differs(&review.namespace, &set.metadata.namespace) {
        return Err(fault("the namespace that request.namespace says"));
    }
    Ok(set)
}

/// Row C1.
fn create(object: &Set<'_>) -> Result<Verdict, Refusal> {
    check_user_keys(None, object)?;
    let edits: Vec<Edit> = [keys::STAGED, keys::HELD_PARTITION, keys::WITHDRAW]
        .into_iter()
        .filter(|key| object.metadata.annotations.get(key).is_some())
        .map(Edit::RemoveAnnotation)
        .collect();
    Ok(divert(Divert {
        edits,
        ..Divert::default()
    }))
}

/// A divert without edits changes nothing, and so is a Pass.
fn divert(divert: Divert) -> Verdict {
    if divert.edits.is_empty() {
        Verdict::Pass
    } else {
        Verdict::Divert(divert)
    }
}

/// The values of user keys that the request sets or changes.
fn check_user_keys(old: Option<&Set<'_>>, object: &Set<'_>) -> Result<(), Refusal> {
    let changed = |key: &str| {
        let value = object.metadata.annotations.get(key)?;
        (old.and_then(|old| old.metadata.annotations.get(key)) != Some(value)).then_some(value)
    };
    let fault = |key: &str, allowed: &str, found: &str| {
        let found = message::shown(found);
        Refusal::invalid(message::refusal(&format!(
            "annotation {key}: expected one of {allowed}, but found {found}"
        )))
    };
    if let Some(value) = changed(keys::UPDATE_POLICY) {
        match value.parse() {
            Ok(UpdatePolicy::OnClaimDelete | UpdatePolicy::InPlace) => {}
            _ => return Err(fault(keys::UPDATE_POLICY, "OnClaimDelete, InPlace", value)),
        }
    }
    if let Some(value) = changed(keys::SYNC)
        && value.parse::<Sync>().is_err()
    {
        return Err(fault(keys::SYNC, "LockStep, Async", value));
    }
    if let Some(value) = changed(keys::PAUSED)
        && !matches!(value, "true" | "false")
    {
        return Err(fault(keys::PAUSED, "true, false", value));
    }
    Ok(())
}

/// An UPDATE of a set that we look after.
struct Update<'r, 'a> {
    review: &'r Review<'a>,
    settings: &'r Settings,
    old: &'r Set<'a>,
    object: &'r Set<'a>,
}

impl Update<'_, '_> {
    /// Rows U0 to U3.
    fn decide(&self, lookups: &mut dyn Lookups) -> Result<Verdict, Refusal> {
        let untouched = self.object.templates() == self.old.templates();
        if untouched && self.old.metadata.annotations.is_empty() && self.object.metadata.annotations.is_empty() {
            return Ok(Verdict::Pass);
        }
        check_user_keys(Some(self.old), self.object)?;
        let uid = &self.old.metadata.uid;
        let old_staged = self.old.metadata.annotations.get(keys::STAGED);
        let staged = old_staged.and_then(|text| Record::read(text, uid).ok().map(|record| (record, text)));

        let kept = staged.as_ref().map(|(_, text)| *text);
        if untouched {
            return Ok(divert(Divert {
                edits: self.keep(kept),
                ..Divert::default()
            }));
        }
        let live = read_templates(self.old, "oldObject")?;
        let asked = read_templates(self.object, "object")?;
        let same_wish = staged
            .as_ref()
            .is_some_and(|(record, _)| Diff::between(&record.templates, &asked).is_empty());
        let nothing_new = Diff::between(&live, &asked).is_empty();
        if nothing_new && same_order(&live, &asked) {
            return Ok(divert(Divert {
                edits: self.keep(kept),
                ..Divert::default()
            }));
        }
        if nothing_new || same_wish {
            let mut edits = vec![Edit::RestoreTemplates];
            edits.extend(self.keep(kept));
            return Ok(divert(Divert {
                edits,
                ..Divert::default()
            }));
        }
        let current = staged.as_ref().map_or(&live, |(record, _)| &record.templates);
        self.stage(current, &live, asked, lookups)
    }

    /// What puts the annotations that are not the user's back to what they have to be: the record as it was, or none.
    fn keep(&self, record: Option<&str>) -> Vec<Edit> {
        let mut edits = Vec::new();
        let found = self.object.metadata.annotations.get(keys::STAGED);
        match record {
            Some(record) if found != Some(record) => edits.push(Edit::SetAnnotation(keys::STAGED, record.to_owned())),
            None if found.is_some() => edits.push(Edit::RemoveAnnotation(keys::STAGED)),
            _ => {}
        }
        edits.extend(self.strays());
        edits
    }

    /// Annotations that have no business here: a hold that nothing holds, a withdrawal that is always consumed.
    fn strays(&self) -> impl Iterator<Item = Edit> {
        let found = |key: &&'static str| self.object.metadata.annotations.get(key).is_some();
        [keys::HELD_PARTITION, keys::WITHDRAW]
            .into_iter()
            .filter(found)
            .map(Edit::RemoveAnnotation)
    }

    /// Row U3: a new wish.
    fn stage(
        &self,
        current: &[ClaimTemplate],
        live: &[ClaimTemplate],
        asked: Vec<ClaimTemplate>,
        lookups: &mut dyn Lookups,
    ) -> Result<Verdict, Refusal> {
        let diff = Diff::between(current, &asked);
        let faults = rules::faults(&diff);
        if !faults.is_empty() {
            return Err(Refusal::invalid(rules::refusal(&faults)));
        }
        self.check_names(&asked)?;
        self.check_authority(lookups)?;

        let policy = self.update_policy();
        let record = Record {
            by: self.review.user.to_string(),
            manager: self.review.field_manager.to_string(),
            phase: Phase::RollingOut,
            templates: in_order_of(live, asked),
            uid: self.old.metadata.uid.to_string(),
            update_policy: policy,
        };
        if record.uid.is_empty() {
            return Err(Refusal::malformed(format!(
                "{SPEAKER}request.oldObject: expected metadata.uid"
            )));
        }
        let revision = record.revision();
        let text = record.write_as(&revision).map_err(|error| {
            Refusal::invalid(message::refusal(&format!(
                "the wanted templates do not fit the annotation {}: {error}; shorten their labels and annotations",
                keys::STAGED
            )))
        })?;
        let name = &self.object.metadata.name;
        let warnings = vec![message::staged(name, &diff, self.object.replicas(), policy)];
        let audit = vec![("revision", revision.to_string())];
        let mut edits = vec![Edit::RestoreTemplates, Edit::SetAnnotation(keys::STAGED, text)];
        edits.extend(self.strays());
        Ok(Verdict::Divert(Divert { edits, warnings, audit }))
    }

    /// The update policy in force after the request: the annotation, else the setting.
    fn update_policy(&self) -> UpdatePolicy {
        let annotation = self.object.metadata.annotations.get(keys::UPDATE_POLICY);
        annotation
            .and_then(|text| text.parse().ok())
            .unwrap_or(self.settings.default_update_policy)
    }

    /// Every claim that a replica could have must have a valid name, or the wish could never be reached.
    fn check_names(&self, asked: &[ClaimTemplate]) -> Result<(), Refusal> {
        let set = &self.object.metadata.name;
        for template in asked {
            if let Err(error) = ClaimName::new(&template.name, set, 0) {
                let path = message::path(&template.name, "metadata.name");
                return Err(Refusal::invalid(message::refusal(&format!("{path}: {error}"))));
            }
        }
        Ok(())
    }

    /// Whoever changes templates changes claims, so must be allowed to.
    fn check_authority(&self, lookups: &mut dyn Lookups) -> Result<(), Refusal> {
        if self.settings.authority == Authority::TrustSetEditors {
            return Ok(());
        }
        // The object's is there when the request comes from `review` and leaves it out.
        let namespace = [&self.review.namespace, &self.old.metadata.namespace];
        let namespace = namespace
            .into_iter()
            .find(|name| !name.is_empty())
            .map_or("", |name| name);
        let question = CanI {
            user: &self.review.user,
            groups: self.review.groups.iter().map(|group| &**group).collect(),
            namespace,
            group: "",
            resource: "persistentvolumeclaims",
            verb: "patch",
        };
        match lookups.can_i(&question) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Refusal::forbidden(message::refusal(&format!(
                "user {} cannot patch persistentvolumeclaims in namespace {}, and a change of volumeClaimTemplates changes \
                 them; grant that (ClusterRole edit has it), or set authority: TrustSetEditors in the policy's settings",
                message::shown(question.user),
                message::shown(namespace)
            )))),
            Err(error) => Err(Refusal::forbidden(message::refusal(&format!(
                "cannot ask whether user {} may patch persistentvolumeclaims ({}); grant the policy the host capability \
                 kubernetes/can_i, or set authority: TrustSetEditors in its settings",
                message::shown(question.user),
                message::cut(&error.0, 160)
            )))),
        }
    }
}

fn read_templates(set: &Set<'_>, which: &str) -> Result<Vec<ClaimTemplate>, Refusal> {
    ClaimTemplate::read_list(set.templates())
        .map_err(|error| Refusal::invalid(message::refusal(&format!("request.{which}: {error}"))))
}

fn same_order(live: &[ClaimTemplate], asked: &[ClaimTemplate]) -> bool {
    live.iter()
        .map(|template| &template.name)
        .eq(asked.iter().map(|template| &template.name))
}

/// The asked templates in the order of the live ones, the only one that the API server accepts.
fn in_order_of(live: &[ClaimTemplate], mut asked: Vec<ClaimTemplate>) -> Vec<ClaimTemplate> {
    let mut ordered = Vec::with_capacity(asked.len());
    for template in live {
        if let Some(index) = asked.iter().position(|other| other.name == template.name) {
            ordered.push(asked.remove(index));
        }
    }
    ordered.extend(asked);
    ordered
}

#[cfg(test)]
#[path = "decide_tests/mod.rs"]
mod tests;
