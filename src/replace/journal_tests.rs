use serde_json::{Value, json};

use super::journal::{Journal, JournalError, JournaledPod, Stage};
use super::live::{FINALIZER, LiveSet};
use crate::rollout::fixtures::{staged_change, template};
use crate::templates::{ClaimTemplate, Phase, keys};

fn size(text: &str) -> Value {
    serde_json::from_str(&template("data", text).text()).expect("JSON")
}

fn staged(text: &str) -> String {
    let mut change = staged_change(vec![template("data", text)]);
    change.phase = Phase::Complete;
    change.write().expect("a short text")
}

/// A set of 1Gi with a staged change to 2Gi.
fn object() -> Value {
    json!({
        "metadata": {
            "namespace": "default", "name": "web", "uid": "set-uid", "resourceVersion": "7",
            "annotations": {(keys::STAGED): staged("2Gi"), (keys::PHASE): "Complete"}
        },
        "spec": {
            "replicas": 3, "template": {"image": "a"}, "volumeClaimTemplates": [size("1Gi")],
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}
        }
    })
}

fn with(change: impl FnOnce(&mut Value)) -> LiveSet {
    let mut object = object();
    change(&mut object);
    LiveSet::new(object)
}

fn journal() -> Journal {
    Journal::prepare(&with(|_| {}), None, 5).expect("a staged change")
}

fn pods() -> Vec<JournaledPod> {
    let pod = |name: &str| JournaledPod {
        name: name.to_owned(),
        uid: format!("{name}-uid"),
    };
    ["web-0", "web-1"].map(pod).to_vec()
}

#[test]
fn journal_written_and_read_is_equal() {
    let released = journal().release(&with(|_| {}), pods(), "ns", "secret");
    let rows = [
        (journal(), Stage::Prepared),
        (released.clone(), Stage::Releasing),
        (released.created(), Stage::Created),
    ];
    for (journal, stage) in rows {
        let text = journal.write().expect("JSON");
        assert_eq!(journal.stage, stage);
        assert_eq!(Journal::read(&text, "secret").expect("a journal"), journal, "{stage:?}");
    }
    assert_eq!((released.began, released.pods), (5, pods()));
}

/// Every byte counts: a Secret that somebody edited creates nothing.
#[test]
fn journal_with_a_changed_byte_is_not_read() {
    let text = journal()
        .release(&with(|_| {}), pods(), "ns", "secret")
        .write()
        .expect("JSON");
    let mut accepted = Vec::new();
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        let changed = String::from_utf8_lossy(&bytes);
        if Journal::read(&changed, "secret").is_ok() {
            accepted.push(at);
        }
    }
    assert_eq!(accepted, [0; 0]);
}

