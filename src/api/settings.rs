//! The settings document: the policy, the built-in webhook and the controller read the same one.

use std::borrow::Cow;

use crate::json::{Error, Reader};
pub use crate::templates::rules::OwnedSets;
use crate::templates::rules::{Frozen, Metadata, Shrink};
use crate::templates::show::{cut, shown};
use crate::templates::{Quantity, Rules, UpdatePolicy, keys};

/// What an administrator may set. The first value named is the default; empty settings work.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `mode`: whether changes are staged, or only judged.
    pub mode: Mode,
    /// `defaultUpdatePolicy`: the update policy of a set without the annotation.
    pub default_update_policy: UpdatePolicy,
    /// `allowReCreate`: whether a set may ask for the update policy that deletes claims.
    pub recreate: ReCreate,
    /// `metadataOnlyChanges`: what becomes of labels and annotations.
    pub metadata_only_changes: MetadataOnlyChanges,
    /// `shrink`: what becomes of a smaller size.
    pub shrink: Shrink,
    /// `maxStorage`: the largest size by storage class, inclusive; `*` is for the rest.
    pub max_storage: Vec<(String, Quantity)>,
    /// `allowedVolumeAttributesClasses`; any, if it is not set.
    pub allowed_attributes_classes: Option<Vec<String>>,
    /// `reservedKeyPrefixes`: domains of keys that a template may not change.
    pub reserved_key_prefixes: Vec<Cow<'static, str>>,
    /// `authority`: who may ask for a change.
    pub authority: Authority,
    /// `pvcChecks`: what becomes of a wish that a claim would not follow.
    pub pvc_checks: PvcChecks,
    /// `maxPVCLookups`: how many claims are looked up for one request.
    pub max_pvc_lookups: u32,
    /// `retention`: what becomes of a request by which claims are deleted (KEP-1847).
    pub retention: Retention,
    /// `ownedSets`: whether sets of another controller are looked after.
    pub owned_sets: OwnedSets,
    /// `stageOwnedBy`: controllers, each as `group/Kind`, whose StatefulSets are managed although `ownedSets` is `Skip`.
    pub stage_owned_by: Vec<String>,
    /// `controllerAccounts`: the user names of the controllers, whose own updates always pass.
    pub controller_accounts: Vec<Cow<'static, str>>,
    /// `statefulSetControllerAccounts`: the user names of Kubernetes' StatefulSet controller.
    pub stateful_set_controller_accounts: Vec<Cow<'static, str>>,
}

/// The names of all settings, in the order in which documents list them.
pub const NAMES: [&str; 16] = [
    "mode",
    "defaultUpdatePolicy",
    "allowReCreate",
    "metadataOnlyChanges",
    "shrink",
    "maxStorage",
    "allowedVolumeAttributesClasses",
    "reservedKeyPrefixes",
    "authority",
    "pvcChecks",
    "maxPVCLookups",
    "retention",
    "ownedSets",
    "stageOwnedBy",
    "controllerAccounts",
    "statefulSetControllerAccounts",
];

/// Whether changes are staged, or only judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// An allowed change is staged.
    #[default]
    Stage,
    /// An allowed change passes as it is; nothing is ever mutated. For servers where templates are mutable, and for
    /// policy groups, which cannot mutate.
    ValidateOnly,
}

/// Whether a set may ask for the update policy that deletes claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReCreate {
    /// `false`
    #[default]
    Refused,
    /// `true`
    Allowed,
}

/// What becomes of a change of a template's labels and annotations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataOnlyChanges {
    /// It is rolled out as any other.
    #[default]
    Rollout,
    /// It is taken back; the rest of the request goes on.
    Ignore,
    /// It is refused.
    Deny,
}

/// Who may ask for a change of the templates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authority {
    /// Who may `patch persistentvolumeclaims` in the namespace: the change reaches them.
    #[default]
    RequirePatchOnPVCs,
    /// Whoever may update the set.
    TrustSetEditors,
}

/// What becomes of a wish that a claim would not follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PvcChecks {
    /// Nothing is looked up.
    Off,
    /// The user is told.
    #[default]
    Warn,
    /// It is refused.
    Deny,
}

/// What becomes of a request by which claims are deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    /// Nothing is looked up.
    #[default]
    Off,
    /// The user is told.
    Warn,
    /// It is refused.
    Deny,
}

