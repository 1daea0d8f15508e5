use super::{Change, Diff};
use crate::templates::{ClaimTemplate, Revision};

const BASE: &str = r#"{"metadata":{"name":"data","labels":{"app":"web"},"annotations":{"note":"a"}},
    "spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"ssd","resources":{"requests":{"storage":"10Gi"}},"volumeAttributesClassName":"silver"}}"#;

fn list(items: &[&str]) -> Vec<ClaimTemplate> {
    ClaimTemplate::read_list(&format!("[{}]", items.join(","))).unwrap_or_else(|error| panic!("{error}"))
}

fn diff(from: &str, to: &str) -> Diff {
    Diff::between(&list(&[BASE]), &list(&[&BASE.replace(from, to)]))
}

#[test]
fn kep_4650_field_changed_is_a_change() {
    let table = [
        ("10Gi", "20Gi", "spec.resources.requests.storage"),
        ("10Gi", "5Gi", "spec.resources.requests.storage"),
        ("silver", "gold", "spec.volumeAttributesClassName"),
        (
            ",\"volumeAttributesClassName\":\"silver\"",
            "",
            "spec.volumeAttributesClassName",
        ),
        ("\"app\":\"web\"", "\"app\":\"db\"", "metadata.labels[app]"),
        ("\"app\":\"web\"", "", "metadata.labels[app]"),
        (
            "\"note\":\"a\"",
            "\"note\":\"a\",\"b\":\"c\"",
            "metadata.annotations[b]",
        ),
    ];
    for (from, to, field) in table {
        let diff = diff(from, to);
        assert_eq!(diff.changed.len(), 1, "{from} -> {to}");
        assert!(diff.changed[0].frozen.is_empty(), "{from} -> {to}");
        let fields: Vec<String> = diff.changed[0].changes.iter().map(Change::field).collect();
        assert_eq!(fields, [field], "{from} -> {to}");
    }
}

#[test]
fn other_field_changed_is_frozen() {
    let spec = |member: &str| {
        BASE.replace(
            "\"storageClassName\":\"ssd\"",
            &format!("\"storageClassName\":\"ssd\",{member}"),
        )
    };
    let table = [
        (BASE.replace("ReadWriteOnce", "ReadWriteMany"), "spec.accessModes"),
        (
            BASE.replace("[\"ReadWriteOnce\"]", "[\"ReadWriteOnce\",\"ReadOnlyMany\"]"),
            "spec.accessModes",
        ),
        (BASE.replace("\"ssd\"", "\"hdd\""), "spec.storageClassName"),
        (BASE.replace("\"ssd\"", "\"\""), "spec.storageClassName"),
        (
            BASE.replace("\"storageClassName\":\"ssd\",", ""),
            "spec.storageClassName",
        ),
        (spec("\"volumeMode\":\"Block\""), "spec.volumeMode"),
        (spec("\"volumeName\":\"pv-1\""), "spec.volumeName"),
        (spec("\"selector\":{\"matchLabels\":{\"a\":\"b\"}}"), "spec.selector"),
        (
            spec("\"dataSource\":{\"kind\":\"PersistentVolumeClaim\",\"name\":\"x\"}"),
            "spec.dataSource",
        ),
        (
            spec("\"dataSourceRef\":{\"kind\":\"VolumeSnapshot\",\"name\":\"x\"}"),
            "spec.dataSourceRef",
        ),
        (
            BASE.replace("\"requests\"", "\"limits\":{\"storage\":\"1Ti\"},\"requests\""),
            "spec.resources.limits.storage",
        ),
        (
            BASE.replace("\"storage\":\"10Gi\"", "\"storage\":\"10Gi\",\"iops\":\"1\""),
            "spec.resources.requests.iops",
        ),
        (spec("\"newerField\":true"), "spec.newerField"),
        (
            BASE.replace("\"labels\"", "\"finalizers\":[\"a/b\"],\"labels\""),
            "metadata.finalizers",
        ),
        (
            BASE.replace("\"labels\"", "\"namespace\":\"x\",\"labels\""),
            "metadata.namespace",
        ),
    ];
    for (changed, field) in table {
        let diff = Diff::between(&list(&[BASE]), &list(&[&changed]));
        assert_eq!(diff.changed.len(), 1, "{field}");
        assert!(diff.changed[0].changes.is_empty(), "{field}");
        let fields: Vec<&str> = diff.changed[0]
            .frozen
            .iter()
            .map(|frozen| frozen.field.as_str())
            .collect();
        assert_eq!(fields, [field]);
    }
}

#[test]
fn object_changed_names_the_innermost_field() {
    let with = |value: &str| {
        BASE.replace(
            "\"accessModes\"",
            &format!("\"selector\":{{\"matchLabels\":{{\"a\":\"{value}\"}}}},\"accessModes\""),
        )
    };
    let diff = Diff::between(&list(&[&with("x")]), &list(&[&with("y")]));
    let frozen = &diff.changed[0].frozen;
    assert_eq!(frozen.len(), 1);
    assert_eq!(frozen[0].field, "spec.selector.matchLabels.a");
    assert_eq!(
        (frozen[0].from.as_deref(), frozen[0].to.as_deref()),
        (Some("\"x\""), Some("\"y\""))
    );
}

