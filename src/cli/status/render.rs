//! Renders views as text.

use super::line::{Ink, Shape, StyledLine, Width, wrapped};
use super::pods::PodState;
use super::replacement;
use super::rollout::RolloutPhase;
use super::view::{ClaimView, StatusView, TargetView};
use crate::api::ReplacementPhase;
use crate::controller::crd::ReplacementStatus;
use crate::gate::ClaimState;
use crate::gate::readiness::WAITING;
use crate::templates::UpdatePolicy;

/// The width of a bar.
const BAR: usize = 10;

/// All views, one below the other.
pub(crate) fn render(views: &[StatusView], shape: Shape) -> String {
    render_rows(views, shape, Rows::All)
}

/// All views in at most this number of rows: adjacent replicas that are done, or have not begun, are one line; what is left
/// over is cut.
pub(crate) fn fit(views: &[StatusView], shape: Shape, rows: usize) -> String {
    let all = render(views, shape);
    if all.lines().count() <= rows {
        return all;
    }
    let folded = render_rows(views, shape, Rows::Folded);
    let lines: Vec<&str> = folded.lines().collect();
    if lines.len() <= rows {
        return folded;
    }
    let shown = rows.saturating_sub(1);
    let more = format!("… {} more lines", lines.len() - shown);
    let kept = lines.iter().take(shown).copied().chain([more.as_str()]);
    kept.map(|line| line.to_owned() + "\n").collect()
}

/// Whether adjacent replicas in the same state are one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    All,
    Folded,
}

fn render_rows(views: &[StatusView], shape: Shape, rows: Rows) -> String {
    if views.is_empty() {
        return "no rollouts found (-A shows all namespaces)\n".to_owned();
    }
    let blocks: Vec<String> = views.iter().map(|view| block(view, shape, rows)).collect();
    blocks.join("\n")
}

/// A set and its claims.
fn block(view: &StatusView, shape: Shape, rows: Rows) -> String {
    let mut lines = heading(view, shape);
    if let Some(note) = &view.note {
        let ink = if view
            .target
            .as_ref()
            .is_some_and(|target| target.state == RolloutPhase::Stalled)
        {
            Ink::Bad
        } else {
            Ink::Text
        };
        lines.extend(wrapped(ink, note, shape.width));
    }
    lines.extend(
        view.replacement
            .as_ref()
            .into_iter()
            .flat_map(|replacement| replaced(replacement, shape)),
    );
    let columns = ColumnWidths::of(&view.claims);
    let replicas = replicas(view);
    let plain = view.pods.is_empty() && replicas.iter().all(|(_, _, claims)| claims.len() == 1);
    let runs: Vec<&[ReplicaLines<'_>]> = match rows {
        Rows::All => replicas.chunks(1).collect(),
        Rows::Folded => replicas
            .chunk_by(|one, next| still(one).is_some() && still(one) == still(next))
            .collect(),
    };
    for (index, run) in runs.iter().enumerate() {
        let (branch, trunk) = branches(index, runs.len());
        let (name, pod, claims) = match run {
            [one] => one,
            many => {
                lines.push(folded(branch, many));
                continue;
            }
        };
        if plain {
            let ordinal = format!("{:>1$}  ", claims[0].row.ordinal, columns.ordinal);
            lines.extend(
                claims
                    .iter()
                    .map(|claim| row(claim, &format!("  {branch} "), &ordinal, &columns, shape)),
            );
            continue;
        }
        lines.push(replica(branch, name, *pod));
        for (index, claim) in claims.iter().enumerate() {
            let (twig, _) = branches(index, claims.len());
            lines.push(row(claim, &format!("  {trunk}  {twig} "), "", &columns, shape));
        }
    }
    lines.iter().map(|line| line.draw(shape) + "\n").collect()
}

