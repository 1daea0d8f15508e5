//! The warnings about a staged change: what becomes of it, and of the PVCs.

use super::message::{MAX_WARNING, PREFIX, some_of, summary, warning};
use super::requested_change::Reach;
use crate::templates::show::{cut, printable, shown};
use crate::templates::{Change, Diff, Revision, UpdatePolicy};

/// The effect of `shrink: Recover`.
const TAKEN_BACK: &str = "sizes that PVCs have not reached are taken back";

/// The effect of the update policy `ReCreate`.
const RECREATED: &str =
    "; PVCs that cannot follow in place are deleted with their data and created anew, one replica at a time";

/// The warning with the staged change and its effect. `templates` is the number of those that PVCs are updated to.
pub(super) fn staged(diff: &Diff, reach: &Reach<'_>, policy: UpdatePolicy, templates: usize) -> String {
    let mut line = format!("{PREFIX}staged {}", summary(diff));
    match policy {
        UpdatePolicy::InPlace if templates == 0 => {}
        UpdatePolicy::InPlace => push_in_place(&mut line, reach, templates),
        UpdatePolicy::OnClaimDelete => line.push_str(
            "; existing PVCs stay as they are (annotation claim-rollout.io/update-policy: InPlace updates them)",
        ),
        UpdatePolicy::ReCreate => line.push_str(RECREATED),
    }
    cut(&line, MAX_WARNING)
}

/// The warning about changes that are for new claims only, if any.
pub(super) fn for_new_claims(diff: &Diff) -> Option<String> {
    let mut diff = diff.clone();
    for change in &mut diff.changed {
        change.changes.retain(Change::is_smaller);
    }
    diff.changed.retain(|change| !change.is_empty());
    let what = (!diff.changed.is_empty()).then(|| summary(&diff))?;
    Some(warning(&format!(
        "for new PVCs only: {what}; existing PVCs keep what they have"
    )))
}

/// The warnings about added and removed templates.
pub(super) fn renamed(diff: &Diff) -> Vec<String> {
    let mut lines = Vec::new();
    for (names, what) in [
        (
            &diff.added,
            "then each Pod is evicted, lowest ordinal first, to mount these volumes: ",
        ),
        (
            &diff.removed,
            "the PVCs of these templates stay, and nothing manages them any more: ",
        ),
    ] {
        if !names.is_empty() {
            let mut line = "the StatefulSet is replaced; ".to_owned();
            line.push_str(what);
            line.push_str(&some_of(names, 96));
            lines.push(warning(&line));
        }
    }
    lines
}

/// The warning that existing claims will be updated to the live templates.
pub(super) fn switched(reach: &Reach<'_>, templates: usize, policy: UpdatePolicy) -> String {
    let mut line = format!("{PREFIX}staged the live templates");
    match policy {
        UpdatePolicy::InPlace => push_in_place(&mut line, reach, templates),
        _ => line.push_str(RECREATED),
    }
    warning(&line)
}

/// Appends the effect of an update in place.
fn push_in_place(line: &mut String, reach: &Reach<'_>, templates: usize) {
    let replicas = reach.replicas.saturating_sub(reach.partition).max(0);
    let claims = i64::try_from(templates).unwrap_or(i64::MAX).saturating_mul(replicas);
    if claims == 0 && reach.partition > 0 {
        line.push_str(&format!(
            "; no PVC is updated until partition {} is lower",
            reach.partition
        ));
        return;
    }
    let plural = if claims == 1 { "PVC" } else { "PVCs" };
    let order = if reach.by_hand {
        "each after you delete its Pod (updateStrategy OnDelete)"
    } else {
        "highest ordinal first"
    };
    line.push_str(&format!("; {claims} {plural} will be updated in place, {order}"));
    push_command(line, [" (", "status", ")"], reach.set, reach.namespace);
}

/// Appends a command for this StatefulSet, unless the line would be cut: a name that is cut could be another name.
fn push_command(line: &mut String, [before, command, after]: [&str; 3], set: &str, namespace: &str) {
    let [set, namespace] = [set, namespace].map(printable);
    let command = format!("{before}kubectl claim-rollout {command} {set} -n {namespace}{after}");
    if line.chars().count() + command.chars().count() <= MAX_WARNING {
        line.push_str(&command);
    }
}

/// The warning about sizes that go down to one that is not below the live one.
pub(super) fn smaller(taken_back: bool) -> String {
    warning(if taken_back {
        TAKEN_BACK
    } else {
        "no PVC shrinks: one that asks for more keeps it, a new one gets the smaller size (with shrink: Recover, what was \
         not reached is taken back)"
    })
}

/// The warning about smaller sizes that the setting ignores, if any.
pub(super) fn sizes_kept(diff: &Diff) -> Option<String> {
    (!diff.is_empty()).then(|| {
        warning(&format!(
            "ignored {} (setting shrink: Keep); the rest passes",
            summary(diff)
        ))
    })
}

/// The warning that the live templates are asked for, while others are staged.
pub(super) fn still_staged(diff: &Diff, set: &str, namespace: &str) -> String {
    let mut line = format!("{PREFIX}{} is still staged", summary(diff));
    push_command(&mut line, ["; ", "withdraw", " drops it"], set, namespace);
    warning(&line)
}

/// The warning with the withdrawn change.
pub(super) fn withdrawn(diff: &Diff, revision: &Revision, taken_back: bool) -> String {
    let what = if diff.is_empty() {
        revision.to_string()
    } else {
        summary(diff)
    };
    let rest = if taken_back {
        TAKEN_BACK
    } else {
        "updated PVCs stay as they are"
    };
    warning(&format!("withdrew {what}; {rest}"))
}

/// The warning that a growth is not undone, with the cause.
pub(super) fn not_taken_back(why: &str) -> String {
    let why = why.strip_prefix(PREFIX).unwrap_or(why);
    warning(&format!("PVC requests stay as they are: {why}"))
}

/// The warning that the annotation `withdraw` had no effect.
pub(super) fn not_withdrawn(asked: &str, staged: Option<&Revision>) -> String {
    warning(&match staged {
        None => "nothing was withdrawn: nothing is staged".to_owned(),
        Some(staged) if staged.as_str() == asked => {
            format!("nothing was withdrawn: the request itself asks for the templates of {staged}")
        }
        Some(staged) => format!("nothing was withdrawn: expected {staged}, but found {}", shown(asked)),
    })
}

/// The warning about labels and annotations that the setting ignores, if any.
pub(super) fn ignored(templates: &[String]) -> Option<String> {
    let names: Vec<String> = templates.iter().map(|name| shown(name)).collect();
    (!names.is_empty()).then(|| {
        warning(&format!(
            "ignored changed labels and annotations of {} (setting metadataOnlyChanges: Ignore)",
            names.join(", ")
        ))
    })
}

#[cfg(test)]
#[path = "staged_message_tests.rs"]
mod tests;