#[test]
fn journal_of_another_format_is_not_read() {
    let text = journal().write().expect("JSON");
    let newer = text.replace(r#""version":1"#, r#""version":2"#);
    assert!(
        matches!(Journal::read(&newer, "secret"), Err(JournalError::Version(2))),
        "{newer}"
    );
    let more = text.replace(r#""version":1"#, r#""version":1,"more":1"#);
    assert!(
        matches!(Journal::read(&more, "secret"), Err(JournalError::Malformed(_))),
        "{more}"
    );
    let edited = text.replace("\"web\"", "\"wax\"");
    assert!(
        matches!(Journal::read(&edited, "secret"), Err(JournalError::Hash)),
        "{edited}"
    );
    for text in ["", "{}", "[]", "null", &text[..text.len() - 1]] {
        assert!(
            matches!(Journal::read(text, "secret"), Err(JournalError::Malformed(_))),
            "{text}"
        );
    }
}

/// The mark takes the field from its managers, and the new set gives it back to them.
#[test]
fn managed_fields_give_when_deleted_back() {
    let entry = |manager: &str, policy: Value| {
        json!({"manager": manager, "operation": "Apply", "apiVersion": "apps/v1",
            "fieldsV1": {"f:spec": {"f:replicas": {}, "f:persistentVolumeClaimRetentionPolicy": policy}}})
    };
    let both = json!({"f:whenDeleted": {}, "f:whenScaled": {}});
    let set_with = |finalizers: Value, when_deleted: &str, managed_fields: &Value| {
        with(|object| {
            object["metadata"]["finalizers"] = finalizers;
            object["metadata"]["managedFields"] = managed_fields.clone();
            object["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] = when_deleted.into();
        })
    };
    let only = json!({"manager": "helm", "operation": "Update",
        "fieldsV1": {"f:spec": {"f:persistentVolumeClaimRetentionPolicy": {"f:whenDeleted": {}}}}});
    let user = json!([entry("kubectl", both), only.clone()]);
    let first = set_with(json!([]), "Delete", &user);
    let journal = Journal::prepare(&first, None, 1).expect("a journal");
    let ours = json!({"manager": "claim-rollout", "operation": "Update",
        "fieldsV1": {"f:spec": {"f:persistentVolumeClaimRetentionPolicy": {"f:whenDeleted": {}}}}});
    let taken = json!([entry("kubectl", json!({"f:whenScaled": {}})), ours]);
    let marked = set_with(json!([FINALIZER]), "Retain", &taken);
    let journal = Journal::prepare(&marked, Some(&journal), 2).expect("a journal");
    assert_eq!(journal.managed_fields(&journal.old()), user);
    let released = journal.release(&marked, Vec::new(), "uid", "secret");
    assert_eq!(released.managed_fields(&released.old()), user);
}

/// `whenDeleted` is journaled only if we change it, and is kept while the set is marked.
#[test]
fn journal_has_when_deleted_only_if_we_change_it() {
    let policy = |value: &str, is_marked: bool| {
        with(|object| {
            object["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] = value.into();
            if is_marked {
                object["metadata"]["finalizers"] = json!([FINALIZER]);
            }
        })
    };
    let delete = Some("Delete".to_owned());
    let rows = [
        ("Delete", false, false, delete.clone()),
        ("Retain", false, false, None),
        ("Delete", false, true, delete.clone()),
        // The user changed it after our mark was removed.
        ("Retain", false, true, None),
        // We changed it.
        ("Retain", true, true, delete.clone()),
        ("Retain", true, false, None),
        // A user changed it back.
        ("Delete", true, true, delete.clone()),
        ("Delete", true, false, delete),
    ];
    for (value, is_marked, is_journaled, expected) in rows {
        let before = is_journaled.then(journal);
        let journal = Journal::prepare(&policy(value, is_marked), before.as_ref(), 9).expect("a staged change");
        let row = format!("{value} {is_marked} {is_journaled}");
        assert_eq!(journal.when_deleted, expected, "{row}");
        assert_eq!(journal.began, if is_journaled { 5 } else { 9 }, "{row}");
    }
}

/// The journal of another set has nothing to do with this one.
#[test]
fn journal_of_another_set_is_not_continued() {
    let other = with(|object| {
        object["metadata"]["uid"] = "other".into();
        object["metadata"]["annotations"][keys::STAGED] = staged("2Gi").replace("set-uid", "other").into();
        object["metadata"]["finalizers"] = json!([FINALIZER]);
        object["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] = "Retain".into();
    });
    let journal = Journal::prepare(&other, Some(&journal()), 9).expect("a staged change");
    assert_eq!((journal.began, journal.when_deleted), (9, None));
}

/// What users write while the set is being deleted, and the set that is created.
#[test]
fn journal_released_has_what_users_wrote_meanwhile() {
    type Row = (&'static str, fn(&mut Value), &'static str, Option<&'static str>, bool);
    let rows: [Row; 5] = [
        ("nothing", |_| {}, "2Gi", None, false),
        (
            "the Pod template",
            |object| object["spec"]["template"]["image"] = "b".into(),
            "2Gi",
            None,
            true,
        ),
        (
            "the change is withdrawn",
            |object| object["metadata"]["annotations"] = json!({"team": "blue"}),
            "1Gi",
            None,
            false,
        ),
        (
            "another change is staged",
            |object| object["metadata"]["annotations"][keys::STAGED] = staged("3Gi").into(),
            "2Gi",
            Some("3Gi"),
            false,
        ),
        (
            "the same change is staged",
            |object| object["metadata"]["annotations"][keys::STAGED] = staged("2Gi").into(),
            "2Gi",
            None,
            false,
        ),
    ];
    for (row, change, live, other, has_new_pod_template) in rows {
        let released = journal().release(&with(change), pods(), "ns", "secret");
        let recreated = released.recreated();
        assert_eq!(recreated["spec"]["volumeClaimTemplates"], json!([size(live)]), "{row}");
        let annotations = &recreated["metadata"]["annotations"];
        assert_eq!(annotations[keys::STAGED], json!(other.map(staged)), "{row}");
        assert_eq!(annotations[keys::PHASE], json!(other.map(|_| "Complete")), "{row}");
        assert_eq!(released.has_new_pod_template, has_new_pod_template, "{row}");
        // A second release must not forget the first one.
        let again = released.release(&with(change), pods(), "ns", "secret");
        assert_eq!(again.has_new_pod_template, has_new_pod_template, "{row}");
    }
}

#[test]
fn journal_is_of_exactly_one_version() {
    let set = with(|_| {});
    let later = with(|object| object["metadata"]["resourceVersion"] = "8".into());
    let released = journal().release(&set, pods(), "ns", "secret");
    assert!(released.is_of(&set) && !released.is_of(&later));
    assert!(!journal().is_of(&set) && !released.created().is_of(&set));
}

/// The stage, the namespace with the name of the journal, and whether the set may be created there.
#[test]
fn journal_is_in_exactly_one_namespace() {
    let released = journal().release(&with(|_| {}), pods(), "ns", "secret");
    for (journal, namespace, expected) in [
        (released.clone(), "ns", true),
        (released.clone(), "another", false),
        (released, "", false),
        (journal(), "ns", false),
        (journal(), "", false),
    ] {
        assert_eq!(journal.is_in(namespace), expected, "{:?} {namespace:?}", journal.stage);
    }
}

#[test]
fn journal_compares_templates_without_defaults() {
    let read = |text: &str| ClaimTemplate::read_list(text).expect("templates");
    let shown = format!("[{}]", size("2Gi")).replace(r#""metadata":{"#, r#""metadata":{"creationTimestamp":null,"#);
    assert!(journal().has_templates(&read(&shown)), "{shown}");
    assert!(!journal().has_templates(&read(&format!("[{}]", size("1Gi")))));
    assert!(!journal().has_templates(&[]));
}

/// A backup brings the Secret back with another uid. The first journal in a Secret does not know it yet.
#[test]
fn journal_in_another_secret_is_not_read() {
    let released = journal().release(&with(|_| {}), pods(), "ns", "secret");
    for (journal, secret, expected) in [
        (journal(), "another", true),
        (released.clone(), "secret", true),
        (released.clone(), "another", false),
        (released.clone(), "", false),
        (released.created(), "secret", true),
        (released.created(), "another", false),
    ] {
        let text = journal.write().expect("JSON");
        let read = Journal::read(&text, secret);
        assert_eq!(read.is_ok(), expected, "{:?} {secret}: {read:?}", journal.stage);
        assert!(expected || matches!(read, Err(JournalError::OtherSecret)), "{read:?}");
    }
}

/// After a downgrade, the controller names the version that it found.
#[test]
fn journal_of_a_newer_version_is_named() {
    let mut text: Value = serde_json::from_str(&journal().write().expect("JSON")).expect("JSON");
    text["version"] = 2.into();
    text["of a newer version"] = true.into();
    let error = Journal::read(&text.to_string(), "secret").expect_err("a newer version");
    assert_eq!(error.to_string(), "expected version 1, but found 2");
}
