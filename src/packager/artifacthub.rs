//! The package of the policy on Artifact Hub.

use anyhow::Context as _;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

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

/// The fields of a document in the order in which a person writes them.
struct InOrder(Vec<(&'static str, Value)>);

impl Serialize for InOrder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// The package as YAML, with a first line that names its sources.
pub(super) fn yaml() -> anyhow::Result<String> {
    let package = package(&serde_saphyr::from_str(METADATA)?)?;
    Ok(format!("{HEADER}\n{}", serde_saphyr::to_string(&package)?))
}

fn package(metadata: &Value) -> anyhow::Result<InOrder> {
    let artifact_hub = |key: &str| annotation(metadata, &format!("io.artifacthub.{key}"));
    let policy = |key: &str| annotation(metadata, &format!("io.kubewarden.policy.{key}"));
    let (version, source) = (policy("version")?, policy("source")?);
    let image = format!("{}:v{version}", policy("ociUrl")?);
    let (name, email) = policy("author")?
        .strip_suffix('>')
        .and_then(|author| author.split_once(" <"))
        .context("expected an author of the form name <address>")?;
    let module = format!("{source}/releases/download/v{version}/policy.wasm");
    let keywords: Vec<&str> = artifact_hub("keywords")?.split(", ").collect();
    Ok(InOrder(vec![
        ("version", version.into()),
        ("name", policy("title")?.into()),
        ("displayName", artifact_hub("displayName")?.into()),
        ("createdAt", CREATED_AT.into()),
        ("description", policy("description")?.into()),
        ("license", policy("license")?.into()),
        ("homeURL", policy("url")?.into()),
        ("containersImages", json!([{"name": "policy", "image": image}])),
        ("keywords", keywords.into()),
        (
            "links",
            json!([{"name": "policy", "url": module}, {"name": "source", "url": source}]),
        ),
        ("readme", README.into()),
        ("install", install(&image).into()),
        ("maintainers", json!([{"name": name, "email": email}])),
        ("provider", json!({"name": policy("title")?})),
        ("recommendations", json!([{"url": CONTROLLER}])),
        (
            "annotations",
            json!({
                "kubewarden/mutation": metadata["mutating"].to_string(),
                "kubewarden/resources": artifact_hub("resources")?,
                "kubewarden/rules": serde_saphyr::to_string(&metadata["rules"])?,
                "kubewarden/contextAwareResources": serde_saphyr::to_string(&metadata["contextAwareResources"])?,
                "kubewarden/hidden-ui": annotation(metadata, "io.kubewarden.hidden-ui")?,
            }),
        ),
    ]))
}

fn annotation<'a>(metadata: &'a Value, key: &str) -> anyhow::Result<&'a str> {
    let value = metadata["annotations"][key].as_str();
    value.with_context(|| format!("expected the annotation {key} in policy-metadata.yml, but found none"))
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

    use super::{METADATA, README, annotation, yaml};

    fn metadata() -> Value {
        serde_saphyr::from_str(METADATA).expect("metadata")
    }

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
        for key in ["rules", "contextAwareResources"] {
            let read: Value = serde_saphyr::from_str(inner(&format!("kubewarden/{key}"))).expect(key);
            assert!(read.is_array() && read == metadata()[key], "{key}");
        }
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
        let metadata = metadata();
        let version = annotation(&metadata, "io.kubewarden.policy.version").expect("a version");
        let tag = annotation(&metadata, "com.github.release.tag").expect("a tag");
        assert_eq!(tag, format!("v{version}"));
    }
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod questions_tests;
