//! The canonical text of a template, written without copies.

use super::quantity::Quantity;
use super::template::{AMOUNTS, ClaimTemplate};
use crate::json::{self, Map, Members, Value, write_string};

/// The members of an absent object.
const NONE: &Map<Value> = &Map::new();

/// Prints an amount.
type Print = fn(&Quantity) -> String;

impl ClaimTemplate {
    /// The template as in a staged change: without defaults, with canonical quantities.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    /// Appends [`ClaimTemplate::text`].
    fn write(&self, text: &mut String) {
        self.write_printed(Quantity::to_string, text);
    }

    /// The template as the input of a revision: [`ClaimTemplate::text`] with quantities in whole units, so that equal
    /// amounts have equal texts.
    #[must_use]
    pub fn identity(&self) -> String {
        let mut text = String::new();
        self.write_printed(|quantity| quantity.whole().to_string(), &mut text);
        text
    }

    /// [`ClaimTemplate::text`] as a value. A canonical text is always valid.
    #[must_use]
    pub fn to_value(&self) -> Value {
        json::read(&self.text()).unwrap_or_default()
    }

    fn write_printed(&self, print: Print, text: &mut String) {
        text.push_str("{\"metadata\":");
        let mut metadata = Members::of(&self.metadata, text);
        for (key, strings) in [("annotations", &self.annotations), ("labels", &self.labels)] {
            if !strings.is_empty() {
                write_strings(strings, metadata.member(key));
            }
        }
        write_string(&self.name, metadata.member("name"));
        metadata.end();

        let resources = object(&self.spec, "resources");
        let class = self.volume_attributes_class_name.as_deref();
        let has_resources = self.storage.is_some() || !resources.is_empty();
        if has_resources || class.is_some() || !self.spec.is_empty() {
            text.push_str(",\"spec\":");
            let mut spec = Members::of(&self.spec, text);
            if has_resources {
                self.write_resources(resources, print, spec.member("resources"));
            }
            if let Some(class) = class {
                write_string(class, spec.member("volumeAttributesClassName"));
            }
            spec.end();
        }
        text.push('}');
    }

    fn write_resources(&self, resources: &Map<Value>, print: Print, text: &mut String) {
        let mut members = Members::of(resources, text);
        // Reversed, because keys are sorted: `limits` comes before `requests`.
        for (key, _) in AMOUNTS.iter().rev() {
            let amounts = object(resources, key);
            let storage = self.storage.as_ref().filter(|_| *key == "requests");
            if storage.is_some() || !amounts.is_empty() {
                write_amounts(amounts, storage, print, members.member(key));
            }
        }
        members.end();
    }
}

/// The canonical text of a list of templates, as in a staged change.
#[must_use]
pub fn canonical_list(templates: &[ClaimTemplate]) -> String {
    let mut text = String::new();
    write_list(templates, &mut text);
    text
}

/// Appends [`canonical_list`].
pub(crate) fn write_list(templates: &[ClaimTemplate], text: &mut String) {
    text.push('[');
    for (index, template) in templates.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        template.write(text);
    }
    text.push(']');
}

/// The member of this name if it is an object, or an empty object.
fn object<'m>(map: &'m Map<Value>, key: &str) -> &'m Map<Value> {
    map.get(key).and_then(Value::as_object).unwrap_or(NONE)
}

fn write_strings(strings: &Map<String>, text: &mut String) {
    let mut members = Members::of(NONE, text);
    for (key, value) in strings {
        write_string(value, members.member(key));
    }
    members.end();
}

/// The quantities of a map, and the storage at its place among them.
fn write_amounts(amounts: &Map<Value>, mut storage: Option<&Quantity>, print: Print, text: &mut String) {
    let mut members = Members::of(NONE, text);
    for (key, value) in amounts {
        if let Some(storage) = storage.take_if(|_| key.as_str() > "storage") {
            write_string(&print(storage), members.member("storage"));
        }
        if let Some(amount) = value.as_str().and_then(|text| text.parse().ok()) {
            write_string(&print(&amount), members.member(key));
        }
    }
    if let Some(storage) = storage {
        write_string(&print(storage), members.member("storage"));
    }
    members.end();
}
