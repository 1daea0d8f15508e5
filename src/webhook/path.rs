//! The paths of the server, and the secret part of them that only API servers know.

use subtle::ConstantTimeEq as _;

/// 192 bits: impossible to guess.
const BYTES: usize = 24;
/// The minimum length of a given secret: more than 128 bits, if the characters are random.
const SHORTEST: usize = 26;

/// The last part of the path, which only API servers know. Requests without it are not answered.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretPath(String);

impl std::fmt::Debug for SecretPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretPath").finish_non_exhaustive()
    }
}

/// A text that is no valid secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected at least {SHORTEST} lower case letters, digits or `-` inside, but found something else")]
pub struct NotSecret;

/// The operating system gives no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to get random numbers from the operating system")]
pub struct NotRandom;

impl SecretPath {
    /// A new random secret.
    ///
    /// # Errors
    /// [`NotRandom`], which does not occur on Linux.
    pub fn make() -> Result<Self, NotRandom> {
        let mut bytes = [0; BYTES];
        let random = rustls::crypto::ring::default_provider().secure_random;
        random.fill(&mut bytes).map_err(|_| NotRandom)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Reads a given secret; surrounding space does not count. API servers allow no other characters in the path of a
    /// Service.
    ///
    /// # Errors
    /// [`NotSecret`] if the text is too short, or invalid in a path.
    pub fn read(text: &str) -> Result<Self, NotSecret> {
        let text = text.trim_ascii();
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_inside = !text.starts_with('-') && !text.ends_with('-');
        if text.len() < SHORTEST || !text.bytes().all(fits) || !is_inside {
            return Err(NotSecret);
        }
        Ok(Self(text.to_owned()))
    }

    /// The secret as a part of the path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares in constant time; the time depends only on whether the lengths are equal.
    fn is(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }
}

/// The path of a policy.
#[must_use]
pub fn of_policy(policy: &str, secret: Option<&SecretPath>) -> String {
    match secret {
        Some(secret) => format!("/validate/{policy}/{}", secret.as_str()),
        None => format!("/validate/{policy}"),
    }
}

/// The destination of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination<'a> {
    /// The health endpoint.
    Health,
    /// The policy of this name, if there is one.
    Policy(&'a str),
    /// No valid path.
    Nothing,
}

/// The destination of this path, given these secrets. Without secrets, the name of a policy is enough.
pub(super) fn asked<'a>(path: &'a str, secrets: &[SecretPath]) -> Destination<'a> {
    if path == "/healthz" {
        return Destination::Health;
    }
    let Some(rest) = path.strip_prefix("/validate/") else {
        return Destination::Nothing;
    };
    match rest.split_once('/') {
        None if secrets.is_empty() => Destination::Policy(rest),
        // All are compared, so that the time does not reveal which one matched.
        Some((policy, given)) if secrets.iter().fold(false, |known, secret| known | secret.is(given)) => {
            Destination::Policy(policy)
        }
        _ => Destination::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::{Destination, NotSecret, SecretPath, asked, of_policy};

    #[test]
    fn asked_path_without_the_secret_is_nothing() {
        let secrets = [SecretPath::make().unwrap(), SecretPath::make().unwrap()];
        let secret = secrets[1].as_str();
        let short = &secret[..secret.len() - 1];
        for (path, open, secured) in [
            ("/healthz".to_owned(), Destination::Health, Destination::Health),
            ("/validate/a".to_owned(), Destination::Policy("a"), Destination::Nothing),
            ("/validate/".to_owned(), Destination::Policy(""), Destination::Nothing),
            (
                format!("/validate/a/{secret}"),
                Destination::Nothing,
                Destination::Policy("a"),
            ),
            (
                format!("/validate/a/{short}"),
                Destination::Nothing,
                Destination::Nothing,
            ),
            (
                format!("/validate/a/{secret}/"),
                Destination::Nothing,
                Destination::Nothing,
            ),
            (
                format!("/validate/a/b/{secret}"),
                Destination::Nothing,
                Destination::Nothing,
            ),
            ("/validate/a/".to_owned(), Destination::Nothing, Destination::Nothing),
            (format!("/{secret}"), Destination::Nothing, Destination::Nothing),
            ("/metrics".to_owned(), Destination::Nothing, Destination::Nothing),
            (String::new(), Destination::Nothing, Destination::Nothing),
        ] {
            assert_eq!(asked(&path, &[]), open, "{path} without a secret");
            assert_eq!(asked(&path, &secrets), secured, "{path}");
        }
        assert_eq!(
            asked(&of_policy("a", Some(&secrets[0])), &secrets),
            Destination::Policy("a")
        );
        assert_eq!(asked(&of_policy("a", None), &[]), Destination::Policy("a"));
    }

    #[test]
    fn secret_made_twice_is_another_and_can_be_read() {
        let made = SecretPath::make().unwrap();
        assert_ne!(SecretPath::make().unwrap(), made);
        assert_eq!(SecretPath::read(&format!(" {}\n", made.as_str())), Ok(made.clone()));
        assert!(
            !format!("{made:?}").contains(made.as_str()),
            "a secret is never printed"
        );
    }

    #[test]
    fn secret_that_is_short_or_no_part_of_a_path_is_denied() {
        for (text, is_one) in [
            ("", false),
            ("0123456789abcdefghijklmno", false),
            ("0123456789abcdefghijklmnop", true),
            ("0123456789abcdefghijkl-nop", true),
            ("0123456789abcdefghijklmno-", false),
            ("-123456789abcdefghijklmnop", false),
            ("0123456789abcdefghijklmnoP", false),
            ("0123456789abcdefghijklm_op", false),
            ("0123456789abcdefgh/jklmnop", false),
            ("0123456789abcdefgh jklmnop", false),
            ("0123456789abcdefghijklmnop%", false),
        ] {
            let read = SecretPath::read(text).map(|secret| secret.as_str().to_owned());
            let expected = if is_one { Ok(text.to_owned()) } else { Err(NotSecret) };
            assert_eq!(read, expected, "{text}");
        }
    }
}
