//! policy-metadata.yml as the custom section that policy-server and kwctl read, so that every build can be loaded.
//!
//! `kwctl annotate` adds a section of its own, and only one may exist: `CLAIM_ROLLOUT_METADATA=none` builds without.

/// The file that build.rs writes.
const JSON: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/metadata.json"));

// Not `#[used]`: the data of the module would contain the same bytes again.
#[allow(unsafe_code, dead_code)]
#[unsafe(link_section = "io.kubewarden.metadata")]
static METADATA: [u8; JSON.len()] = {
    let mut section = [0; JSON.len()];
    section.copy_from_slice(JSON);
    section
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;
    use wasm_bindgen_test::wasm_bindgen_test;

    use super::METADATA;

    #[wasm_bindgen_test]
    fn section_equals_metadata_file() {
        let section: Value = serde_json::from_slice(&METADATA).expect("JSON");
        let file = include_str!("../../policy-metadata.yml");
        let in_file: BTreeSet<&str> = file
            .lines()
            .filter(|line| line.starts_with(|first: char| first.is_ascii_alphabetic()))
            .filter_map(|line| line.split_once(':').map(|(key, _)| key))
            .collect();
        let in_section: BTreeSet<&str> = section
            .as_object()
            .expect("an object")
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(in_section, in_file);
        assert_eq!(section["mutating"], true);
        assert_eq!(section["backgroundAudit"], false);
        assert_eq!(section["executionMode"], "kubewarden-wapc");
        assert_eq!(section["rules"][0]["resources"], serde_json::json!(["statefulsets"]));
        let capabilities = serde_json::json!(["kubernetes/get_resource", "kubernetes/can_i"]);
        assert_eq!(section["hostCapabilities"], capabilities);
        let version = &section["annotations"]["io.kubewarden.policy.version"];
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
    }
}
