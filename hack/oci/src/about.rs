//! What every artifact states about itself: the version, the commit and its date.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use jiff::Timestamp;

use crate::artifact::Annotations;
use crate::version;

/// The page of the project.
pub(crate) const HOME: &str = "https://github.com/claim-rollout/claim-rollout";

/// The version, the commit and its date. The date of the build is nowhere: the same commit makes the same digests.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// Such as 0.1.0.
    pub(crate) version: String,
    /// The commit.
    pub(crate) revision: String,
    /// Seconds since 1970.
    pub(crate) epoch: u64,
}

impl About {
    /// Of the tree in this folder. `SOURCE_DATE_EPOCH` is used instead of the date of the commit.
    ///
    /// # Errors
    /// If the folder is not a repository of git.
    pub(crate) fn tree(root: &Path) -> anyhow::Result<Self> {
        let epoch = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(epoch) => epoch,
            Err(_) => git(root, &["log", "-1", "--format=%ct"])?,
        };
        Ok(Self {
            version: version::of_cargo(root)?,
            revision: git(root, &["rev-parse", "HEAD"])?,
            epoch: epoch
                .parse()
                .with_context(|| format!("expected seconds since 1970, but found {epoch}"))?,
        })
    }

    /// The date in the format of RFC 3339.
    pub(crate) fn created(&self) -> anyhow::Result<String> {
        Ok(Timestamp::from_second(i64::try_from(self.epoch)?)?.to_string())
    }

    /// The tag in git.
    pub(crate) fn tag(&self) -> String {
        format!("v{}", self.version)
    }

    /// The annotations that all artifacts have.
    pub(crate) fn annotations(&self, title: &str, description: &str) -> anyhow::Result<Annotations> {
        let created = self.created()?;
        let all = [
            ("title", title),
            ("description", description),
            ("created", created.as_str()),
            ("version", self.version.as_str()),
            ("revision", self.revision.as_str()),
            ("source", HOME),
            ("url", HOME),
            ("licenses", "Apache-2.0"),
        ];
        let all = all.map(|(key, value)| (format!("org.opencontainers.image.{key}"), value.to_owned()));
        Ok(Annotations::from(all))
    }
}

fn git(root: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output();
    let output = output.context("failed to run git")?;
    ensure!(
        output.status.success(),
        "git: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
