//! `claim-rollout man`: manual pages, for packagers.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

/// Write the manual pages, one for each command
#[derive(Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// Folder to write the pages to
    folder: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, parser: clap::Command) -> anyhow::Result<()> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    clap_mangen::generate_to(parser, folder).with_context(|| folder.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::{Arguments, run};
    use crate::cli::arguments::command;

    #[test]
    fn run_writes_a_page_for_each_visible_command() {
        let folder = tempfile::tempdir().expect("a folder");
        let arguments = Arguments {
            folder: folder.path().to_owned(),
        };
        run(&arguments, command(None)).expect("pages");
        let mut expected = vec!["claim-rollout.1".to_owned()];
        let commands = command(None);
        let shown = commands.get_subcommands().filter(|command| !command.is_hide_set());
        expected.extend(shown.map(|command| format!("claim-rollout-{}.1", command.get_name())));
        for page in expected {
            let text = std::fs::read_to_string(folder.path().join(&page)).expect(&page);
            assert!(text.contains(".SH NAME"), "{page}");
        }
    }
}
