//! The page docs/reference.md.

mod annotations;
mod fields;
mod names;
mod section;

const HEADER: &str = "\
# Reference

`make reference` writes this page from the code. PVC stands for PersistentVolumeClaim.

* [Annotations on the StatefulSet](#annotations-on-the-statefulset)
* [Other annotations, and labels](#other-annotations-and-labels)
* [Conditions](#conditions)
* [Reasons](#reasons)
* [States of a PVC](#states-of-a-pvc)
* [Events](#events)
* [Fields of ClaimRollout](#fields-of-claimrollout)

Pages of their own: [commands](commands.md), [settings](settings.md), [metrics](metrics.md),
[metrics of the webhook](webhook.md#metrics), [reasons of replacements](replacing.md#why-a-statefulset-is-not-replaced).
";

/// The page.
pub(super) fn page() -> anyhow::Result<String> {
    let parts = [
        HEADER.to_owned(),
        annotations::of_users(),
        annotations::of_programs(),
        names::conditions(),
        names::reasons(),
        names::states(),
        names::events(),
        fields::all()?,
    ];
    Ok(parts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn document_matches_the_code() {
        let document = include_str!("../../../docs/reference.md");
        assert!(
            document == page().expect("a page"),
            "docs/reference.md is outdated: run `make reference`"
        );
    }
}
