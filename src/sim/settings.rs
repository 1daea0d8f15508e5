//! The settings of the policy and the controller, as far as workloads differ in them.

use std::sync::{Arc, LazyLock};

use crate::api::Settings;
use crate::templates::rules::{Frozen, Shrink};

/// The settings, which the policy and the controller share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum ModelSettings {
    /// All of them are the default.
    #[default]
    Default,
    /// `shrink: Recover`
    Recover,
    /// `immutableFields: NewPVCs`
    ForNewClaims,
}

/// The settings as the controller reads them. They are shared by millions of snapshots.
static SETTINGS: LazyLock<[Arc<Settings>; 3]> = LazyLock::new(|| {
    let recover = Settings {
        shrink: Shrink::Recover,
        ..Settings::default()
    };
    let for_new_claims = Settings {
        immutable_fields: Frozen::ForNewClaims,
        ..Settings::default()
    };
    [Settings::default(), recover, for_new_claims].map(Arc::new)
});

impl ModelSettings {
    /// The settings as the controller reads them.
    pub(crate) fn shared(self) -> Arc<Settings> {
        let [default, recover, for_new_claims] = &*SETTINGS;
        Arc::clone(match self {
            Self::Default => default,
            Self::Recover => recover,
            Self::ForNewClaims => for_new_claims,
        })
    }

    /// The field of the settings document that differs from the default.
    pub(crate) const fn field(self) -> &'static str {
        match self {
            Self::Default => r#""shrink":"Deny""#,
            Self::Recover => r#""shrink":"Recover""#,
            Self::ForNewClaims => r#""immutableFields":"NewPVCs""#,
        }
    }
}
