//! One entry of `spec.volumeClaimTemplates`, without what the API server adds to it.

use super::quantity::{Quantity, QuantityError};
use crate::json::{self, Map, Reader, Value};

/// A claim template: the four fields that KEP-4650 lets change, and everything else.
///
/// Equality is semantic: quantities by amount, absent = `null` = empty map or list, and what the API server fills in
/// (`apiVersion`, `kind`, `status`, `creationTimestamp`, `volumeMode: Filesystem`) does not count. Strings count as
/// they are: `storageClassName: ""` is a value.
#[derive(Clone, Debug)]
pub struct ClaimTemplate {
    /// `metadata.name`: what templates are matched by.
    pub name: String,
    /// `metadata.labels`
    pub labels: Map<String>,
    /// `metadata.annotations`
    pub annotations: Map<String>,
    /// `spec.resources.requests.storage`
    pub storage: Option<Quantity>,
    /// `spec.volumeAttributesClassName`
    pub volume_attributes_class_name: Option<String>,
    /// What is left of `metadata`, fields unknown to us included.
    pub metadata: Map<Value>,
    /// What is left of `spec`, fields unknown to us included; the quantities in it are canonical.
    pub spec: Map<Value>,
}

/// Why a JSON text is no list of claim templates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The text is not JSON, has a key twice or is nested too deep.
    #[error("spec.volumeClaimTemplates: {0}")]
    Json(#[from] json::Error),
    /// A field holds another type than it must.
    #[error("{path}: expected {expected}")]
    Expected {
        /// The field.
        path: String,
        /// What it must hold.
        expected: &'static str,
    },
    /// A field holds no quantity.
    #[error("{path}: {source}")]
    Quantity {
        /// The field.
        path: String,
        /// What is wrong with it.
        source: QuantityError,
    },
    /// More templates than anybody has.
    #[error("spec.volumeClaimTemplates: expected at most 1000 templates, but found {found}")]
    TooMany {
        /// Their number.
        found: usize,
    },
    /// A longer text than anybody has.
    #[error("spec.volumeClaimTemplates: expected at most 65536 bytes, but found {found}")]
    TooLong {
        /// The length in bytes.
        found: usize,
    },
    /// Templates are matched by name, so each name may stand only once.
    #[error("spec.volumeClaimTemplates: expected each name once, but found {name:?} twice")]
    DuplicateName {
        /// The name.
        name: String,
    },
}

/// The longest list that is read. A record holds about a hundred templates, so a longer wish could not be staged anyway.
const MAX_TEMPLATES: usize = 1000;

/// The longest text of a list that is read, eight times the longest record. What is read is copied into a record, a revision
/// and messages, so this bounds the memory of a request.
const MAX_TEXT: usize = 64 * 1024;

/// The maps of quantities in `spec.resources`, and their paths.
pub(super) const AMOUNTS: [(&str, &str); 2] = [
    ("requests", "spec.resources.requests"),
    ("limits", "spec.resources.limits"),
];

/// Objects that mean something else when they are empty than when they are absent, because they are pointers in the API.
pub(super) const POINTERS: [&str; 3] = ["selector", "dataSource", "dataSourceRef"];

impl TemplateError {
    /// The same fault, seen from the set: in the template at this index.
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
    /// [`TemplateError`]; it names fields and templates and shows nothing else of the text.
    pub fn read_list(text: &str) -> Result<Vec<Self>, TemplateError> {
        let mut reader = Reader::new(text);
        if text.as_bytes().get(reader.place()) != Some(&b'[') {
            return Self::list_from_value(json::read(text)?);
        }
        let (mut items, mut found) = (Vec::new(), 0);
        reader.list(|reader| {
            found += 1;
            // What is too much only has to be JSON.
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

    /// Reads the JSON value of one template. The paths in its errors begin below it.
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
            return Err(expected(unknown, "no such field"));
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

    /// `spec.storageClassName`, where the template sets it.
    #[must_use]
    pub fn storage_class_name(&self) -> Option<&str> {
        self.spec.get("storageClassName").and_then(Value::as_str)
    }
}

/// What the `spec` of a template, or of a claim, asks for.
pub(crate) struct Asks {
    /// `resources.requests.storage`
    pub(crate) storage: Option<Quantity>,
    /// `volumeAttributesClassName`
    pub(crate) volume_attributes_class_name: Option<String>,
    /// What is left, as [`ClaimTemplate::spec`].
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

/// Removes `null` and empty maps and lists, from the inside out, because the API server treats them as absent.
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
