//! `claim-rollout crd`

use clap::Args;
use kube::CustomResourceExt;

use crate::controller::crd::ClaimRollout;

/// Print the CustomResourceDefinition of ClaimRollout as YAML, for `kubectl apply -f -`
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments) -> anyhow::Result<()> {
    println!("{}", yaml()?.trim_end());
    Ok(())
}

fn yaml() -> anyhow::Result<String> {
    Ok(serde_saphyr::to_string(&ClaimRollout::crd())?)
}

#[cfg(test)]
mod tests {
    use super::yaml;

    #[test]
    fn deployed_definition_matches_code() {
        let deployed = include_str!("../../deploy/crd.yaml");
        assert!(
            deployed.trim_end() == yaml().expect("YAML").trim_end(),
            "deploy/crd.yaml is outdated: run `make crd`"
        );
    }
}
