//! Finds one member in a JSON text, or sets one and leaves the rest as it is.

use super::{Error, Reader, write_string};

/// The text of this member of an object, if it has one.
///
/// # Errors
/// If the text is not an object.
pub fn member<'a>(text: &'a str, key: &str) -> Result<Option<&'a str>, Error> {
    let mut found = None;
    Reader::new(text).object(|reader, name| {
        let value = reader.raw()?;
        if name == key {
            found = Some(value);
        }
        Ok(())
    })?;
    Ok(found)
}

/// The text of an object with the member at `path` set to the JSON text `value`.
///
/// Missing or `null` objects on the path are created. Other members keep their bytes and their order; only white space
/// between the members of objects on the path is dropped. With an empty path, the result is `value` itself.
///
/// # Errors
/// If the text is not JSON, or a value on the path is not an object.
pub fn with_member(text: &str, path: &[&str], value: &str) -> Result<String, Error> {
    let Some((first, rest)) = path.split_first() else {
        return Ok(value.to_owned());
    };
    let mut edited = String::with_capacity(text.len() + value.len() + 16);
    let mut done = false;
    edited.push('{');
    let mut reader = Reader::new(text);
    if !reader.null()? {
        reader.object(|reader, key| {
            let member = reader.raw()?;
            write_key(&key, &mut edited);
            if key == *first {
                done = true;
                edited.push_str(&with_member(member, rest, value)?);
            } else {
                edited.push_str(member);
            }
            Ok(())
        })?;
    }
    reader.end()?;
    if !done {
        write_key(first, &mut edited);
        edited.push_str(&with_member("null", rest, value)?);
    }
    edited.push('}');
    Ok(edited)
}

/// Appends a key of the object that begins with the text, with a comma before all but the first.
pub fn write_key(key: &str, text: &mut String) {
    if text.len() > 1 {
        text.push(',');
    }
    write_string(key, text);
    text.push(':');
}

#[cfg(test)]
mod tests {
    use super::with_member;

    #[test]
    fn member_is_set_and_the_rest_stays() {
        let path = ["rollingUpdate", "partition"];
        let table = [
            (
                r#"{"type":"RollingUpdate","rollingUpdate":{"partition":0,"x":1e2}}"#,
                r#"{"type":"RollingUpdate","rollingUpdate":{"partition":3,"x":1e2}}"#,
            ),
            (
                r#"{"type":"RollingUpdate"}"#,
                r#"{"type":"RollingUpdate","rollingUpdate":{"partition":3}}"#,
            ),
            (r#"{"rollingUpdate":null}"#, r#"{"rollingUpdate":{"partition":3}}"#),
            ("{}", r#"{"rollingUpdate":{"partition":3}}"#),
            ("null", r#"{"rollingUpdate":{"partition":3}}"#),
            (r#"{ "a" : [ 1 ] }"#, r#"{"a":[ 1 ],"rollingUpdate":{"partition":3}}"#),
        ];
        for (text, expected) in table {
            assert_eq!(with_member(text, &path, "3").as_deref(), Ok(expected), "{text}");
        }
        for text in ["", "[]", r#"{"rollingUpdate":1}"#, "{}x"] {
            assert!(with_member(text, &path, "3").is_err(), "{text}");
        }
    }
}
