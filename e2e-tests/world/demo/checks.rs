//! Checks that what the demo shows really happened.

use anyhow::ensure;
use serde_json::Value;

use super::screen::Screen;
use crate::world::namespace::TestNamespace;

/// The larger size.
pub(super) const LARGE: &str = "20Gi";
/// The PVCs in the order of a rollout.
const CLAIMS: [&str; 3] = ["data-web-2", "data-web-1", "data-web-0"];

/// Checks everything, and prints one line per check. The Pods had these uids before the change.
pub(super) async fn check(ns: &TestNamespace<'_>, pods: &[Value], screen: &mut Screen) -> anyhow::Result<()> {
    let mut wrong = 0;
    let mut check = |right: bool, what: String| {
        wrong += usize::from(!right);
        screen.wrapped(&format!("  {} {what}", if right { "ok" } else { "NOT TRUE:" }));
    };

    let claims = ns.claims().await?;
    let capacities = claims.iter().map(|claim| &claim["status"]["capacity"]["storage"]);
    let large = capacities.filter(|capacity| **capacity == LARGE).count();
    check(
        large == 3 && claims.len() == 3,
        format!("{large} of {} PVCs have status.capacity {LARGE}", claims.len()),
    );

    let written = ns.writes_since(0).await?;
    let followed = written.claims_follow_one_another(&CLAIMS);
    check(
        followed.is_ok(),
        match followed {
            Ok(()) => "in order 2, 1, 0; none was touched before the one above had grown".to_owned(),
            Err(error) => format!("in order 2, 1, 0; {error:#}"),
        },
    );

    check(
        ns.pods().await? == pods && pods.len() == 3,
        "no Pod was restarted: three Pods with the uids they had before".to_owned(),
    );

    let names = written.count().claims;
    check(
        names == CLAIMS,
        format!("{} writes to PVCs by the controller: {}", names.len(), names.join(", ")),
    );
    ensure!(wrong == 0, "{wrong} of these statements should be true and are not");
    Ok(())
}
