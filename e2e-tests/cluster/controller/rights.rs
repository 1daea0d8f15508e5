//! The rights of the controller compared with its requests.

use crate::cluster::rights::granted_rights_are_the_used_rights;
use crate::world::World;
use crate::world::installation::ACCOUNT;

/// Rights that no request shows, with the reason.
const UNSEEN: [(&str, &str); 1] = [(
    "delete claim-rollout.io/claimrollouts",
    "the admission plugin OwnerReferencesPermissionEnforcement (OpenShift) asks for it where a ClaimRollout gets a new owner",
)];

pub(super) async fn rights_of_deploy_are_the_used_ones(env: &World) -> anyhow::Result<()> {
    granted_rights_are_the_used_rights(&env.cluster, &["controller/rbac.yaml"], ACCOUNT, &UNSEEN).await
}
