//! Output: Kubewarden's ValidationResponse, written by hand so that the object is copied byte for byte.

use std::fmt::Write;

use super::splice::Edited;
use crate::admission::{Remarks, Verdict};
use crate::json::write_string;

/// The answer to `validate`, without empty fields.
pub(super) fn encode((verdict, object): &(Verdict, Option<Edited<'_>>)) -> Vec<u8> {
    let mut text = String::with_capacity(512 + object.as_ref().map_or(0, Edited::capacity));
    match verdict {
        Verdict::Pass(remarks) => {
            text.push_str("{\"accepted\":true");
            push_remarks(&mut text, remarks);
            text.push('}');
        }
        Verdict::Deny(denial) => {
            text.push_str("{\"accepted\":false,\"message\":");
            write_string(&denial.message, &mut text);
            let _ = write!(text, ",\"code\":{}}}", denial.code);
        }
        Verdict::Stage(_, remarks) => {
            text.push_str("{\"accepted\":true,\"mutated_object\":");
            match object {
                Some(object) => object.write(&mut text),
                None => text.push_str("null"),
            }
            push_remarks(&mut text, remarks);
            text.push('}');
        }
    }
    text.into_bytes()
}

fn push_remarks(text: &mut String, remarks: &Remarks) {
    if !remarks.audit.is_empty() {
        text.push_str(",\"audit_annotations\":");
        separated(text, '{', '}', &remarks.audit, |text, (key, value)| {
            write_string(key, text);
            text.push(':');
            write_string(value, text);
        });
    }
    if !remarks.warnings.is_empty() {
        text.push_str(",\"warnings\":");
        separated(text, '[', ']', &remarks.warnings, |text, warning| {
            write_string(warning, text);
        });
    }
}

/// The answer to `validate_settings`.
pub(super) fn encode_settings(fault: Option<&str>) -> Vec<u8> {
    let mut text = String::new();
    match fault {
        None => text.push_str("{\"valid\":true,\"message\":null}"),
        Some(fault) => {
            text.push_str("{\"valid\":false,\"message\":");
            write_string(fault, &mut text);
            text.push('}');
        }
    }
    text.into_bytes()
}

fn separated<T>(text: &mut String, open: char, close: char, items: &[T], write: impl Fn(&mut String, &T)) {
    text.push(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write(text, item);
    }
    text.push(close);
}
