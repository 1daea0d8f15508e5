//! The smallest change that ends a growth that the driver cannot do.

use super::assessment::ClaimAssessment;
use super::reduced_request::{least_request, reduce_request};
use super::replica::Replica;
use super::snapshot::{Resize, Snapshot};
use crate::claims::Claim;
use crate::claims::compatible::recoverable;
use crate::gate::Target;
use crate::gate::readiness::has_failed;
use crate::templates::rules::Shrink;
use crate::templates::{ClaimTemplate, Phase, Quantity};

/// The smallest change that ends the growth of this claim, as a part of a message. `None` if the driver has not failed to
/// grow it, or the API server accepts no smaller size: then only the driver can help.
///
/// With `shrink: Recover`, a smaller size or a withdrawal takes back what was not reached. Otherwise somebody has to patch
/// the claim, and to withdraw the change, because the next replica would ask for the same.
pub(super) fn smallest_change(
    snapshot: &Snapshot,
    target: &Target<'_>,
    replicas: &[Replica<'_>],
    failed: &ClaimAssessment<'_>,
) -> Option<String> {
    let claim = failed
        .claim
        .filter(|claim| has_failed(claim, Resize::ControllerInfeasible))?;
    let least = least_request(claim).filter(|least| *least < claim.request)?;
    let mut templates = target.change.templates.iter();
    let template = templates.find(|template| template.name == failed.template.name)?;
    let is_asked = template.storage >= Some(claim.request);
    let takes_back = snapshot.settings.shrink == Shrink::Recover && target.change.phase == Phase::RollingOut;
    if is_asked && takes_back && reduce_request(claim, least).is_some() {
        return by_templates(snapshot, template, replicas);
    }
    let by_hand = format!("let the PVC request at least {least}");
    Some(if is_asked {
        format!("withdraw the change, and {by_hand}")
    } else {
        by_hand
    })
}

/// A smaller size that every claim of the template can follow, and a withdrawal. `None` if the live template asks for as
/// much.
fn by_templates(snapshot: &Snapshot, template: &ClaimTemplate, replicas: &[Replica<'_>]) -> Option<String> {
    let mut live = snapshot.set.live.iter();
    let live = live.find(|live| live.name == template.name)?.storage?;
    let most = template.storage.filter(|most| live < *most)?;
    let claims = replicas.iter().flat_map(|replica| &replica.claims);
    let claims = claims.filter(|claim| claim.template.name == template.name);
    let size = smallest(template, live, claims.filter_map(|claim| claim.claim));
    Some(match size.filter(|size| *size < most) {
        Some(size) => format!(
            "stage {} with at least {size} and less than {most}, or withdraw the change",
            template.name
        ),
        // A request for the live templates is a withdrawal.
        None => "withdraw the change".to_owned(),
    })
}

/// The smallest size that the policy accepts: above the capacity of each claim that requests more than it has and could
/// not follow the live template, and so above the live template. `None` if that is not known.
fn smallest<'c>(template: &ClaimTemplate, live: Quantity, claims: impl Iterator<Item = &'c Claim>) -> Option<Quantity> {
    let lowest = ClaimTemplate {
        storage: Some(live),
        ..template.clone()
    };
    let grows = claims.filter(|claim| claim.capacity < Some(claim.request));
    let above = grows.filter(|claim| recoverable(&lowest, claim).is_some());
    above.filter_map(least_request).max()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{smallest, smallest_change};
    use crate::api::Settings;
    use crate::claims::compatible::recoverable;
    use crate::gate::Target;
    use crate::rollout::fixtures::{gi, rows, staged_change, template, trouble, web};
    use crate::rollout::idle_report;
    use crate::rollout::reduced_request::SIZE_STEP;
    use crate::rollout::snapshot::{Resize, Snapshot};
    use crate::rollout::table_tests::words::{act, common};
    use crate::templates::Quantity;
    use crate::templates::rules::Shrink;

    /// Three replicas of 1Gi. 1Ti is staged, and the driver reports that PVC 2 cannot have it. `shrink` is `Recover`.
    fn failed(change: impl FnOnce(&mut Snapshot)) -> Snapshot {
        let mut web = web();
        web.stage(vec![template("data", "1Ti")]);
        shrink(&mut web, Shrink::Recover);
        fails(&mut web, "data-web-2");
        change(&mut web);
        web
    }

    fn shrink(web: &mut Snapshot, shrink: Shrink) {
        web.settings = Arc::new(Settings {
            shrink,
            ..Settings::default()
        });
    }

    /// Our apply requests 1Ti, which the driver cannot do.
    fn fails(web: &mut Snapshot, name: &str) {
        let claim = web.applied(name);
        (claim.request, claim.size_is_ours) = (gi(1024), true);
        claim.resize = Some(Resize::ControllerInfeasible);
        claim.troubles = vec![trouble("ControllerResizeError")];
    }

    /// What ends the growth of PVC 2.
    fn found(web: &Snapshot) -> Option<String> {
        let target = Target::of(&web.set, &web.settings).expect("a target");
        let replicas = idle_report::replicas(web, &target);
        let failed = &replicas[0].claims[0];
        assert_eq!(failed.name.as_str(), "data-web-2");
        smallest_change(web, &target, &replicas, failed)
    }

    const LEAST: &str = "stage data with at least 1025Mi and less than 1Ti, or withdraw the change";

    /// A change, and what ends the growth. `LEAST` stands for its text.
    const ROWS: &str = "
        the least above its capacity | | LEAST
        above the largest of those that request more | fails 1, capacity 1 7 \
            | stage data with at least 7169Mi and less than 1Ti, or withdraw the change
        a PVC that requests no more may have any size | capacity 0 40 | LEAST
        another has reached it, and keeps it | request 1 1024, capacity 1 1024 | LEAST
        another has more than was staged, and requests still more | request 1 3072, capacity 1 2048 | withdraw the change
        the live size failed | live 1024 |
        the live size is above all capacities | live 3 | withdraw the change
        the setting is Deny | Deny | withdraw the change, and let the PVC request at least 1025Mi
        the rollout is complete | Complete | withdraw the change, and let the PVC request at least 1025Mi
        somebody else asked for the size | their size 2 \
            | withdraw the change, and let the PVC request at least 1025Mi
        somebody asked for more than the template | request 2 2048, their size 2 | let the PVC request at least 1025Mi
        the least is requested already | request Mi 2 1025 |
        the capacity is not known | no capacity 2 |
        the driver tries again | ControllerResizeInProgress 2 |
        the file system has not grown | NodeResizeInfeasible 2 |
    ";

    #[test]
    fn smallest_change_depends_on_settings_and_claims() {
        for [row, change, expected] in rows(ROWS) {
            let web = failed(|web| {
                act(web, change, |web, word, numbers| match (word, numbers) {
                    ("Deny", []) => shrink(web, Shrink::Deny),
                    ("fails", [ordinal]) => fails(web, &format!("data-web-{ordinal}")),
                    _ => common(web, word, numbers),
                });
            });
            let expected = expected.replace("LEAST", LEAST);
            assert_eq!(found(&web).unwrap_or_default(), expected, "{row}");
        }
    }

    #[test]
    fn smallest_change_is_shown_in_the_document() {
        let document = include_str!("../../docs/commands.md");
        assert!(document.contains(LEAST), "docs/commands.md shows something else");
    }

    /// The policy and the controller agree with the size: every PVC can follow it, and none can follow a smaller one.
    #[test]
    fn smallest_size_is_the_smallest_that_is_accepted() {
        for capacities in [[1, 1, 1], [1, 2, 3], [5, 3, 4], [9, 1, 9]] {
            let web = failed(|web| {
                for (ordinal, capacity) in capacities.into_iter().enumerate() {
                    let name = format!("data-web-{ordinal}");
                    fails(web, &name);
                    web.claim(&name).capacity = Some(gi(capacity));
                }
            });
            let staged = staged_change(vec![template("data", "1Ti")]);
            let size = smallest(&staged.templates[0], gi(1), web.claims.values()).expect("a size");
            let follow = |size: Quantity| {
                let mut data = template("data", "1Gi");
                data.storage = Some(size);
                web.claims.values().all(|claim| recoverable(&data, claim).is_none())
            };
            assert!(follow(size), "{capacities:?}: {size}");
            let less = Quantity::from_bytes(size.bytes().expect("bytes") - SIZE_STEP);
            assert!(!follow(less), "{capacities:?}: {less}");
        }
    }
}
