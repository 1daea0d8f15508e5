//! `claim-rollout crd`

use clap::Args;
use kube::CustomResourceExt;

use crate::controller::crd::ClaimRollout;

/// Print the CustomResourceDefinition of ClaimRollout as YAML, for `kubectl apply -f -`.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments) -> anyhow::Result<()> {
    println!("{}", yaml()?.trim_end());
    Ok(())
}

/// The CustomResourceDefinition as YAML.
fn yaml() -> anyhow::Result<String> {
    Ok(serde_saphyr::to_string(&ClaimRollout::crd())?)
}
