//! The texts for users: one line each, of bounded length, with nothing of the payload but names, paths and two values.

use std::fmt::Write;

use super::cause::Cause;
use super::lookups::CannotAsk;
use crate::templates::rules::{FaultKind, TemplateNames};
use crate::templates::show::{cut, printable, shown, shown_name};
use crate::templates::{Diff, FrozenChange, RuleFault, Rules, keys, rules};

/// The API server cuts longer warnings.
pub(super) const MAX_WARNING: usize = 256;

/// The API server shows at most this many characters of all warnings of a request.
const MAX_WARNINGS: usize = 4096;

/// The beginning of every line, so that a user sees its source.
pub(super) const PREFIX: &str = "claim-rollout: ";

/// The longest denial; it may name many paths.
const MAX_DENIAL: usize = 2048;

/// Room for the line with the number of warnings left out.
const ROOM_FOR_REST: usize = 96;

/// Room around a list: the words before and after it, and the number of items left out.
const ROOM_FOR_COUNT: usize = 48;

/// The longest error of the cluster in a message.
const MAX_ANSWER: usize = 120;

/// The end of a denial. Labels and annotations depend on the setting `metadataOnlyChanges`.
const ALLOWED: &str = "allowed changes: spec.resources.requests.storage (larger only), spec.volumeAttributesClassName, \
                       metadata.labels and metadata.annotations";
const ALLOWED_IN_SPEC: &str =
    "allowed changes: spec.resources.requests.storage (larger only) and spec.volumeAttributesClassName";

/// The end of a denial of a smaller size.
const KEEP: &str = "; the setting shrink: Keep ignores a smaller size, and lets the rest pass";

/// The end of a denial of changes that may be staged for new PVCs.
const FOR_NEW_PVCS: &str = "; the setting immutableFields: NewPVCs allows other changes of spec for new PVCs";

/// The denial of a request that writes an annotation of the policy or the controller.
pub(super) fn ours_only(key: &str) -> String {
    denial(&format!(
        "annotation {}: only claim-rollout may change it; leave it out",
        shown(key)
    ))
}

/// The warning about an unknown annotation of our domain.
pub(super) fn unknown_key(key: &str) -> String {
    warning(&format!("annotation {} is not known and has no effect", shown(key)))
}

/// The warning that a new StatefulSet gets the templates of the staged change that it was created with.
pub(super) fn restored(set: &str, diff: &Diff) -> String {
    warning(&format!(
        "StatefulSet {} gets the staged templates it was created with: {}",
        shown_name(set),
        summary(diff)
    ))
}

/// The warning that a new StatefulSet keeps its immutable fields, if the staged change that it was created with has
/// others.
pub(super) fn not_restored(set: &str, diff: &Diff) -> Option<String> {
    let values = |change: &FrozenChange| {
        let [staged, asked] = change.values();
        format!("{} {asked} (staged: {staged})", shown(&change.field))
    };
    let frozen = diff.changed.iter().flat_map(|change| &change.frozen);
    let fields: Vec<String> = frozen.map(values).collect();
    (!fields.is_empty()).then(|| {
        let fields = some(&fields, 144, ", ", ", and ");
        warning(&format!(
            "StatefulSet {} keeps what it asks for: {fields}",
            shown_name(set)
        ))
    })
}

/// What a backup from the time of a replacement contains.
pub(super) const FINALIZER: &str = "our finalizer is removed";
pub(super) const PARTITION: &str = "partition 1000000000 is removed; set yours again";
pub(super) const RETAIN: &str = "whenDeleted: Retain may not be yours";

/// The warning about a StatefulSet from such a backup.
pub(super) fn released(set: &str, what: &str) -> String {
    warning(&format!(
        "StatefulSet {} was copied while being replaced: {what}",
        shown_name(set)
    ))
}

/// The warning that a staged change is removed, because it cannot be read or the rules do not allow it.
pub(super) fn staged_removed(why: &str) -> String {
    warning(&format!("the annotation {} is removed: {why}", keys::STAGED))
}

