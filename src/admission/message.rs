//! What the user reads: one line each, of bounded length, nothing of the payload but names, paths and two values.

use std::fmt::Write;

use super::cause::Cause;
use super::lookups::CannotAsk;
use crate::templates::show::{cut, in_short, printable, shown};
use crate::templates::{Diff, Fault, Revision, UpdatePolicy, keys, rules};

/// The API server cuts a warning here.
pub(super) const MAX_WARNING: usize = 256;

/// The API server shows no more than this many characters of all warnings of a request together.
const MAX_WARNINGS: usize = 4096;

/// What every line begins with, so that a user sees who speaks.
pub(super) const SPEAKER: &str = "claim-rollout: ";

/// The longest refusal; it may name many paths.
const MAX_DENIAL: usize = 2048;

/// The line that says how many warnings were left out.
const ROOM_FOR_REST: usize = 96;

/// Beside a list: the words around it, and how many more there are.
const ROOM_FOR_COUNT: usize = 48;

/// The longest part of an answer of the cluster.
const MAX_ANSWER: usize = 120;

/// What may change, as refusals end; labels and annotations where the setting lets them.
const ALLOWED: &str = "what can change is spec.resources.requests.storage (larger only), spec.volumeAttributesClassName, \
                       metadata.labels and metadata.annotations";
const ALLOWED_IN_SPEC: &str =
    "what can change is spec.resources.requests.storage (larger only) and spec.volumeAttributesClassName";

/// What becomes of PVCs under an update policy that nothing carries out.
const NOT_RECREATED: &str = "; existing claims stay as they are: this version does not carry out ReCreate";

/// The denial of a request that writes an annotation which only the policy and the controller write.
pub(super) fn ours_only(key: &str) -> String {
    denial(&format!(
        "annotation {}: is written by claim-rollout alone, expected no change; leave it out",
        shown(key)
    ))
}

/// The line about an annotation of our domain that means nothing.
pub(super) fn unknown_key(key: &str) -> String {
    warning(&format!("annotation {} is not known and has no effect", shown(key)))
}

/// The line about a replacement that does not happen.
pub(super) fn not_replaced() -> String {
    warning("annotation claim-rollout.io/replace-set: this version does not replace StatefulSets")
}

/// The line about a staged change that came along with a new StatefulSet, and became its templates.
pub(super) fn restored(set: &str, diff: &Diff) -> String {
    warning(&format!(
        "StatefulSet {} gets the templates that were staged where it comes from: {}",
        shown(set),
        summary(diff)
    ))
}

/// The line about one that did not.
pub(super) fn not_restored(why: &str) -> String {
    warning(&format!(
        "the annotation {} that came along is removed: {why}",
        keys::STAGED
    ))
}

/// The line about a staged change of this StatefulSet that is none.
pub(super) fn unreadable(why: &str) -> String {
    warning(&format!("the annotation {} is removed: {why}", keys::STAGED))
}

/// The denial where what is staged is not ours to replace.
pub(super) fn newer() -> String {
    denial(
        "spec.volumeClaimTemplates: expected no change, because a newer version of claim-rollout has staged a change, which this \
         one cannot read; update the policy",
    )
}

/// A refusal, in one line and cut to a bounded length, whatever names it quotes.
pub(super) fn denial(text: &str) -> String {
    cut(&printable(&format!("{SPEAKER}{text}")), MAX_DENIAL)
}

/// A warning, cut to where the API server would cut it.
pub(super) fn warning(text: &str) -> String {
    let text = text.strip_prefix(SPEAKER).unwrap_or(text);
    cut(&format!("{SPEAKER}{text}"), MAX_WARNING)
}

/// Leaves out the last warnings where all together are longer than the API server lets through, and says how many.
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
        warnings.push(warning(&format!("warnings that have no room here: {left_out}")));
    }
}

