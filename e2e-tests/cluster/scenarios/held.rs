//! A rollout that is stopped at one of its writes.

use anyhow::Context as _;

use crate::world::World;
use crate::world::namespace::TestNamespace;
use crate::world::web::Web;

/// Applies the manifest, and waits until the write of this PVC that follows from it is held.
pub(super) async fn held_at(env: &World, ns: &TestNamespace<'_>, claim: &str, manifest: &Web) -> anyhow::Result<()> {
    env.barriers.hold_claim(&ns.namespace, claim);
    ns.target(manifest).await?;
    env.barriers.until_held(&ns.namespace).await.with_context(|| ns.log())
}
