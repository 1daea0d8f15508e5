//! The programs of `engines/kubernetes`: the tests of Kubernetes, and ginkgo, which runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use serde_json::json;

use crate::world::engines;
use crate::world::{ATTRIBUTES_CLASSES, Cluster, DRIVER, EXPANDABLE, Process, eventually};

/// The tests of the subject: those of StatefulSets, and of volumes that grow or change, with the default file system.
const FOCUS: [&str; 2] = [
    r"\[sig-apps\] StatefulSet ",
    r"\[Testpattern: Dynamic PV \(default fs\)(\(allowExpansion\))?\] volume-(expand|modify)",
];
/// Each test waits most of the time.
const SIDE_BY_SIDE: &str = "--procs=8";
/// The most time for all tests, on a slow and busy machine. One that fails takes up to ten minutes.
const PATIENCE: Duration = Duration::from_secs(3000);

/// The tests of one version of Kubernetes.
pub(super) struct Suite {
    bin: PathBuf,
    /// The whole texts of the tests, by their names.
    texts: BTreeMap<String, String>,
}

/// The results of a run, by the names of the tests.
pub(super) struct Outcomes(BTreeMap<String, SpecReport>);

/// The report of ginkgo.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SuiteReport {
    spec_reports: Vec<SpecReport>,
}

/// A test, or a step before or after all tests, in this report.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SpecReport {
    container_hierarchy_texts: Option<Vec<String>>,
    leaf_node_type: String,
    leaf_node_text: String,
    state: String,
    /// In nanoseconds.
    run_time: u64,
    #[serde(default)]
    failure: SpecFailure,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SpecFailure {
    #[serde(default)]
    message: String,
}

impl Suite {
    /// Builds the programs, or finds them in the cache, and lists the tests.
    pub(super) async fn build(minor: &str, cluster: &Cluster) -> anyhow::Result<Self> {
        let bin = engines::build(&format!("kubernetes/{minor}")).await?;
        let focus = FOCUS.map(|focus| format!("--focus={focus}"));
        let specs = ginkgo(&bin, cluster, "--dry-run", &focus).await?;
        let mut texts = BTreeMap::new();
        for spec in specs.iter().filter(|spec| spec.state != "skipped") {
            let before = texts.insert(name(&spec.text()), spec.text());
            ensure!(before.is_none(), "two tests with one name: {}", spec.text());
        }
        Ok(Self { bin, texts })
    }

    /// The names of the tests.
    pub(super) fn names(&self) -> BTreeSet<String> {
        self.texts.keys().cloned().collect()
    }

    /// Runs tests.
    pub(super) async fn run(&self, names: &BTreeSet<String>, cluster: &Cluster) -> anyhow::Result<Outcomes> {
        let focus = names
            .iter()
            .map(|name| format!("--focus={}$", escape(&self.texts[name])));
        let specs = ginkgo(&self.bin, cluster, SIDE_BY_SIDE, &focus.collect::<Vec<_>>()).await?;
        // Tests of other file systems have the same names.
        let specs = specs.into_iter().map(|spec| (name(&spec.text()), spec));
        let chosen = |(name, spec): &(String, SpecReport)| names.contains(name) && self.texts[name] == spec.text();
        Ok(Outcomes(specs.filter(chosen).collect()))
    }
}

impl Outcomes {
    /// The messages of those that did not pass.
    pub(super) fn failures(&self, names: &BTreeSet<String>) -> String {
        let spec = |name: &String| self.0.get(name);
        let others = names
            .iter()
            .filter(|name| spec(name).is_none_or(|spec| spec.state != "passed"));
        let others = others.map(|name| {
            let spec = spec(name);
            let message = spec.map_or("it did not run", |spec| &spec.failure.message);
            format!("{name}: {}: {message}\n", self.cell(name))
        });
        others.collect()
    }

    /// The result of a test.
    pub(super) fn cell(&self, name: &str) -> String {
        let spec = self.0.get(name);
        spec.map_or_else(String::new, |spec| {
            format!("{} in {} s", spec.state, spec.run_time / 1_000_000_000)
        })
    }
}

impl SpecReport {
    /// What ginkgo compares with `--focus`.
    fn text(&self) -> String {
        let containers = self.container_hierarchy_texts.iter().flatten();
        let texts: Vec<_> = containers.chain([&self.leaf_node_text]).map(String::as_str).collect();
        texts.join(" ")
    }
}

