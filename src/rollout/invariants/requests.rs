//! Guarantees about one request of ours: what it asks for, and what was there when the API server answered it.

use super::facts::{Broken, ClaimFacts, Id, Rule, Scene};

/// A request of ours that the API server granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it asks for.
    pub what: What,
    /// The uid that it names.
    pub uid: Option<Id>,
    /// The resourceVersion that it names.
    pub version: Option<Id>,
    /// The uid and the resourceVersion of the object before it, if there was one.
    pub before: Option<(Id, Id)>,
    /// The object is another one since.
    pub changed: bool,
    /// The uid of the set that it was decided for, where that is known. A claim does not say which set it belongs to, so a
    /// write that is under way when its set is deleted reaches a claim that has not changed.
    pub set: Option<Id>,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// To bring a claim to the wish.
    Apply {
        /// The place of its template in the list.
        template: u32,
        /// The ordinal in its name.
        ordinal: u32,
        /// The bytes.
        size: u64,
        /// The attributes class, if it is in the request.
        class: Option<Id>,
        /// Our label.
        revision: Id,
        /// How many fields are in the request besides those of the template that may change, and our label.
        other_fields: u32,
    },
    /// To write whose claims became ready.
    Ready,
    /// To write the record of the set.
    StagedChange,
    /// To delete something.
    Delete,
}

/// The claim that a request was about, as it was before.
fn claim_of<'a>(request: &Request, before: &Scene<'a>) -> Option<&'a ClaimFacts> {
    let What::Apply { template, ordinal, .. } = request.what else {
        return None;
    };
    let mut claims = before.claims.iter();
    claims.find(|claim| claim.template == template && claim.ordinal == ordinal)
}

/// S1: a size that is written is at least what the claim asks for, and at least what it has.
///
/// One exception, where the settings let a growth be taken back (`recover`): above what the claim has, where that growth
/// was ours and was not reached. No size is larger than both the template's and the claim's.
///
/// # Errors
/// [`Broken`] says which sizes.
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
    let takes_back = recover && claim.revision.is_some() && size > claim.capacity;
    if size < claim.capacity || (size < claim.request && !takes_back) {
        let (asked, has) = (claim.request, claim.capacity);
        return Broken::of(
            Rule::S1,
            format!("wrote {size}, but the claim asks for {asked} and has {has}"),
        );
    }
    let wanted = before.templates().find(|(number, _)| *number == template);
    match wanted {
        Some((_, wanted)) if size > wanted.size.max(claim.request) && of_this_target => {
            let (asked, desired) = (claim.request, wanted.size);
            Broken::of(
                Rule::S1,
                format!("wrote {size}, but the claim asks for {asked} and the wish for {desired}"),
            )
        }
        _ => Ok(()),
    }
}

/// S2: a write to a claim holds the size, the attributes class, labels and annotations of the template and our label, and
/// no other field. A class that is written is the wish's or the claim's own.
///
/// # Errors
/// [`Broken`] says what else there was.
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
            format!("wrote {other_fields} fields that are not the template's"),
        );
    }
    let (Some(was), Some(is)) = (claim_of(request, before), claim_of(request, after)) else {
        return Ok(());
    };
    let wanted = before
        .templates()
        .find(|(number, _)| *number == template)
        .and_then(|(_, wanted)| wanted.class);
    let of_this_target = before.set.is_some_and(|set| set.target == Some(revision));
    if is.class != was.class && of_this_target && is.class != wanted {
        return Broken::of(
            Rule::S2,
            format!("class {:?} became {:?} by a write of {class:?}", was.class, is.class),
        );
    }
    Ok(())
}

/// S3: no claim and no Pod is made by us, and every write names the uid that it was decided for.
///
/// # Errors
/// [`Broken`] says what was made, or which uid was missing.
pub fn s3_nothing_is_born(request: &Request) -> Result<(), Broken> {
    match (request.before, request.uid) {
        (None, _) => Broken::of(Rule::S3, "a write made an object that was not there".to_owned()),
        (Some(_), None) => Broken::of(Rule::S3, "a write named no uid".to_owned()),
        (Some((found, _)), Some(named)) if found != named => {
            Broken::of(Rule::S3, format!("a write for {named} reached {found}"))
        }
        _ => Ok(()),
    }
}

/// S4: no claim, Pod or set is deleted by us. (What somebody has opted into, re-creating claims and replacing sets, would
/// be an exception; this project does neither yet.)
///
/// # Errors
/// [`Broken`], whenever something is.
pub fn s4_nothing_dies(request: &Request) -> Result<(), Broken> {
    if request.what == What::Delete {
        return Broken::of(Rule::S4, "an object was deleted".to_owned());
    }
    Ok(())
}

/// S5, one part: a claim is written only if it carries the selector's labels and no other controller owns it. What is
/// around it is judged with what has been ([`super::Ledger::s5_around`]).
///
/// # Errors
/// [`Broken`] says whose claim it was.
pub fn s5_only_ours(request: &Request, before: &Scene<'_>) -> Result<(), Broken> {
    match claim_of(request, before) {
        Some(claim) if !claim.ours && request.is_for(before) => Broken::of(
            Rule::S5,
            format!("wrote to a claim of somebody else, ordinal {}", claim.ordinal),
        ),
        _ => Ok(()),
    }
}

impl Request {
    /// True iff it was decided for the set that is there, as far as is known.
    #[must_use]
    pub fn is_for(&self, scene: &Scene<'_>) -> bool {
        match (self.set, scene.set) {
            (Some(decided), Some(present)) => decided == present.uid,
            (Some(_), None) => false,
            (None, _) => true,
        }
    }
}

/// S8: for one revision a claim is written once: one that carries the revision is not touched again, whatever it holds.
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

/// S9: a write that was decided from an older view fails: it names the resourceVersion that it was decided for, and that
/// is the one that was there.
///
/// # Errors
/// [`Broken`] says which version was named and which was there.
pub fn s9_not_stale(request: &Request) -> Result<(), Broken> {
    match (request.before, request.version) {
        (Some((_, found)), Some(named)) if found == named => Ok(()),
        (Some((_, found)), named) => Broken::of(Rule::S9, format!("decided for version {named:?}, written to {found}")),
        (None, _) => Ok(()),
    }
}

/// S10: nothing that is being deleted is written.
///
/// # Errors
/// [`Broken`] says what was.
pub fn s10_not_the_dying(request: &Request, before: &Scene<'_>) -> Result<(), Broken> {
    let dying = match request.what {
        What::Apply { .. } => claim_of(request, before).is_some_and(|claim| claim.terminating),
        _ => before.set.is_some_and(|set| set.terminating),
    };
    if dying {
        return Broken::of(Rule::S10, "wrote to an object that is being deleted".to_owned());
    }
    Ok(())
}

/// S12, one part: a write that is granted changes something.
///
/// # Errors
/// [`Broken`] for one that changed nothing.
pub fn s12_no_write_for_nothing(request: &Request) -> Result<(), Broken> {
    if request.changed {
        return Ok(());
    }
    Broken::of(Rule::S12, format!("a write changed nothing: {:?}", request.what))
}
