//! The metadata section of policy.wasm, as kwctl and policy-server read it.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::world::document::text;
use crate::world::policy_host::policy_bytes;

/// The section that Kubewarden reads: the first one of this name.
const SECTION: &[u8] = b"io.kubewarden.metadata";

#[test]
fn module_has_one_metadata_section_with_the_usage() -> anyhow::Result<()> {
    let module = policy_bytes()?;
    let mut sections = module.windows(SECTION.len()).enumerate();
    let mut sections = sections.by_ref().filter(|(_, window)| *window == SECTION);
    let (at, _) = sections.next().context("a section")?;
    ensure!(sections.next().is_none(), "expected one section");
    let mut json = serde_json::Deserializer::from_slice(&module[at + SECTION.len()..]).into_iter::<Value>();
    let metadata = json.next().context("JSON")??;
    let usage = &metadata["annotations"]["io.kubewarden.policy.usage"];
    assert_eq!(usage, &text("policy-readme.md")?);
    let mut written: Value = serde_saphyr::from_str(&text("policy-metadata.yml")?)?;
    written["annotations"]["io.kubewarden.policy.usage"] = usage.clone();
    assert_eq!(metadata, written);
    Ok(())
}