/// The account that the manifests of this project run the controller as.
pub const DEFAULT_CONTROLLER_ACCOUNT: &str = "system:serviceaccount:claim-rollout:claim-rollout-controller";

/// Kubernetes' StatefulSet controller: with an account of its own, and where all controllers share one.
const DEFAULT_STATEFUL_SET_CONTROLLER_ACCOUNTS: [Cow<'static, str>; 2] = [
    Cow::Borrowed("system:serviceaccount:kube-system:statefulset-controller"),
    Cow::Borrowed("system:kube-controller-manager"),
];

/// The longest sentence about what is wrong.
const MAX_MESSAGE: usize = 1024;

/// As many as fit into a policy-server's two seconds with room to spare.
const DEFAULT_PVC_LOOKUPS: u32 = 20;

/// More would not fit even where each takes a millisecond.
const MAX_PVC_LOOKUPS: i64 = 1000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            default_update_policy: UpdatePolicy::default(),
            recreate: ReCreate::default(),
            metadata_only_changes: MetadataOnlyChanges::default(),
            shrink: Shrink::default(),
            max_storage: Vec::new(),
            allowed_attributes_classes: None,
            reserved_key_prefixes: keys::RESERVED_KEY_PREFIXES.to_vec(),
            authority: Authority::default(),
            pvc_checks: PvcChecks::default(),
            max_pvc_lookups: DEFAULT_PVC_LOOKUPS,
            retention: Retention::default(),
            owned_sets: OwnedSets::default(),
            stage_owned_by: Vec::new(),
            controller_accounts: vec![Cow::Borrowed(DEFAULT_CONTROLLER_ACCOUNT)],
            stateful_set_controller_accounts: DEFAULT_STATEFUL_SET_CONTROLLER_ACCOUNTS.to_vec(),
        }
    }
}