/// The denial of a request after which nothing would replace the StatefulSet, as its staged change needs it.
pub(super) fn must_be_replaced() -> String {
    denial(
        "annotation claim-rollout.io/replace-set: cannot be Never, because the staged change adds or removes templates; \
         withdraw it first",
    )
}

/// The denial of a Pod template that mounts a volume too early.
pub(super) fn mounted_too_early(volume: &str) -> String {
    denial(&format!(
        "spec.template mounts volume {}, whose template is not live yet; mount it after the StatefulSet was replaced, \
         or add a volume of that name (emptyDir) to spec.template, whose place it takes",
        shown(volume)
    ))
}

/// The denial of other templates while a staged change of a newer version exists.
pub(super) fn newer() -> String {
    denial(
        "spec.volumeClaimTemplates: cannot change, because a newer version of claim-rollout has staged a change; \
         update the policy",
    )
}

/// A denial in one line of bounded length, whatever names it contains.
pub(super) fn denial(text: &str) -> String {
    line(text, MAX_DENIAL)
}

/// A warning in one line of bounded length, whatever names it contains.
pub(super) fn warning(text: &str) -> String {
    let text = text.strip_prefix(PREFIX).unwrap_or(text);
    line(text, MAX_WARNING)
}

fn line(text: &str, most: usize) -> String {
    cut(&printable(&format!("{PREFIX}{text}")), most)
}

/// Leaves out the last warnings if all together are longer than the API server shows, and adds their number.
pub(super) fn bound(warnings: &mut Vec<String>) {
    let (mut used, mut kept) = (0, 0);
    for line in &*warnings {
        used += line.chars().count();
        if used <= MAX_WARNINGS - ROOM_FOR_REST {
            kept += 1;
        }
    }
    if used > MAX_WARNINGS {
        let left_out = warnings.len() - kept;
        warnings.truncate(kept);
        warnings.push(warning(&format!("warnings left out: {left_out}")));
    }
}

/// The denial of templates, with all faults in one line.
pub(super) fn faults(faults: &[RuleFault], rules: &Rules<'_>) -> String {
    let mut settings = String::new();
    // Without staging, the request passes as it is or not at all.
    let is_staged = rules.names != TemplateNames::Fixed;
    if is_staged
        && faults
            .iter()
            .any(|fault| matches!(fault.kind, FaultKind::Shrinks { .. }))
    {
        settings.push_str(KEEP);
    }
    if faults.iter().any(RuleFault::is_for_new_claims) {
        settings.push_str(FOR_NEW_PVCS);
    }
    let faults: Vec<String> = faults.iter().map(RuleFault::to_string).collect();
    let allowed = match rules.metadata {
        rules::Metadata::MayChange => ALLOWED,
        rules::Metadata::Fixed => ALLOWED_IN_SPEC,
    };
    // Items are left out rather than cut: a name that is cut could be another name.
    let room = MAX_DENIAL - PREFIX.len() - allowed.len() - settings.len() - ROOM_FOR_COUNT;
    denial(&format!("{}; {allowed}{settings}", some(&faults, room, "; ", "; and ")))
}

/// The warning that claims cannot be updated.
pub(super) fn claims_warned(cause: &Cause) -> String {
    let rest = cut(&cause.what, MAX_ANSWER);
    warning(&format!("{}: {rest}", some_of(&cause.claims, MAX_WARNING - MAX_ANSWER)))
}

/// The denial because claims cannot be updated.
pub(super) fn claims_denied(causes: &[Cause]) -> String {
    let causes: Vec<String> = causes
        .iter()
        .map(|cause| {
            format!(
                "{}: {}",
                some_of(&cause.claims, MAX_WARNING),
                cut(&cause.what, MAX_ANSWER)
            )
        })
        .collect();
    let room = MAX_DENIAL - PREFIX.len() - ROOM_FOR_COUNT;
    denial(&format!(
        "PVCs cannot be updated: {}",
        some(&causes, room, "; ", "; and ")
    ))
}

