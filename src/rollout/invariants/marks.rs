//! Marks of claims and Pods, a bit for each. A mark stays.

/// Sets a mark if `holds`; never removes one.
pub(super) const fn mark(marks: &mut u128, place: u128, holds: bool) {
    if holds {
        *marks |= place;
    }
}

/// The bit of a claim; with one template, the bit of a Pod.
pub(super) fn bit(index: u32, template: u32, templates: usize) -> u128 {
    let templates = u32::try_from(templates).unwrap_or(1);
    let place = index.saturating_mul(templates).saturating_add(template);
    1_u128.checked_shl(place).unwrap_or(0)
}
