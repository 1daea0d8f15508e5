//! The settings. The policy, the webhook and the controller read the same document.

use std::borrow::Cow;

use super::setting_kinds::{
    AnyOrNames, DefaultPolicy, Domains, LookupCount, OneWord, OwnerKinds, SettingKind, SizeByClass, UserNames, YesOrNo,
};
use crate::templates::rules::{Frozen, Metadata, Shrink, TemplateNames};
use crate::templates::words::words;
use crate::templates::{Quantity, ReplaceSet, Rules, UpdatePolicy, keys};

/// Defines the settings from one table: the name in the document, the field, its type, its default, and its kind.
macro_rules! settings {
    ($($(#[doc = $doc:literal])* $name:literal => $field:ident: $type:ty = $default:expr, $kind:ty;)*) => {
        /// The settings of an administrator. An empty document is valid.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Settings {
            $($(#[doc = $doc])* pub $field: $type,)*
        }

        /// The names of all settings, in the order in which documents list them.
        pub const NAMES: [&str; [$($name),*].len()] = [$($name),*];

        impl Default for Settings {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl Settings {
            /// Sets one setting from its JSON text; `None` if there is none of this name. The error names the expected value.
            pub(super) fn set(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
                Some(match name {
                    $($name => <$kind as SettingKind<$type>>::read(value).map(|value| self.$field = value),)*
                    _ => return None,
                })
            }

            /// The values of all settings as text, in the order of [`NAMES`]. Equal values have equal texts.
            pub(super) fn values(&self) -> [String; NAMES.len()] {
                [$(<$kind as SettingKind<$type>>::text(&self.$field)),*]
            }
        }
    };
}

settings! {
    /// The update policy of a StatefulSet without the annotation. `ReCreate` deletes PVCs, so it cannot be the default.
    "defaultUpdatePolicy" => default_update_policy: UpdatePolicy = UpdatePolicy::default(), DefaultPolicy;
    /// Whether a complete rollout replaces a StatefulSet without the annotation.
    "defaultReplaceSet" => default_replace_set: ReplaceSet = ReplaceSet::default(), OneWord;
    /// Whether `ReCreate`, which deletes PVCs, is allowed.
    "allowReCreate" => recreate: ReCreate = ReCreate::default(), YesOrNo;
    /// How to handle changes of labels and annotations.
    "metadataOnlyChanges" => metadata_only_changes: MetadataOnlyChanges = MetadataOnlyChanges::default(), OneWord;
    /// How to handle a smaller size.
    "shrink" => shrink: Shrink = Shrink::default(), OneWord;
    /// Whether fields may change that no PVC can follow in place.
    "immutableFields" => immutable_fields: Frozen = Frozen::default(), OneWord;
    /// Whether templates may be added, removed and renamed.
    "templateChanges" => template_changes: TemplateChanges = TemplateChanges::default(), OneWord;
    /// The largest size by storage class, inclusive; `*` is for all other classes.
    "maxStorage" => max_storage: Vec<(String, Quantity)> = Vec::new(), SizeByClass;
    /// The classes that a template may ask for: all, if it is not set.
    "allowedVolumeAttributesClasses" => allowed_attributes_classes: Option<Vec<String>> = None, AnyOrNames;
    /// Who may request a change.
    "authority" => authority: Authority = Authority::default(), OneWord;
    /// How to handle a change that a PVC could not follow.
    "pvcChecks" => pvc_checks: PvcChecks = PvcChecks::default(), OneWord;
    /// How to handle a request that deletes PVCs (KEP-1847).
    "retention" => retention: Retention = Retention::default(), OneWord;
    /// Whether to manage StatefulSets that another controller owns.
    "ownedSets" => owned_sets: OwnedSets = OwnedSets::default(), OneWord;
    /// Controllers, each as `group/Kind`, whose StatefulSets are managed although `ownedSets` is `Skip`.
    "stageOwnedBy" => stage_owned_by: Vec<String> = Vec::new(), OwnerKinds;
    /// The user names of the controller. The updates of these users always pass.
    "controllerAccounts" => controller_accounts: Vec<Cow<'static, str>> = vec![DEFAULT_CONTROLLER_ACCOUNT.into()], UserNames<1>;
    /// Whether to stage changes, or only to validate them.
    "mode" => mode: Mode = Mode::default(), OneWord;
    /// Domains of keys that a template must not change.
    "reservedKeyPrefixes" => reserved_key_prefixes: Vec<Cow<'static, str>> = keys::RESERVED_KEY_PREFIXES.to_vec(), Domains;
    /// How many PVCs to read for one request. The default fits into the two seconds of a policy-server with time to spare.
    "maxPVCLookups" => max_pvc_lookups: u32 = 20, LookupCount;
    /// The user names of Kubernetes' StatefulSet controller: its own, and the one that all controllers share in some
    /// clusters.
    "statefulSetControllerAccounts" => stateful_set_controller_accounts: Vec<Cow<'static, str>> = vec![
        "system:serviceaccount:kube-system:statefulset-controller".into(),
        "system:kube-controller-manager".into(),
    ], UserNames<0>;
}

/// The service account of the controller in our manifests.
pub const DEFAULT_CONTROLLER_ACCOUNT: &str = "system:serviceaccount:claim-rollout:claim-rollout-controller";

words! {
    /// Whether to stage changes, or only to validate them.
    pub enum Mode = Stage {
        /// Stage an allowed change.
        Stage,
        /// Allow the change, and mutate nothing: for servers where templates are mutable, and for policy groups, which
        /// cannot mutate.
        ValidateOnly,
    }
}

words! {
    /// Whether to manage StatefulSets that another controller owns.
    pub enum OwnedSets = Skip {
        /// Leave them alone: their controller would undo a staged change.
        Skip,
        /// Manage them as all others.
        Stage,
    }
}

words! {
    /// Whether the update policy `ReCreate`, which deletes PVCs, is allowed.
    pub enum ReCreate = Denied {
        /// It is.
        Allowed = "true",
        /// It is not.
        Denied = "false",
    }
}

words! {
    /// Whether templates may be added, removed and renamed.
    pub enum TemplateChanges = Deny {
        /// Deny the request.
        Deny,
        /// Stage the change of a StatefulSet that is replaced (`replace-set: WhenComplete`).
        Allow,
    }
}

words! {
    /// How to handle changes of labels and annotations of a template.
    pub enum MetadataOnlyChanges = Rollout {
        /// Roll the change out as any other.
        Rollout,
        /// Drop the change, and allow the rest of the request.
        Ignore,
        /// Deny the request.
        Deny,
    }
}

words! {
    /// Who may request a change of the templates.
    pub enum Authority = RequirePatchOnPVCs {
        /// Users who may `patch persistentvolumeclaims` in the namespace: a change patches PVCs.
        RequirePatchOnPVCs,
        /// Users who may update the StatefulSet.
        TrustSetEditors,
    }
}

words! {
    /// How to handle a change that a PVC could not follow.
    pub enum PvcChecks = Warn {
        /// Return a warning.
        Warn,
        /// Read no PVCs.
        Ignore | "Off",
        /// Deny the request.
        Deny,
    }
}

words! {
    /// How to handle a request that deletes PVCs.
    pub enum Retention = Ignore {
        /// Read no PVCs.
        Ignore | "Off",
        /// Return a warning.
        Warn,
        /// Deny the request.
        Deny,
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
