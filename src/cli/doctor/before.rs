//! What a cluster needs before claim-rollout is installed.

use super::absent;
use super::facts::InstallationFacts;
use super::finding::Finding;
use super::sets;

/// The oldest minor version of Kubernetes that works, as in the chart.
const KUBERNETES: u32 = 33;
/// The minor version with a regression in its first patch versions, and the first one without it.
const FAULTY: (u32, u32) = (35, 4);
/// The oldest minor version of Kubewarden that works, as in the metadata of the policy.
const KUBEWARDEN: u32 = 27;

/// The minor and the patch version of `v1.MINOR.PATCH`; none of another major version.
fn minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim_start_matches('v').splitn(3, '.');
    let major = numbers.next()?;
    let minor = numbers.next()?.trim_end_matches('+').parse().ok()?;
    let patch = numbers.next().unwrap_or_default();
    let patch = patch.split(|character: char| !character.is_ascii_digit()).next()?;
    (major == "1").then(|| (minor, patch.parse().unwrap_or_default()))
}

/// Versions of Kubernetes with which it does not work as described.
pub(super) fn judge_version(facts: &InstallationFacts) -> Option<Finding> {
    let (found, patch) = minor(&facts.version)?;
    let because = "kubernetes#137409: Pods of a Parallel StatefulSet may be replaced too early";
    let (finding, expected) = if found < KUBERNETES {
        (Finding::error("kubernetes"), format!("1.{KUBERNETES} or newer"))
    } else if found == FAULTY.0 && patch < FAULTY.1 {
        let newer = format!("1.{}.{} or newer ({because})", FAULTY.0, FAULTY.1);
        (Finding::warning("kubernetes"), newer)
    } else {
        return None;
    };
    Some(finding.but(expected, &facts.version).fix("upgrade Kubernetes"))
}

/// All that stands in the way of an installation, or takes part in it from the beginning.
pub(super) fn judge(facts: &InstallationFacts) -> Vec<Finding> {
    let mut findings: Vec<Finding> = judge_version(facts).into_iter().collect();
    findings.extend(kubewarden(facts));
    if absent::judge(facts).is_none() {
        let finding = Finding::warning("claim-rollout").but("no part of it yet", absent::inventory(facts));
        findings.push(finding.fix("run doctor without --pre"));
    }
    if !facts.is_unread("storageclasses") && !facts.classes.values().any(|expands| *expands) {
        let finding =
            Finding::warning("storageclasses").but("one with allowVolumeExpansion: true", "none: no PVC can grow");
        let fix =
            "kubectl patch storageclass NAME -p '{\"allowVolumeExpansion\":true}', if its driver can expand volumes";
        findings.push(finding.fix(fix));
    }
    findings.extend(sets::judge_before(&facts.sets));
    findings
}

fn kubewarden(facts: &InstallationFacts) -> Option<Finding> {
    let kubewarden = facts.deployed.kubewarden.as_ref()?;
    let (found, _) = minor(&kubewarden.version)?;
    let finding = || {
        Finding::error(format!("deployment/{}/{}", kubewarden.namespace, kubewarden.name))
            .but(format!("Kubewarden 1.{KUBEWARDEN} or newer"), &kubewarden.version)
            .fix("upgrade Kubewarden, or use the built-in webhook: --set admission=builtin")
    };
    (found < KUBEWARDEN).then(finding)
}

/// The summary in one line, and the command that installs it.
pub(super) fn summary(facts: &InstallationFacts, findings: usize) -> String {
    let kubewarden = facts.deployed.kubewarden.as_ref();
    let kubewarden = kubewarden.map_or("none", |kubewarden| &kubewarden.version);
    let expand = facts.classes.values().filter(|expands| **expands).count();
    let end = match findings {
        0 => "nothing is in the way".to_owned(),
        findings => format!("findings {findings}"),
    };
    format!(
        "checked Kubernetes {}, Kubewarden {kubewarden}, {} StorageClasses ({expand} can expand) and the annotations of {} \
         StatefulSets: {end}\nto install: {}",
        facts.version,
        facts.classes.len(),
        facts.sets.len(),
        absent::install(facts)
    )
}

#[cfg(test)]
mod tests {
    use super::{KUBEWARDEN, minor};

    #[test]
    fn minor_of_each_spelling() {
        for (version, expected) in [
            ("v1.37.1", Some((37, 1))),
            ("1.33", Some((33, 0))),
            ("v1.35.3-gke.1200", Some((35, 3))),
            ("v1.34+", Some((34, 0))),
            ("v2.0.0", None),
            ("latest", None),
            ("", None),
        ] {
            assert_eq!(minor(version), expected, "{version}");
        }
    }

    #[test]
    fn oldest_versions_are_those_of_metadata_and_chart() {
        let metadata = include_str!("../../../policy-metadata.yml");
        assert!(metadata.contains(&format!("\nminimumKubewardenVersion: 1.{KUBEWARDEN}.0\n")));
        let chart = include_str!("../../../charts/claim-rollout/Chart.yaml");
        assert!(chart.contains(&format!("\nkubeVersion: \">=1.{}.0-0\"\n", super::KUBERNETES)));
    }
}