/// Every fault of a wish in one line.
pub(super) fn faults(faults: &[Fault], metadata: rules::Metadata) -> String {
    let faults: Vec<String> = faults.iter().map(Fault::to_string).collect();
    let allowed = match metadata {
        rules::Metadata::MayChange => ALLOWED,
        rules::Metadata::Fixed => ALLOWED_IN_SPEC,
    };
    // A name that is cut off could be another: as many as have room, and how many more there are.
    let room = MAX_DENIAL - SPEAKER.len() - allowed.len() - ROOM_FOR_COUNT;
    denial(&format!("{}; {allowed}", some(&faults, room, "; ", "; and ")))
}

/// The line that says what was staged and what will happen.
pub(super) fn staged(set: &str, diff: &Diff, replicas: i64, policy: UpdatePolicy) -> String {
    let mut line = format!("{SPEAKER}staged {}", summary(diff));
    match policy {
        UpdatePolicy::InPlace => {
            let templates = i64::try_from(diff.changed.len()).unwrap_or(i64::MAX);
            line.push_str("; ");
            line.push_str(&in_place(set, templates.saturating_mul(replicas.max(0))));
        }
        UpdatePolicy::OnClaimDelete => line.push_str(
            "; existing claims stay as they are (annotation claim-rollout.io/update-policy: InPlace updates them)",
        ),
        UpdatePolicy::ReCreate => line.push_str(NOT_RECREATED),
    }
    cut(&line, MAX_WARNING)
}

/// The line that says that existing claims will be brought to the templates that the set has.
pub(super) fn switched(set: &str, claims: i64, policy: UpdatePolicy) -> String {
    warning(&match policy {
        UpdatePolicy::InPlace => format!("staged the templates as they are; {}", in_place(set, claims)),
        _ => format!("staged the templates as they are{NOT_RECREATED}"),
    })
}

fn in_place(set: &str, claims: i64) -> String {
    let plural = if claims == 1 { "claim" } else { "claims" };
    format!(
        "{claims} {plural} will be updated in place, highest ordinal first (kubectl claim-rollout status {})",
        shown(set)
    )
}

/// The line that says what was withdrawn.
pub(super) fn withdrawn(diff: &Diff, revision: &Revision, taken_back: bool) -> String {
    let what = if diff.is_empty() {
        revision.to_string()
    } else {
        summary(diff)
    };
    let rest = if taken_back {
        "what claims have not reached of it is taken back"
    } else {
        "claims that were updated already stay as they are"
    };
    warning(&format!("withdrew {what}; {rest}"))
}

/// The line that says that nothing is taken back, and why.
pub(super) fn not_taken_back(why: &str) -> String {
    let why = why.strip_prefix(SPEAKER).unwrap_or(why);
    warning(&format!("claims keep asking for what they ask for: {why}"))
}

/// The line about a withdrawal by which nothing was withdrawn, and what is staged nevertheless.
pub(super) fn not_withdrawn(asked: &str, staged: Option<&Revision>) -> String {
    warning(&match staged {
        None => "nothing was withdrawn: nothing is staged".to_owned(),
        Some(staged) if staged.as_str() == asked => {
            format!("nothing was withdrawn: the request itself asks for the templates of {staged}")
        }
        Some(staged) => format!("nothing was withdrawn: expected {staged}, but found {}", shown(asked)),
    })
}

/// The line about labels and annotations that the setting ignores; none where there are none.
pub(super) fn ignored(templates: &[String]) -> Option<String> {
    let names: Vec<String> = templates.iter().map(|name| shown(name)).collect();
    (!names.is_empty()).then(|| {
        warning(&format!(
            "ignored changed labels and annotations of {} (setting metadataOnlyChanges: Ignore)",
            names.join(", ")
        ))
    })
}

/// What keeps claims from following a wish, as a warning.
pub(super) fn claims_warned(cause: &Cause) -> String {
    let rest = cut(&cause.what, MAX_ANSWER);
    warning(&format!("{}: {rest}", some_of(&cause.claims, MAX_WARNING - MAX_ANSWER)))
}

