//! Reads the files that users name.

use std::fs;
use std::io::{Read as _, stdin};
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::recorded::Recorded;

/// Reads the settings in this file; the default ones without one.
pub(crate) fn settings(path: Option<&Path>) -> anyhow::Result<Box<RawValue>> {
    match path {
        Some(path) => read_settings(&text(path)?).with_context(|| path.display().to_string()),
        None => read_settings("{}"),
    }
}

/// Reads the List of objects in this file.
pub(crate) fn objects(path: &Path) -> anyhow::Result<Recorded> {
    read_list(&text(path)?).with_context(|| path.display().to_string())
}

/// Reads settings. JSON stays as written, so that the reader of the policy checks it; YAML becomes JSON, an empty file
/// `{}`.
pub(crate) fn read_settings(text: &str) -> anyhow::Result<Box<RawValue>> {
    if let Ok(settings) = serde_json::from_str(text) {
        return Ok(settings);
    }
    match yaml(text)? {
        Value::Null => Ok(to_raw_value(&Value::Object(serde_json::Map::new()))?),
        settings => Ok(to_raw_value(&settings)?),
    }
}

/// Reads a List of objects in JSON or YAML.
fn read_list(text: &str) -> anyhow::Result<Recorded> {
    let list = serde_json::from_str(text).or_else(|_| yaml(text))?;
    Recorded::read(&list)
}

fn yaml(text: &str) -> anyhow::Result<Value> {
    serde_saphyr::from_str_with_options(text, as_kubectl()).map_err(|error| no_yaml(&error))
}

/// Reads the documents of a YAML text.
pub(crate) fn documents(text: &str) -> anyhow::Result<Vec<Value>> {
    serde_saphyr::from_multiple_with_options(text, as_kubectl()).map_err(|error| no_yaml(&error))
}

/// How kubectl reads YAML: as version 1.1, where `0644` is octal (sigs.k8s.io/yaml, goyaml.v2/resolve.go), and of any
/// length. The depth and what aliases expand to stay limited.
fn as_kubectl() -> serde_saphyr::Options {
    serde_saphyr::options! { legacy_octal_numbers: true, budget: None }
}

fn no_yaml(error: &serde_saphyr::Error) -> anyhow::Error {
    anyhow::anyhow!("expected JSON or YAML, but found: {error}")
}

/// Reads a file; `-` is standard input.
pub(crate) fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path != Path::new("-") {
        return fs::read(path).with_context(|| path.display().to_string());
    }
    let mut bytes = Vec::new();
    stdin().read_to_end(&mut bytes).context("standard input")?;
    Ok(bytes)
}

/// Reads a file as text.
pub(crate) fn text(path: &Path) -> anyhow::Result<String> {
    String::from_utf8(bytes(path)?).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::{documents, read_list, read_settings};

    #[test]
    fn read_settings_keeps_json_and_converts_yaml() {
        let read = |text| read_settings(text).expect("settings").get().to_owned();
        assert_eq!(read("{ \"mode\" : 1,\"mode\":2}"), "{ \"mode\" : 1,\"mode\":2}");
        assert_eq!(
            read("mode: Stage\nmaxStorage:\n  \"*\": 1Ti\n"),
            r#"{"maxStorage":{"*":"1Ti"},"mode":"Stage"}"#
        );
        assert_eq!(read(""), "{}");
        assert_eq!(read("# nothing set\n"), "{}");
        assert!(read_settings("{").is_err());
        assert!(read_settings("a: b: c").is_err());
    }

    #[test]
    fn read_list_accepts_yaml() {
        assert!(read_list("kind: List\nitems: []\n").is_ok());
        assert!(read_list("just text").is_err());
    }

    #[test]
    fn yaml_that_would_fill_the_memory_or_the_stack_is_error() {
        let doubled = (1..30).map(|n| format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1));
        let doubled = format!("a0: &a0 [x, x]\n{}", doubled.collect::<String>());
        for (text, expected) in [("[".repeat(200_000), "recursion limit"), (doubled, "alias")] {
            let error = documents(&text).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
