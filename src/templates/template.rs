//! One entry of `spec.volumeClaimTemplates`, without the fields that the API server adds.

use super::quantity::{Quantity, QuantityError};
use super::show::shown_name;
use crate::json::{self, Map, Reader, Value};

/// A claim template: the four fields that KEP-4650 allows to change, and the rest.
///
/// Equality is semantic. Quantities compare by amount; absent, `null` and an empty map or list are equal; fields that
/// the API server fills in (`apiVersion`, `kind`, `status`, `creationTimestamp`, `volumeMode: Filesystem`) do not
/// count. An empty string is a value: `storageClassName: ""`.
#[derive(Clone, Debug)]
pub struct ClaimTemplate {
    /// `metadata.name`, by which templates are matched.
    pub name: String,
    /// `metadata.labels`
    pub labels: Map<String>,
    /// `metadata.annotations`
    pub annotations: Map<String>,
    /// `spec.resources.requests.storage`
    pub storage: Option<Quantity>,
    /// `spec.volumeAttributesClassName`
    pub volume_attributes_class_name: Option<String>,
    /// The other fields of `metadata`, unknown ones included.
    pub metadata: Map<Value>,
    /// The other fields of `spec`, unknown ones included. Its quantities are canonical.
    pub spec: Map<Value>,
}

/// Why a JSON text is not a list of claim templates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The text is not JSON, has a key twice or is nested too deep.
    #[error("spec.volumeClaimTemplates: {0}")]
    Json(#[from] json::Error),
    /// A field has the wrong type.
    #[error("{path}: expected {expected}")]
    Expected {
        /// The path of the field.
        path: String,
        /// The expected type.
        expected: &'static str,
    },
    /// A field is not a quantity.
    #[error("{path}: {source}")]
    Quantity {
        /// The path of the field.
        path: String,
        /// Why it is not a quantity.
        source: QuantityError,
    },
    /// More than `MAX_TEMPLATES` templates.
    #[error("spec.volumeClaimTemplates: expected at most 1000 templates, but found {found}")]
    TooMany {
        /// The number of templates.
        found: usize,
    },
    /// A text of more than `MAX_TEXT` bytes.
    #[error("spec.volumeClaimTemplates: expected at most 65536 bytes, but found {found}")]
    TooLong {
        /// The length in bytes.
        found: usize,
    },
    /// Two templates have the same name. Templates are matched by name.
    #[error("spec.volumeClaimTemplates: expected each name once, but found {name:?} twice")]
    DuplicateName {
        /// The name.
        name: String,
    },
}

/// The longest list. A staged change has room for about 56 templates, so a longer list could not be staged.
const MAX_TEMPLATES: usize = 1000;

/// The longest text of a list: eight times the longest staged change. The text is copied into a staged change, a
/// revision and messages, so this limit bounds the memory of a request.
const MAX_TEXT: usize = 64 * 1024;

/// The maps of quantities in `spec.resources`, with their paths.
pub(super) const AMOUNTS: [(&str, &str); 2] = [
    ("requests", "spec.resources.requests"),
    ("limits", "spec.resources.limits"),
];

/// The list in `spec` whose order has no meaning.
pub(super) const ACCESS_MODES: &str = "accessModes";

/// Objects for which empty is not absent: they are pointers in the API.
pub(super) const POINTERS: [&str; 3] = ["selector", "dataSource", "dataSourceRef"];

impl TemplateError {
    /// The same error, with the path from the StatefulSet: below the template at this index.
    #[cold]
    fn below(mut self, index: usize) -> Self {
        if let Self::Expected { path, .. } | Self::Quantity { path, .. } = &mut self {
            let dot = if path.is_empty() { "" } else { "." };
            *path = format!("spec.volumeClaimTemplates[{index}]{dot}{path}");
        }
        self
    }
}

