//! Kubernetes quantities, exactly.
//!
//! A quantity is a whole number of 10⁻⁹ units: no floats, no overflow. The accepted texts are those of
//! `resource.ParseQuantity` in k8s.io/apimachinery, except exponents and amounts that overflow there: these are errors
//! here (see [`QuantityError`]).

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// 10⁻⁹ units in one unit.
const NANOS: i128 = 1_000_000_000;

/// The largest number of bytes that Kubernetes can hold: 2⁶³ − 1.
const MAX_BYTES: i128 = i64::MAX as i128;

/// An amount as Kubernetes writes it, such as `10Gi`.
///
/// Equality and order compare the exact amount: `1Gi` equals `1024Mi` and `1073741824`. [`fmt::Display`] prints the
/// canonical form of Kubernetes, which keeps the family of the suffix.
///
/// # Guarantees
/// Parsing takes linear time and never panics; `q.to_string().parse()` returns a quantity equal to `q`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

/// The family of suffixes, which the canonical form keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Format {
    /// `Ki`, `Mi`, `Gi` …
    #[default]
    Binary,
    /// No suffix, `n`, `u`, `m`, `k`, `M`, `G` …
    Decimal,
    /// `e3`, `E3`
    Exponent,
}

/// Why a text is not a quantity. The caller shows the text, which may have any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text does not have the form `<sign><digits>.<digits><suffix>`.
    #[error("expected a quantity such as 10Gi")]
    Malformed,
    /// The exponent does not fit into 32 bits. `resource.ParseQuantity` overflows.
    #[error("expected a quantity with an exponent of at most 32 bits")]
    Exponent,
    /// The amount is too large for exact comparison (above about 1.7 · 10²⁹ units).
    #[error("expected a quantity below 10^29")]
    TooLarge,
}

/// Why a quantity is not an amount of storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotBytes {
    /// Zero or less.
    #[error("expected more than 0 bytes")]
    NotPositive,
    /// More than 2⁶³ − 1 bytes, where the arithmetic of the API server overflows.
    #[error("expected at most 9223372036854775807 bytes")]
    TooLarge,
}

impl Quantity {
    /// A number of bytes, with a binary suffix in print.
    #[must_use]
    pub const fn from_bytes(bytes: u64) -> Self {
        Self {
            nanos: bytes as i128 * NANOS,
            format: Format::Binary,
        }
    }

    /// The amount in whole bytes, rounded up as `Quantity.Value()` does: more than zero and at most 2⁶³ − 1.
    ///
    /// # Errors
    /// [`NotBytes`] for any other amount.
    pub fn bytes(&self) -> Result<u64, NotBytes> {
        let whole = self.whole();
        if whole <= 0 {
            return Err(NotBytes::NotPositive);
        }
        if whole > MAX_BYTES {
            return Err(NotBytes::TooLarge);
        }
        u64::try_from(whole).map_err(|_| NotBytes::TooLarge)
    }

