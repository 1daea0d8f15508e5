//! Storage classes and volume attributes classes, as far as they say what a claim may become.

use crate::json::{Error, Fault, Once, Reader};

/// What is known of something that was looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Known<T> {
    /// Nobody asked, or nobody answered: nothing follows.
    #[default]
    Unknown,
    /// There is none of this name.
    Missing,
    /// It is this.
    Found(T),
}

/// What a `storage.k8s.io/v1 StorageClass` says.
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
    /// `false`, or absent: the API server refuses both.
    #[default]
    Refused,
    /// `true`
    Allowed,
}

/// What a `storage.k8s.io/v1 VolumeAttributesClass` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributesClass {
    /// `driverName`
    pub driver: String,
}

impl StorageClass {
    /// Reads the JSON text of one.
    ///
    /// # Errors
    /// If it is none.
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
    /// Reads the JSON text of one.
    ///
    /// # Errors
    /// If it is none.
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

/// A class without its driver is none.
fn named<T>(nameless: bool, reader: &Reader<'_>, class: T) -> Result<T, Error> {
    if nameless {
        return Err(reader.error(Fault::Missing("the driver's name")));
    }
    Ok(class)
}

#[cfg(test)]
mod tests {
    use super::{AttributesClass, Expansion, StorageClass};

    #[test]
    fn a_class_that_does_not_say_so_does_not_expand() {
        for (says, expected) in [
            (r#","allowVolumeExpansion":true"#, Expansion::Allowed),
            (r#","allowVolumeExpansion":false"#, Expansion::Refused),
            (r#","allowVolumeExpansion":null"#, Expansion::Refused),
            ("", Expansion::Refused),
        ] {
            let class = StorageClass::read(&format!(
                r#"{{"kind":"StorageClass","provisioner":"csi.example.com"{says}}}"#
            ));
            assert_eq!(class.expect("a class").expansion, expected, "{says}");
        }
        assert!(StorageClass::read("{}").is_err());
    }

    #[test]
    fn an_attributes_class_has_a_driver() {
        let class = AttributesClass::read(r#"{"driverName":"csi.example.com","parameters":{"iops":"1"}}"#);
        assert_eq!(class.expect("a class").driver, "csi.example.com");
        assert!(AttributesClass::read("[]").is_err());
    }
}
