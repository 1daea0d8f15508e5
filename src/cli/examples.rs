//! The examples at the end of the help of each command.

use std::fmt::Write as _;

/// The arguments of examples, and what they do.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    ("completion", &[("bash", "for `source <(…)` in ~/.bashrc")]),
    (
        "controller",
        &[
            ("--settings=settings.yaml", "all namespaces"),
            ("-n shop --leader-elect=false", "one namespace, one replica"),
        ],
    ),
    (
        "doctor",
        &[
            ("", "check the installation in the namespace claim-rollout"),
            ("-n ops -o json", "one in another namespace, as data"),
        ],
    ),
    (
        "drift",
        &[
            ("-A", "all namespaces"),
            ("-l app=web", "those with this label"),
            ("web --exit-code", "fail if anything differs"),
        ],
    ),
    (
        "history",
        &[
            ("web", "the changes of web"),
            ("web --revision 2 -o yaml", "the templates of one"),
        ],
    ),
    ("pause", &[("web", "begin nothing new")]),
    (
        "plan",
        &[
            ("-f web.yaml", "what `kubectl apply -f web.yaml` would do"),
            ("web", "what is staged already"),
            (
                "-f web.yaml --objects state.yaml --settings settings.yaml",
                "without a cluster",
            ),
        ],
    ),
    (
        "replace",
        &[
            ("web --dry-run", "only check"),
            (
                "web --as=system:serviceaccount:claim-rollout:claim-rollout-controller",
                "where the guard is installed",
            ),
        ],
    ),
    ("resume", &[("web", "continue")]),
    ("retry", &[("web", "after the cause of a denied write was removed")]),
    (
        "review",
        &[(
            "review.json --settings settings.yaml",
            "the answer of the policy to one request",
        )],
    ),
    (
        "status",
        &[
            ("web", "how far web is"),
            ("-A -o wide", "everything in the cluster"),
            ("-l app=web --watch --timeout 10m", "until all with this label are done"),
        ],
    ),
    (
        "undo",
        &[
            ("web", "back to the previous revision"),
            (
                "web --to-revision 1 --dry-run=server",
                "whether another would be accepted",
            ),
        ],
    ),
    (
        "version",
        &[("", "this program and the cluster"), ("--client", "only this program")],
    ),
    ("wait", &[("web --timeout 10m", "after `kubectl apply`, in a script")]),
    ("webhook", &[("--settings=settings.yaml", "without Kubewarden")]),
    ("withdraw", &[("web", "drop what is staged")]),
];

/// Adds the examples, with the name that the user typed.
pub(super) fn add(mut command: clap::Command, program: &str) -> clap::Command {
    for (name, examples) in EXAMPLES {
        let mut text = "Examples:".to_owned();
        for (arguments, purpose) in *examples {
            let line = format!("{program} {name} {arguments}");
            // Writing to a String cannot fail.
            write!(text, "\n  # {purpose}\n  {}", line.trim_end()).ok();
        }
        command = command.mut_subcommand(name, |command| command.after_help(text));
    }
    command
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::EXAMPLES;
    use crate::cli::arguments::{Arguments, command};

    #[test]
    fn each_command_has_examples_that_are_accepted() {
        let parser = command(None);
        let shown = parser.get_subcommands().filter(|command| !command.is_hide_set());
        let named: Vec<&str> = EXAMPLES.iter().map(|(name, _)| *name).collect();
        assert_eq!(shown.map(clap::Command::get_name).collect::<Vec<_>>(), named);
        for (name, examples) in EXAMPLES {
            for (arguments, _) in *examples {
                let line = format!("claim-rollout {name} {arguments}");
                let words = line.split_whitespace().take_while(|word| !["|", ">"].contains(word));
                if let Err(error) = Arguments::try_parse_from(words) {
                    panic!("{line}: {error}");
                }
            }
        }
    }
}
