//! The kinds of settings: how a value is read from its JSON text, and written as text.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use crate::json::{ErrorKind, Reader};
use crate::templates::words::{UnknownWord, place};
use crate::templates::{Quantity, UpdatePolicy};

/// More do not fit into the two seconds of a policy-server, even at a millisecond each.
const MAX_PVC_LOOKUPS: i64 = 1000;

/// A kind of settings.
pub(super) trait SettingKind<T> {
    /// Reads the JSON text. The error names the expected value.
    fn read(value: &str) -> Result<T, String>;

    /// The value as text. Equal values have equal texts; lists have no order.
    fn text(value: &T) -> String;
}

/// One of the words of an enum.
pub(super) enum OneWord {}

/// The words `true` and `false` of an enum.
pub(super) enum YesOrNo {}

/// An update policy that deletes no PVC.
pub(super) enum DefaultPolicy {}

/// A size by storage class.
pub(super) enum SizeByClass {}

/// A list of names; without a list, any name.
pub(super) enum AnyOrNames {}

/// A list of domains. Each ends with its only slash.
pub(super) enum Domains {}

/// A list of kinds, each as `group/Kind`.
pub(super) enum OwnerKinds {}

/// A list of user names: at least so many.
pub(super) enum UserNames<const LEAST: usize> {}

/// A number of PVCs that are read.
pub(super) enum LookupCount {}

impl<T: FromStr<Err = UnknownWord> + Display> SettingKind<T> for OneWord {
    fn read(value: &str) -> Result<T, String> {
        string(value).parse().map_err(in_words)
    }

    fn text(value: &T) -> String {
        value.to_string()
    }
}

impl<T: FromStr + Display> SettingKind<T> for YesOrNo {
    fn read(value: &str) -> Result<T, String> {
        value.parse().map_err(|_| "expected true or false".to_owned())
    }

    fn text(value: &T) -> String {
        value.to_string()
    }
}

impl SettingKind<UpdatePolicy> for DefaultPolicy {
    fn read(value: &str) -> Result<UpdatePolicy, String> {
        let place = place(&string(value), &UpdatePolicy::WITHOUT_RECREATE);
        place.map(|place| UpdatePolicy::ALL[place]).map_err(in_words)
    }

    fn text(value: &UpdatePolicy) -> String {
        value.to_string()
    }
}

impl SettingKind<Vec<(String, Quantity)>> for SizeByClass {
    fn read(value: &str) -> Result<Vec<(String, Quantity)>, String> {
        let mut sizes: Vec<(String, Quantity)> = Vec::new();
        let mut reader = Reader::new(value);
        let read = reader.object(|reader, class| {
            let no_size = reader.error(ErrorKind::Expected("a size"));
            let size = reader.string()?.parse::<Quantity>().map_err(|_| no_size)?;
            let twice = sizes.iter().any(|(other, _)| *other == *class);
            if twice || class.is_empty() || size.bytes().is_err() {
                return Err(no_size);
            }
            sizes.push((class.into_owned(), size));
            Ok(())
        });
        read.map(|()| sizes)
            .map_err(|_| "expected a size by storage class, such as {\"*\": \"1Ti\"}".to_owned())
    }

    fn text(sizes: &Vec<(String, Quantity)>) -> String {
        list(sizes.iter().map(|(class, size)| format!("{class}: {size}")))
    }
}

impl SettingKind<Option<Vec<String>>> for AnyOrNames {
    fn read(value: &str) -> Result<Option<Vec<String>>, String> {
        if value == "null" {
            return Ok(None);
        }
        names(value, |_| true)
            .map(Some)
            .ok_or_else(|| "expected a list of names".to_owned())
    }

    fn text(names: &Option<Vec<String>>) -> String {
        match names {
            None => "any".to_owned(),
            Some(names) => list(names.iter().cloned()),
        }
    }
}

impl SettingKind<Vec<Cow<'static, str>>> for Domains {
    fn read(value: &str) -> Result<Vec<Cow<'static, str>>, String> {
        let is_domain = |name: &str| name.len() > 1 && name.find('/') == Some(name.len() - 1);
        let domains = names(value, is_domain)
            .ok_or_else(|| "expected a list of domains with a slash at the end, such as \"example.com/\"".to_owned())?;
        Ok(domains.into_iter().map(Cow::Owned).collect())
    }

    fn text(domains: &Vec<Cow<'static, str>>) -> String {
        list(domains.iter().map(ToString::to_string))
    }
}

impl SettingKind<Vec<String>> for OwnerKinds {
    fn read(value: &str) -> Result<Vec<String>, String> {
        let is_kind = |name: &str| {
            let parts = name.split_once('/');
            parts.is_some_and(|(group, kind)| !group.is_empty() && !kind.is_empty() && !kind.contains('/'))
        };
        names(value, is_kind)
            .ok_or_else(|| "expected a list of kinds, such as [\"monitoring.coreos.com/Prometheus\"]".to_owned())
    }

    fn text(kinds: &Vec<String>) -> String {
        list(kinds.iter().cloned())
    }
}

impl<const LEAST: usize> SettingKind<Vec<Cow<'static, str>>> for UserNames<LEAST> {
    fn read(value: &str) -> Result<Vec<Cow<'static, str>>, String> {
        let users = names(value, |_| true).filter(|users| users.len() >= LEAST);
        users
            .map(|users| users.into_iter().map(Cow::Owned).collect())
            .ok_or_else(|| "expected a list of user names".to_owned())
    }

    fn text(users: &Vec<Cow<'static, str>>) -> String {
        list(users.iter().map(ToString::to_string))
    }
}

impl SettingKind<u32> for LookupCount {
    fn read(value: &str) -> Result<u32, String> {
        let number = Reader::new(value).integer().ok();
        let number = number.filter(|number| (1..=MAX_PVC_LOOKUPS).contains(number));
        number
            .and_then(|number| u32::try_from(number).ok())
            .ok_or_else(|| format!("expected a whole number from 1 to {MAX_PVC_LOOKUPS}"))
    }

    fn text(count: &u32) -> String {
        count.to_string()
    }
}

/// The string, or an empty one if the JSON text is none.
fn string(value: &str) -> Cow<'_, str> {
    Reader::new(value).string().unwrap_or_default()
}

fn in_words(unknown: UnknownWord) -> String {
    unknown.to_string()
}

/// Reads a list of such names, none of them empty.
fn names(value: &str, is_valid: impl Fn(&str) -> bool) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut reader = Reader::new(value);
    let read = reader.list(|reader| {
        names.push(reader.string()?.into_owned());
        Ok(())
    });
    let is_valid = |name: &String| !name.is_empty() && is_valid(name);
    (read.is_ok() && names.iter().all(is_valid)).then_some(names)
}

fn list(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<String> = items.collect();
    items.sort();
    items.dedup();
    format!("[{}]", items.join(", "))
}
