//! The package of the policy on Artifact Hub.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

/// The metadata for Kubewarden, and the page that Artifact Hub shows instead of README.md.
const METADATA: &str = include_str!("../../policy-metadata.yml");
const README: &str = include_str!("../../policy-readme.md");
const HEADER: &str =
    "# The package on Artifact Hub. `make artifacthub` makes it from policy-metadata.yml and policy-readme.md.";
/// The day of this version, which neither file contains.
const CREATED_AT: &str = "2026-11-21T00:00:00Z";
/// The command that installs everything.
const INSTALL: &str = "helm install claim-rollout oci://ghcr.io/claim-rollout/charts/claim-rollout \\
    --namespace claim-rollout --create-namespace";
/// The chart of Kubewarden.
const CONTROLLER: &str = "https://artifacthub.io/packages/helm/kubewarden/admission-controller";

/// The part of the metadata that the package repeats.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PolicyMetadata {
    rules: Vec<MetadataRule>,
    mutating: bool,
    context_aware_resources: Vec<MetadataResource>,
    annotations: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct MetadataRule {
    api_groups: Vec<String>,
    api_versions: Vec<String>,
    resources: Vec<String>,
    operations: Vec<String>,
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct MetadataResource {
    api_version: String,
    kind: String,
}

/// artifacthub-pkg.yml, in its usual order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Package<'a> {
    version: &'a str,
    name: &'a str,
    display_name: &'a str,
    created_at: &'a str,
    description: &'a str,
    license: &'a str,
    #[serde(rename = "homeURL")]
    home_url: &'a str,
    containers_images: [Image; 1],
    keywords: Vec<&'a str>,
    links: [Link; 2],
    readme: &'a str,
    install: String,
    maintainers: [Maintainer<'a>; 1],
    provider: Provider<'a>,
    recommendations: [Recommendation; 1],
    annotations: PackageAnnotations<'a>,
}

#[derive(Serialize)]
struct Image {
    name: &'static str,
    image: String,
}

#[derive(Serialize)]
struct Link {
    name: &'static str,
    url: String,
}

#[derive(Serialize)]
struct Maintainer<'a> {
    name: &'a str,
    email: &'a str,
}

#[derive(Serialize)]
struct Provider<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct Recommendation {
    url: &'static str,
}

#[derive(Serialize)]
struct PackageAnnotations<'a> {
    #[serde(rename = "kubewarden/mutation")]
    mutation: String,
    #[serde(rename = "kubewarden/resources")]
    resources: &'a str,
    #[serde(rename = "kubewarden/rules")]
    rules: String,
    #[serde(rename = "kubewarden/contextAwareResources")]
    context_aware_resources: String,
    #[serde(rename = "kubewarden/hidden-ui")]
    hidden_ui: &'a str,
}

/// The package as YAML, with a first line that names its sources.
pub(super) fn yaml() -> anyhow::Result<String> {
    let metadata: PolicyMetadata = serde_saphyr::from_str(METADATA)?;
    let package = metadata.package()?;
    Ok(format!("{HEADER}\n{}", serde_saphyr::to_string(&package)?))
}

impl PolicyMetadata {
    fn package(&self) -> anyhow::Result<Package<'_>> {
        let policy = |key: &str| self.annotation(&format!("io.kubewarden.policy.{key}"));
        let (version, source) = (policy("version")?, policy("source")?);
        let image = format!("{}:v{version}", policy("ociUrl")?);
        let (name, email) = policy("author")?
            .strip_suffix('>')
            .and_then(|author| author.split_once(" <"))
            .context("expected an author of the form name <address>")?;
        let link = |name, url| Link { name, url };
        Ok(Package {
            version,
            name: policy("title")?,
            display_name: self.annotation("io.artifacthub.displayName")?,
            created_at: CREATED_AT,
            description: policy("description")?,
            license: policy("license")?,
            home_url: policy("url")?,
            keywords: self.annotation("io.artifacthub.keywords")?.split(", ").collect(),
            links: [
                link("policy", format!("{source}/releases/download/v{version}/policy.wasm")),
                link("source", source.to_owned()),
            ],
            readme: README,
            install: install(&image),
            containers_images: [Image { name: "policy", image }],
            maintainers: [Maintainer { name, email }],
            provider: Provider { name: policy("title")? },
            recommendations: [Recommendation { url: CONTROLLER }],
            annotations: PackageAnnotations {
                mutation: self.mutating.to_string(),
                resources: self.annotation("io.artifacthub.resources")?,
                rules: serde_saphyr::to_string(&self.rules)?,
                context_aware_resources: serde_saphyr::to_string(&self.context_aware_resources)?,
                hidden_ui: self.annotation("io.kubewarden.hidden-ui")?,
            },
        })
    }

    fn annotation(&self, key: &str) -> anyhow::Result<&str> {
        let value = self.annotations.get(key).map(String::as_str);
        value.with_context(|| format!("expected the annotation {key} in policy-metadata.yml, but found none"))
    }
}

