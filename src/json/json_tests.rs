use proptest::prelude::*;
use serde_json::Value;

use super::{Error, ErrorKind, Map, Reader, canonical, read};

fn fault(text: &str) -> (ErrorKind, usize) {
    let Error { fault, at } = read(text).expect_err(text);
    (fault, at)
}

#[test]
fn strings_have_each_key_once() {
    for (text, expected) in [
        ("{}", Some("")),
        (r#"{"b":"1","a":"\u0032"}"#, Some("a=2 b=1")),
        (r#"{"b":"1","a":"2","b":"1"}"#, None),
        (r#"{"a":1}"#, None),
        ("null", None),
    ] {
        let read = Reader::new(text).strings().ok();
        let read = read.map(|map| {
            let words = map.iter().map(|(key, value)| format!("{key}={value}"));
            words.collect::<Vec<_>>().join(" ")
        });
        assert_eq!(read.as_deref(), expected, "{text}");
    }
}

#[test]
fn canonical_text_is_sorted_and_without_spaces() {
    let value = read(r#" { "b": [1, {"d": null, "c": "x\u00e9\n"}], "a": true } "#).expect("valid");
    assert_eq!(canonical(&value), "{\"a\":true,\"b\":[1,{\"c\":\"xé\\n\",\"d\":null}]}");
}

#[test]
fn text_not_json_is_an_error_at_its_place() {
    let table = [
        ("", ErrorKind::End, 0),
        (" ", ErrorKind::End, 1),
        ("{", ErrorKind::End, 1),
        ("[1", ErrorKind::End, 2),
        ("\"a", ErrorKind::End, 2),
        ("\"a\\", ErrorKind::End, 3),
        ("nul", ErrorKind::Syntax, 1),
        ("x", ErrorKind::Syntax, 0),
        ("[1 2]", ErrorKind::Syntax, 3),
        ("[1,]", ErrorKind::Syntax, 3),
        ("{\"a\"}", ErrorKind::Syntax, 4),
        ("{\"a\":1,}", ErrorKind::Syntax, 7),
        ("{1:2}", ErrorKind::Syntax, 1),
        ("[1}", ErrorKind::Syntax, 2),
        ("1 1", ErrorKind::Syntax, 2),
        ("01", ErrorKind::Syntax, 1),
        ("-", ErrorKind::End, 1),
        ("+1", ErrorKind::Syntax, 0),
        ("\"a\nb\"", ErrorKind::Syntax, 2),
        ("\"a\u{1}\"", ErrorKind::Syntax, 2),
        ("\"\\x\"", ErrorKind::Syntax, 2),
        ("\"\\u12g4\"", ErrorKind::Syntax, 5),
        ("\"\\ud800\"", ErrorKind::Syntax, 1),
        ("\"\\udc00\\ud800\"", ErrorKind::Syntax, 1),
    ];
    for (text, what, at) in table {
        assert_eq!(fault(text), (what, at), "{text:?}");
    }
    for text in ["1.5", "1e3", "18446744073709551616", "-9223372036854775809"] {
        assert_eq!(
            fault(text).0,
            ErrorKind::Expected("a whole number below 2^64"),
            "{text}"
        );
    }
}

#[test]
fn duplicate_key_at_any_depth_is_an_error() {
    for text in [r#"{"a":1,"a":1}"#, r#"[{"x":{"a":1,"\u0061":2}}]"#] {
        assert_eq!(fault(text).0, ErrorKind::Duplicate, "{text}");
    }
}

#[test]
fn member_is_found_in_any_order() {
    let keys: Vec<String> = (0..100).map(|index| format!("k{}", index * 37 % 100)).collect();
    let members: Vec<String> = keys.iter().map(|key| format!("\"{key}\":\"{key}\"")).collect();
    let Ok(super::Value::Object(map)) = read(&format!("{{{}}}", members.join(","))) else {
        panic!("an object");
    };
    assert!(map.keys().is_sorted());
    for key in &keys {
        assert_eq!(map.get(key).and_then(super::Value::as_str), Some(key.as_str()));
    }
    let twice = format!("{{{},{}}}", members.join(","), members[50]);
    assert_eq!(fault(&twice).0, ErrorKind::Duplicate);
}

#[test]
fn nesting_beyond_128_is_an_error() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        for (depth, fits) in [(127, true), (128, true), (129, false), (100_000, false)] {
            let text = deep(depth);
            assert_eq!(read(&text).is_ok(), fits, "{depth} levels of {open} read");
            assert_eq!(
                Reader::new(&text).skip().is_ok(),
                fits,
                "{depth} levels of {open} skipped"
            );
        }
    }
}

#[test]
fn raw_value_is_the_text_of_the_value() {
    let text = r#" {"a": {"b": [1, 2.5e-3, "x\"]"]}, "c": null} "#;
    let mut reader = Reader::new(text);
    let mut raws = Vec::new();
    let read = reader.object(|reader, key| {
        raws.push((key.into_owned(), reader.raw()?));
        Ok(())
    });
    assert_eq!(read.and_then(|()| reader.end()), Ok(()));
    assert_eq!(
        raws,
        [
            ("a".to_owned(), r#"{"b": [1, 2.5e-3, "x\"]"]}"#),
            ("c".to_owned(), "null")
        ]
    );
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "[\\x00-\\x7f]{0,24}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-z\"\\\\é]{0,9}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn value_written_and_read_is_equal(value in json()) {
        let ours = super::Value::from(value.clone());
        for text in [value.to_string(), serde_json::to_string_pretty(&value).expect("text"), canonical(&ours)] {
            prop_assert_eq!(read(&text), Ok(ours.clone()), "{}", text);
            let mut reader = Reader::new(&text);
            prop_assert_eq!(reader.skip().and_then(|()| reader.end()), Ok(()), "{}", text);
        }
        prop_assert_eq!(Value::from(ours), value);
    }

    /// serde_json and this reader accept the same texts.
    #[test]
    fn text_is_json_iff_serde_json_accepts_it(text in "[\\[\\]{}:,\"\\\\u0-9a-f.eE+ntrsl -]{0,24}") {
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        let mut reader = Reader::new(&text);
        let ours = reader.skip().and_then(|()| reader.end()).is_ok();
        prop_assert_eq!(ours, theirs, "{}", text);
    }
}

#[test]
fn value_equal_to_a_known_one_is_read_as_without_it() {
    let texts = [
        "{}",
        "[]",
        "[1]",
        "[1,2]",
        r#"{"a":[1]}"#,
        r#"{"a":[1]},"#,
        r#"{"a":[12]}"#,
        r#"{"a":[1"#,
        r#"{"a":1}"#,
        "1",
        "12",
        "\"a\"",
        "null",
        "",
        " {}",
        "{} ",
    ];
    for known in texts {
        for text in texts {
            let (mut assisted, mut alone) = (Reader::new(text), Reader::new(text));
            // A known value must be one that was read.
            if Reader::new(known).raw() != Ok(known) {
                continue;
            }
            assert_eq!(assisted.raw_like(Some(known)), alone.raw(), "{text} beside {known}");
            assert_eq!(assisted.place(), alone.place(), "{text} beside {known}");
        }
    }
}

/// A known value, a text, and whether the text is recognised without parsing.
const NEARLY_KNOWN: [(&str, &str, bool); 14] = [
    (r#"{"image":"db:1"}"#, r#"{"image":"db:2"}"#, true),
    (r#"{"image":"db:1"}"#, r#"{"image":"registry/db:2"},"b":1"#, true),
    (r#"[{"a":"x:","b":"y:"}]"#, r#"[{"a":"xx:","b":"yy:"}]"#, true),
    (r#"["é:1"]"#, r#"["è:1"]"#, true),
    // A text that could stand between two strings is parsed.
    (r#"["1"]"#, r#"["2"]"#, false),
    (r#"{"a":1,"b":2}"#, r#"{"a":3,"b":2}"#, false),
    (r#"{"a":"b"}"#, r#"{"a","b"}"#, false),
    (r#"{"a":null,"x:y":1}"#, r#"{"a":nul,"x:y":1}"#, false),
    // Escapes, and texts that are not strings.
    (r#"["x:\n"]"#, r#"["x:\q"]"#, false),
    (r#"["x:\u00e9"]"#, r#"["x:\u00zz"]"#, false),
    (r#"["x:\""]"#, r#"["x:\"]"#, false),
    (r#"["x:y\"z:"]"#, r#"["x:y\"!:"]"#, false),
    (r#"["x:y"]"#, "[\"x:\n\"]", false),
    (r#"["x:y"]"#, r#"["x:"#, false),
];

#[test]
fn value_like_a_known_one_is_read_as_without_it() {
    for (known, text, recognised) in NEARLY_KNOWN {
        assert_eq!(Reader::new(known).raw(), Ok(known));
        let found = super::like::end(known.as_bytes(), text.as_bytes());
        assert_eq!(found.is_some(), recognised, "{text} beside {known}");
        let (mut like, mut alone) = (Reader::new(text), Reader::new(text));
        assert_eq!(like.raw_like(Some(known)), alone.raw(), "{text} beside {known}");
        assert_eq!(like.place(), alone.place(), "{text} beside {known}");
    }
}

proptest! {
    /// One byte of a known value is replaced, added or removed. The result is the same as without the known value.
    #[test]
    fn value_unlike_a_known_one_is_read_as_without_it(
        value in json(), at in any::<prop::sample::Index>(), by in "[\\x00-\\x7f]?", more in any::<bool>()
    ) {
        let known = value.to_string();
        let at = at.index(known.len());
        prop_assume!(known.is_char_boundary(at) && known.is_char_boundary(at + 1));
        let behind = if more { at } else { at + 1 };
        let text = format!("{}{by}{},", &known[..at], &known[behind..]);
        let (mut like, mut alone) = (Reader::new(&text), Reader::new(&text));
        let (like_end, alone_end) = (like.raw_like(Some(&known)), alone.raw());
        prop_assert_eq!(like_end.is_ok(), alone_end.is_ok(), "{} beside {}", text, known);
        if let (Ok(like_end), Ok(alone_end)) = (like_end, alone_end) {
            prop_assert_eq!(like_end, alone_end, "{} beside {}", text, known);
        }
    }
}

#[test]
fn map_contains_all_iff_it_has_each_member() {
    let map = |members: &[(&str, u8)]| {
        let members = members.iter().map(|(key, value)| ((*key).to_owned(), *value));
        Map::from_unsorted(members.collect()).expect("no key twice")
    };
    let all = map(&[("c", 3), ("a", 1), ("b", 2)]);
    for (other, expected) in [
        (&[][..], true),
        (&[("a", 1)], true),
        (&[("c", 3), ("b", 2)], true),
        (&[("a", 1), ("b", 2), ("c", 3)], true),
        (&[("b", 3)], false),
        (&[("a", 1), ("aa", 1), ("b", 2)], false),
        (&[("c", 3), ("d", 4)], false),
    ] {
        assert_eq!(all.contains_all(&map(other)), expected, "{other:?}");
    }
    assert!(!map(&[]).contains_all(&all));
}