/// The warning that claims cannot be read.
pub(super) fn claims_unknown(error: &CannotAsk) -> String {
    warning(&format!("failed to check the PVCs ({})", answer(error)))
}

/// The denial because claims cannot be read.
pub(super) fn claims_unknown_denied(error: &CannotAsk) -> String {
    denial(&format!(
        "failed to check the PVCs ({}); grant the policy get on persistentvolumeclaims, storageclasses and \
         volumeattributesclasses, or set pvcChecks: Warn in its settings",
        answer(error)
    ))
}

/// The warning about claims beyond `maxPVCLookups`.
pub(super) fn claims_unchecked(claims: i64, most: u32) -> String {
    let plural = if claims == 1 { "PVC was" } else { "PVCs were" };
    warning(&format!(
        "{claims} more {plural} not checked (setting maxPVCLookups: {most})"
    ))
}

/// The warning that OpenKruise applies less than its webhook accepts.
pub(super) fn kruise_applies_sizes_only() -> String {
    warning("OpenKruise applies only spec.resources.requests.storage to existing PVCs; new PVCs get the rest")
}

/// The warning about a new claim whose name fits too many sets.
pub(super) fn new_claim_of_too_many(claim: &str, sets: usize) -> String {
    warning(&format!(
        "{} is created from the live template: its name fits {sets} StatefulSets",
        shown_name(claim)
    ))
}

/// The warning about a new claim whose set cannot be read.
pub(super) fn new_claim_unknown(claim: &str, error: &CannotAsk) -> String {
    warning(&format!(
        "{} is created from the live template: failed to read its StatefulSet ({})",
        shown_name(claim),
        answer(error)
    ))
}

/// The warning about claims that a request deletes.
pub(super) fn claims_deleted(claims: &[String], why: &str) -> String {
    warning(&format!("{} deletes {}", policy(why), some_of(claims, 160)))
}

/// The warning about claims that a request deletes unless the StatefulSet controller acts first.
pub(super) fn claims_maybe_deleted(claims: &[String], why: &str) -> String {
    warning(&format!("{} may delete {}", policy(why), some_of(claims, 160)))
}

/// The denial of a request that deletes claims.
pub(super) fn deletion_denied(lines: &[String], why: &str) -> String {
    let lines: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix(PREFIX)).collect();
    denial(&format!(
        "{}; set {why}: Retain to keep them, or delete them by name first (setting retention: Deny)",
        lines.join("; ")
    ))
}

/// The denial or warning because claims cannot be read.
pub(super) fn retention_unknown(error: &CannotAsk) -> String {
    denial(&format!(
        "failed to find the PVCs to be deleted ({}); grant the policy get on statefulsets and persistentvolumeclaims",
        answer(error)
    ))
}

fn policy(why: &str) -> String {
    format!("persistentVolumeClaimRetentionPolicy.{why}: Delete")
}

fn answer(error: &CannotAsk) -> String {
    cut(&error.0, MAX_ANSWER)
}

/// Names up to `room` characters, at least one, and the number of names left out.
pub(super) fn some_of(names: &[String], room: usize) -> String {
    let names: Vec<String> = names.iter().map(|name| shown_name(name)).collect();
    some(&names, room, ", ", " and ")
}

/// The changes in a few words each.
pub(super) fn summary(diff: &Diff) -> String {
    some(&diff.in_short(), 96, ", ", ", and ")
}

/// Items up to `room` characters, at least one, and the number of items left out.
pub(super) fn some(items: &[String], room: usize, separator: &str, last: &str) -> String {
    let mut line = String::new();
    let mut used = 0;
    for (index, item) in items.iter().enumerate() {
        let length = item.chars().count() + 2;
        if index > 0 && used + length > room {
            let _ = write!(line, "{last}{} more", items.len() - index);
            break;
        }
        if index > 0 {
            line.push_str(separator);
        }
        line.push_str(item);
        used += length;
    }
    line
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
