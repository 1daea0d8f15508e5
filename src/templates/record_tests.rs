use super::{Phase, Record, RecordError};
use crate::templates::{ClaimTemplate, UpdatePolicy};

const UID: &str = "6c4a6a3e-0000-4000-8000-000000000001";

fn record() -> Record {
    let templates = r#"[{"metadata":{"labels":{"tier":"a"},"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],
        "resources":{"requests":{"storage":"5120Mi"}},"volumeAttributesClassName":"fast"}}]"#;
    Record {
        by: "alice".to_owned(),
        manager: "helm".to_owned(),
        phase: Phase::RollingOut,
        templates: ClaimTemplate::read_list(templates).expect("valid"),
        uid: UID.to_owned(),
        update_policy: UpdatePolicy::InPlace,
    }
}

#[test]
fn a_record_is_canonical_json_in_the_published_form() {
    let record = record();
    let expected = format!(
        r#"{{"by":"alice","manager":"helm","phase":"RollingOut","revision":"{}","templates":[{{"metadata":{{"labels":{{"tier":"a"}},"name":"data"}},"spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"5Gi"}}}},"volumeAttributesClassName":"fast"}}}}],"uid":"{UID}","updatePolicy":"InPlace","version":1}}"#,
        record.revision()
    );
    assert_eq!(record.write(), Ok(expected));
    let phases = [Phase::RollingOut, Phase::Complete].map(|phase| phase.to_string());
    assert_eq!(phases, ["RollingOut", "Complete"]);
}

#[test]
fn a_record_reads_back_as_it_was_written() {
    let record = record();
    let text = record.write().expect("short");
    assert_eq!(Record::read(&text, UID).expect("valid"), record);
    let complete = Record {
        phase: Phase::Complete,
        update_policy: UpdatePolicy::ReCreate,
        ..record
    };
    assert_eq!(
        Record::read(&complete.write().expect("short"), UID).expect("valid"),
        complete
    );
}

#[test]
fn what_is_no_record_of_this_set_is_no_record() {
    let text = record().write().expect("short");
    let table = [
        (text.replace("\"version\":1", "\"version\":2"), RecordError::Version),
        (text.replace("\"version\":1", "\"version\":\"1\""), RecordError::Version),
        (text.replace(",\"version\":1", ""), RecordError::Version),
        (text.replace(UID, "another"), RecordError::Uid),
        (text.replace("5Gi", "500Gi"), RecordError::Revision),
        (
            text.replace("\"name\":\"data\"", "\"name\":\"date\""),
            RecordError::Revision,
        ),
        (
            text.replace("RollingOut", "Rolling"),
            RecordError::Malformed {
                found: "an unknown phase",
            },
        ),
        (
            text.replace("InPlace", "Inplace"),
            RecordError::Malformed {
                found: "an unknown update policy",
            },
        ),
        (
            text.replace("\"by\":\"alice\"", "\"by\":1"),
            RecordError::Malformed { found: "no user" },
        ),
        (
            text.replace("\"by\":\"alice\"", "\"by\":\"alice\",\"more\":1"),
            RecordError::Malformed {
                found: "an unknown field",
            },
        ),
        (
            text.replace("\"by\":\"alice\"", "\"by\":\"alice\",\"by\":\"bob\""),
            RecordError::Malformed {
                found: "no JSON object",
            },
        ),
        (
            "[]".to_owned(),
            RecordError::Malformed {
                found: "no JSON object",
            },
        ),
        (
            String::new(),
            RecordError::Malformed {
                found: "no JSON object",
            },
        ),
        ("x".repeat(8193), RecordError::TooLong { found: 8193 }),
    ];
    for (text, error) in table {
        assert_eq!(Record::read(&text, UID), Err(error), "{text}");
    }
    assert_eq!(Record::read(&text.replace(UID, ""), ""), Err(RecordError::Uid));
}

#[test]
fn another_spelling_of_the_same_templates_is_the_same_record() {
    let text = record().write().expect("short").replace("5Gi", "5120Mi");
    assert_eq!(Record::read(&text, UID).expect("valid"), record());
}

#[test]
fn a_wish_that_does_not_fit_is_refused_when_it_is_written() {
    let mut long = record();
    long.templates[0].labels.insert("a".to_owned(), "x".repeat(8192));
    assert!(matches!(long.write(), Err(RecordError::TooLong { found }) if found > 8192));
}

#[test]
fn the_longest_record_is_written_and_read_and_a_longer_one_is_not() {
    let mut longest = record();
    longest.by.clear();
    let room = 8192 - longest.write().expect("short").len();
    longest.by = "x".repeat(room);
    let text = longest.write().expect("as long as it may be");
    assert_eq!((text.len(), Record::read(&text, UID)), (8192, Ok(longest.clone())));
    longest.by.push('x');
    assert_eq!(longest.write(), Err(RecordError::TooLong { found: 8193 }));
}