/// `  not replaced: PodNotReady: Pod web-1 is not Ready`
fn replaced(replacement: &ReplacementStatus, shape: Shape) -> Vec<StyledLine> {
    let ink = match replacement::phase(replacement) {
        Some(ReplacementPhase::InProgress) => Ink::Busy,
        Some(ReplacementPhase::Stalled | ReplacementPhase::Refused) => Ink::Bad,
        Some(ReplacementPhase::Replaced) => Ink::Good,
        None => Ink::Text,
    };
    let mut lines = wrapped(ink, &replacement::text(replacement), shape.width);
    if let (Width::Wide, Some(line)) = (shape.width, lines.last_mut()) {
        line.0.push((Ink::Quiet, format!("  since {}", replacement.since.0)));
    }
    lines
}

/// A replica: its name, its Pod where one is shown, and its claims.
type ReplicaLines<'a> = (String, Option<PodState>, Vec<&'a ClaimView>);

/// The state of the PVCs of a replica, if they are all done or have all not begun.
fn still((_, pod, claims): &ReplicaLines<'_>) -> Option<(Option<ClaimState>, Option<PodState>)> {
    let state = claims.first()?.row.state;
    let is_still = |claim: &&ClaimView| {
        claim.row.state == state
            && match state {
                Some(ClaimState::Pending) => claim.row.why().is_empty() || claim.row.reason == WAITING,
                Some(ClaimState::Done) | None => claim.row.why().is_empty(),
                Some(_) => false,
            }
    };
    claims.iter().all(is_still).then_some((state, *pod))
}

/// `├─ web-59 to web-41  Done`
fn folded(branch: &str, run: &[ReplicaLines<'_>]) -> StyledLine {
    let name = |replica: Option<&ReplicaLines<'_>>| replica.map_or_else(String::new, |(name, ..)| name.clone());
    let (state, pod) = run.first().and_then(still).unwrap_or_default();
    let text = state.map_or("", ClaimState::as_str);
    let pod = pod.map(|pod| format!("  Pods {}", pod.text())).unwrap_or_default();
    StyledLine(vec![
        (Ink::Quiet, format!("  {branch} ")),
        (Ink::Name, format!("{} to {}", name(run.first()), name(run.last()))),
        (ink(state), format!("  {} replicas  {text}{pod}", run.len())),
    ])
}

/// The replicas, highest ordinal first.
fn replicas(view: &StatusView) -> Vec<ReplicaLines<'_>> {
    let mut ordinals: Vec<u32> = view.claims.iter().map(|claim| claim.row.ordinal).collect();
    ordinals.extend(view.pods.iter().map(|pod| pod.ordinal));
    ordinals.sort_unstable_by(|a, b| b.cmp(a));
    ordinals.dedup();
    let replica = |ordinal: u32| {
        let pod = view.pods.iter().find(|pod| pod.ordinal == ordinal).map(|pod| pod.state);
        let claims = view
            .claims
            .iter()
            .filter(|claim| claim.row.ordinal == ordinal)
            .collect();
        (format!("{}-{ordinal}", view.name), pod, claims)
    };
    ordinals.into_iter().map(replica).collect()
}

/// The branch to the item at this index, and the trunk below it.
fn branches(index: usize, items: usize) -> (&'static str, &'static str) {
    if index + 1 == items {
        ("└─", " ")
    } else {
        ("├─", "│")
    }
}

/// `├─ web-1  Pod waiting`
fn replica(branch: &str, name: &str, pod: Option<PodState>) -> StyledLine {
    let mut pieces = vec![(Ink::Quiet, format!("  {branch} ")), (Ink::Name, name.to_owned())];
    if let Some(pod) = pod {
        let ink = match pod {
            PodState::Updated => Ink::Good,
            PodState::Waiting => Ink::Quiet,
            PodState::Terminating | PodState::Missing | PodState::Starting => Ink::Busy,
        };
        pieces.push((ink, format!("  Pod {}", pod.text())));
    }
    StyledLine(pieces)
}

