//! `claim-rollout drift`: differences between PVCs, live templates and staged templates.
//!
//! [`read`] reads the cluster, [`find`] returns the rows and differences, [`render`] prints them. [`outlook`] forecasts
//! whether a rollout will update a PVC. All but [`read`] are pure.

pub(crate) mod find;
mod outlook;
pub(crate) mod read;
mod render;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use self::render::SetDifferences;
use super::cluster::ClusterArguments;
use super::completion::sets;
use super::lists::{SkippedObject, warn};
use super::output::{OutputFormat, note, one_of, print};
use super::process::exit;
use super::settings_in_use;
use crate::api::Settings;

/// Show differences between PVCs, live templates and staged templates
///
/// The desired templates are the staged ones, or else the live ones. Prints one line for each difference, with the
/// wanted and the found value, and nothing if nothing differs. Writes nothing.
///
/// A StatefulSet or PVC that cannot be read is named on standard error and not compared. It is an error if it is a
/// StatefulSet that was asked for by its name.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Names of StatefulSets; all if omitted
    #[arg(add = sets())]
    names: Vec<String>,
    /// List differences across all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["names", "namespace"])]
    all_namespaces: bool,
    /// Labels of the StatefulSets, such as app=web
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with = "names")]
    selector: Option<String>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", value_parser = one_of(OutputFormat::OF_TABLES))]
    output: Option<OutputFormat>,
    /// Exit with 1 if anything differs or cannot be read
    #[arg(long)]
    exit_code: bool,
}

pub(crate) fn run(cluster: &ClusterArguments, arguments: &Arguments) -> ExitCode {
    exit(
        async { Ok(code(arguments.exit_code, show(cluster, arguments).await?)) },
        1,
    )
}

/// The exit code, if it is asked for, and if everything was compared and nothing differs.
fn code(is_asked: bool, is_even: bool) -> ExitCode {
    if is_asked && !is_even {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Prints the differences; true iff everything was compared and nothing differs.
async fn show(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<bool> {
    let (client, namespace) = cluster.connect().await?;
    let namespace = (!arguments.all_namespaces).then_some(namespace);
    let mut seen = read::read(
        &client,
        namespace.as_deref(),
        &arguments.names,
        arguments.selector.as_deref(),
    )
    .await?;
    let settings = settings_in_use::read(&client).await?;
    let settings = Arc::new(Settings::read(settings.settings.get()).map_err(anyhow::Error::msg)?);
    warn(&seen.unread);
    for seen in &mut seen.sets {
        seen.settings = Arc::clone(&settings);
    }
    let found: Vec<SetDifferences> = seen.sets.iter().map(SetDifferences::of).collect();
    print(&render::text(&found, arguments.output)?)?;
    note(&render::summary(&found));
    Ok(is_even(&seen.unread, &found))
}

/// True iff everything was compared and nothing differs.
fn is_even(unread: &[SkippedObject], found: &[SetDifferences]) -> bool {
    unread.is_empty() && found.iter().all(SetDifferences::is_even)
}

#[cfg(test)]
mod tests {
    use std::process::ExitCode;

    use super::find::tests::{changed, even};
    use super::{SetDifferences, SkippedObject, code, is_even};

    #[test]
    fn drift_fails_only_if_asked_to() {
        for (is_asked, is_even, expected) in [
            (false, false, ExitCode::SUCCESS),
            (false, true, ExitCode::SUCCESS),
            (true, false, ExitCode::FAILURE),
            (true, true, ExitCode::SUCCESS),
        ] {
            assert_eq!(code(is_asked, is_even), expected, "asked: {is_asked}, even: {is_even}");
        }
    }

    #[test]
    fn drift_is_even_only_if_everything_was_compared() {
        let skipped = SkippedObject {
            kind: "PersistentVolumeClaim".to_owned(),
            namespace: "default".to_owned(),
            name: "data-web-1".to_owned(),
            why: "expected an object".to_owned(),
        };
        let missing = changed(|seen| seen.claims.clear());
        for (unread, seen, expected) in [
            (&[][..], even(), true),
            (&[][..], missing, false),
            (&[skipped][..], even(), false),
        ] {
            let found = [SetDifferences::of(&seen)];
            assert_eq!(is_even(unread, &found), expected, "{} unread", unread.len());
        }
    }
}
