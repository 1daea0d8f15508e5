//! Sizes as Kubernetes reads them (facts of the quantity table): other spellings, growths, and invalid sizes.

use serde_json::json;

use super::case::{Case, update};
use super::objects::{Object, web};

pub(super) fn cases() -> Vec<Case> {
    [same(), grown(), refused(), elsewhere()].into_iter().flatten().collect()
}

/// An amount, and other spellings of it.
const SAME: [(&str, &[&str]); 7] = [
    ("10Gi", &["10240Mi", "10737418240", "10485760Ki", "00010Gi", "+10Gi", "10.0Gi", "10.Gi", "10737418240000m"]),
    ("512Mi", &[".5Gi"]),
    ("1k", &["1000", "1e3", "1E3", "1e+3"]),
    ("1", &["1000m", "1000000u", "1000000000n", "1000e-3", "0.001k"]),
    ("1E", &["1000P", "1000000000000000000"]),
    ("1Ei", &["1024Pi", "1152921504606846976"]),
    ("0", &["Gi", "-0"]),
];

fn sized(size: &str) -> Object {
    web().in_place().size(size)
}

fn same() -> Vec<Case> {
    let mut cases = Vec::new();
    for (one, other) in SAME.iter().flat_map(|(one, others)| others.iter().map(move |other| (*one, *other))) {
        for (old, new) in [(one, other), (other, one)] {
            cases.push(update("U0", format!("{old} in another spelling: {new}"), &sized(old), &sized(new)).expects("mutate templates"));
        }
        if one != "0" {
            let rolling = sized("1n").staged(&sized(one));
            let again = rolling.clone().size(other);
            cases.push(update("U2", format!("{one} again in another spelling: {other}"), &rolling, &again).expects("mutate templates"));
        }
    }
    // A number without quotes counts as its text.
    let number = web().in_place().data("/spec/resources/requests/storage", json!(10_737_418_240_u64));
    cases.push(update("U0", "a size that is a number", &sized("10Gi"), &number).expects("mutate templates"));
    cases
}

/// A size, a larger one, and the printed form of the larger one.
const GROWN: [(&str, &str, &str); 14] = [
    ("10Gi", "20Gi", "20Gi"),
    ("10Gi", "20480Mi", "20Gi"),
    ("10Gi", "11G", "11G"),
    ("10Gi", "1e11", "100e9"),
    ("10Gi", "10.5Gi", "10752Mi"),
    ("10Gi", "10737418241", "10737418241"),
    ("10Gi", "10737418240001m", "10737418240001m"),
    ("1", "1.0000000000000000001", "1000000001n"),
    ("1n", "0.5", "500m"),
    ("1n", "500m", "500m"),
    ("1n", "1", "1"),
    ("10Gi", "1E", "1E"),
    ("10Gi", "1Ei", "1Ei"),
    ("10Gi", "9223372036854775807", "9223372036854775807"),
];

fn grown() -> Vec<Case> {
    let one = |(from, to, printed): (&str, &str, &str)| {
        let expected = format!("mutate templates staged:InPlace warns \"staged data {from} -> {printed}; 3 PVCs\"");
        update("U3", format!("{from} grows to {to}"), &sized(from), &sized(to)).expects(expected)
    };
    GROWN.into_iter().map(one).collect()
}

/// Texts that are no quantities.
const NO_QUANTITIES: [&str; 17] = [
    "", " ", "10GB", "1K", "1gi", " 20Gi", "20Gi ", "20 Gi", "1_000Gi", "0x10Gi", "20Gi\u{0}", "\u{0662}\u{0660}Gi", "++20Gi", "20..0Gi",
    "2e", "2e3Gi", "NaN",
];

/// Quantities that are no sizes, and the message.
const REFUSED: [(&str, &str); 11] = [
    ("1e9999999999", "exponent of at most 32 bits"),
    ("1e2147483647", "expected a quantity below 10^29"),
    ("99999999999999999999999999999999", "expected a quantity below 10^29"),
    ("9223372036854775808", "expected at most 9223372036854775807 bytes, but found 9223372036854775808"),
    ("9223372036854775807.5", "expected at most 9223372036854775807 bytes"),
    ("1e19", "expected at most 9223372036854775807 bytes"),
    ("8Ei", "expected at most 9223372036854775807 bytes, but found 8Ei"),
    ("16Ei", "expected at most 9223372036854775807 bytes, but found 16Ei"),
    ("0", "expected more than 0 bytes, but found 0"),
    ("Gi", "expected more than 0 bytes, but found 0"),
    ("-20Gi", "expected more than 0 bytes, but found -20Gi"),
];

fn refused() -> Vec<Case> {
    let one = |(size, fault): (&str, &str)| {
        let expected = format!("deny 403 \"resources.requests.storage: \" \"{fault}\"");
        update("U3", format!("a size {size:?}"), &sized("10Gi"), &sized(size)).expects(expected)
    };
    let mut cases: Vec<Case> = NO_QUANTITIES.map(|size| (size, "expected a quantity such as 10Gi")).into_iter().chain(REFUSED).map(one).collect();
    for value in [json!(true), json!(["20Gi"]), json!({"Gi": 20})] {
        let new = web().in_place().data("/spec/resources/requests/storage", value.clone());
        let expected = "deny 403 \"resources.requests.storage: expected a quantity as a string, such as\"";
        cases.push(update("U3", format!("a size that is {value}"), &sized("10Gi"), &new).expects(expected));
    }
    let nothing = web().in_place().data("/spec/resources/requests/storage", json!(null));
    cases.push(update("U3", "a size that is null", &sized("10Gi"), &nothing).expects("deny 403 \"resources.requests.storage: \""));
    cases
}

/// Amounts that are not sizes of a volume are compared too.
fn elsewhere() -> Vec<Case> {
    let limit = |amount: &str| web().data("/spec/resources/limits/storage", amount);
    vec![
        update("U0", "a limit in another spelling", &limit("1Ti"), &limit("1024Gi")).expects("mutate templates"),
        update("U3", "a limit grows", &limit("1Ti"), &limit("2Ti")).expects("deny 403 \"spec.resources.limits.storage: cannot change\""),
        update("U3", "a limit that is no quantity", &limit("1Ti"), &limit("x"))
            .expects("deny 403 \"spec.resources.limits.storage: expected a quantity\""),
        update("U3", "the live size is none, and cannot be compared", &sized("x"), &sized("20Gi"))
            .expects("deny 403 \"request.oldObject: spec.volumeClaimTemplates[0].spec.resources.requests.storage: expected a quantity\""),
        update("U3", "the live size is more than a volume can have", &sized("9Ei"), &sized("20Gi"))
            .expects("deny 403 \"cannot shrink, expected at least 9Ei\""),
    ]
}
