//! A table of Kubernetes' results (`references`), and what follows from it (`fates`).

mod fates;
mod references;

use super::{Ordinal, Ownership, PodUid, RetentionPolicy, RetentionType};
use crate::claims::Owner;

const OTHER: &str = "other";

/// The references of three words: to the StatefulSet, to the Pod, to another object.
fn owners_of(words: &str) -> Vec<Owner> {
    let who = [
        ("apps/v1", "StatefulSet", "web", "set"),
        ("v1", "Pod", "web-1", "pod"),
        ("example.com/v1", "Backup", "nightly", OTHER),
    ];
    let words = words.split_whitespace();
    words
        .zip(who)
        .filter(|(word, _)| *word != "none")
        .map(|(word, (api_version, kind, name, uid))| Owner {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            uid: if word == "stale" { "previous" } else { uid }.to_owned(),
            controller: matches!(word, "controller" | "stale"),
            block_owner_deletion: matches!(word, "controller" | "stale"),
        })
        .collect()
}

fn claim(owners: &[Owner], policy: RetentionPolicy, ordinal: Ordinal) -> Ownership<'_> {
    Ownership {
        owners,
        policy,
        set_name: "web",
        set_uid: "set",
        pod: "web-1",
        pod_uid: PodUid::Is("pod"),
        ordinal,
    }
}

#[test]
fn retention_policy_unknown_value_makes_both_retain() {
    let delete = RetentionPolicy::read(Some("Delete"), Some("Delete"));
    assert_eq!(delete.when_deleted, RetentionType::Delete);
    assert_eq!(delete.when_scaled, RetentionType::Delete);
    assert_eq!(
        RetentionPolicy::read(None, Some("Delete")).when_deleted,
        RetentionType::Retain
    );
    for (when_deleted, when_scaled) in [
        (None, None),
        (Some(""), Some("Retain")),
        (Some("Delete"), Some("Recycle")),
        (Some("delete"), Some("Delete")),
    ] {
        assert!(RetentionPolicy::read(when_deleted, when_scaled).retains_all());
    }
}
