//! The software bill of materials in SPDX 2.3: the crates that are linked into a binary or into the policy, with the
//! checksums of Cargo.lock.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::about::{About, HOME};

/// What a bill describes.
pub(crate) struct Subject {
    /// The name of the file that is described.
    pub(crate) name: &'static str,
    /// The targets for which it is built.
    pub(crate) targets: &'static [&'static str],
    /// The flags of cargo that choose its features.
    pub(crate) features: &'static [&'static str],
}

/// The binary.
pub(crate) const BINARY: Subject = Subject {
    name: "claim-rollout",
    targets: &["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"],
    features: &[],
};
/// The policy.
pub(crate) const POLICY: Subject = Subject {
    name: "policy.wasm",
    targets: &["wasm32-unknown-unknown"],
    features: &[],
};

/// The bill as JSON. Cargo is asked for the dependencies; nothing is compiled.
pub(crate) fn document(subject: &Subject, root: &Path, about: &About) -> anyhow::Result<Vec<u8>> {
    let (mut packages, mut depends) = (BTreeMap::new(), BTreeSet::new());
    let mut top = String::new();
    for target in subject.targets {
        let metadata = metadata(root, target, subject.features)?;
        top = metadata["resolve"]["root"]
            .as_str()
            .context("expected a root package")?
            .to_owned();
        linked(&metadata, &top, &mut packages, &mut depends)?;
    }
    let checksums = checksums(&std::fs::read_to_string(root.join("Cargo.lock"))?);
    let described: Vec<Value> = packages.values().map(|package| describe(package, &checksums)).collect();
    let mut relations = vec![json!({
        "spdxElementId": "SPDXRef-DOCUMENT",
        "relationshipType": "DESCRIBES",
        "relatedSpdxElement": identifier(packages.get(&top).context("expected the root package")?),
    })];
    for (from, to) in &depends {
        relations.push(json!({
            "spdxElementId": identifier(&packages[from]),
            "relationshipType": "DEPENDS_ON",
            "relatedSpdxElement": identifier(&packages[to]),
        }));
    }
    let document = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": format!("{} {}", subject.name, about.version),
        "documentNamespace": format!("{HOME}/spdx/{}-{}", subject.name, about.revision),
        "creationInfo": {"created": about.created()?, "creators": ["Tool: hack/oci", "Organization: claim-rollout"]},
        "packages": described,
        "relationships": relations,
    });
    Ok(serde_json::to_vec_pretty(&document)?)
}

fn metadata(root: &Path, target: &str, features: &[&str]) -> anyhow::Result<Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--filter-platform",
            target,
        ])
        .args(features)
        .current_dir(root)
        .output()?;
    ensure!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Adds the packages that are linked into the package `top`, and who depends on whom. Packages that only tests or build
/// scripts use are left out.
fn linked(
    metadata: &Value,
    top: &str,
    packages: &mut BTreeMap<String, Value>,
    depends: &mut BTreeSet<(String, String)>,
) -> anyhow::Result<()> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let by_id = |all: &Value| -> BTreeMap<String, Value> {
        let all = list(all).into_iter();
        all.filter_map(|one| Some((one["id"].as_str()?.to_owned(), one)))
            .collect()
    };
    let (known, nodes) = (by_id(&metadata["packages"]), by_id(&metadata["resolve"]["nodes"]));
    let (mut open, mut seen) = (vec![top.to_owned()], BTreeSet::new());
    while let Some(id) = open.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        packages.insert(id.clone(), known.get(&id).context("expected a known package")?.clone());
        for dependency in list(&nodes.get(&id).context("expected a resolved package")?["deps"]) {
            let linked = list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            let to = dependency["pkg"].as_str().context("expected a package")?.to_owned();
            // The tests of a package may depend on the package itself.
            if linked && to != id {
                depends.insert((id.clone(), to.clone()));
                open.push(to);
            }
        }
    }
    Ok(())
}

/// The SHA-256 of each package of a registry, by its name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |package: &str, name: &str| {
        let prefix = format!("{name} = ");
        let value = package.lines().find_map(|line| line.strip_prefix(&prefix))?;
        Some(value.trim_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]");
    packages
        .filter_map(|package| {
            let key = (field(package, "name")?, field(package, "version")?);
            Some((key, field(package, "checksum")?))
        })
        .collect()
}

fn describe(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
    let (name, version) = (text("name"), text("version"));
    // Before SPDX expressions, Cargo separated alternatives by a slash.
    let license = match package["license"].as_str() {
        Some(license) => license.replace('/', " OR ").replace("  ", " "),
        None => "NOASSERTION".to_owned(),
    };
    let mut described = json!({
        "SPDXID": identifier(package),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": license,
        "copyrightText": "NOASSERTION",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": format!("pkg:cargo/{name}@{}", version.replace('+', "%2B")),
        }],
    });
    if let Some(checksum) = checksums.get(&(name.clone(), version.clone())) {
        described["checksums"] = json!([{"algorithm": "SHA256", "checksumValue": checksum}]);
        described["downloadLocation"] = json!(format!("https://crates.io/api/v1/crates/{name}/{version}/download"));
    }
    described
}

/// The identifier of a package; letters, digits, dots and dashes are allowed.
fn identifier(package: &Value) -> String {
    let text = |field: &str| package[field].as_str().unwrap_or_default();
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let name: String = format!("{}-{}", text("name"), text("version"))
        .chars()
        .map(allowed)
        .collect();
    format!("SPDXRef-{name}")
}
