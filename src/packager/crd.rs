//! The CustomResourceDefinition of ClaimRollout.

use kube::CustomResourceExt;

use crate::controller::crd::ClaimRollout;

/// The definition as YAML, ready to apply.
pub(super) fn yaml() -> anyhow::Result<String> {
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