/// Runs ginkgo on a cluster; its log is `ginkgo.log` in the folder. Returns all tests of the program.
async fn ginkgo(bin: &Path, cluster: &Cluster, mode: &str, focus: &[String]) -> anyhow::Result<Vec<SpecReport>> {
    let folder = cluster.folder();
    let report = folder.join("report.json");
    let definition = folder.join("testdriver.json");
    std::fs::write(&definition, driver(cluster).to_string())?;
    let output = format!("--output-dir={}", folder.display());
    let program = ending_with_parent(folder, &bin.join("e2e.test"))?.display().to_string();
    let options = [
        "--no-color",
        "--silence-skips",
        "--keep-going",
        "--timeout=45m",
        "--json-report=report.json",
    ];
    let of_program = [
        "--".to_owned(),
        format!("--storage.testdriver={}", definition.display()),
        format!("--kubeconfig={}", cluster.kubeconfig().display()),
        format!("--kubectl-path={}", cluster.bin("kubectl").display()),
    ];
    let arguments = options.map(str::to_owned).into_iter().chain([mode.to_owned(), output]);
    let arguments = arguments
        .chain(focus.iter().cloned())
        .chain([program])
        .chain(of_program);
    let arguments: Vec<_> = arguments.collect();
    let mut process = Process::start("ginkgo", &bin.join("ginkgo"), &arguments, folder)?;
    let status = eventually("ginkgo to end", PATIENCE, async || Ok(process.status()?)).await?;
    let text = std::fs::read(&report).with_context(|| format!("ginkgo: {status}:\n{}", process.log()))?;
    let reports: Vec<SuiteReport> = serde_json::from_slice(&text)?;
    // A later run must not find it.
    std::fs::remove_file(report)?;
    let steps = reports.into_iter().flat_map(|report| report.spec_reports);
    let (specs, steps): (Vec<_>, Vec<_>) = steps.partition(|step| step.leaf_node_type == "It");
    for step in steps {
        let failed = !matches!(&*step.state, "passed" | "skipped");
        ensure!(!failed, "{}: {}", step.leaf_node_type, step.failure.message);
    }
    Ok(specs)
}

/// Writes a program that is the same, but ends with ginkgo, which starts several of it.
fn ending_with_parent(folder: &Path, program: &Path) -> anyhow::Result<PathBuf> {
    let path = folder.join("e2e.test");
    let text = format!(
        "#!/bin/sh\nexec setpriv --pdeathsig KILL {} \"$@\"\n",
        program.display()
    );
    std::fs::write(&path, text)?;
    std::fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    Ok(path)
}

/// The definition of the driver and its classes. There is no kubelet, so no file system that grows when a Pod starts.
fn driver(cluster: &Cluster) -> serde_json::Value {
    let mut driver = json!({
        "StorageClass": {"FromExistingClassName": EXPANDABLE},
        "DriverInfo": {
            "Name": DRIVER,
            "SupportedSizeRange": {"Min": "1Gi"},
            "Capabilities": {"persistence": true, "controllerExpansion": true, "offlineExpansion": false},
        },
    });
    if cluster.modifies_volumes() {
        driver["VolumeAttributesClass"] = json!({"FromExistingClassName": ATTRIBUTES_CLASSES[0]});
    }
    driver
}

/// The text of a test without its labels, such as `[Conformance]`.
fn name(text: &str) -> String {
    let (first, rest) = text.split_once('[').unwrap_or((text, ""));
    let outside = rest.split('[').filter_map(|part| part.split_once(']'));
    let outside: String = [first].into_iter().chain(outside.map(|(_, after)| after)).collect();
    outside.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A regular expression that matches this text.
fn escape(text: &str) -> String {
    let special = |c: char| !c.is_alphanumeric() && !c.is_whitespace();
    text.chars()
        .flat_map(|c| special(c).then_some('\\').into_iter().chain([c]))
        .collect()
}

#[test]
fn names_of_specs_have_no_labels() {
    for (text, expected) in [
        ("[sig-apps] StatefulSet should grow", "StatefulSet should grow"),
        (
            "[sig-apps] StatefulSet Basic [StatefulSetBasic] should scale [Slow] [Conformance]",
            "StatefulSet Basic should scale",
        ),
        ("no label", "no label"),
    ] {
        assert_eq!(name(text), expected, "{text}");
    }
}