impl Settings {
    /// The allowed-field rule while this update policy is in force.
    #[must_use]
    pub fn rules(&self, policy: UpdatePolicy) -> Rules<'_> {
        let recreated = policy == UpdatePolicy::ReCreate && self.recreate == ReCreate::Allowed;
        Rules {
            reserved_key_prefixes: &self.reserved_key_prefixes,
            max_storage: &self.max_storage,
            attributes_classes: self.allowed_attributes_classes.as_deref(),
            metadata: match self.metadata_only_changes {
                MetadataOnlyChanges::Deny => Metadata::Fixed,
                MetadataOnlyChanges::Rollout | MetadataOnlyChanges::Ignore => Metadata::MayChange,
            },
            shrink: self.shrink,
            frozen: if recreated { Frozen::MayChange } else { Frozen::Refuse },
        }
    }

    /// The allowed-field rule for a staged change that is already there, for whoever does not know who asked for it.
    ///
    /// `metadataOnlyChanges: Ignore` stages no label and no annotation, so a staged change that changes one was not made
    /// under these settings.
    #[must_use]
    pub fn rules_of_staged(&self, policy: UpdatePolicy) -> Rules<'_> {
        let metadata = match self.metadata_only_changes {
            MetadataOnlyChanges::Rollout => Metadata::MayChange,
            MetadataOnlyChanges::Ignore | MetadataOnlyChanges::Deny => Metadata::Fixed,
        };
        Rules {
            metadata,
            ..self.rules(policy)
        }
    }

    /// True iff a StatefulSet that a controller of this group and kind owns is left alone: the owner would undo what is
    /// staged.
    #[must_use]
    pub fn skips_owned_by(&self, group: &str, kind: &str) -> bool {
        let is_named = |name: &String| name.split_once('/') == Some((group, kind));
        self.owned_sets == OwnedSets::Skip && !self.stage_owned_by.iter().any(is_named)
    }

    /// Reads settings from JSON; `null` and an empty text mean the defaults.
    ///
    /// # Errors
    /// All faults in one sentence.
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

    /// Reads what can be read; the faults of the rest.
    fn read_fields(&mut self, text: &str) -> Result<Vec<String>, Error> {
        let mut reader = Reader::new(text);
        let mut faults = Vec::new();
        if reader.null()? {
            return reader.end().map(|()| faults);
        }
        let mut seen = Vec::new();
        reader.object(|reader, key| {
            if seen.contains(&key) {
                return Err(reader.error(crate::json::Fault::Duplicate));
            }
            let value = reader.raw()?;
            match self.read_field(&key, value) {
                Ok(()) => {}
                Err(expected) if NAMES.contains(&&*key) => {
                    faults.push(format!("{key}: {expected}, but found {}", shown(value)));
                }
                Err(no_such) => faults.push(format!("{}: {no_such}", shown(&key))),
            }
            seen.push(key);
            Ok(())
        })?;
        reader.end()?;
        Ok(faults)
    }

    /// Sets one field from its JSON text; the error says what it must be.
    fn read_field(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "mode" => choose(&mut self.mode, value, &MODES),
            "defaultUpdatePolicy" => choose(&mut self.default_update_policy, value, &DEFAULT_UPDATE_POLICIES),
            "allowReCreate" => match value {
                "true" => put(&mut self.recreate, ReCreate::Allowed),
                "false" => put(&mut self.recreate, ReCreate::Refused),
                _ => Err("expected true or false".to_owned()),
            },
            "metadataOnlyChanges" => choose(&mut self.metadata_only_changes, value, &METADATA_ONLY_CHANGES),
            "shrink" => choose(&mut self.shrink, value, &SHRINKS),
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

/// The values of a setting, the default first.
type Choices<T, const N: usize> = [(&'static str, T); N];

const MODES: Choices<Mode, 2> = [("Stage", Mode::Stage), ("ValidateOnly", Mode::ValidateOnly)];
/// `ReCreate` deletes claims: it is never a default.
const DEFAULT_UPDATE_POLICIES: Choices<UpdatePolicy, 2> = [
    ("OnClaimDelete", UpdatePolicy::OnClaimDelete),
    ("InPlace", UpdatePolicy::InPlace),
];
const METADATA_ONLY_CHANGES: Choices<MetadataOnlyChanges, 3> = [
    ("Rollout", MetadataOnlyChanges::Rollout),
    ("Ignore", MetadataOnlyChanges::Ignore),
    ("Deny", MetadataOnlyChanges::Deny),
];
const SHRINKS: Choices<Shrink, 2> = [("Deny", Shrink::Deny), ("Recover", Shrink::Recover)];
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

fn put<T>(target: &mut T, value: T) -> Result<(), String> {
    *target = value;
    Ok(())
}

/// Sets the choice that the JSON text names.
fn choose<T: Copy, const N: usize>(target: &mut T, value: &str, choices: &Choices<T, N>) -> Result<(), String> {
    let text = string(value);
    let chosen = choices.iter().find(|(name, _)| Some(*name) == text.as_deref());
    if let Some((_, choice)) = chosen {
        return put(target, *choice);
    }
    let allowed: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    Err(format!("expected one of {}", allowed.join(", ")))
}

/// The string that a JSON text is, if it is one.
fn string(value: &str) -> Option<Cow<'_, str>> {
    Reader::new(value).string().ok()
}

/// A list of at least so many user names.
fn users(value: &str, least: usize) -> Result<Vec<Cow<'static, str>>, String> {
    let users = names(value).ok().filter(|users| users.len() >= least);
    users
        .map(|users| users.into_iter().map(Cow::Owned).collect())
        .ok_or_else(|| "expected a list of user names".to_owned())
}

/// A list of kinds, each as `group/Kind`.
fn owners(value: &str) -> Result<Vec<String>, String> {
    let is_kind = |name: &String| {
        let parts = name.split_once('/');
        parts.is_some_and(|(group, kind)| !group.is_empty() && !kind.is_empty() && !kind.contains('/'))
    };
    let owners = names(value).ok().filter(|names| names.iter().all(is_kind));
    owners.ok_or_else(|| "expected a list of kinds, such as [\"monitoring.coreos.com/Prometheus\"]".to_owned())
}

/// A list of names that are not empty.
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

/// A prefix is the whole domain of a key, so it ends with a slash and has no other.
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

/// A size by storage class.
fn sizes(value: &str) -> Result<Vec<(String, Quantity)>, String> {
    let expected = || "expected a size by storage class, such as {\"*\": \"1Ti\"}".to_owned();
    let mut sizes: Vec<(String, Quantity)> = Vec::new();
    let mut reader = Reader::new(value);
    let read = reader.object(|reader, class| {
        let no_size = reader.error(crate::json::Fault::Expected("a size"));
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

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
