//! L4, at once: a claim that is created while a change is staged.

use super::facts::{Broken, ClaimFacts, Id, Rule, Wanted};

/// L4, with the policy: a claim that is created while a staged change is in effect has the revision, the size, the
/// StorageClass and the attributes class of the staged template. Without the policy, or where the rollout does not
/// reach, claims are created from the live template.
///
/// # Errors
/// [`Broken`] names the field.
pub fn l4_created_as_staged(created: &ClaimFacts, wanted: Wanted, staged: Id) -> Result<(), Broken> {
    let fields = [
        ("revision", created.revision == Some(staged)),
        ("size", created.request == wanted.size),
        ("StorageClass", created.storage_class == wanted.storage_class),
        // A template without a class leaves the class that the claim has.
        (
            "attributes class",
            wanted.class.is_none() || created.class == wanted.class,
        ),
    ];
    match fields.into_iter().find(|(_, is_staged)| !is_staged) {
        Some((field, _)) => {
            let why = format!("a claim was created with another {field} than the staged one: {created:x?}");
            Broken::of(Rule::L4, why)
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{TARGET, claim};
    use super::super::{ClaimFacts, Wanted};
    use super::l4_created_as_staged;

    const WANTED: Wanted = Wanted {
        size: 5,
        class: Some(3),
        storage_class: Some(2),
    };

    /// The claim, and the field that is not that of the template.
    type Row = (fn(&mut ClaimFacts), &'static str);

    const ROWS: &[Row] = &[
        (|_| {}, ""),
        (|claim| claim.revision = None, "revision"),
        (|claim| claim.request = 6, "size"),
        (|claim| claim.request = 4, "size"),
        (|claim| claim.storage_class = Some(1), "StorageClass"),
        (|claim| claim.storage_class = None, "StorageClass"),
        (|claim| claim.class = None, "attributes class"),
    ];

    #[test]
    fn claim_created_otherwise_than_staged_breaks_l4() {
        for (change, field) in ROWS {
            let mut created = ClaimFacts {
                revision: Some(TARGET),
                request: 5,
                class: Some(3),
                storage_class: Some(2),
                ..claim(0, 12)
            };
            change(&mut created);
            let found = l4_created_as_staged(&created, WANTED, TARGET).map_err(|broken| broken.to_string());
            match found {
                Ok(()) => assert_eq!(*field, ""),
                Err(why) => assert!(
                    why.starts_with(&format!("L4: a claim was created with another {field} ")),
                    "{why}"
                ),
            }
        }
    }

    #[test]
    fn template_without_attributes_class_leaves_that_of_the_claim() {
        let wanted = Wanted { class: None, ..WANTED };
        let created = ClaimFacts {
            revision: Some(TARGET),
            request: 5,
            class: Some(4),
            storage_class: Some(2),
            ..claim(0, 12)
        };
        assert_eq!(l4_created_as_staged(&created, wanted, TARGET), Ok(()));
    }
}
