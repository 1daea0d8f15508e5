//! Flags with a number for each storage class: `ebs=2`.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::controller::ClassLimits;

/// A storage class and its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassNumber {
    class: String,
    number: u32,
}

impl FromStr for ClassNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (class, number) = text.split_once('=')?;
            let number = number.parse().ok().filter(|number| *number > 0)?;
            let class = class.to_owned();
            (!class.is_empty()).then_some(Self { class, number })
        };
        read().ok_or_else(|| format!("expected a storage class and a number from 1, such as ebs=2, but found {text}"))
    }
}

/// The limits of each class. If a flag names a class twice, the last value counts.
pub(crate) fn limits(per_day: &[ClassNumber], at_once: &[ClassNumber]) -> BTreeMap<String, ClassLimits> {
    let mut limits = BTreeMap::<String, ClassLimits>::new();
    for ClassNumber { class, number } in per_day {
        limits.entry(class.clone()).or_default().per_day = Some(*number);
    }
    for ClassNumber { class, number } in at_once {
        limits.entry(class.clone()).or_default().at_once = Some(*number);
    }
    limits
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{ClassNumber, limits};

    #[derive(Parser)]
    struct Flags {
        #[arg(long, value_delimiter = ',')]
        day: Vec<ClassNumber>,
        #[arg(long, value_delimiter = ',')]
        once: Vec<ClassNumber>,
    }

    #[test]
    fn limits_of_repeated_flag_last_value_counts() {
        type LimitRow = (&'static str, Option<u32>, Option<u32>);
        let rows: [(&[&str], &[LimitRow]); 5] = [
            (&[], &[]),
            (&["--day=ebs=2"], &[("ebs", Some(2), None)]),
            (
                &["--day=ebs=2,gp3=4", "--once=ebs=10"],
                &[("ebs", Some(2), Some(10)), ("gp3", Some(4), None)],
            ),
            (
                &["--once=a=1", "--once", "b=2"],
                &[("a", None, Some(1)), ("b", None, Some(2))],
            ),
            (&["--day=ebs=2", "--day=ebs=3"], &[("ebs", Some(3), None)]),
        ];
        for (arguments, expected) in rows {
            let flags = Flags::try_parse_from([&["x"], arguments].concat()).expect("valid flags");
            let found = limits(&flags.day, &flags.once);
            let found: Vec<_> = found
                .iter()
                .map(|(class, it)| (&**class, it.per_day, it.at_once))
                .collect();
            assert_eq!(found, expected, "{arguments:?}");
        }
    }

    #[test]
    fn class_number_malformed_is_error() {
        for text in ["ebs", "ebs=", "=2", "ebs=0", "ebs=-1", "ebs=two", ""] {
            let error = text.parse::<ClassNumber>().expect_err("no class and number");
            assert!(error.contains("such as ebs=2"), "{text}: {error}");
        }
    }
}
