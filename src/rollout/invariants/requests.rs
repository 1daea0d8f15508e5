//! Guarantees about one request of ours: the request, and the objects when the API server answered it.

use super::facts::{Broken, ClaimFacts, Id, Rule, Scene};

/// A request of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The action.
    pub what: What,
    /// The uid that the request names.
    pub uid: Option<Id>,
    /// The resourceVersion that the request names.
    pub version: Option<Id>,
    /// The uid and the resourceVersion of the object before the request, if it existed.
    pub before: Option<(Id, Id)>,
    /// True iff the request changed the object.
    pub changed: bool,
    /// The uid of the set that the request was decided for, if known. A claim does not name its set, so a write that is
    /// under way when the set is deleted reaches an unchanged claim.
    pub set: Option<Id>,
}

/// The action of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Apply a claim.
    Apply {
        /// The index of the template.
        template: u32,
        /// The ordinal in the name of the claim.
        ordinal: u32,
        /// The size in bytes.
        size: u64,
        /// The attributes class, if the request contains one.
        class: Option<Id>,
        /// Our label.
        revision: Id,
        /// The number of fields other than those of the template that may change, and our label.
        other_fields: u32,
    },
    /// Write which replica became ready.
    Ready,
    /// Write the staged change of the set.
    StagedChange,
    /// Delete an object.
    Delete,
}

/// The claim of a request, as it was before.
fn claim_of<'a>(request: &Request, before: &Scene<'a>) -> Option<&'a ClaimFacts> {
    let What::Apply { template, ordinal, .. } = request.what else {
        return None;
    };
    let mut claims = before.claims.iter();
    claims.find(|claim| claim.template == template && claim.ordinal == ordinal)
}

/// S1: a written size is at least the request of the claim, and at least its capacity.
///
/// One exception: if the settings permit taking a growth back (`recover`), and we asked for it, and it was not reached,
/// the size may be lower, but above the capacity. No size is larger than both that of the template and that of the
/// claim.
///
/// # Errors
/// [`Broken`] contains the sizes.
pub fn s1_never_smaller(request: &Request, before: &Scene<'_>, recover: bool) -> Result<(), Broken> {
    let (
        What::Apply {
            size,
            template,
            revision,
            ..
        },
        Some(claim),
    ) = (request.what, claim_of(request, before))
    else {
        return Ok(());
    };
    let of_this_target = before.set.is_some_and(|set| set.target == Some(revision));
    let takes_back = recover && claim.our_size && claim.revision.is_some() && size > claim.capacity;
    if size < claim.capacity || (size < claim.request && !takes_back) {
        let (asked, has) = (claim.request, claim.capacity);
        return Broken::of(
            Rule::S1,
            format!("wrote {size}, but the claim requests {asked} and has {has}"),
        );
    }
    let wanted = before.templates().find(|(number, _)| *number == template);
    match wanted {
        Some((_, wanted)) if size > wanted.size.max(claim.request) && of_this_target => {
            let (asked, desired) = (claim.request, wanted.size);
            Broken::of(
                Rule::S1,
                format!("wrote {size}, but the claim requests {asked} and the template {desired}"),
            )
        }
        _ => Ok(()),
    }
}

/// S2: a write to a claim contains the size, the attributes class, labels and annotations of the template and our
/// label, and no other field. A written class is that of the template or of the claim, or without one in the
/// template that of the volume. A claim of another StorageClass than its template keeps its attributes class, and every claim keeps its StorageClass.
///
/// # Errors
/// [`Broken`] names the other fields, or the class.
pub fn s2_four_fields(request: &Request, before: &Scene<'_>, after: &Scene<'_>) -> Result<(), Broken> {
    let What::Apply {
        template,
        class,
        revision,
        other_fields,
        ..
    } = request.what
    else {
        return Ok(());
    };
    if other_fields > 0 {
        return Broken::of(
            Rule::S2,
            format!("wrote {other_fields} fields that are not of the template"),
        );
    }
    let (Some(was), Some(is)) = (claim_of(request, before), claim_of(request, after)) else {
        return Ok(());
    };
    if is.storage_class != was.storage_class {
        let (from, to) = (was.storage_class, is.storage_class);
        return Broken::of(Rule::S2, format!("a write changed the StorageClass {from:?} to {to:?}"));
    }
    let wanted = before
        .templates()
        .find(|(number, _)| *number == template)
        .and_then(|(_, wanted)| wanted.class_for(was));
    let of_this_target = before.set.is_some_and(|set| set.target == Some(revision));
    // A class of an earlier target that was never reached is taken back.
    let is_kept = wanted.is_none() && is.class == was.current_class;
    if of_this_target && wanted.is_none() && class.is_some() && class != was.current_class {
        let current = was.current_class;
        return Broken::of(
            Rule::S2,
            format!("wrote class {class:?}, which nobody asks for; the volume has {current:?}"),
        );
    }
    let is_wanted = wanted.is_some() && is.class == wanted;
    if is.class != was.class && of_this_target && !is_wanted && !is_kept {
        return Broken::of(
            Rule::S2,
            format!(
                "a write of class {class:?} changed class {:?} to {:?}",
                was.class, is.class
            ),
        );
    }
    Ok(())
}

