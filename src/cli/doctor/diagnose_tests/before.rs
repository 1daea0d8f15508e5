//! `doctor --pre`: a cluster before an installation.

use super::absent::{empty, kubewarden};
use super::sets::annotate;
use super::{OutputFormat, healthy, rendered, text};
use crate::cli::doctor::before::{judge, summary};
use crate::cli::doctor::facts::InstallationFacts;
use crate::templates::keys;

/// What is there, and the finding as `severity subject | found`; none if nothing is in the way.
type Row = (&'static str, fn(&mut InstallationFacts), Option<&'static str>);

const ROWS: [Row; 9] = [
    ("an empty cluster", |_| {}, None),
    (
        "Kubewarden",
        |facts| facts.deployed.kubewarden = Some(kubewarden("v1.27.0")),
        None,
    ),
    (
        "an image of Kubewarden without a version",
        |facts| facts.deployed.kubewarden = Some(kubewarden("latest")),
        None,
    ),
    (
        "an old Kubewarden",
        |facts| facts.deployed.kubewarden = Some(kubewarden("v1.26.3")),
        Some("Error deployment/kubewarden/controller | v1.26.3"),
    ),
    (
        "an old Kubernetes",
        |facts| facts.version = "v1.32.0".to_owned(),
        Some("Error kubernetes | v1.32.0"),
    ),
    (
        "no class that can expand",
        |facts| facts.classes.retain(|_, expands| !*expands),
        Some("Warning storageclasses | none: no PVC can grow"),
    ),
    (
        "classes that cannot be read",
        |facts| {
            facts.classes.clear();
            facts.unread.push(("storageclasses".to_owned(), "forbidden".to_owned()));
        },
        Some("Warning storageclasses | forbidden"),
    ),
    (
        "annotations that are there already",
        |facts| annotate(&mut facts.sets[0], keys::UPDATE_POLICY, "InPlace"),
        Some("Warning statefulset.apps/default/web | claim-rollout.io/update-policy"),
    ),
    (
        "an installation",
        |facts| *facts = healthy(),
        Some(
            "Warning claim-rollout | claim-rollout is installed in namespace claim-rollout: found definition, built-in webhook, \
             controller, guard",
        ),
    ),
];

#[test]
fn before_an_installation_each_obstacle_is_a_finding() {
    for (what, change, expected) in ROWS {
        let mut facts = empty();
        facts.sets[0].annotations.retain(|_, _| false);
        change(&mut facts);
        facts.sets[0]
            .annotations
            .retain(|_, _| !what.starts_with("an installation"));
        let found = rendered(&facts, judge(&facts));
        let line = found
            .first()
            .map(|finding| format!("{:?} {} | {}", finding.severity, finding.subject, finding.found));
        assert_eq!(line.as_deref(), expected, "{what}");
        assert!(found.len() < 2, "{what}: {found:?}");
        assert!(found.iter().all(|finding| !finding.fix.is_empty()), "{what}");
        assert!(text(&found, Some(OutputFormat::Json)).is_ok(), "{what}");
    }
}

#[test]
fn summary_before_an_installation_has_its_command() {
    let mut facts = empty();
    let install = "\nto install: helm install claim-rollout oci://ghcr.io/claim-rollout/charts/claim-rollout -n claim-rollout \
                   --create-namespace";
    let checked = "checked Kubernetes v1.37.1, Kubewarden none, 2 StorageClasses (1 can expand) and the annotations of 1 \
                   StatefulSets: ";
    let line = summary(&facts, 0);
    assert!(
        line.starts_with(&format!(
            "{checked}nothing is in the way{install} --set admission=builtin, or "
        )),
        "{line}"
    );
    facts.deployed.kubewarden = Some(kubewarden("v1.37.2"));
    let line = summary(&facts, 2);
    assert!(line.contains(&format!(": findings 2{install}, or ")), "{line}");
}
