//! `claim-rollout wait`: waits for the change that is staged now.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::follow::{Follow, FollowEnd, Show};
use super::source::StatusSource;
use crate::cli::cluster::{ClusterArguments, duration};
use crate::cli::completion::sets;
use crate::cli::output::{note, print};

/// Wait until the staged change of a StatefulSet is rolled out
///
/// For scripts, after `kubectl apply`: it waits for the revision that is staged when it starts, not for the result of a
/// previous change. Prints one line at the end. Pods that waited for their PVCs may still be replaced after it:
/// `kubectl rollout status` waits for them.
///
/// Exits with 0 if the rollout is complete, or nothing is staged; with 1 if it is stalled, or something else is staged
/// instead; with 3 if the cluster cannot be read; and with 124 after the time-out.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the StatefulSet
    #[arg(add = sets())]
    name: String,
    /// How long to wait, such as 10m; without a limit if omitted
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,
}

pub(crate) fn run(cluster: &ClusterArguments, arguments: &Arguments) -> ExitCode {
    super::code(wait(cluster, arguments))
}

async fn wait(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<FollowEnd> {
    let (client, namespace) = cluster.connect().await?;
    let source = StatusSource {
        client,
        namespace: Some(namespace),
        names: vec![arguments.name.clone()],
        selector: None,
    };
    let loaded = source.load().await?;
    if !loaded.is_served {
        note(&format!("warning: {}", super::not_served()));
    }
    let mut views = loaded.views;
    let unreadable = views.iter_mut().find_map(|view| view.unreadable.take());
    let staged = views.into_iter().find_map(|view| view.staged);
    let end = match (&staged, unreadable) {
        (None, Some(why)) => FollowEnd::Stalled(why),
        (None, None) => FollowEnd::Complete,
        (Some(revision), _) => {
            let follow = Follow {
                show: Show::Nothing,
                timeout: arguments.timeout,
                revision: Some(revision.clone()),
            };
            follow.run(&source).await?
        }
    };
    let line = message(&arguments.name, staged.as_deref(), &end);
    if end == FollowEnd::Complete {
        print(&line)?;
    } else {
        note(line.trim_end());
    }
    Ok(end)
}

fn message(name: &str, revision: Option<&str>, end: &FollowEnd) -> String {
    let Some(revision) = revision else {
        let why = match end {
            FollowEnd::Stalled(why) => why,
            _ => "nothing is staged",
        };
        return format!("statefulset.apps/{name}: {why}\n");
    };
    let end = match end {
        FollowEnd::Complete => "is rolled out".to_owned(),
        FollowEnd::Stalled(note) => format!("is stalled: {note}"),
        FollowEnd::Superseded(other) => format!("is not staged any more, but {other}"),
        FollowEnd::TimedOut => "is not complete after the time-out".to_owned(),
        FollowEnd::Interrupted => "is not complete".to_owned(),
    };
    format!("statefulset.apps/{name}: revision {revision} {end}\n")
}

#[cfg(test)]
mod tests {
    use super::message;
    use crate::cli::status::follow::FollowEnd;

    #[test]
    fn message_of_each_end() {
        let text = |end| message("web", Some("r"), &end);
        assert_eq!(
            message("web", None, &FollowEnd::Complete),
            "statefulset.apps/web: nothing is staged\n"
        );
        assert_eq!(
            text(FollowEnd::Complete),
            "statefulset.apps/web: revision r is rolled out\n"
        );
        let stalled = FollowEnd::Stalled("exceeded quota".to_owned());
        assert_eq!(
            text(stalled),
            "statefulset.apps/web: revision r is stalled: exceeded quota\n"
        );
        let reason = "ClaimRefused: data-web-1: exceeded quota: ".to_owned() + &"x".repeat(300);
        let line = text(FollowEnd::Stalled(reason.clone()));
        assert!(line.contains(&reason) && line.lines().count() == 1, "{line}");
        let unreadable = FollowEnd::Stalled("what is staged cannot be read: expected version 1".to_owned());
        assert_eq!(
            message("web", None, &unreadable),
            "statefulset.apps/web: what is staged cannot be read: expected version 1\n"
        );
        let other = FollowEnd::Superseded("s".to_owned());
        assert_eq!(
            text(other),
            "statefulset.apps/web: revision r is not staged any more, but s\n"
        );
    }
}
