//! Reads the settings from JSON.

use std::borrow::Cow;

use super::settings::{
    Authority, MetadataOnlyChanges, Mode, NAMES, OwnedSets, PvcChecks, ReCreate, Retention, Settings, TemplateChanges,
};
use crate::json::{Error, ErrorKind, Reader};
use crate::templates::rules::{Frozen, Shrink};
use crate::templates::show::{cut, shown};
use crate::templates::{Quantity, ReplaceSet, UpdatePolicy};

/// The longest error message.
const MAX_MESSAGE: usize = 1024;

/// More do not fit into the two seconds of a policy-server, even at a millisecond each.
const MAX_PVC_LOOKUPS: i64 = 1000;

/// The values of a setting, the default first.
type Choices<T, const N: usize> = [(&'static str, T); N];

const MODES: Choices<Mode, 2> = [("Stage", Mode::Stage), ("ValidateOnly", Mode::ValidateOnly)];
/// `ReCreate` deletes PVCs, so it cannot be the default.
const REPLACE_SETS: Choices<ReplaceSet, 2> = [("Never", ReplaceSet::Never), ("WhenComplete", ReplaceSet::WhenComplete)];

const DEFAULT_UPDATE_POLICIES: Choices<UpdatePolicy, 2> = [
    ("OnClaimDelete", UpdatePolicy::OnClaimDelete),
    ("InPlace", UpdatePolicy::InPlace),
];
const METADATA_ONLY_CHANGES: Choices<MetadataOnlyChanges, 3> = [
    ("Rollout", MetadataOnlyChanges::Rollout),
    ("Ignore", MetadataOnlyChanges::Ignore),
    ("Deny", MetadataOnlyChanges::Deny),
];
const SHRINKS: Choices<Shrink, 3> = [
    ("Deny", Shrink::Deny),
    ("Recover", Shrink::Recover),
    ("Keep", Shrink::Keep),
];
const IMMUTABLE_FIELDS: Choices<Frozen, 2> = [("Deny", Frozen::Deny), ("NewPVCs", Frozen::ForNewClaims)];
const TEMPLATE_CHANGES: Choices<TemplateChanges, 2> =
    [("Deny", TemplateChanges::Deny), ("Allow", TemplateChanges::Allow)];
const AUTHORITIES: Choices<Authority, 2> = [
    ("RequirePatchOnPVCs", Authority::RequirePatchOnPVCs),
    ("TrustSetEditors", Authority::TrustSetEditors),
];
const PVC_CHECKS: Choices<PvcChecks, 3> = [
    ("Off", PvcChecks::Off),
    ("Warn", PvcChecks::Warn),
    ("Deny", PvcChecks::Deny),
];
const RETENTIONS: Choices<Retention, 3> = [
    ("Off", Retention::Off),
    ("Warn", Retention::Warn),
    ("Deny", Retention::Deny),
];
const OWNED_SETS: Choices<OwnedSets, 2> = [("Skip", OwnedSets::Skip), ("Stage", OwnedSets::Stage)];

impl Settings {
    /// Reads settings from JSON; `null` and an empty text mean the defaults.
    ///
    /// # Errors
    /// All faults, in one line.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut settings = Self::default();
        if text.trim().is_empty() {
            return Ok(settings);
        }
        match settings.read_fields(text) {
            Ok(faults) if faults.is_empty() => Ok(settings),
            Ok(faults) => Err(cut(&format!("settings: {}", faults.join("; ")), MAX_MESSAGE)),
            Err(_) => Err("settings: expected a JSON object without duplicate keys".to_owned()),
        }
    }

    /// Reads all valid fields, and returns the faults of the others.
    fn read_fields(&mut self, text: &str) -> Result<Vec<String>, Error> {
        let mut reader = Reader::new(text);
        let mut faults = Vec::new();
        if reader.null()? {
            return reader.end().map(|()| faults);
        }
        let mut seen = Vec::new();
        reader.object(|reader, key| {
            if seen.contains(&key) {
                return Err(reader.error(ErrorKind::Duplicate));
            }
            let value = reader.raw()?;
            match self.read_field(&key, value) {
                Ok(()) => {}
                Err(expected) if NAMES.contains(&&*key) => {
                    faults.push(format!(
                        "{key}: {expected}, but found {}{}",
                        shown(value),
                        hint(&expected, value)
                    ));
                }
                Err(no_such) => faults.push(format!("{}: {no_such}", shown(&key))),
            }
            seen.push(key);
            Ok(())
        })?;
        reader.end()?;
        Ok(faults)
    }

    /// Sets one field from its JSON text. The error names the expected value.
    fn read_field(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "mode" => choose(&mut self.mode, value, &MODES),
            "defaultUpdatePolicy" => choose(&mut self.default_update_policy, value, &DEFAULT_UPDATE_POLICIES),
            "defaultReplaceSet" => choose(&mut self.default_replace_set, value, &REPLACE_SETS),
            "allowReCreate" => match value {
                "true" => put(&mut self.recreate, ReCreate::Allowed),
                "false" => put(&mut self.recreate, ReCreate::Denied),
                _ => Err("expected true or false".to_owned()),
            },
            "metadataOnlyChanges" => choose(&mut self.metadata_only_changes, value, &METADATA_ONLY_CHANGES),
            "shrink" => choose(&mut self.shrink, value, &SHRINKS),
            "immutableFields" => choose(&mut self.immutable_fields, value, &IMMUTABLE_FIELDS),
            "templateChanges" => choose(&mut self.template_changes, value, &TEMPLATE_CHANGES),
            "maxStorage" => put(&mut self.max_storage, sizes(value)?),
            "allowedVolumeAttributesClasses" if value == "null" => put(&mut self.allowed_attributes_classes, None),
            "allowedVolumeAttributesClasses" => put(&mut self.allowed_attributes_classes, Some(names(value)?)),
            "reservedKeyPrefixes" => put(&mut self.reserved_key_prefixes, prefixes(value)?),
            "authority" => choose(&mut self.authority, value, &AUTHORITIES),
            "pvcChecks" => choose(&mut self.pvc_checks, value, &PVC_CHECKS),
            "maxPVCLookups" => put(&mut self.max_pvc_lookups, lookups(value)?),
            "retention" => choose(&mut self.retention, value, &RETENTIONS),
            "ownedSets" => choose(&mut self.owned_sets, value, &OWNED_SETS),
            "stageOwnedBy" => put(&mut self.stage_owned_by, owners(value)?),
            "controllerAccounts" => put(&mut self.controller_accounts, users(value, 1)?),
            "statefulSetControllerAccounts" => put(&mut self.stateful_set_controller_accounts, users(value, 0)?),
            _ => Err("no such setting".to_owned()),
        }
    }
}