impl ClaimTemplate {
    /// Reads the JSON text of `spec.volumeClaimTemplates`; `null` is an empty list.
    ///
    /// # Errors
    /// [`TemplateError`]. It names fields and templates, and shows nothing else of the text.
    pub fn read_list(text: &str) -> Result<Vec<Self>, TemplateError> {
        let mut reader = Reader::new(text);
        if text.as_bytes().get(reader.place()) != Some(&b'[') {
            return Self::list_from_value(json::read(text)?);
        }
        let (mut items, mut found) = (Vec::new(), 0);
        reader.list(|reader| {
            found += 1;
            // Beyond the limits, only the syntax is checked.
            if found > MAX_TEMPLATES || text.len() > MAX_TEXT {
                return reader.skip();
            }
            items.push(reader.value()?);
            Ok(())
        })?;
        reader.end()?;
        if text.len() > MAX_TEXT && found <= MAX_TEMPLATES {
            return Err(TemplateError::TooLong { found: text.len() });
        }
        Self::list(items, found)
    }

    /// Reads the JSON value of `spec.volumeClaimTemplates`.
    ///
    /// # Errors
    /// As [`ClaimTemplate::read_list`].
    pub fn list_from_value(value: impl Into<Value>) -> Result<Vec<Self>, TemplateError> {
        match value.into() {
            Value::Null => Ok(Vec::new()),
            Value::Array(items) => {
                let found = items.len();
                Self::list(items, found)
            }
            _ => Err(expected("spec.volumeClaimTemplates", "a list")),
        }
    }

    fn list(items: Vec<Value>, found: usize) -> Result<Vec<Self>, TemplateError> {
        if found > MAX_TEMPLATES {
            return Err(TemplateError::TooMany { found });
        }
        let mut templates: Vec<Self> = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let template = Self::from_value(item).map_err(|error| error.below(index))?;
            if templates.iter().any(|other| other.name == template.name) {
                return Err(TemplateError::DuplicateName { name: template.name });
            }
            templates.push(template);
        }
        Ok(templates)
    }

    /// Reads the JSON text of one template.
    ///
    /// # Errors
    /// As [`ClaimTemplate::read_list`].
    pub fn read(text: &str) -> Result<Self, TemplateError> {
        Self::from_value(json::read(text)?)
    }

    /// Reads the JSON value of one template. The paths in errors begin at the template.
    ///
    /// # Errors
    /// As [`ClaimTemplate::read_list`].
    pub fn from_value(value: impl Into<Value>) -> Result<Self, TemplateError> {
        let mut top = object("", Some(value.into()))?;
        let mut metadata = object("metadata", top.remove("metadata"))?;
        let name = string("metadata.name", metadata.remove("name"))?;
        let name = name.ok_or_else(|| expected("metadata.name", "a name"))?;
        let labels = strings("metadata.labels", metadata.remove("labels"))?;
        let annotations = strings("metadata.annotations", metadata.remove("annotations"))?;
        metadata.remove("creationTimestamp");

        let asks = Asks::read(top.remove("spec"))?;
        for server_set in ["apiVersion", "kind", "status"] {
            top.remove(server_set);
        }
        if let Some(unknown) = top.keys().next() {
            return Err(expected(&shown_name(unknown), "no such field"));
        }
        prune(&mut metadata);
        Ok(Self {
            name,
            labels,
            annotations,
            storage: asks.storage,
            volume_attributes_class_name: asks.volume_attributes_class_name,
            metadata,
            spec: asks.rest,
        })
    }

    /// The storage class, if the template sets it.
    #[must_use]
    pub fn storage_class_name(&self) -> Option<&str> {
        storage_class_name(self.annotations.get(CLASS_ANNOTATION), &self.spec)
    }
}

/// The annotation with the storage class of a PVC. Quotas, admission and provisioners read it before the field.
pub(crate) const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// The storage class: the annotation, else `spec.storageClassName`.
pub(crate) fn storage_class_name<'v>(annotation: Option<&'v String>, spec: &'v Map<Value>) -> Option<&'v str> {
    let field = || spec.get("storageClassName").and_then(Value::as_str);
    annotation.map(String::as_str).or_else(field)
}

