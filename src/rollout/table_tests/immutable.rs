//! `immutableFields: NewPVCs`: an existing claim gets what it can get in place, and keeps the rest.

use std::sync::Arc;

use super::done;
use crate::api::Settings;
use crate::claims::Claim;
use crate::rollout::fixtures::{gi, template, web, writes};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::Snapshot;
use crate::rollout::{Action, ApplyClaim};
use crate::templates::{ClaimTemplate, Quantity};

fn classed(mut template: ClaimTemplate, class: &str) -> ClaimTemplate {
    template.spec.insert("storageClassName".to_owned(), class.into());
    template
}

/// All claims have the class `slow` and 1Gi. This template is staged.
fn staged(template: ClaimTemplate) -> Snapshot {
    let mut web = web();
    web.settings = Arc::new(Settings::read(r#"{"immutableFields": "NewPVCs"}"#).expect("settings"));
    for claim in web.claims.values_mut() {
        Arc::make_mut(&mut claim.spec).insert("storageClassName".to_owned(), "slow".into());
    }
    web.stage(vec![template]);
    web
}

fn modified(mut template: ClaimTemplate) -> ClaimTemplate {
    template.volume_attributes_class_name = Some("gold".to_owned());
    template.labels.insert("tier".to_owned(), "gold".to_owned());
    template
}

/// The template, and what is written to the highest claim: size and VolumeAttributesClass.
type Row = (&'static str, ClaimTemplate, Quantity, Option<&'static str>);

#[test]
fn existing_claim_gets_what_it_can_get_in_place() {
    let rows: [Row; 5] = [
        ("another class", classed(template("data", "1Gi"), "fast"), gi(1), None),
        (
            "another class and a size",
            classed(template("data", "2Gi"), "fast"),
            gi(2),
            None,
        ),
        (
            "a smaller size",
            classed(template("data", "500Mi"), "slow"),
            gi(1),
            None,
        ),
        // A VolumeAttributesClass is for one driver.
        (
            "all at once",
            modified(classed(template("data", "2Gi"), "fast")),
            gi(2),
            None,
        ),
        (
            "no immutable field",
            modified(classed(template("data", "2Gi"), "slow")),
            gi(2),
            Some("gold"),
        ),
    ];
    for (what, template, storage, class) in rows {
        let labels = template.labels.iter().count();
        let web = staged(template);
        let writes = writes(&web);
        let [
            Action::ApplyClaim(ApplyClaim {
                name,
                storage: size,
                volume_attributes_class_name,
                labels: set,
                ..
            }),
        ] = &writes[..]
        else {
            panic!("{what}: {writes:?}")
        };
        assert_eq!((name.as_str(), *size), ("data-web-2", storage), "{what}");
        assert_eq!(volume_attributes_class_name.as_deref(), class, "{what}");
        assert_eq!(set.len(), labels, "{what}");
    }
}

#[test]
fn rollout_with_kept_fields_ends_with_their_number() {
    let mut web = staged(classed(template("data", "2Gi"), "fast"));
    let grown = |claim: &mut Claim| (claim.request, claim.capacity) = (gi(2), Some(gi(2)));
    for ordinal in [2, 1, 0] {
        assert_eq!(done(&web).split(", ").next(), Some(&*format!("grow {ordinal}")));
        grown(web.applied(&format!("data-web-{ordinal}")));
    }
    assert!(done(&web).contains("complete"), "{}", done(&web));
    web.set.staged.as_mut().unwrap().phase = crate::templates::Phase::Complete;
    let ready = plan(&web).progress.ready;
    assert!(ready.holds, "{ready:?}");
    assert_eq!(
        ready.message,
        "All PVCs are updated and ready; 3 PVCs keep their spec.storageClassName: the template's is for new PVCs"
    );
}
