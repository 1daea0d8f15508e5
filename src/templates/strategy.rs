//! How a StatefulSet replaces its Pods.

use super::words::words;

words! {
    /// `spec.updateStrategy.type`
    pub enum Strategy = RollingUpdate {
        /// Pods are replaced in order, down to the partition.
        RollingUpdate,
        /// Pods are replaced when somebody deletes them.
        OnDelete,
        /// All Pods are deleted, then all are created (Kubernetes 1.37, behind a feature gate).
        Recreate,
    }
}

impl Strategy {
    /// The strategy of this type; without a type, the default of Kubernetes. An unknown type counts as `OnDelete`: PVCs
    /// follow the Pods that were replaced, whatever replaced them.
    #[must_use]
    pub fn of_type(text: &str) -> Self {
        if text.is_empty() {
            return Self::default();
        }
        Self::read(text).unwrap_or(Self::OnDelete)
    }
}

#[cfg(test)]
mod tests {
    use super::Strategy;

    #[test]
    fn strategy_of_unknown_type_waits_for_the_user() {
        for (text, expected) in [
            ("", Strategy::RollingUpdate),
            ("RollingUpdate", Strategy::RollingUpdate),
            ("OnDelete", Strategy::OnDelete),
            ("Recreate", Strategy::Recreate),
            ("recreate", Strategy::OnDelete),
        ] {
            assert_eq!(Strategy::of_type(text), expected, "{text}");
        }
    }
}
