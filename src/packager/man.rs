//! Manual pages.

use std::path::Path;

use anyhow::Context as _;

/// Writes a page for each command that the help shows.
pub(super) fn write(folder: &Path, parser: clap::Command) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    clap_mangen::generate_to(parser, folder).with_context(|| folder.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::write;
    use crate::cli::parser;

    #[test]
    fn man_has_a_page_for_each_visible_command() {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), parser()).expect("pages");
        let mut expected = vec!["claim-rollout.1".to_owned()];
        let commands = parser();
        let shown = commands.get_subcommands().filter(|command| !command.is_hide_set());
        expected.extend(shown.map(|command| format!("claim-rollout-{}.1", command.get_name())));
        for page in expected {
            let text = std::fs::read_to_string(folder.path().join(&page)).expect(&page);
            assert!(text.contains(".SH NAME"), "{page}");
        }
    }
}