#[test]
fn object_added_or_removed_names_the_innermost_field() {
    let limited = BASE.replace("\"requests\"", "\"limits\":{\"storage\":\"1Ti\"},\"requests\"");
    let (none, one) = (None, Some("\"1Ti\"".to_owned()));
    for (old, new, from, to) in [(&limited, BASE, &one, &none), (&BASE.to_owned(), &limited, &none, &one)] {
        let diff = Diff::between(&list(&[old]), &list(&[new]));
        let frozen = &diff.changed[0].frozen;
        assert_eq!(frozen.len(), 1);
        assert_eq!(frozen[0].field, "spec.resources.limits.storage");
        assert_eq!((&frozen[0].from, &frozen[0].to), (from, to));
    }
}

#[test]
fn amount_is_compared_only_in_maps_of_quantities() {
    let limited = |limit: &str| {
        BASE.replace(
            "\"requests\"",
            &format!("\"limits\":{{\"storage\":\"{limit}\"}},\"requests\""),
        )
    };
    let named = |name: &str| BASE.replace("\"accessModes\"", &format!("\"volumeName\":\"{name}\",\"accessModes\""));
    let frozen = |old: &str, new: &str| {
        let diff = Diff::between(&list(&[old]), &list(&[new]));
        let changed = diff.changed.into_iter().flat_map(|change| change.frozen);
        changed.map(|frozen| frozen.field).collect::<Vec<_>>()
    };
    assert_eq!(frozen(&limited("1Gi"), &limited("1073741824")), [""; 0]);
    assert_eq!(
        frozen(&limited("1Gi"), &limited("1G")),
        ["spec.resources.limits.storage"]
    );
    assert_eq!(frozen(&named("1Gi"), &named("1073741824")), ["spec.volumeName"]);
}

#[test]
fn access_modes_are_compared_as_a_set() {
    let with = |modes: &str| list(&[&BASE.replace("[\"ReadWriteOnce\"]", modes)]);
    let (one, other) = (
        "[\"ReadWriteOnce\",\"ReadOnlyMany\"]",
        "[\"ReadOnlyMany\",\"ReadWriteOnce\"]",
    );
    for (from, to, is_equal) in [
        (one, other, true),
        (one, "[\"ReadOnlyMany\",\"ReadWriteOnce\",\"ReadOnlyMany\"]", true),
        (one, "[\"ReadOnlyMany\"]", false),
        ("[\"ReadOnlyMany\"]", one, false),
        (one, "[\"ReadOnlyMany\",\"ReadWriteMany\"]", false),
    ] {
        let (from, to) = (with(from), with(to));
        assert_eq!(Diff::between(&from, &to).is_empty(), is_equal, "{from:?} {to:?}");
    }
    // No other list is a set.
    let finalizers =
        |these: &str| list(&[&BASE.replace("\"labels\"", &format!("\"finalizers\":[{these}],\"labels\""))]);
    let (from, to) = (finalizers("\"a/b\",\"c/d\""), finalizers("\"c/d\",\"a/b\""));
    assert!(!Diff::between(&from, &to).is_empty());
}

#[test]
fn templates_are_matched_by_name() {
    let other = BASE.replace("\"name\":\"data\"", "\"name\":\"log\"");
    let diff = Diff::between(&list(&[BASE, &other]), &list(&[&other, BASE]));
    assert!(diff.is_empty(), "{diff:?}");
    let renamed = Diff::between(&list(&[BASE]), &list(&[&other]));
    assert_eq!(
        (renamed.added, renamed.removed, renamed.changed),
        (vec!["log".to_owned()], vec!["data".to_owned()], vec![])
    );
}

#[test]
fn revision_is_equal_iff_templates_are_equal() {
    let other = BASE.replace("\"name\":\"data\"", "\"name\":\"log\"");
    let base = Revision::of(&list(&[BASE, &other]));
    assert_eq!(base.as_str().len(), 10);
    let same = [
        list(&[&other, BASE]),
        list(&[&BASE.replace("10Gi", "10240Mi"), &other]),
        list(&[&BASE.replace("10Gi", "10737418240"), &other]),
        list(&[
            &BASE.replace("\"spec\"", "\"status\":{\"phase\":\"Pending\"},\"spec\""),
            &other,
        ]),
    ];
    for list in same {
        assert_eq!(Revision::of(&list), base);
    }
    for changed in ["10G", "11Gi"] {
        assert_ne!(Revision::of(&list(&[&BASE.replace("10Gi", changed), &other])), base);
    }
    assert_ne!(Revision::of(&list(&[BASE])), base);
}

#[test]
fn revision_is_stable_across_versions() {
    let plain = |name: &str, size: &str| {
        format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"resources":{{"requests":{{"storage":"{size}"}}}}}}}}"#)
    };
    let [data, logs] = [plain("data", "10Gi"), plain("logs", "1Gi")];
    // PVCs carry revisions as labels. These were computed from the texts of the templates in another language.
    assert_eq!(Revision::of(&list(&[&data])).as_str(), "dhg6vbn4mg");
    assert_eq!(Revision::of(&list(&[&logs, &data])).as_str(), "db9tlf4qcn");
}
