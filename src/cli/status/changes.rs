//! What has changed between two views, as lines.

use super::line::clean;
use super::render::progress;
use super::replacement::text;
use super::view::{ClaimView, StatusView};

/// One line for every claim and every rollout that changed.
pub(crate) fn changes(before: &[StatusView], after: &[StatusView]) -> Vec<String> {
    let mut lines = Vec::new();
    for view in after {
        let old = before
            .iter()
            .find(|old| (&old.namespace, &old.name) == (&view.namespace, &view.name));
        let set = format!("{}/{}", view.namespace, view.name);
        for claim in &view.claims {
            let same = old.is_some_and(|old| old.claims.contains(claim));
            if !same {
                let ClaimView {
                    row, desired, capacity, ..
                } = claim;
                let (name, state, why) = (&row.name, claim.state(), row.why());
                lines.push(clean(
                    format!("{set} {name}: {capacity} -> {desired} {state} {why}").trim_end(),
                ));
            }
        }
        for pod in &view.pods {
            if !old.is_some_and(|old| old.pods.contains(pod)) {
                lines.push(clean(&format!("{set} {}: Pod {}", pod.name, pod.state.text())));
            }
        }
        let state = state(view);
        if old.is_none_or(|old| self::state(old) != state) {
            lines.push(clean(&format!("{set}: {state}")));
        }
        if let Some(replacement) = &view.replacement
            && old.is_none_or(|old| old.replacement.as_ref() != Some(replacement))
        {
            lines.push(clean(&format!("{set}: {}", text(replacement))));
        }
    }
    lines
}

/// How far the rollout is, and its note.
fn state(view: &StatusView) -> String {
    let target = view.target.as_ref();
    let target = target.map(|target| format!("{} {}", target.revision, progress(target)));
    let parts: Vec<String> = target.into_iter().chain(view.note.clone()).collect();
    parts.join("; ")
}
