//! Marks of claims and Pods, a bit for each: what once was stays marked.

/// Sets a mark if something holds; what once held stays marked.
pub(super) const fn mark(marks: &mut u128, place: u128, holds: bool) {
    if holds {
        *marks |= place;
    }
}

/// The bit of a claim; of a Pod, if there is one template.
pub(super) fn bit(index: u32, template: u32, templates: usize) -> u128 {
    let templates = u32::try_from(templates).unwrap_or(1);
    let place = index.saturating_mul(templates).saturating_add(template);
    1_u128.checked_shl(place).unwrap_or(0)
}
