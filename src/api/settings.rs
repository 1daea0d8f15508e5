//! The settings. The policy, the webhook and the controller read the same document.

use std::borrow::Cow;

pub use crate::templates::rules::OwnedSets;
use crate::templates::rules::{Frozen, Metadata, Shrink, TemplateNames};
use crate::templates::{Quantity, ReplaceSet, Rules, UpdatePolicy, keys};

/// The settings of an administrator. The first value is the default; an empty document is valid.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `mode`: whether to stage changes, or only to validate them.
    pub mode: Mode,
    /// `defaultUpdatePolicy`: the update policy of a StatefulSet without the annotation.
    pub default_update_policy: UpdatePolicy,
    /// `defaultReplaceSet`: whether a complete rollout replaces a StatefulSet without the annotation.
    pub default_replace_set: ReplaceSet,
    /// `allowReCreate`: whether `ReCreate`, which deletes PVCs, is allowed.
    pub recreate: ReCreate,
    /// `metadataOnlyChanges`: how to handle changes of labels and annotations.
    pub metadata_only_changes: MetadataOnlyChanges,
    /// `shrink`: how to handle a smaller size.
    pub shrink: Shrink,
    /// `immutableFields`: whether fields may change that no PVC can follow in place.
    pub immutable_fields: Frozen,
    /// `templateChanges`: whether templates may be added, removed and renamed.
    pub template_changes: TemplateChanges,
    /// `maxStorage`: the largest size by storage class, inclusive; `*` is for all other classes.
    pub max_storage: Vec<(String, Quantity)>,
    /// `allowedVolumeAttributesClasses`: all, if it is not set.
    pub allowed_attributes_classes: Option<Vec<String>>,
    /// `reservedKeyPrefixes`: domains of keys that a template must not change.
    pub reserved_key_prefixes: Vec<Cow<'static, str>>,
    /// `authority`: who may request a change.
    pub authority: Authority,
    /// `pvcChecks`: how to handle a change that a PVC could not follow.
    pub pvc_checks: PvcChecks,
    /// `maxPVCLookups`: how many PVCs to read for one request.
    pub max_pvc_lookups: u32,
    /// `retention`: how to handle a request that deletes PVCs (KEP-1847).
    pub retention: Retention,
    /// `ownedSets`: whether to manage StatefulSets that another controller owns.
    pub owned_sets: OwnedSets,
    /// `stageOwnedBy`: controllers, each as `group/Kind`, whose StatefulSets are managed although `ownedSets` is `Skip`.
    pub stage_owned_by: Vec<String>,
    /// `controllerAccounts`: the user names of the controller. The updates of these users always pass.
    pub controller_accounts: Vec<Cow<'static, str>>,
    /// `statefulSetControllerAccounts`: the user names of Kubernetes' StatefulSet controller.
    pub stateful_set_controller_accounts: Vec<Cow<'static, str>>,
}

/// The names of all settings, in the order in which documents list them.
pub const NAMES: [&str; 19] = [
    "mode",
    "defaultUpdatePolicy",
    "defaultReplaceSet",
    "allowReCreate",
    "metadataOnlyChanges",
    "shrink",
    "immutableFields",
    "templateChanges",
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

/// Whether to stage changes, or only to validate them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Stage an allowed change.
    #[default]
    Stage,
    /// Allow the change, and mutate nothing: for servers where templates are mutable, and for policy groups, which
    /// cannot mutate.
    ValidateOnly,
}

/// Whether the update policy `ReCreate`, which deletes PVCs, is allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReCreate {
    /// `false`
    #[default]
    Denied,
    /// `true`
    Allowed,
}

/// Whether templates may be added, removed and renamed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TemplateChanges {
    /// Deny the request.
    #[default]
    Deny,
    /// Stage the change of a StatefulSet that is replaced (`replace-set: WhenComplete`).
    Allow,
}

