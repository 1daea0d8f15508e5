//! Decides what a failed growth left behind, and the smallest change that ends it.

use std::collections::BTreeMap;

use super::answer::{Cure, CureKind, RecoverRow, Recovery};
use super::commands::Commands;
use super::growth::{GrowthState, least};
use crate::api::Settings;
use crate::claims::compatible::recoverable;
use crate::claims::retention::PodUid;
use crate::claims::{Belongs, Claim, foreign};
use crate::cli::drift::find::named;
use crate::rollout::lowered::{least_request, lowered};
use crate::rollout::readiness::asks_for_less;
use crate::rollout::target::update_policy;
use crate::rollout::{SetView, Target};
use crate::templates::rules::Shrink;
use crate::templates::{ClaimTemplate, Diff, Phase, Quantity};

/// A StatefulSet, its claims, and what the controller reports about them.
#[derive(Clone, Debug)]
pub(crate) struct RecoverInputs {
    pub(crate) set: SetView,
    pub(crate) settings: Settings,
    /// The claims with the names that replicas of the set have.
    pub(crate) claims: BTreeMap<String, GrownClaim>,
    /// The claims whose write was denied, with the answer of the API server.
    pub(crate) denied: BTreeMap<String, String>,
    /// The minor version of Kubernetes, if it is known.
    pub(crate) minor: Option<u32>,
}

/// A claim, and fields that the other decisions do not read.
#[derive(Clone, Debug)]
pub(crate) struct GrownClaim {
    pub(crate) view: Claim,
    /// `status.allocatedResources.storage`
    pub(crate) allocated: Option<Quantity>,
    /// `status.allocatedResourceStatuses.storage`
    pub(crate) status: Option<String>,
}

/// A claim of the set.
#[derive(Clone, Copy, Debug)]
struct FoundClaim<'a> {
    template: &'a ClaimTemplate,
    ordinal: u32,
    claim: &'a GrownClaim,
    growth: GrowthState,
}

impl FoundClaim<'_> {
    fn name(&self) -> &str {
        &self.claim.view.name
    }

    /// The smallest size that it may request instead.
    fn least(&self) -> Option<Quantity> {
        least(&self.claim.view)
    }

    /// True iff the claim requests no more than its template has, and the controller takes it back if that gets
    /// smaller.
    fn is_taken_back(&self) -> bool {
        let view = &self.claim.view;
        let lowered = self.least().and_then(|least| lowered(view, least));
        self.template.storage >= Some(view.request) && lowered.is_some()
    }

    /// True iff the rollout takes the claim back without another change.
    fn is_coming(&self, inputs: &RecoverInputs) -> bool {
        let lower = self.template.storage.and_then(|size| lowered(&self.claim.view, size));
        lower.is_some() && staged(inputs).is_ok()
    }
}

/// What a failed growth left behind, and the cures. `program` is the command that runs this program.
pub(crate) fn decide(inputs: &RecoverInputs, program: &str) -> Recovery {
    let found = found(inputs);
    let commands = Commands {
        program,
        set: &inputs.set,
    };
    let (mut cures, mut notes) = (Vec::new(), Vec::new());
    take_back(inputs, &found, &commands, &mut cures, &mut notes);
    cures.extend(restarts(&found, &commands));
    cures.extend(retry(inputs, &found, &commands));
    Recovery {
        claims: found.iter().map(|found| row(inputs, found)).collect(),
        summary: summary(&found, &inputs.set.name),
        cures,
        notes,
    }
}

fn found(inputs: &RecoverInputs) -> Vec<FoundClaim<'_>> {
    let all = named(&inputs.set, inputs.set.wanted()).filter_map(|(ordinal, template, name)| {
        let claim = inputs.claims.get(name.as_str())?;
        let belongs = Belongs {
            set_uid: &inputs.set.uid,
            pod: &format!("{}-{ordinal}", inputs.set.name),
            pod_uid: PodUid::NotAsked,
            // With its Pod, which is not read, another label does not matter.
            match_labels: &[],
        };
        let growth = match GrowthState::of(template, &claim.view) {
            GrowthState::Terminating => GrowthState::Terminating,
            _ if foreign(&claim.view, &belongs).is_some() => GrowthState::Foreign,
            // What somebody lowered is not written again, so no cause can be removed.
            GrowthState::Reached
                if inputs.denied.contains_key(name.as_str()) && !is_lowered(inputs, template, &claim.view) =>
            {
                GrowthState::Denied
            }
            growth => growth,
        };
        Some(FoundClaim {
            template,
            ordinal,
            claim,
            growth,
        })
    });
    all.collect()
}

/// True iff somebody lowered the claim after it was updated.
fn is_lowered(inputs: &RecoverInputs, template: &ClaimTemplate, view: &Claim) -> bool {
    let staged = inputs.set.staged.as_ref();
    staged.is_some_and(|change| change.label().is_on(&view.labels)) && asks_for_less(view, template)
}

