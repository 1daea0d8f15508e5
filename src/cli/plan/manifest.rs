//! Reads the StatefulSets in a manifest.

use anyhow::ensure;
use serde_json::Value;

use crate::cli::files;

/// The content of a manifest.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Documents {
    /// Its StatefulSets, in their order.
    pub(crate) sets: Vec<Value>,
    /// The other objects, as `Kind name`.
    pub(crate) others: Vec<String>,
}

/// Reads JSON or multi-document YAML. A List counts as its items; empty documents are skipped.
///
/// # Errors
/// If the text is neither, or with the number of the first document that is no object.
pub(crate) fn read(text: &str) -> anyhow::Result<Documents> {
    let values = match serde_json::from_str(text) {
        Ok(value) => vec![value],
        Err(_) => files::documents(text)?,
    };
    let mut documents = Documents::default();
    for (index, value) in values.into_iter().enumerate() {
        documents.add(value, index + 1)?;
    }
    Ok(documents)
}

impl Documents {
    fn add(&mut self, value: Value, number: usize) -> anyhow::Result<()> {
        if value.is_null() {
            return Ok(());
        }
        let field = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (version, kind, name) = (field("/apiVersion"), field("/kind"), field("/metadata/name"));
        let is_set = (version, kind) == ("apps/v1", "StatefulSet");
        ensure!(
            !(version.is_empty() || kind.is_empty() || is_set && name.is_empty()),
            "document {number}: expected an object with apiVersion, kind and metadata.name, but found another value"
        );
        if kind.ends_with("List")
            && let Some(items) = value["items"].as_array()
        {
            return items.iter().try_for_each(|item| self.add(item.clone(), number));
        }
        if is_set {
            self.sets.push(value);
        } else {
            self.others.push(format!("{kind} {name}").trim_end().to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Documents, read};

    fn names(text: &str) -> anyhow::Result<(Vec<String>, Vec<String>)> {
        let Documents { sets, others } = read(text)?;
        let name = |set: &serde_json::Value| set["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        Ok((sets.iter().map(name).collect(), others))
    }

    #[test]
    fn read_returns_sets_and_names_other_objects() {
        let set = |name: &str| format!("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: {name}}}\n");
        let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n";
        let indented = |text: &str| text.replace('\n', "\n  ");
        let list = format!(
            "apiVersion: v1\nkind: List\nitems:\n- {}\n- {}\n",
            indented(service),
            indented(&set("b"))
        );
        let json = r#"{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"web"}}"#;
        for (text, sets, others) in [
            (set("web"), &["web"][..], &[][..]),
            (json.to_owned(), &["web"], &[]),
            (
                format!("---\n{}---\n{service}---\n{}", set("a"), set("b")),
                &["a", "b"],
                &["Service web"],
            ),
            (list, &["b"], &["Service web"]),
            (
                set("x").replace("apps/v1", "apps.kruise.io/v1beta1"),
                &[],
                &["StatefulSet x"],
            ),
            (String::new(), &[], &[]),
        ] {
            let (found, rest) = names(&text).expect(&text);
            assert_eq!(
                (&found[..], &rest[..]),
                (
                    &sets.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()[..],
                    &others.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()[..]
                ),
                "{text}"
            );
        }
    }

    /// kubectl reads YAML 1.1 (sigs.k8s.io/yaml), where the usual `defaultMode: 0644` is octal.
    #[test]
    fn read_numbers_as_kubectl_does() {
        let set =
            |value: &str| format!("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: web}}\nmode: {value}\n");
        for (text, expected) in [
            ("0644", json!(420)),
            ("0400", json!(256)),
            ("0o644", json!(420)),
            ("0x10", json!(16)),
            ("0", json!(0)),
            ("420", json!(420)),
            ("\"0644\"", json!("0644")),
            ("1e3", json!(1000.0)),
        ] {
            let found = read(&set(text)).expect(text);
            assert_eq!(found.sets[0]["mode"], expected, "{text}");
        }
    }

    /// A chart with its definitions may be very long, and it is the file of the user.
    #[test]
    fn read_long_manifest_returns_its_sets() {
        let zeros = "0,".repeat(260_000);
        let long = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: [{zeros}]\n");
        let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\n";
        let (sets, others) = names(&format!("{long}---\n{set}")).expect("a manifest");
        assert_eq!((&*sets[0], &*others[0]), ("web", "ConfigMap c"));
    }

    #[test]
    fn read_document_without_object_is_error() {
        let second = "apiVersion: v1\nkind: Service\n---\n1\n";
        for (text, expected) in [
            ("just text", "document 1: expected an object with apiVersion"),
            ("[1]", "document 1: "),
            ("apiVersion: v1", "document 1: "),
            ("apiVersion: apps/v1\nkind: StatefulSet\n", "document 1: "),
            (second, "document 2: "),
            ("a: b: c", "expected JSON or YAML, but found: "),
        ] {
            let error = names(text).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
