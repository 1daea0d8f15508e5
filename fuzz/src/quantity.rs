//! Target `quantity`: two texts, one per line.
//!
//! The model is a second parser of quantities, slow and exact: the digits are a whole number of any length, the suffix
//! is a power of two or ten, and only the last step rounds, as in Kubernetes.

use std::cmp::Ordering;

use claim_rollout::templates::Quantity;
use claim_rollout::templates::quantity::{NotBytes, QuantityError};
use num_bigint::BigInt;

/// The meaning of a text in the model.
#[derive(Debug, PartialEq)]
enum Model {
    Malformed,
    /// An exponent of more than 32 bits.
    Exponent,
    /// The amount in 10⁻⁹ units, rounded away from zero; `None` for thousands of digits.
    Nanos(Option<BigInt>),
}

/// Above this power of ten, the parser may return an error although the amount is small (`0.00…01e40`).
const LARGEST_SCALE: i64 = 29;

/// Parses, prints and compares two quantities.
///
/// # Laws
/// * A text is a quantity iff it is one in the model, with the same amount.
/// * A quantity that is printed and parsed again is equal.
/// * Order and equality compare the amount.
/// * Bytes are rounded up.
pub fn quantity(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (one, other) = text.split_once('\n').unwrap_or((text, "1Gi"));
    let (Some(one), Some(other)) = (checked(one), checked(other)) else {
        return;
    };
    compare(&one, &other);
    compare(&other, &one);
}

/// A quantity and its exact amount.
type Known = (Quantity, BigInt);

/// Checks one text, and returns its quantity.
fn checked(text: &str) -> Option<Known> {
    let model = model(text);
    let quantity: Quantity = match text.parse() {
        Ok(quantity) => quantity,
        Err(QuantityError::Malformed) => {
            assert_eq!(model, Model::Malformed, "{text:?}");
            return None;
        }
        Err(QuantityError::Exponent) => {
            assert_eq!(model, Model::Exponent, "{text:?}");
            return None;
        }
        Err(QuantityError::TooLarge) => {
            let small = matches!(&model, Model::Nanos(Some(nanos)) if nanos.bits() < 126);
            assert!(!small || scale(text) >= LARGEST_SCALE, "{text:?} is not too large");
            return None;
        }
    };
    let Model::Nanos(Some(nanos)) = model else {
        panic!("{text:?} became {quantity}, but the model has {model:?}");
    };
    let printed = quantity.to_string();
    assert_eq!(
        self::model(&printed),
        Model::Nanos(Some(nanos.clone())),
        "{text:?} was printed as {printed}"
    );
    let again: Quantity = printed.parse().expect("a printed quantity");
    assert_eq!(again, quantity, "{text:?} was printed as {printed}");
    // As in Kubernetes, printing again may change the text: 31.25Ki prints as 32000 without a suffix, which prints as
    // 32k.
    let settled = again.to_string();
    let third: Quantity = settled.parse().expect("a printed quantity");
    assert_eq!(third.to_string(), settled, "{text:?} has many canonical forms");
    let whole = rounded_away(&nanos, &BigInt::from(1_000_000_000));
    assert_eq!(BigInt::from(quantity.whole()), whole, "{text:?}");
    let bytes = match quantity.bytes() {
        Ok(bytes) => Ok(BigInt::from(bytes)),
        Err(NotBytes::NotPositive) => Err(Ordering::Less),
        Err(NotBytes::TooLarge) => Err(Ordering::Greater),
    };
    let expected = match &whole {
        few if *few <= BigInt::ZERO => Err(Ordering::Less),
        many if *many > BigInt::from(i64::MAX) => Err(Ordering::Greater),
        some => Ok(some.clone()),
    };
    assert_eq!(bytes, expected, "{text:?}");
    Some((quantity, nanos))
}

fn compare((one, exact): &Known, (other, other_exact): &Known) {
    let expected = exact.cmp(other_exact);
    assert_eq!(one.cmp(other), expected, "{one} against {other}");
    assert_eq!(one == other, expected == Ordering::Equal, "{one} against {other}");
    if one == other {
        assert_eq!(one.whole(), other.whole(), "{one} against {other}");
    }
}

/// The model.
fn model(text: &str) -> Model {
    if text.is_empty() {
        return Model::Malformed;
    }
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (integer, rest) = unsigned.split_at(end(unsigned));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(end(rest)),
        None => ("", rest),
    };
    let (twos, tens) = match factor(suffix) {
        Ok(factor) => factor,
        Err(model) => return model,
    };
    let digits = format!("0{integer}{fraction}");
    let mut number: BigInt = digits.parse().expect("digits");
    if negative {
        number = -number;
    }
    number <<= twos;
    // In nanos, including the digits after the point.
    let tens = tens + 9 - i64::try_from(fraction.len()).unwrap_or(i64::MAX);
    if number == BigInt::ZERO {
        return Model::Nanos(Some(number));
    }
    let enough = u32::try_from(digits.len()).unwrap_or(u32::MAX).saturating_add(40);
    let power = u32::try_from(tens.unsigned_abs()).unwrap_or(u32::MAX);
    if tens < 0 {
        // Beyond `enough`, only a nonzero remainder of the number matters.
        let divisor = BigInt::from(10).pow(power.min(enough));
        return Model::Nanos(Some(rounded_away(&number, &divisor)));
    }
    Model::Nanos((power <= 8192).then(|| number * BigInt::from(10).pow(power)))
}

/// The powers of two and of ten of a suffix.
fn factor(suffix: &str) -> Result<(u32, i64), Model> {
    if let Some(exponent) = suffix.strip_prefix(['e', 'E'])
        && !exponent.is_empty()
        && suffix != "Ei"
    {
        return exponent_of(exponent).map(|tens| (0, tens));
    }
    let known = [
        ("n", 0, -9),
        ("u", 0, -6),
        ("m", 0, -3),
        ("", 0, 0),
        ("k", 0, 3),
        ("M", 0, 6),
        ("G", 0, 9),
        ("T", 0, 12),
        ("P", 0, 15),
        ("E", 0, 18),
        ("Ki", 10, 0),
        ("Mi", 20, 0),
        ("Gi", 30, 0),
        ("Ti", 40, 0),
        ("Pi", 50, 0),
        ("Ei", 60, 0),
    ];
    let found = known.into_iter().find(|(name, ..)| *name == suffix);
    found.map(|(_, twos, tens)| (twos, tens)).ok_or(Model::Malformed)
}

fn exponent_of(text: &str) -> Result<i64, Model> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Model::Malformed);
    }
    let number: BigInt = digits.parse().expect("digits");
    let number = i32::try_from(&number).map_err(|_| Model::Exponent)?;
    Ok(i64::from(if text.starts_with('-') { -number } else { number }))
}

/// The power of ten in a text.
fn scale(text: &str) -> i64 {
    let suffix = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-'));
    factor(suffix).map_or(0, |(_, tens)| tens)
}

fn rounded_away(number: &BigInt, divisor: &BigInt) -> BigInt {
    let (quotient, rest) = (number / divisor, number % divisor);
    match rest.cmp(&BigInt::ZERO) {
        Ordering::Less => quotient - 1,
        Ordering::Equal => quotient,
        Ordering::Greater => quotient + 1,
    }
}