/// `default/web  6c9f7d5b84  InPlace, LockStep                2/3 replicas, Reconciling`, with the end at the right, or on a
/// line of its own where both have no room.
fn heading(view: &StatusView, shape: Shape) -> Vec<StyledLine> {
    let mut pieces = vec![
        (Ink::Quiet, format!("{}/", view.namespace)),
        (Ink::Name, view.name.clone()),
    ];
    if let Some(target) = &view.target {
        let how: Vec<&str> = [target.policy.as_str(), target.sync.as_str()]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect();
        pieces.push((Ink::Text, format!("  {}", target.revision)));
        pieces.push((Ink::Quiet, format!("  {}", how.join(", "))));
        let end = progress(target);
        let used: usize = pieces.iter().map(|(_, text)| text.chars().count()).sum();
        let used = used + end.chars().count();
        let gap = shape
            .width
            .heading()
            .map_or(2, |width| width.saturating_sub(used).max(2));
        let ink = match target.state {
            RolloutPhase::Reconciling => Ink::Busy,
            RolloutPhase::Stalled => Ink::Bad,
            RolloutPhase::Complete => Ink::Good,
        };
        if matches!(shape.width, Width::Terminal(width) if used + gap > width) {
            return [vec![StyledLine(pieces)], wrapped(ink, &end, shape.width)].concat();
        }
        pieces.push((ink, format!("{}{end}", " ".repeat(gap))));
    }
    vec![StyledLine(pieces)]
}

pub(super) fn progress(target: &TargetView) -> String {
    if !target.staged {
        return "nothing is staged".to_owned();
    }
    // Without a rollout there is nothing to count.
    if target.policy == UpdatePolicy::OnClaimDelete.as_str() {
        return "existing PVCs stay as they are".to_owned();
    }
    format!("{}/{} replicas, {:?}", target.updated, target.replicas, target.state)
}

/// The widths of the columns of a block.
struct ColumnWidths {
    ordinal: usize,
    name: usize,
    desired: usize,
    capacity: usize,
    state: usize,
}

impl ColumnWidths {
    fn of(claims: &[ClaimView]) -> Self {
        let widest = |width: fn(&ClaimView) -> usize| claims.iter().map(width).max().unwrap_or(0);
        Self {
            ordinal: widest(|claim| claim.row.ordinal.to_string().len()),
            name: widest(|claim| claim.row.name.chars().count()),
            desired: widest(|claim| claim.desired.chars().count()),
            capacity: widest(|claim| claim.capacity.chars().count()),
            state: widest(|claim| claim.state().len()),
        }
    }
}

/// `├─ 1  data-web-1  10Gi -> 20Gi  █████░░░░░  Expanding  the driver works`
fn row(claim: &ClaimView, branch: &str, ordinal: &str, columns: &ColumnWidths, shape: Shape) -> StyledLine {
    let ink = ink(claim.row.state);
    let (desired, capacity) = (columns.desired, columns.capacity);
    let mut pieces = vec![
        (Ink::Quiet, branch.to_owned()),
        (Ink::Text, ordinal.to_owned()),
        (Ink::Name, format!("{:<1$}  ", claim.row.name, columns.name)),
        (
            Ink::Text,
            format!("{:>capacity$} -> {:<desired$}  ", claim.capacity, claim.desired),
        ),
        (ink, bar(if has_begun(claim) { claim.percent } else { 0 })),
    ];
    if columns.state > 0 {
        pieces.push((ink, format!("  {:<1$}", claim.state(), columns.state)));
    }
    if shape.width == Width::Wide {
        let class = claim.attributes_class.as_deref().unwrap_or("-");
        let revision = claim.revision.as_deref().unwrap_or("-");
        pieces.push((Ink::Quiet, format!("  class {class}  revision {revision}")));
    }
    if !claim.row.why().is_empty() {
        pieces.push((Ink::Quiet, format!("  {}", claim.row.why())));
    }
    StyledLine(pieces)
}

/// False iff the rollout has not changed the PVC yet.
fn has_begun(claim: &ClaimView) -> bool {
    claim.row.state != Some(ClaimState::Pending)
}

/// A bar that is full only at 100.
fn bar(percent: u8) -> String {
    let full = usize::from(percent.min(100)) * BAR / 100;
    format!("{}{}", "█".repeat(full), "░".repeat(BAR - full))
}

fn ink(state: Option<ClaimState>) -> Ink {
    match state {
        Some(ClaimState::Done) => Ink::Good,
        Some(state) if state.is_stalled() || state == ClaimState::Missing => Ink::Bad,
        None | Some(ClaimState::Pending) => Ink::Quiet,
        Some(_) => Ink::Busy,
    }
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