    /// The amount in whole units, rounded away from zero. Equal amounts return equal numbers.
    #[must_use]
    pub fn whole(&self) -> i128 {
        let quotient = self.nanos / NANOS;
        match self.nanos % NANOS {
            0 => quotient,
            rest => quotient + rest.signum(),
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

/// The multiplier of a suffix.
enum Scale {
    Binary(u32),
    Decimal(i64),
}

/// The parts of a quantity: sign, digits before and after the point, suffix.
struct Parts<'a> {
    negative: bool,
    integer: &'a [u8],
    fraction: &'a [u8],
    suffix: &'a [u8],
}

impl<'a> Parts<'a> {
    fn of(text: &'a [u8]) -> Self {
        let (negative, rest) = match text.first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let (integer, rest) = rest.split_at(digits(rest));
        let (fraction, suffix) = match rest.first() {
            Some(b'.') => rest[1..].split_at(digits(&rest[1..])),
            _ => (&rest[..0], rest),
        };
        Self {
            negative,
            integer,
            fraction,
            suffix,
        }
    }

    fn scale(&self) -> Result<(Scale, Format), QuantityError> {
        let decimal = |exponent| Ok((Scale::Decimal(exponent), Format::Decimal));
        let binary = |exponent| Ok((Scale::Binary(exponent), Format::Binary));
        match self.suffix {
            b"" => decimal(0),
            b"n" => decimal(-9),
            b"u" => decimal(-6),
            b"m" => decimal(-3),
            b"k" => decimal(3),
            b"M" => decimal(6),
            b"G" => decimal(9),
            b"T" => decimal(12),
            b"P" => decimal(15),
            b"E" => decimal(18),
            b"Ki" => binary(10),
            b"Mi" => binary(20),
            b"Gi" => binary(30),
            b"Ti" => binary(40),
            b"Pi" => binary(50),
            b"Ei" => binary(60),
            [b'e' | b'E', exponent @ ..] => Ok((Scale::Decimal(parse_exponent(exponent)?), Format::Exponent)),
            _ => Err(QuantityError::Malformed),
        }
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    /// Reads the syntax of `resource.ParseQuantity`: an optional sign, digits with an optional point, and a suffix. A
    /// text without digits is zero, as there (`Gi`). Fractions of 10⁻⁹ are rounded away from zero.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Malformed);
        }
        let parts = Parts::of(text.as_bytes());
        let (scale, format) = parts.scale()?;
        let amount = match scale {
            Scale::Binary(shift) => scaled(parts.integer, parts.fraction, NANOS << shift),
            Scale::Decimal(exponent) if exponent >= -9 => match power_of_ten(exponent + 9) {
                Some(factor) => scaled(parts.integer, parts.fraction, factor),
                None => only_zero(&parts),
            },
            Scale::Decimal(exponent) => divided(&parts, exponent.unsigned_abs() - 9),
        };
        let amount = amount.ok_or(QuantityError::TooLarge)?;
        Ok(Self {
            nanos: if parts.negative { -amount } else { amount },
            format,
        })
    }
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// An exponent of at most 32 bits: an optional sign and at least one digit.
fn parse_exponent(text: &[u8]) -> Result<i64, QuantityError> {
    let (negative, number) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if number.is_empty() || digits(number) != number.len() {
        return Err(QuantityError::Malformed);
    }
    let mut value: i64 = 0;
    for digit in number {
        value = value * 10 + i64::from(digit - b'0');
        if value > i64::from(i32::MAX) {
            return Err(QuantityError::Exponent);
        }
    }
    Ok(if negative { -value } else { value })
}

/// 10 to the power of `exponent`, if it fits into an i128.
fn power_of_ten(exponent: i64) -> Option<i128> {
    let exponent = u32::try_from(exponent).ok()?;
    // Fast path: every suffix but `E` fits into a word.
    match 10_u64.checked_pow(exponent) {
        Some(power) => Some(power.into()),
        None => 10_i128.checked_pow(exponent),
    }
}

/// The number that the digits represent, if it fits into an i128.
fn number(digits: &[u8]) -> Option<i128> {
    // Eighteen digits always fit into a word. Few quantities have more.
    let (first, rest) = digits.split_at(digits.len().min(18));
    let first = first
        .iter()
        .fold(0, |number: u64, digit| number * 10 + u64::from(digit - b'0'));
    rest.iter().try_fold(i128::from(first), |number, digit| {
        number.checked_mul(10)?.checked_add(i128::from(digit - b'0'))
    })
}

fn only_zero(parts: &Parts<'_>) -> Option<i128> {
    let zero = parts.integer.iter().chain(parts.fraction).all(|digit| *digit == b'0');
    zero.then_some(0)
}

/// `integer.fraction · factor`, rounded up; `None` if it does not fit into an i128.
fn scaled(integer: &[u8], fraction: &[u8], factor: i128) -> Option<i128> {
    let whole = number(integer)?.checked_mul(factor)?;
    if fraction.is_empty() {
        return Some(whole);
    }
    // Horner's scheme, from the last digit. Nested quotients are exact; `inexact` records a remainder.
    let mut part: i128 = 0;
    let mut inexact = false;
    for digit in fraction.iter().rev() {
        let sum = factor.checked_mul(i128::from(digit - b'0'))?.checked_add(part)?;
        part = sum / 10;
        inexact |= sum % 10 != 0;
    }
    whole.checked_add(part)?.checked_add(i128::from(inexact))
}

/// `integer.fraction · 10⁹ / 10^(9 + places)`, rounded up: the number without its last `places` digits before the
/// point.
fn divided(parts: &Parts<'_>, places: u64) -> Option<i128> {
    let places = usize::try_from(places).unwrap_or(usize::MAX);
    let kept = parts.integer.len().saturating_sub(places);
    let (kept, cut) = parts.integer.split_at(kept);
    let amount = number(kept)?;
    let inexact = cut.iter().chain(parts.fraction).any(|digit| *digit != b'0');
    amount.checked_add(i128::from(inexact))
}

impl fmt::Display for Quantity {
    /// The canonical form of Kubernetes: no fraction, and the largest suffix that allows this.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let binary = self.format == Format::Binary && self.nanos % NANOS == 0 && self.nanos.abs() >= 1024 * NANOS;
        if binary {
            self.write_binary(f)
        } else {
            self.write_decimal(f)
        }
    }
}

impl Quantity {
    fn write_binary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = self.nanos / NANOS;
        // Shift instead of dividing: a factor of 1024 is ten zero bits, and a 128-bit division is a function call.
        let suffix = (amount.trailing_zeros() / 10).min(6);
        let name = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][suffix as usize];
        let amount = amount >> (10 * suffix);
        match i64::try_from(amount) {
            Ok(amount) => write!(f, "{amount}{name}"),
            Err(_) => write!(f, "{amount}{name}"),
        }
    }

    fn write_decimal(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut amount = self.nanos;
        let mut thousands = 0;
        while amount % 1000 == 0 && (thousands < 9 || self.format == Format::Exponent) {
            amount /= 1000;
            thousands += 1;
        }
        if self.format != Format::Exponent {
            return write!(
                f,
                "{amount}{}",
                ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"][thousands]
            );
        }
        match thousands {
            3 => write!(f, "{amount}"),
            _ => write!(f, "{amount}e{}", 3 * i64::try_from(thousands).unwrap_or(0) - 9),
        }
    }
}

// Native only: the test runner for wasm has no proptest.
#[cfg(all(test, not(target_family = "wasm")))]
#[path = "quantity_tests.rs"]
mod tests;
