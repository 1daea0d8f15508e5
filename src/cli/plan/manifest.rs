//! Reads the StatefulSets in a manifest.

use serde_json::Value;

/// The content of a manifest.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Documents {
    /// Its StatefulSets, in their order.
    pub(crate) sets: Vec<Value>,
    /// The other objects, as `Kind name`.
    pub(crate) others: Vec<String>,
}

/// An error in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ManifestError {
    /// Neither JSON nor YAML.
    #[error("expected JSON or YAML, but found: {found}")]
    Syntax {
        /// Why it is not YAML.
        found: String,
    },
    /// A document that is no object of Kubernetes.
    #[error("document {number}: expected an object with apiVersion, kind and metadata.name, but found another value")]
    NotAnObject {
        /// Its number, from 1.
        number: usize,
    },
}

/// Reads JSON or multi-document YAML. A List counts as its items; empty documents are skipped.
///
/// # Errors
/// [`ManifestError`] names the first document that is no object.
pub(crate) fn read(text: &str) -> Result<Documents, ManifestError> {
    let values = match serde_json::from_str(text) {
        Ok(value) => vec![value],
        Err(_) => serde_saphyr::from_multiple(text).map_err(|error| ManifestError::Syntax {
            found: error.to_string(),
        })?,
    };
    let mut documents = Documents::default();
    for (index, value) in values.into_iter().enumerate() {
        documents.add(value, index + 1)?;
    }
    Ok(documents)
}

impl Documents {
    fn add(&mut self, value: Value, number: usize) -> Result<(), ManifestError> {
        if value.is_null() {
            return Ok(());
        }
        let field = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (version, kind, name) = (field("/apiVersion"), field("/kind"), field("/metadata/name"));
        if version.is_empty() || kind.is_empty() {
            return Err(ManifestError::NotAnObject { number });
        }
        if kind.ends_with("List")
            && let Some(items) = value["items"].as_array()
        {
            return items.iter().try_for_each(|item| self.add(item.clone(), number));
        }
        match (version, kind, name) {
            ("apps/v1", "StatefulSet", "") => return Err(ManifestError::NotAnObject { number }),
            ("apps/v1", "StatefulSet", _) => self.sets.push(value),
            _ => self.others.push(format!("{kind} {name}").trim_end().to_owned()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Documents, ManifestError, read};

    fn names(text: &str) -> Result<(Vec<String>, Vec<String>), ManifestError> {
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

    #[test]
    fn read_document_without_object_is_error() {
        for text in [
            "just text",
            "[1]",
            "apiVersion: v1",
            "apiVersion: apps/v1\nkind: StatefulSet\n",
        ] {
            assert_eq!(names(text), Err(ManifestError::NotAnObject { number: 1 }), "{text}");
        }
        let second = "apiVersion: v1\nkind: Service\n---\n1\n";
        assert_eq!(names(second), Err(ManifestError::NotAnObject { number: 2 }));
        assert!(matches!(names("a: b: c"), Err(ManifestError::Syntax { .. })));
    }
}
