use super::{ClaimTemplate, TemplateError};
use crate::templates::text::canonical_list;

fn read(text: &str) -> Vec<ClaimTemplate> {
    ClaimTemplate::read_list(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

const PLAIN: &str = r#"[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"10Gi"}}}}]"#;

#[test]
fn defaults_of_the_api_server_make_no_difference() {
    let stored = r#"[{"apiVersion":"v1","kind":"PersistentVolumeClaim",
        "metadata":{"name":"data","creationTimestamp":null,"labels":{},"annotations":null},
        "spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"10240Mi"},"limits":{}},
                "volumeMode":"Filesystem","selector":null},
        "status":{"phase":"Pending"}}]"#;
    assert_eq!(read(stored), read(PLAIN));
}

#[test]
fn empty_string_or_pointer_is_a_value() {
    let class = |class: &str| {
        PLAIN.replace(
            "\"accessModes\"",
            &format!("\"storageClassName\":{class},\"accessModes\""),
        )
    };
    assert_ne!(read(&class("\"\"")), read(PLAIN));
    assert_eq!(read(&class("null")), read(PLAIN));
    let selector = PLAIN.replace("\"accessModes\"", "\"selector\":{},\"accessModes\"");
    assert_ne!(read(&selector), read(PLAIN));
    let block = PLAIN.replace("\"accessModes\"", "\"volumeMode\":\"Block\",\"accessModes\"");
    assert_ne!(read(&block), read(PLAIN));
}

#[test]
fn canonical_text_is_sorted_without_defaults() {
    let text = r#"[{"spec":{"volumeAttributesClassName":"fast","volumeMode":"Filesystem","resources":{"requests":{"storage":"5120Mi","x":"1000m"}},
        "accessModes":["ReadWriteOnce"]},"metadata":{"name":"data","labels":{"tier":"a","app":"b"}},"status":{"phase":"Pending"}}]"#;
    assert_eq!(
        canonical_list(&read(text)),
        r#"[{"metadata":{"labels":{"app":"b","tier":"a"},"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi","x":"1"}},"volumeAttributesClassName":"fast"}}]"#
    );
}