/// The storage that the `spec` of a template or of a PVC requests.
pub(crate) struct Asks {
    /// `resources.requests.storage`
    pub(crate) storage: Option<Quantity>,
    /// `volumeAttributesClassName`
    pub(crate) volume_attributes_class_name: Option<String>,
    /// The other fields, as in [`ClaimTemplate::spec`].
    pub(crate) rest: Map<Value>,
}

impl Asks {
    /// # Errors
    /// As [`ClaimTemplate::read_list`].
    pub(crate) fn read(spec: Option<Value>) -> Result<Self, TemplateError> {
        let mut spec = object("spec", spec)?;
        let mut resources = object("spec.resources", spec.remove("resources"))?;
        let mut storage = None;
        for (amounts, path) in AMOUNTS {
            let mut canonical = Map::new();
            for (key, value) in object(path, resources.remove(amounts))? {
                let amount = quantity(path, &key, &value)?;
                if amounts == "requests" && key == "storage" {
                    storage = Some(amount);
                } else {
                    canonical.insert(key, amount.to_string().into());
                }
            }
            insert_object(&mut resources, amounts, canonical);
        }
        insert_object(&mut spec, "resources", resources);
        let class = spec.remove("volumeAttributesClassName");
        let volume_attributes_class_name = string("spec.volumeAttributesClassName", class)?;
        if spec.get("volumeMode").and_then(Value::as_str) == Some("Filesystem") {
            spec.remove("volumeMode");
        }
        prune(&mut spec);
        Ok(Self {
            storage,
            volume_attributes_class_name,
            rest: spec,
        })
    }
}

pub(crate) fn expected(path: &str, expected: &'static str) -> TemplateError {
    TemplateError::Expected {
        path: path.to_owned(),
        expected,
    }
}

fn object(path: &str, value: Option<Value>) -> Result<Map<Value>, TemplateError> {
    match value {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map),
        Some(_) => Err(expected(path, "an object")),
    }
}

fn string(path: &str, value: Option<Value>) -> Result<Option<String>, TemplateError> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(expected(path, "a string")),
    }
}

pub(crate) fn strings(path: &str, value: Option<Value>) -> Result<Map<String>, TemplateError> {
    let mut strings = Map::new();
    for (key, value) in object(path, value)? {
        let Value::String(text) = value else {
            return Err(expected(path, "strings only"));
        };
        strings.insert(key, text);
    }
    Ok(strings)
}

fn quantity(path: &str, key: &str, value: &Value) -> Result<Quantity, TemplateError> {
    let parsed = match value {
        Value::String(text) => text.parse(),
        Value::Number(number) => number.as_str().parse(),
        _ => {
            let path = format!("{path}.{key}");
            return Err(expected(&path, "a quantity as a string, such as \"10Gi\""));
        }
    };
    parsed.map_err(|source| TemplateError::Quantity {
        path: format!("{path}.{key}"),
        source,
    })
}

fn insert_object(map: &mut Map<Value>, key: &str, inner: Map<Value>) {
    if !inner.is_empty() {
        map.insert(key.to_owned(), Value::Object(inner));
    }
}

/// Removes `null`, empty maps and empty lists at every depth: the API server treats them as absent.
fn prune(map: &mut Map<Value>) {
    map.retain(|key, value| {
        match value {
            Value::Object(inner) => prune(inner),
            Value::Array(items) => {
                for item in items {
                    if let Value::Object(inner) = item {
                        prune(inner);
                    }
                }
                return !matches!(value, Value::Array(items) if items.is_empty());
            }
            _ => {}
        }
        match value {
            Value::Null => false,
            Value::Object(inner) => !inner.is_empty() || POINTERS.contains(&key),
            _ => true,
        }
    });
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
