//! docs/commands.md has a section for every subcommand, with all of its options and no others.

use std::collections::BTreeSet;

use super::arguments::command;

const DOCUMENT: &str = include_str!("../../docs/commands.md");

/// The subcommands in a heading (`## status, watch: the progress`), and the text under it.
fn sections() -> Vec<(Vec<&'static str>, &'static str)> {
    let sections = DOCUMENT.split("\n## ").skip(1);
    let named = sections.filter_map(|section| {
        let (heading, text) = section.split_once('\n')?;
        let names = heading.split(':').next().unwrap_or_default().split(", ");
        let names: Vec<&str> = names.filter(|name| !name.contains(' ')).collect();
        (!names.is_empty()).then_some((names, text))
    });
    named.collect()
}

/// The subcommands that `--help` shows.
fn subcommands() -> Vec<clap::Command> {
    let mut command = command(None);
    command.build();
    let all = command.get_subcommands();
    all.filter(|command| !command.is_hide_set() && command.get_name() != "help")
        .cloned()
        .collect()
}

/// The spellings of an option: `--output` and `-o`.
fn spellings(option: &clap::Arg) -> Vec<String> {
    let long = option.get_long().map(|long| format!("--{long}"));
    let short = option.get_short().map(|short| format!("-{short}"));
    long.into_iter().chain(short).collect()
}

/// The options of a subcommand, without those of all.
fn options(command: &clap::Command) -> Vec<&clap::Arg> {
    let all = command.get_arguments();
    all.filter(|option| !option.is_positional() && !option.is_global_set() && option.get_id() != "help")
        .collect()
}

/// The options of all subcommands.
fn of_all() -> BTreeSet<String> {
    let all = command(None);
    let global = all.get_arguments().filter(|option| option.is_global_set());
    global.flat_map(spellings).collect()
}

/// The options in the section of these subcommands, without those in command lines of other commands.
fn written<'a>(names: &[&str], text: &'a str) -> BTreeSet<&'a str> {
    let is_of_others = |line: &&str| {
        let command = line.strip_prefix("$ ");
        let is_ours = |command: &str| {
            names
                .iter()
                .any(|name| command.starts_with(&format!("claim-rollout {name}")))
        };
        // An output may contain commands of kubectl.
        command.is_some_and(|command| !is_ours(command)) || line.starts_with("  kubectl ")
    };
    let lines = text.lines().filter(|line| !is_of_others(line));
    let words = lines.flat_map(|line| line.split(|character: char| !(character.is_alphanumeric() || character == '-')));
    let is_option = |word: &&str| {
        word.strip_prefix("--")
            .or_else(|| word.strip_prefix('-').filter(|short| short.len() == 1))
            .is_some_and(|name| name.starts_with(|first: char| first.is_alphabetic()))
    };
    words.filter(is_option).collect()
}

#[test]
fn document_has_one_section_for_each_subcommand() {
    let mut documented: Vec<&str> = sections().into_iter().flat_map(|(names, _)| names).collect();
    documented.sort_unstable();
    let commands = subcommands();
    let mut known: Vec<&str> = commands.iter().map(clap::Command::get_name).collect();
    known.sort_unstable();
    assert_eq!(documented, known);
}

#[test]
fn document_sections_list_exactly_their_options() {
    let commands = subcommands();
    let mut count = 0;
    for (names, text) in sections() {
        let written = written(&names, text);
        let of_section: Vec<&clap::Command> = commands
            .iter()
            .filter(|command| names.contains(&command.get_name()))
            .collect();
        let mut known: BTreeSet<String> = of_all();
        for command in of_section {
            for option in options(command) {
                let spellings = spellings(option);
                let is_listed = spellings.iter().any(|spelling| written.contains(spelling.as_str()));
                assert!(is_listed, "{} {spellings:?} is not in its section", command.get_name());
                known.extend(spellings);
                count += 1;
            }
        }
        let unknown: Vec<&&str> = written.iter().filter(|word| !known.contains(**word)).collect();
        assert!(unknown.is_empty(), "{names:?} have no {unknown:?}");
    }
    assert!(count > 30, "{count}");
}
