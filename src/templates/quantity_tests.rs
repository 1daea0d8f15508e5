use proptest::prelude::*;

use super::{NotBytes, Quantity, QuantityError};

fn q(text: &str) -> Quantity {
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// The text, the canonical form of Kubernetes, and the whole units.
#[test]
fn quantity_of_kubernetes_is_read_and_printed_as_there() {
    let table: &[(&str, &str, i128)] = &[
        ("10Gi", "10Gi", 10 << 30),
        ("00010Gi", "10Gi", 10 << 30),
        ("+1", "1", 1),
        ("1.Gi", "1Gi", 1 << 30),
        (".5Gi", "512Mi", 1 << 29),
        ("1.5Gi", "1536Mi", 3 << 29),
        ("1e3", "1e3", 1000),
        ("1E3", "1e3", 1000),
        ("1e+3", "1e3", 1000),
        ("12e7", "120e6", 120_000_000),
        ("1e-3", "1e-3", 1),
        ("1000e0", "1e3", 1000),
        ("5e0", "5", 5),
        ("1E", "1E", 1_000_000_000_000_000_000),
        ("1Ei", "1Ei", 1 << 60),
        ("1024Mi", "1Gi", 1 << 30),
        ("1000Mi", "1000Mi", 1000 << 20),
        ("1024", "1024", 1024),
        ("1073741824", "1073741824", 1 << 30),
        ("10G", "10G", 10_000_000_000),
        ("1000k", "1M", 1_000_000),
        ("1500m", "1500m", 2),
        ("0.5", "500m", 1),
        ("500m", "500m", 1),
        ("1n", "1n", 1),
        ("1u", "1u", 1),
        ("0.1n", "1n", 1),
        ("1.0000000000000000001", "1000000001n", 2),
        ("0.0000000000000000000000000000000000001", "1n", 1),
        ("0.5Ki", "512", 512),
        ("0.0001Ki", "102400u", 1),
        ("Gi", "0", 0),
        ("0", "0", 0),
        ("0Gi", "0", 0),
        ("-", "0", 0),
        (".", "0", 0),
        ("-1Gi", "-1Gi", -(1 << 30)),
        ("-0.5", "-500m", -1),
        ("9223372036854775807", "9223372036854775807", i128::from(i64::MAX)),
        ("9223372036854775808", "9223372036854775808", 1 << 63),
        ("1e19", "10e18", 10_000_000_000_000_000_000),
        ("1e-2147483647", "1e-9", 1),
        ("12e-10", "2e-9", 1),
        ("120e-10", "12e-9", 1),
        ("1e21", "1e21", 1_000_000_000_000_000_000_000),
        ("1000E", "1000E", 1_000_000_000_000_000_000_000),
        ("0e2147483647", "0", 0),
    ];
    for (text, printed, whole) in table {
        let quantity = q(text);
        assert_eq!(
            (quantity.to_string().as_str(), quantity.whole()),
            (*printed, *whole),
            "{text:?}"
        );
    }
}

#[test]
fn quantity_not_valid_or_overflowing_is_an_error() {
    let malformed = [
        "", "1K", " 10Gi", "1Mi ", "1_000", "0x10", "1e", "1e+", "1Ee3", "1ki", "1Gib", "Gi1", "1..0", "1.0.0", "--1",
        "+-1", "1,5", "１０Gi", "1\u{0}", "NaN", "inf", "∞", "1e3Gi", "1Gie3", "i", "1i", "1Zi", "1Y",
    ];
    for text in malformed {
        assert_eq!(text.parse::<Quantity>(), Err(QuantityError::Malformed), "{text:?}");
    }
    for text in [
        "1e9999999999",
        "1e2147483648",
        "0e99999999999999999999",
        "1e-9999999999",
    ] {
        assert_eq!(text.parse::<Quantity>(), Err(QuantityError::Exponent), "{text:?}");
    }
    for text in [
        "1e30",
        "1e2147483647",
        "1000000000000000000000000000000",
        "170141183460469231732Ei",
        "999999999999999999E",
    ] {
        assert_eq!(text.parse::<Quantity>(), Err(QuantityError::TooLarge), "{text:?}");
    }
}

#[test]
fn bytes_are_positive_and_at_most_the_largest_int64() {
    let table = [
        ("1", Ok(1)),
        ("1n", Ok(1)),
        ("10Gi", Ok(10 << 30)),
        ("9223372036854775807", Ok(i64::MAX as u64)),
        ("9223372036854775807.1", Err(NotBytes::TooLarge)),
        ("9223372036854775808", Err(NotBytes::TooLarge)),
        ("1e19", Err(NotBytes::TooLarge)),
        ("8Ei", Err(NotBytes::TooLarge)),
        ("Gi", Err(NotBytes::NotPositive)),
        ("0", Err(NotBytes::NotPositive)),
        ("-1Gi", Err(NotBytes::NotPositive)),
    ];
    for (text, bytes) in table {
        assert_eq!(q(text).bytes(), bytes, "{text:?}");
    }
}

#[test]
fn quantities_compare_by_amount() {
    let same = [
        "1Gi",
        "1024Mi",
        "1048576Ki",
        "1073741824",
        "1.0Gi",
        "1073741824e0",
        "1073741824000m",
        "0.0009765625Ti",
    ];
    for (one, other) in same.iter().flat_map(|one| same.map(|other| (*one, other))) {
        assert_eq!(q(one), q(other), "{one} and {other}");
    }
    for (less, more) in [
        ("6G", "6Gi"),
        ("1000Gi", "1Ti"),
        ("1", "1.000000001"),
        ("-1", "0"),
        ("9223372036854775807", "8Ei"),
    ] {
        assert!(q(less) < q(more), "{less} < {more}");
    }
}

#[test]
fn quantity_of_a_million_digits_takes_no_time() {
    let digits = "9".repeat(1_000_000);
    assert_eq!(digits.parse::<Quantity>(), Err(QuantityError::TooLarge));
    assert_eq!(q(&format!("0.{digits}")).whole(), 1);
    assert_eq!(q(&format!("{}1Gi", "0".repeat(1_000_000))), q("1Gi"));
    assert_eq!(q(&format!("{digits}e-1000000")).whole(), 1);
    assert_eq!(format!("1e{digits}").parse::<Quantity>(), Err(QuantityError::Exponent));
}

#[test]
fn quantity_from_bytes_has_a_binary_suffix() {
    assert_eq!(Quantity::from_bytes(10 << 30).to_string(), "10Gi");
    assert_eq!(Quantity::from_bytes(1000).to_string(), "1k");
}

/// The model: a quantity by schoolbook arithmetic on digit strings. A numerator over a power of ten, in 10⁻⁹ units,
/// rounded up.
fn model(integer: &str, fraction: &str, factor: u128, tens: i32) -> Option<u128> {
    let digits = format!("{integer}{fraction}");
    let value = digits.parse::<u128>().ok()?.checked_mul(factor)?;
    let exponent = tens - i32::try_from(fraction.len()).ok()?;
    if exponent >= 0 {
        value.checked_mul(10_u128.checked_pow(exponent.unsigned_abs())?)
    } else {
        let divisor = 10_u128.checked_pow(exponent.unsigned_abs())?;
        Some(value.div_ceil(divisor))
    }
}

const SUFFIXES: [(&str, u128, i32); 16] = [
    ("n", 1, 0),
    ("u", 1, 3),
    ("m", 1, 6),
    ("", 1, 9),
    ("k", 1, 12),
    ("M", 1, 15),
    ("G", 1, 18),
    ("T", 1, 21),
    ("P", 1, 24),
    ("E", 1, 27),
    ("Ki", 1 << 10, 9),
    ("Mi", 1 << 20, 9),
    ("Gi", 1 << 30, 9),
    ("Ti", 1 << 40, 9),
    ("Pi", 1 << 50, 9),
    ("e5", 1, 14),
];

#[test]
fn quantity_of_every_suffix_is_read() {
    for (suffix, factor, tens) in SUFFIXES {
        let text = format!("1{suffix}");
        let nanos = model("1", "", factor, tens).and_then(|nanos| i128::try_from(nanos).ok());
        assert_eq!(
            text.parse::<Quantity>().ok().map(|quantity| quantity.nanos),
            nanos,
            "{text}"
        );
    }
    assert_eq!(q("1Ei"), q("1024Pi"));
}

proptest! {
    #[test]
    fn quantity_agrees_with_the_model(integer in "[0-9]{0,12}", fraction in "[0-9]{0,9}", suffix in 0..SUFFIXES.len()) {
        let (suffix, factor, tens) = SUFFIXES[suffix];
        let whole = if integer.is_empty() { "0" } else { &integer };
        let text = format!("{integer}.{fraction}{suffix}");
        if let Some(expected) = model(whole, &fraction, factor, tens).and_then(|nanos| i128::try_from(nanos).ok()) {
            prop_assert_eq!(text.parse::<Quantity>().map(|quantity| quantity.nanos), Ok(expected), "{}", text);
        }
    }

    #[test]
    fn quantity_printed_and_read_is_equal(text in "[+-]?[0-9]{0,20}\\.?[0-9]{0,12}(n|u|m||k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e-?[0-9]{1,2})") {
        if let Ok(quantity) = text.parse::<Quantity>() {
            let printed = quantity.to_string();
            prop_assert_eq!(printed.parse::<Quantity>(), Ok(quantity), "{} printed as {}", text, printed);
            prop_assert_eq!(q(&printed).to_string(), printed);
        }
    }

    #[test]
    fn quantity_of_any_text_does_not_panic(text in "\\PC{0,40}") {
        let _ = text.parse::<Quantity>();
    }
}
