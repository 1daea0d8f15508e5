//! Other spellings of the same JSON: blanks, escapes, orders and unknown members that a re-serialised text would lose.

use serde_json::Value;

use super::choices::Choices;

/// Values of unknown members, in spellings that no library keeps.
const UNKNOWN: [&str; 10] = [
    "1.50",
    "1e2",
    "-0",
    "100000000000000000000000",
    "\"\\u00e9\\/\"",
    "[ 1 ,\t2]",
    "{\"a\":{\"a\":[{}]} }",
    "null",
    "{\"claim-rollout.io/staged\":\"x\",\"volumeClaimTemplates\":[]}",
    "\"\\ud83d\\ude00]}\"",
];

/// Writes a value in one of its many spellings. With an exhausted source: the shortest.
pub(crate) fn spelt(value: &Value, choices: &mut dyn Choices) -> String {
    let mut writer = Writer {
        text: String::new(),
        // Half of them stay compact, as an API server writes them.
        loose: choices.one_in(2),
        until_odd: 0,
    };
    writer.write(value, choices);
    writer.text
}

struct Writer {
    text: String,
    /// Whether any odd spelling is written.
    loose: bool,
    /// The number of places until the next odd one. A choice at each place would take most of the time of a test.
    until_odd: usize,
}

impl Writer {
    /// Whether this place is odd.
    fn is_odd(&mut self, choices: &mut dyn Choices) -> bool {
        if !self.loose {
            return false;
        }
        if self.until_odd > 0 {
            self.until_odd -= 1;
            return false;
        }
        self.until_odd = choices.below(64);
        // An exhausted source must not make every place odd.
        self.loose = self.until_odd > 0;
        self.loose
    }

    fn write(&mut self, value: &Value, choices: &mut dyn Choices) {
        match value {
            Value::Object(fields) => {
                let mut members: Vec<(&str, Option<&Value>)> =
                    fields.iter().map(|(key, value)| (key.as_str(), Some(value))).collect();
                if members.len() > 1 && self.is_odd(choices) {
                    let middle = choices.below(members.len());
                    members.rotate_left(middle);
                    if choices.one_in(3) {
                        members.insert(0, ("unknown", None));
                    }
                }
                self.list('{', '}', &members, choices, |writer, (key, value), choices| {
                    writer.string(key, choices);
                    writer.text.push(':');
                    writer.blank(choices);
                    match value {
                        Some(value) => writer.write(value, choices),
                        None => writer.text.push_str(choices.word(&UNKNOWN)),
                    }
                });
            }
            Value::Array(items) => {
                self.list('[', ']', items, choices, |writer, item, choices| {
                    writer.write(item, choices);
                });
            }
            Value::String(text) => self.string(text, choices),
            other => self.text.push_str(&other.to_string()),
        }
    }

    fn list<T>(
        &mut self,
        open: char,
        close: char,
        items: &[T],
        choices: &mut dyn Choices,
        write: impl Fn(&mut Self, &T, &mut dyn Choices),
    ) {
        self.text.push(open);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            self.blank(choices);
            write(self, item, choices);
        }
        self.blank(choices);
        self.text.push(close);
    }

    fn blank(&mut self, choices: &mut dyn Choices) {
        if self.is_odd(choices) {
            self.text.push_str(choices.word(&[" ", "\n  ", "\t", "\r\n"]));
        }
    }

    fn string(&mut self, text: &str, choices: &mut dyn Choices) {
        let quoted = Value::from(text).to_string();
        match text.chars().next().filter(char::is_ascii_alphanumeric) {
            Some(first) if self.is_odd(choices) => {
                self.text
                    .push_str(&format!("\"\\u{:04x}{}", u32::from(first), &quoted[2..]));
            }
            _ => self.text.push_str(&quoted),
        }
    }
}
