//! The table of Kubernetes' own tests in the documentation.

use std::collections::BTreeMap;

use crate::world::by_minor;

/// The cell of a test that passes, with and without claim-rollout. All others contain the reason why it is left out.
pub(super) const PASSES: &str = "passes";
/// The cell of a test that this version of Kubernetes does not have.
const ABSENT: &str = "not there";

/// The tests of a minor version, with their cells.
pub(super) fn recorded(minor: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let mut specs = by_minor::column(by_minor::TESTS, "Kubernetes' test", minor)?;
    specs.retain(|_, cell| cell != ABSENT);
    Ok(specs)
}