/// S3: we create no claim and no Pod, and every write names the uid that it was decided for.
///
/// # Errors
/// [`Broken`] for a created object, or a uid that is missing or wrong.
pub fn s3_nothing_is_created(request: &Request) -> Result<(), Broken> {
    match (request.before, request.uid) {
        (None, _) => Broken::of(Rule::S3, "a write created an object".to_owned()),
        (Some(_), None) => Broken::of(Rule::S3, "a write named no uid".to_owned()),
        (Some((found, _)), Some(named)) if found != named => {
            Broken::of(Rule::S3, format!("a write for {named} reached {found}"))
        }
        _ => Ok(()),
    }
}

/// S4: we delete no claim, Pod or set. (Re-creating claims and replacing sets would be exceptions for users who opt in;
/// this project does neither yet.)
///
/// # Errors
/// [`Broken`] for every deletion.
pub fn s4_nothing_is_deleted(request: &Request) -> Result<(), Broken> {
    if request.what == What::Delete {
        return Broken::of(Rule::S4, "an object was deleted".to_owned());
    }
    Ok(())
}

/// S5, first part: a claim is written only if it carries the labels of the selector and no other controller owns it.
/// For other sets and Pods see [`super::Ledger::s5_around`].
///
/// # Errors
/// [`Broken`] names the ordinal.
pub fn s5_only_ours(request: &Request, before: &Scene<'_>) -> Result<(), Broken> {
    match claim_of(request, before) {
        Some(claim) if !claim.ours && request.is_for(before) => {
            Broken::of(Rule::S5, format!("wrote to a foreign claim, ordinal {}", claim.ordinal))
        }
        _ => Ok(()),
    }
}

impl Request {
    /// True iff the request was decided for the present set, as far as is known.
    #[must_use]
    pub fn is_for(&self, scene: &Scene<'_>) -> bool {
        match (self.set, scene.set) {
            (Some(decided), Some(present)) => decided == present.uid,
            (Some(_), None) => false,
            (None, _) => true,
        }
    }
}

/// S8: a claim is written once for each revision: a claim that carries the revision is not written again.
///
/// # Errors
/// [`Broken`] names the ordinal.
pub fn s8_once(request: &Request, before: &Scene<'_>) -> Result<(), Broken> {
    let (What::Apply { revision, .. }, Some(claim)) = (request.what, claim_of(request, before)) else {
        return Ok(());
    };
    if claim.revision == Some(revision) {
        return Broken::of(
            Rule::S8,
            format!("wrote revision {revision:x} to ordinal {} again", claim.ordinal),
        );
    }
    Ok(())
}

/// S9: a write that was decided from an outdated view fails, because it names the resourceVersion that it was decided
/// for.
///
/// # Errors
/// [`Broken`] contains both versions.
pub fn s9_not_stale(request: &Request) -> Result<(), Broken> {
    match (request.before, request.version) {
        (Some((_, found)), Some(named)) if found == named => Ok(()),
        (Some((_, found)), named) => Broken::of(Rule::S9, format!("decided for version {named:?}, written to {found}")),
        (None, _) => Ok(()),
    }
}

/// S10: no write to an object that is being deleted.
///
/// # Errors
/// [`Broken`] for such a write.
pub fn s10_not_terminating(request: &Request, before: &Scene<'_>) -> Result<(), Broken> {
    let terminating = match request.what {
        What::Apply { .. } => claim_of(request, before).is_some_and(|claim| claim.terminating),
        _ => before.set.is_some_and(|set| set.terminating),
    };
    if terminating {
        return Broken::of(Rule::S10, "wrote to an object that is being deleted".to_owned());
    }
    Ok(())
}

/// S12, first part: an accepted write changes something.
///
/// # Errors
/// [`Broken`] for a write that changed nothing.
pub fn s12_no_write_for_nothing(request: &Request) -> Result<(), Broken> {
    if request.changed {
        return Ok(());
    }
    Broken::of(Rule::S12, format!("a write changed nothing: {:?}", request.what))
}