#[test]
fn canonical_text_has_no_empty_members() {
    for spec in [
        "",
        r#","spec":{"accessModes":["ReadWriteOnce"]}"#,
        r#","spec":{"volumeAttributesClassName":"fast"}"#,
        r#","spec":{"resources":{"limits":{"storage":"5Gi"}}}"#,
        r#","spec":{"resources":{"requests":{"storage":"5Gi"}}}"#,
        r#","spec":{"resources":{"requests":{"storage":"5Gi"}},"volumeAttributesClassName":"fast"}"#,
        r#","spec":{"accessModes":["ReadWriteOnce"],"volumeAttributesClassName":"fast"}"#,
    ] {
        let text = format!(r#"[{{"metadata":{{"name":"data"}}{spec}}}]"#);
        assert_eq!(canonical_list(&read(&text)), text);
    }
}

#[test]
fn unknown_field_is_kept() {
    let text = r#"[{"metadata":{"name":"data","newer":{"a":[]}},"spec":{"alsoNewer":[1,{"b":null}],"resources":{"claims":[{"name":"x"}]}}}]"#;
    let expected =
        r#"[{"metadata":{"name":"data"},"spec":{"alsoNewer":[1,{}],"resources":{"claims":[{"name":"x"}]}}}]"#;
    assert_eq!(canonical_list(&read(text)), expected);
    assert_eq!(read(expected), read(text));
}

#[test]
fn template_list_not_valid_is_an_error_with_its_path() {
    let data = |inner: &str| format!(r#"[{{"metadata":{{"name":"data"}},"spec":{inner}}}]"#);
    let table = [
        ("{}".to_owned(), "spec.volumeClaimTemplates: expected a list"),
        ("[1]".to_owned(), "spec.volumeClaimTemplates[0]: expected an object"),
        (
            "[{}]".to_owned(),
            "spec.volumeClaimTemplates[0].metadata.name: expected a name",
        ),
        (
            r#"[{"metadata":{"name":1}}]"#.to_owned(),
            "spec.volumeClaimTemplates[0].metadata.name: expected a string",
        ),
        (
            r#"[{"metadata":{"name":"a","labels":{"b":1}}}]"#.to_owned(),
            "spec.volumeClaimTemplates[0].metadata.labels: expected strings only",
        ),
        (
            r#"[{"metadata":{"name":"a"},"apiVersi\u007fn":"v1"}]"#.to_owned(),
            "spec.volumeClaimTemplates[0].apiVersi\\u{7f}n: expected no such field",
        ),
        (data("1"), "spec.volumeClaimTemplates[0].spec: expected an object"),
        (
            data(r#"{"resources":{"requests":{"storage":"10 Gi"}}}"#),
            "spec.volumeClaimTemplates[0].spec.resources.requests.storage: expected a quantity such as 10Gi",
        ),
        (
            data(r#"{"resources":{"requests":{"storage":1e3}}}"#),
            "spec.volumeClaimTemplates: expected a whole number below 2^64, but found something else at byte 72",
        ),
        (
            data(r#"{"resources":{"requests":{"storage":"1e9999999999"}}}"#),
            "spec.volumeClaimTemplates[0].spec.resources.requests.storage: expected a quantity with an exponent of at most 32 bits",
        ),
        (
            r#"[{"metadata":{"name":"a"}},{"metadata":{"name":"a"}}]"#.to_owned(),
            "spec.volumeClaimTemplates: expected each name once, but found \"a\" twice",
        ),
        (
            r#"[{"metadata":{"name":"a","name":"b"}}]"#.to_owned(),
            "spec.volumeClaimTemplates: expected each key once, but found one twice at byte 35",
        ),
        (
            "[".to_owned(),
            "spec.volumeClaimTemplates: expected more, but found the end at byte 1",
        ),
    ];
    for (text, message) in table {
        let error = ClaimTemplate::read_list(&text).expect_err(&text);
        assert_eq!(error.to_string(), message, "{text}");
    }
}

#[test]
fn whole_number_is_a_quantity() {
    let number = r#"[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":10737418240}}}}]"#;
    assert_eq!(read(number), read(PLAIN));
}

#[test]
fn template_list_of_more_than_1000_is_an_error() {
    let list = |length: u32| {
        let items: Vec<String> = (0..length)
            .map(|index| format!(r#"{{"metadata":{{"name":"t{index}"}}}}"#))
            .collect();
        format!("[{}]", items.join(","))
    };
    assert_eq!(read(&list(1000)).len(), 1000);
    assert_eq!(
        ClaimTemplate::read_list(&list(10_000)),
        Err(TemplateError::TooMany { found: 10_000 })
    );
}

#[test]
fn template_list_too_long_is_an_error() {
    let with = |extra: &str| PLAIN.replace("\"spec\"", &format!("{extra},\"spec\""));
    let long = with(&format!("\"status\":\"{}\"", "x".repeat(65_536)));
    assert_eq!(
        ClaimTemplate::read_list(&long),
        Err(TemplateError::TooLong { found: long.len() })
    );
    let longest = with(&format!(
        "\"status\":\"{}\"",
        "x".repeat(65_536 - with("\"status\":\"\"").len())
    ));
    assert_eq!((longest.len(), read(&longest).len()), (65_536, 1));
    let longer = longest.replace("\"status\":\"x", "\"status\":\"xx");
    assert_eq!(
        ClaimTemplate::read_list(&longer),
        Err(TemplateError::TooLong { found: 65_537 })
    );
    let values = |count: usize| with(&format!("\"status\":[0{}]", ",0".repeat(count - 1)));
    // A template is nine values, the list of the others one.
    assert!(ClaimTemplate::read_list(&values(4096 - 10)).is_ok());
    let error = ClaimTemplate::read_list(&values(4096 - 9)).expect_err("too many");
    assert_eq!(
        error.to_string(),
        "spec.volumeClaimTemplates: expected at most 4096 values, but found more at byte 8289"
    );
}

#[test]
fn template_list_null_is_empty() {
    assert_eq!(ClaimTemplate::read_list("null"), Ok(vec![]));
    assert!(matches!(ClaimTemplate::read_list("nul"), Err(TemplateError::Json(_))));
}
