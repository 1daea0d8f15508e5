//! The examples at the end of the help of each command.

use std::collections::BTreeMap;

/// Command lines without the name of the program, and what they do.
const EXAMPLES: &str = "\
completion bash # for `source <(…)` in ~/.bashrc
controller --settings=settings.yaml # all namespaces
controller -n shop --leader-elect=false # one namespace, one replica
doctor # check the installation in the namespace claim-rollout
doctor -n ops -o json # one in another namespace, as data
drift -A # all namespaces
drift -l app=web # those with this label
drift web --exit-code # fail if anything differs
history web # the changes of web
history web --revision 2 -o yaml # the templates of one
pause web # begin nothing new
plan -f web.yaml # what `kubectl apply -f web.yaml` would do
plan web # what is staged already
plan -f web.yaml --objects state.yaml --settings settings.yaml # without a cluster
replace web --dry-run # only check
replace web --as=system:serviceaccount:claim-rollout:claim-rollout-controller # where the guard is installed
resume web # continue
retry web # after the cause of a denied write was removed
review review.json --settings settings.yaml # the answer of the policy to one request
status web # how far web is
status -A -o wide # everything in the cluster
status -l app=web --watch --timeout 10m # until all with this label are done
undo web # back to the previous revision
undo web --to-revision 1 --dry-run=server # whether another would be accepted
version # this program and the cluster
version --client # only this program
wait web --timeout 10m # after `kubectl apply`, in a script
webhook --settings=settings.yaml # without Kubewarden
withdraw web # drop what is staged
";

/// The examples of each command, in the order of the help: the command, its line, and what that does.
fn examples() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let examples = EXAMPLES.lines().filter_map(|example| example.split_once(" # "));
    examples.map(|(line, purpose)| (line.split(' ').next().unwrap_or_default(), line, purpose))
}

/// Adds the examples, with the name that the user typed.
pub(super) fn add(mut command: clap::Command, program: &str) -> clap::Command {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for (name, line, purpose) in examples() {
        let text = texts.entry(name).or_insert_with(|| "Examples:".to_owned());
        *text += &format!("\n  # {purpose}\n  {program} {line}");
    }
    for (name, text) in texts {
        command = command.mut_subcommand(name, |command| command.after_help(text));
    }
    command
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::{EXAMPLES, examples};
    use crate::cli::arguments::{Arguments, command};

    #[test]
    fn each_command_has_examples_that_are_accepted() {
        assert_eq!(examples().count(), EXAMPLES.lines().count());
        let parser = command(None);
        let shown = parser.get_subcommands().filter(|command| !command.is_hide_set());
        let mut named: Vec<&str> = examples().map(|(name, ..)| name).collect();
        named.dedup();
        assert_eq!(shown.map(clap::Command::get_name).collect::<Vec<_>>(), named);
        for (_, line, _) in examples() {
            let words = line.split_whitespace().take_while(|word| !["|", ">"].contains(word));
            if let Err(error) = Arguments::try_parse_from(["claim-rollout"].into_iter().chain(words)) {
                panic!("{line}: {error}");
            }
        }
    }
}