/// The same, as a refusal.
pub(super) fn claims_refused(causes: &[Cause]) -> String {
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
    let room = MAX_DENIAL - SPEAKER.len() - ROOM_FOR_COUNT;
    denial(&format!(
        "claims would not follow: {}",
        some(&causes, room, "; ", "; and ")
    ))
}

/// Nobody says what the claims are, as a warning.
pub(super) fn claims_unknown(error: &CannotAsk) -> String {
    warning(&format!("the claims could not be checked ({})", answer(error)))
}

/// The same, as a refusal.
pub(super) fn claims_unknown_refused(error: &CannotAsk) -> String {
    denial(&format!(
        "the claims cannot be checked ({}); grant the policy get on persistentvolumeclaims, storageclasses and \
         volumeattributesclasses, or set pvcChecks: Warn in its settings",
        answer(error)
    ))
}

/// Claims beyond the bound.
pub(super) fn claims_unchecked(claims: i64, most: u32) -> String {
    let plural = if claims == 1 { "claim was" } else { "claims were" };
    warning(&format!(
        "{claims} more {plural} not checked (setting maxPVCLookups: {most})"
    ))
}

/// OpenKruise applies less than its webhook accepts.
pub(super) fn kruise_applies_sizes_only() -> String {
    warning("OpenKruise applies only spec.resources.requests.storage to existing claims; the rest reaches new ones")
}

/// A claim whose set cannot be asked for.
pub(super) fn new_claim_of_too_many(claim: &str, sets: usize) -> String {
    warning(&format!(
        "{} is created from the live template: its name could be of {sets} StatefulSets",
        shown(claim)
    ))
}

/// The line about a claim that is born from the live template because its set cannot be looked up.
pub(super) fn new_claim_unknown(claim: &str, error: &CannotAsk) -> String {
    warning(&format!(
        "claim {} is made from the live template: its set cannot be read ({})",
        shown(claim),
        answer(error)
    ))
}

/// Claims that a request deletes.
pub(super) fn claims_go(claims: &[String], why: &str) -> String {
    warning(&format!("{} deletes {}", policy(why), some_of(claims, 160)))
}

/// Claims that a request deletes unless the StatefulSet controller is faster.
pub(super) fn claims_may_go(claims: &[String], why: &str) -> String {
    warning(&format!("{} may delete {}", policy(why), some_of(claims, 160)))
}

/// The refusal of such a request.
pub(super) fn claims_kept(lines: &[String], why: &str) -> String {
    let lines: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix(SPEAKER)).collect();
    denial(&format!(
        "{}; to keep them set {why}: Retain first, to delete them delete them by name (setting retention: Deny)",
        lines.join("; ")
    ))
}

/// Nobody says which claims would go.
pub(super) fn retention_unknown(error: &CannotAsk) -> String {
    denial(&format!(
        "cannot say which claims would be deleted ({}); grant the policy get on statefulsets and persistentvolumeclaims",
        answer(error)
    ))
}

fn policy(why: &str) -> String {
    format!("persistentVolumeClaimRetentionPolicy.{why}: Delete")
}

fn answer(error: &CannotAsk) -> String {
    cut(&error.0, MAX_ANSWER)
}

/// As many names as have room, at least one, and how many more there are.
fn some_of(names: &[String], room: usize) -> String {
    let names: Vec<String> = names.iter().map(|name| shown(name)).collect();
    some(&names, room, ", ", " and ")
}

/// The changes in a few words each, as many as have room.
fn summary(diff: &Diff) -> String {
    some(&in_short(diff), 96, ", ", ", and ")
}

/// Where all do not fit, the first few and a count say more than a line that breaks off.
fn some(items: &[String], room: usize, separator: &str, last: &str) -> String {
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
