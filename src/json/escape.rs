//! Escapes in strings.

/// The string without its escapes; `None` if an escape is not valid or a surrogate is not in a pair.
pub(super) fn read(escaped: &str) -> Option<String> {
    let mut string = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(place) = rest.find('\\') {
        string.push_str(&rest[..place]);
        let escape = rest.as_bytes().get(place + 1)?;
        rest = rest.get(place + 2..)?;
        string.push(match escape {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = hex(&mut rest)?;
                match first {
                    0xD800..=0xDBFF => {
                        rest = rest.strip_prefix("\\u")?;
                        let second = hex(&mut rest)?;
                        let low = second.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
                        char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + low)?
                    }
                    _ => char::from_u32(first)?,
                }
            }
            _ => return None,
        });
    }
    string.push_str(rest);
    Some(string)
}

/// Four hexadecimal digits.
fn hex(rest: &mut &str) -> Option<u32> {
    let digits = rest.get(..4)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    *rest = &rest[4..];
    u32::from_str_radix(digits, 16).ok()
}