fn row(inputs: &RecoverInputs, found: &FoundClaim<'_>) -> RecoverRow {
    let view = &found.claim.view;
    let text = |quantity: Option<Quantity>| quantity.map(|quantity| quantity.to_string());
    let note = match found.growth {
        GrowthState::Denied => inputs.denied[&view.name].clone(),
        GrowthState::Reached => inputs.denied.get(&view.name).cloned().unwrap_or_default(),
        growth => growth.note(found.template, view),
    };
    RecoverRow {
        claim: view.name.clone(),
        requested: view.request.to_string(),
        allocated: text(found.claim.allocated),
        capacity: text(view.capacity),
        storage_class: view.storage_class_name().map(str::to_owned),
        status: found.claim.status.clone(),
        growth: found.growth,
        least: text(found.least()),
        note,
    }
}

fn summary(found: &[FoundClaim<'_>], name: &str) -> String {
    let all = found.len();
    let count = |growth| found.iter().filter(|found| found.growth == growth).count();
    let (failed, on_node) = (
        count(GrowthState::Infeasible) + count(GrowthState::Retried),
        count(GrowthState::OnNode),
    );
    let (denied, growing) = (count(GrowthState::Denied), count(GrowthState::Growing));
    let what = if failed > 0 {
        format!("the growth of {failed} of {all} PVCs failed")
    } else if on_node > 0 {
        format!("{on_node} of {all} volumes have grown, but their file systems have not")
    } else if denied > 0 {
        format!("the API server denies the write of {denied} of {all} PVCs")
    } else if growing > 0 {
        format!("{growing} of {all} PVCs still grow and none failed: nothing to do but to wait")
    } else {
        "no growth failed: nothing to do".to_owned()
    };
    format!("StatefulSet {name}: {what}")
}

/// The cures of claims whose driver failed.
fn take_back(
    inputs: &RecoverInputs,
    found: &[FoundClaim<'_>],
    commands: &Commands<'_>,
    cures: &mut Vec<Cure>,
    notes: &mut Vec<String>,
) {
    let failed: Vec<&FoundClaim<'_>> = found.iter().filter(|found| found.growth.is_failed()).collect();
    if failed.is_empty() {
        return;
    }
    for found in failed.iter().filter(|found| found.least().is_none()) {
        notes.push(format!(
            "PVC {} requests {}, and the API server accepts no smaller size: only its driver can help",
            found.name(),
            found.claim.view.request
        ));
    }
    let staged = staged(inputs);
    let is_taken_back = |found: &FoundClaim<'_>| staged.is_ok() && found.is_taken_back();
    match &staged {
        Ok(change) if failed.iter().any(|found| found.is_taken_back()) => {
            cures.extend(stage(inputs, found, commands, notes));
            cures.extend(withdrawal(inputs, change, commands));
        }
        Ok(_) => {}
        Err(why) => notes.push(why.clone()),
    }
    let coming = failed.iter().filter(|found| found.is_coming(inputs));
    notes.extend(coming.map(|found| format!("PVC {}: the rollout will take it back", found.name())));
    let left = failed
        .iter()
        .filter(|found| !is_taken_back(found) && !found.is_coming(inputs));
    cures.extend(patches(
        inputs,
        &left.copied().collect::<Vec<_>>(),
        commands,
        cures.is_empty(),
    ));
    if !cures.is_empty() && inputs.minor.is_some_and(|minor| minor < RECOVERS) {
        notes.push(format!(
            "before Kubernetes 1.{RECOVERS}, a smaller size needs the feature gate RecoverVolumeExpansionFailure"
        ));
    }
}

/// The patches of the claims that no change of the templates takes back.
fn patches(inputs: &RecoverInputs, left: &[&FoundClaim<'_>], commands: &Commands<'_>, is_only: bool) -> Option<Cure> {
    let smaller = left
        .iter()
        .filter_map(|found| Some(commands.patch_claim(found.name(), found.least()?)));
    let mut lines: Vec<String> = smaller.collect();
    if lines.is_empty() {
        return None;
    }
    let mut text = "patch the PVCs, so that each requests the least above its capacity".to_owned();
    let is_asked = |found: &&FoundClaim<'_>| found.template.storage >= Some(found.claim.view.request);
    let rolls_out = Target::of(&inputs.set, &inputs.settings).is_ok();
    // Otherwise the next replica follows, and fails too.
    if is_only && rolls_out && left.iter().any(is_asked) {
        lines.insert(0, commands.withdraw());
        text = format!("withdraw the staged change, and {text}");
    }
    Some(Cure {
        kind: CureKind::Patch,
        text,
        commands: lines,
    })
}

/// Since this minor version, recovery from a failed expansion needs no feature gate (KEP-1790).
const RECOVERS: u32 = 34;

/// Why nothing is taken back by default.
const DENIED: &str = "the templates cannot take a size back without the setting shrink: Recover; with it, a smaller size \
                      and a withdrawal take back what was not reached";

/// The staged change that is rolled out and can take sizes back; else why not.
fn staged(inputs: &RecoverInputs) -> Result<&[ClaimTemplate], String> {
    let target = Target::of(&inputs.set, &inputs.settings)
        .map_err(|idle| format!("the templates cannot take a size back: {idle}"))?;
    if inputs.settings.shrink != Shrink::Recover {
        return Err(DENIED.to_owned());
    }
    if target.change.phase != Phase::RollingOut {
        return Err(format!(
            "the templates cannot take a size back: the staged change is {}",
            target.change.phase
        ));
    }
    Ok(&target.change.templates)
}

/// The smaller sizes that every claim can follow that has not reached the present one, if there are any.
fn stage(
    inputs: &RecoverInputs,
    found: &[FoundClaim<'_>],
    commands: &Commands<'_>,
    notes: &mut Vec<String>,
) -> Option<Cure> {
    let (set, wanted) = (&inputs.set, inputs.set.wanted());
    let mut asked = wanted.to_vec();
    let mut sizes = Vec::new();
    for template in &mut asked {
        let of_template = || found.iter().filter(|found| found.template.name == template.name);
        if !of_template().any(|found| found.growth.is_failed() && found.is_taken_back()) {
            continue;
        }
        let live = set.live.iter().find(|live| live.name == template.name)?;
        let claims = of_template().map(|found| &found.claim.view);
        let Some(size) = smallest(template, live.storage?, claims) else {
            notes.push(format!(
                "no smaller size of template {} can be staged: the live template, or a PVC that is to grow, has as much",
                template.name
            ));
            return None;
        };
        let most = template.storage?;
        sizes.push(format!("{} at least {size} and less than {most}", template.name));
        template.storage = Some(size);
    }
    let diff = Diff::between(wanted, &asked);
    let rules = inputs.settings.rules(update_policy(set));
    if let Some(fault) = rules.faults(&diff, &asked, &set.live).first() {
        notes.push(format!("no smaller size can be staged: {fault}"));
        return None;
    }
    // A request for the live templates is a withdrawal.
    if Diff::between(&set.live, &asked).is_empty() {
        return None;
    }
    Some(Cure {
        kind: CureKind::Stage,
        text: format!(
            "stage a size that the driver can do ({}); this is the smallest, and PVCs that have reached more keep it",
            sizes.join(", ")
        ),
        commands: commands.resuming(commands.stage(&asked)),
    })
}

/// The smallest size that the policy accepts: not below the live template, and above the capacity of each claim that
/// requests more than it has. `None` if it is not smaller than the present one.
fn smallest<'c>(template: &ClaimTemplate, live: Quantity, claims: impl Iterator<Item = &'c Claim>) -> Option<Quantity> {
    let lowest = ClaimTemplate {
        storage: Some(live),
        ..template.clone()
    };
    let grows = claims.filter(|claim| claim.capacity < Some(claim.request));
    let above = grows.filter(|claim| recoverable(&lowest, claim).is_some());
    let least = above.filter_map(least_request).max();
    let size = least.map_or(live, |least| least.max(live));
    (Some(size) < template.storage).then_some(size)
}

/// With `shrink: Recover`, a withdrawal takes back, claim by claim, what was not reached.
fn withdrawal(inputs: &RecoverInputs, staged: &[ClaimTemplate], commands: &Commands<'_>) -> Option<Cure> {
    Diff::between(staged, &inputs.set.live).takes_back().then(|| Cure {
        kind: CureKind::Withdraw,
        text: "withdraw the staged change: PVCs that have reached the larger size keep it, the others are taken back"
            .to_owned(),
        commands: commands.resuming(commands.withdraw()),
    })
}

fn restarts(found: &[FoundClaim<'_>], commands: &Commands<'_>) -> Option<Cure> {
    let on_node = found.iter().filter(|found| found.growth == GrowthState::OnNode);
    let mut pods: Vec<u32> = on_node.map(|found| found.ordinal).collect();
    pods.dedup();
    (!pods.is_empty()).then(|| Cure {
        kind: CureKind::RestartPod,
        text: "if a file system does not grow by itself, let its Pod mount the volume again; one Pod after the other"
            .to_owned(),
        commands: pods.iter().map(|ordinal| commands.restart(*ordinal)).collect(),
    })
}

fn retry(inputs: &RecoverInputs, found: &[FoundClaim<'_>], commands: &Commands<'_>) -> Option<Cure> {
    let denied = found.iter().find(|found| found.growth == GrowthState::Denied)?;
    let why = &inputs.denied[denied.name()];
    Some(Cure {
        kind: CureKind::Retry,
        text: format!("remove the cause ({why}), and let the controller try again"),
        commands: commands.resuming(commands.retry()),
    })
}

#[cfg(test)]
#[path = "decide_tests.rs"]
pub(super) mod tests;