fn put<T>(target: &mut T, value: T) -> Result<(), String> {
    *target = value;
    Ok(())
}

/// Sets the choice with this name.
fn choose<T: Copy, const N: usize>(target: &mut T, value: &str, choices: &Choices<T, N>) -> Result<(), String> {
    let text = string(value);
    let chosen = choices.iter().find(|(name, _)| Some(*name) == text.as_deref());
    if let Some((_, choice)) = chosen {
        return put(target, *choice);
    }
    let allowed: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    Err(format!("expected one of {}", allowed.join(", ")))
}

/// What to do about a value that YAML has changed.
fn hint(expected: &str, value: &str) -> &'static str {
    if value == "false" && expected.starts_with("expected one of Off") {
        return " (in YAML, Off without quotes is false)";
    }
    ""
}

/// The string, if the JSON text is one.
fn string(value: &str) -> Option<Cow<'_, str>> {
    Reader::new(value).string().ok()
}

/// Reads a list of at least `least` user names.
fn users(value: &str, least: usize) -> Result<Vec<Cow<'static, str>>, String> {
    let users = names(value).ok().filter(|users| users.len() >= least);
    users
        .map(|users| users.into_iter().map(Cow::Owned).collect())
        .ok_or_else(|| "expected a list of user names".to_owned())
}

/// Reads a list of kinds, each as `group/Kind`.
fn owners(value: &str) -> Result<Vec<String>, String> {
    let is_kind = |name: &String| {
        let parts = name.split_once('/');
        parts.is_some_and(|(group, kind)| !group.is_empty() && !kind.is_empty() && !kind.contains('/'))
    };
    let owners = names(value).ok().filter(|names| names.iter().all(is_kind));
    owners.ok_or_else(|| "expected a list of kinds, such as [\"monitoring.coreos.com/Prometheus\"]".to_owned())
}

/// Reads a list of names, none of them empty.
fn names(value: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let mut reader = Reader::new(value);
    let read = reader.list(|reader| {
        names.push(reader.string()?.into_owned());
        Ok(())
    });
    if read.is_err() || names.iter().any(String::is_empty) {
        return Err("expected a list of names".to_owned());
    }
    Ok(names)
}

/// Reads a list of domains. Each ends with its only slash.
fn prefixes(value: &str) -> Result<Vec<Cow<'static, str>>, String> {
    let expected = || "expected a list of domains with a slash at the end, such as \"example.com/\"".to_owned();
    let prefixes = names(value).map_err(|_| expected())?;
    if prefixes
        .iter()
        .any(|prefix| prefix.len() < 2 || prefix.find('/') != Some(prefix.len() - 1))
    {
        return Err(expected());
    }
    Ok(prefixes.into_iter().map(Cow::Owned).collect())
}

/// Reads a size by storage class.
fn sizes(value: &str) -> Result<Vec<(String, Quantity)>, String> {
    let expected = || "expected a size by storage class, such as {\"*\": \"1Ti\"}".to_owned();
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
    read.map(|()| sizes).map_err(|_| expected())
}

fn lookups(value: &str) -> Result<u32, String> {
    let number = Reader::new(value).integer().ok();
    let number = number.filter(|number| (1..=MAX_PVC_LOOKUPS).contains(number));
    number
        .and_then(|number| u32::try_from(number).ok())
        .ok_or_else(|| format!("expected a whole number from 1 to {MAX_PVC_LOOKUPS}"))
}