fn install(image: &str) -> String {
    format!(
        "The policy is one half of claim-rollout; the controller is the other. Install both, the policy objects with their
conditions and the rights that the policy-server needs:
```console
{INSTALL}
```
To pull only the policy, use [`kwctl`](https://github.com/kubewarden/kwctl):
```console
kwctl pull {image}
```
"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{METADATA, MetadataResource, MetadataRule, PolicyMetadata, README, yaml};

    #[test]
    fn package_matches_metadata_and_readme() {
        let committed = include_str!("../../artifacthub-pkg.yml");
        assert!(
            committed.trim_end() == yaml().expect("YAML").trim_end(),
            "artifacthub-pkg.yml is outdated: run `make artifacthub`"
        );
    }

    #[test]
    fn package_yaml_in_annotations_reads_back() {
        let package: Value = serde_saphyr::from_str(&yaml().expect("YAML")).expect("YAML");
        let inner = |key: &str| package["annotations"][key].as_str().expect(key);
        let metadata: PolicyMetadata = serde_saphyr::from_str(METADATA).expect("metadata");
        let rules: Vec<MetadataRule> = serde_saphyr::from_str(inner("kubewarden/rules")).expect("rules");
        assert_eq!(rules, metadata.rules);
        let resources: Vec<MetadataResource> =
            serde_saphyr::from_str(inner("kubewarden/contextAwareResources")).expect("resources");
        assert_eq!(resources, metadata.context_aware_resources);
        assert_eq!(inner("kubewarden/mutation"), "true");
        assert_eq!(package["readme"], README);
    }

    /// Rancher shows a form for `questions-ui`, and with it would install one policy object of three, without its
    /// conditions and without the controller.
    #[test]
    fn package_is_hidden_and_has_no_form() {
        let package: Value = serde_saphyr::from_str(&yaml().expect("YAML")).expect("YAML");
        let annotations = package["annotations"].as_object().expect("annotations");
        assert_eq!(annotations["kubewarden/hidden-ui"], "true");
        assert!(!annotations.contains_key("kubewarden/questions-ui"));
    }

    /// The page is read outside of the repository, and `kwctl inspect` shows it too.
    #[test]
    fn readme_has_only_absolute_links_to_pages() {
        let links: Vec<&str> = README
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
            .collect();
        assert!(!links.is_empty());
        for link in links {
            let file = link
                .strip_prefix("https://github.com/claim-rollout/claim-rollout/blob/main/")
                .expect(link);
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
            assert!(path.is_file(), "{link}");
        }
    }

    #[test]
    fn readme_shows_settings_with_default_first() {
        use crate::api::Settings;
        use crate::api::settings::NAMES;

        let rows: Vec<Vec<&str>> = README
            .lines()
            .filter_map(|line| Some(line.strip_prefix("| `")?.split('`').collect()))
            .filter(|row: &Vec<&str>| NAMES.contains(&row[0]))
            .collect();
        assert!(rows.len() >= 5, "{rows:?}");
        for row in rows {
            let (name, default) = (row[0], row[2]);
            let value = if default.starts_with('{') {
                default.to_owned()
            } else {
                format!("{default:?}")
            };
            let read = Settings::read(&format!("{{{name:?}: {value}}}"));
            assert_eq!(read, Ok(Settings::default()), "{name}");
        }
    }

    #[test]
    fn release_tag_matches_the_version() {
        let metadata: PolicyMetadata = serde_saphyr::from_str(METADATA).expect("metadata");
        let version = metadata.annotation("io.kubewarden.policy.version").expect("a version");
        let tag = metadata.annotation("com.github.release.tag").expect("a tag");
        assert_eq!(tag, format!("v{version}"));
    }
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod questions_tests;
