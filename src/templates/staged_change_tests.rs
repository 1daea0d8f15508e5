use super::{Phase, StagedChange, StagedError};
use crate::templates::{ClaimTemplate, Staging, UpdatePolicy};

const UID: &str = "6c4a6a3e-0000-4000-8000-000000000001";

fn staged_change() -> StagedChange {
    let templates = r#"[{"metadata":{"labels":{"tier":"a"},"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],
        "resources":{"requests":{"storage":"5120Mi"}},"volumeAttributesClassName":"fast"}}]"#;
    StagedChange {
        by: "alice".to_owned(),
        manager: "helm".to_owned(),
        phase: Phase::RollingOut,
        replicas: 0,
        staging: Staging::read("xz245").expect("a staging"),
        templates: ClaimTemplate::read_list(templates).expect("valid"),
        uid: UID.to_owned(),
        update_policy: UpdatePolicy::InPlace,
    }
}

#[test]
fn staged_change_is_canonical_json() {
    let change = staged_change();
    let expected = format!(
        r#"{{"by":"alice","manager":"helm","phase":"RollingOut","revision":"{}","staging":"xz245","templates":[{{"metadata":{{"labels":{{"tier":"a"}},"name":"data"}},"spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"5Gi"}}}},"volumeAttributesClassName":"fast"}}}}],"uid":"{UID}","updatePolicy":"InPlace","version":1}}"#,
        change.revision()
    );
    assert_eq!(change.write(), Ok(expected));
    let phases = [Phase::RollingOut, Phase::Complete].map(|phase| phase.to_string());
    assert_eq!(phases, ["RollingOut", "Complete"]);
}

#[test]
fn staged_change_written_and_read_is_equal() {
    let change = staged_change();
    let text = change.write().expect("short");
    assert_eq!(StagedChange::read(&text, UID).expect("valid"), change);
    let complete = StagedChange {
        phase: Phase::Complete,
        update_policy: UpdatePolicy::ReCreate,
        ..change
    };
    assert_eq!(
        StagedChange::read(&complete.write().expect("short"), UID).expect("valid"),
        complete
    );
}

/// Texts that are no staged change of the set, and why.
fn not_valid(text: &str) -> Vec<(String, StagedError)> {
    vec![
        (text.replace("\"version\":1", "\"version\":2"), StagedError::Version),
        (text.replace("\"version\":1", "\"version\":\"1\""), StagedError::Version),
        (text.replace(",\"version\":1", ""), StagedError::Version),
        (text.replace(UID, "another"), StagedError::Uid),
        (text.replace("5Gi", "500Gi"), StagedError::Revision),
        (
            text.replace("\"name\":\"data\"", "\"name\":\"date\""),
            StagedError::Revision,
        ),
        (
            text.replace("RollingOut", "Rolling"),
            StagedError::Field { field: "phase" },
        ),
        (
            text.replace("InPlace", "Inplace"),
            StagedError::Field { field: "updatePolicy" },
        ),
        (text.replace("xz245", "xz24-"), StagedError::Field { field: "staging" }),
        (
            text.replace("\"staging\":\"xz245\",", ""),
            StagedError::Field { field: "staging" },
        ),
        (
            text.replace("\"by\":\"alice\"", "\"by\":1"),
            StagedError::Field { field: "by" },
        ),
        (
            text.replace("\"by\":\"alice\"", "\"by\":\"alice\",\"more\":1"),
            StagedError::Malformed {
                found: "an unknown field",
            },
        ),
        (
            text.replace("\"by\":\"alice\"", "\"by\":\"alice\",\"by\":\"bob\""),
            StagedError::Malformed {
                found: "no JSON object",
            },
        ),
        (
            "[]".to_owned(),
            StagedError::Malformed {
                found: "no JSON object",
            },
        ),
        (
            String::new(),
            StagedError::Malformed {
                found: "no JSON object",
            },
        ),
        ("x".repeat(8193), StagedError::TooLong { found: 8193 }),
    ]
}

#[test]
fn staged_change_not_valid_is_an_error() {
    let text = staged_change().write().expect("short");
    for (text, error) in not_valid(&text) {
        assert_eq!(StagedChange::read(&text, UID), Err(error), "{text}");
    }
    assert_eq!(StagedChange::read(&text.replace(UID, ""), ""), Err(StagedError::Uid));
}

#[test]
fn staged_change_in_another_spelling_is_equal() {
    let text = staged_change().write().expect("short").replace("5Gi", "5120Mi");
    assert_eq!(StagedChange::read(&text, UID).expect("valid"), staged_change());
}

#[test]
fn staged_change_too_long_is_not_written() {
    let mut long = staged_change();
    long.templates[0].labels.insert("a".to_owned(), "x".repeat(8192));
    assert!(matches!(long.write(), Err(StagedError::TooLong { found }) if found > 8192));
}

#[test]
fn staged_change_of_maximum_length_is_written_and_read() {
    let mut longest = staged_change();
    longest.by.clear();
    let room = 8192 - longest.write().expect("short").len();
    longest.by = "x".repeat(room);
    let text = longest.write().expect("as long as it may be");
    assert_eq!(
        (text.len(), StagedChange::read(&text, UID)),
        (8192, Ok(longest.clone()))
    );
    longest.by.push('x');
    assert_eq!(longest.write(), Err(StagedError::TooLong { found: 8193 }));
}
