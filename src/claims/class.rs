//! Storage classes and VolumeAttributesClasses: the fields that decide whether a PVC can change.

use crate::json::{Error, ErrorKind, Once, Reader};

/// The result of a lookup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Known<T> {
    /// There was no lookup, or it failed: assume nothing.
    #[default]
    Unknown,
    /// The object does not exist.
    Missing,
    /// The object exists.
    Found(T),
}

/// The fields of a `storage.k8s.io/v1 StorageClass`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageClass {
    /// `provisioner`
    pub provisioner: String,
    /// `allowVolumeExpansion`
    pub expansion: Expansion,
}

/// `allowVolumeExpansion`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expansion {
    /// `false` or absent: the API server denies an expansion.
    #[default]
    Denied,
    /// `true`
    Allowed,
}

/// The fields of a `storage.k8s.io/v1 VolumeAttributesClass`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributesClass {
    /// `driverName`
    pub driver: String,
}

impl StorageClass {
    /// Reads the JSON text of a StorageClass.
    ///
    /// # Errors
    /// If the text is not a StorageClass.
    pub fn read(text: &str) -> Result<Self, Error> {
        let mut class = Self::default();
        let mut once = Once::default();
        let mut reader = Reader::new(text);
        reader.object(|reader, key| {
            match &*key {
                "provisioner" => {
                    once.mark(0, reader)?;
                    class.provisioner = reader.string()?.into_owned();
                }
                "allowVolumeExpansion" => {
                    once.mark(1, reader)?;
                    if !reader.null()? && reader.bool()? {
                        class.expansion = Expansion::Allowed;
                    }
                }
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        named(class.provisioner.is_empty(), &reader, class)
    }
}

impl AttributesClass {
    /// Reads the JSON text of a VolumeAttributesClass.
    ///
    /// # Errors
    /// If the text is not a VolumeAttributesClass.
    pub fn read(text: &str) -> Result<Self, Error> {
        let mut class = Self::default();
        let mut once = Once::default();
        let mut reader = Reader::new(text);
        reader.object(|reader, key| {
            if key != "driverName" {
                return reader.skip();
            }
            once.mark(0, reader)?;
            class.driver = reader.string()?.into_owned();
            Ok(())
        })?;
        named(class.driver.is_empty(), &reader, class)
    }
}

/// Returns an error if the class has no driver.
fn named<T>(nameless: bool, reader: &Reader<'_>, class: T) -> Result<T, Error> {
    if nameless {
        return Err(reader.error(ErrorKind::Missing("the driver's name")));
    }
    Ok(class)
}

#[cfg(test)]
mod tests {
    use super::{AttributesClass, Expansion, StorageClass};

    #[test]
    fn storage_class_without_the_field_does_not_expand() {
        for (field, expected) in [
            (r#","allowVolumeExpansion":true"#, Expansion::Allowed),
            (r#","allowVolumeExpansion":false"#, Expansion::Denied),
            (r#","allowVolumeExpansion":null"#, Expansion::Denied),
            ("", Expansion::Denied),
        ] {
            let class = StorageClass::read(&format!(
                r#"{{"kind":"StorageClass","provisioner":"csi.example.com"{field}}}"#
            ));
            assert_eq!(class.expect("a class").expansion, expected, "{field}");
        }
        assert!(StorageClass::read("{}").is_err());
    }

    #[test]
    fn attributes_class_has_a_driver() {
        let class = AttributesClass::read(r#"{"driverName":"csi.example.com","parameters":{"iops":"1"}}"#);
        assert_eq!(class.expect("a class").driver, "csi.example.com");
        assert!(AttributesClass::read("[]").is_err());
    }
}