/// How to handle changes of labels and annotations of a template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataOnlyChanges {
    /// Roll the change out as any other.
    #[default]
    Rollout,
    /// Drop the change, and allow the rest of the request.
    Ignore,
    /// Deny the request.
    Deny,
}

/// Who may request a change of the templates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authority {
    /// Users who may `patch persistentvolumeclaims` in the namespace: a change patches PVCs.
    #[default]
    RequirePatchOnPVCs,
    /// Users who may update the StatefulSet.
    TrustSetEditors,
}

/// How to handle a change that a PVC could not follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PvcChecks {
    /// Read no PVCs.
    Off,
    /// Return a warning.
    #[default]
    Warn,
    /// Deny the request.
    Deny,
}

/// How to handle a request that deletes PVCs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    /// Read no PVCs.
    #[default]
    Off,
    /// Return a warning.
    Warn,
    /// Deny the request.
    Deny,
}

/// The service account of the controller in our manifests.
pub const DEFAULT_CONTROLLER_ACCOUNT: &str = "system:serviceaccount:claim-rollout:claim-rollout-controller";

/// The accounts of the StatefulSet controller: its own, and the one that all controllers share in some clusters.
const DEFAULT_STATEFUL_SET_CONTROLLER_ACCOUNTS: [Cow<'static, str>; 2] = [
    Cow::Borrowed("system:serviceaccount:kube-system:statefulset-controller"),
    Cow::Borrowed("system:kube-controller-manager"),
];

/// They fit into the two seconds of a policy-server with time to spare.
const DEFAULT_PVC_LOOKUPS: u32 = 20;

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            default_update_policy: UpdatePolicy::default(),
            default_replace_set: ReplaceSet::default(),
            recreate: ReCreate::default(),
            metadata_only_changes: MetadataOnlyChanges::default(),
            shrink: Shrink::default(),
            immutable_fields: Frozen::default(),
            template_changes: TemplateChanges::default(),
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
    /// The rules under this update policy.
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
            frozen: if recreated {
                Frozen::ForNewClaims
            } else {
                self.immutable_fields
            },
            names: TemplateNames::Fixed,
        }
    }

    /// The rules under this update policy for a StatefulSet whose change is staged.
    #[must_use]
    pub fn rules_of_change(&self, policy: UpdatePolicy, replace_set: Option<ReplaceSet>) -> Rules<'_> {
        let names = match self.template_changes {
            TemplateChanges::Deny => TemplateNames::Deny,
            TemplateChanges::Allow if self.replaces(replace_set) => TemplateNames::MayChange,
            TemplateChanges::Allow => TemplateNames::NotReplaced,
        };
        Rules {
            names,
            ..self.rules(policy)
        }
    }

    /// True iff a StatefulSet with this annotation `replace-set` is replaced when its rollout is complete.
    #[must_use]
    pub fn replaces(&self, replace_set: Option<ReplaceSet>) -> bool {
        replace_set.unwrap_or(self.default_replace_set) == ReplaceSet::WhenComplete
    }

    /// The rules for an existing staged change, when its user is unknown.
    ///
    /// `metadataOnlyChanges: Ignore` stages no label and no annotation. A staged change that has one was made under
    /// other settings.
    #[must_use]
    pub fn rules_of_staged(&self, policy: UpdatePolicy, replace_set: Option<ReplaceSet>) -> Rules<'_> {
        let metadata = match self.metadata_only_changes {
            MetadataOnlyChanges::Rollout => Metadata::MayChange,
            MetadataOnlyChanges::Ignore | MetadataOnlyChanges::Deny => Metadata::Fixed,
        };
        Rules {
            metadata,
            ..self.rules_of_change(policy, replace_set)
        }
    }

    /// True iff a StatefulSet is left alone because a controller of this group and kind owns it and would undo a staged
    /// change.
    #[must_use]
    pub fn skips_owned_by(&self, group: &str, kind: &str) -> bool {
        let is_named = |name: &String| name.split_once('/') == Some((group, kind));
        self.owned_sets == OwnedSets::Skip && !self.stage_owned_by.iter().any(is_named)
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
