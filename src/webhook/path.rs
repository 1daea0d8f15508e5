//! Under which paths the server answers, and the part of them that only API servers know.

use subtle::ConstantTimeEq as _;

/// 192 bits: no number of guesses finds it.
const BYTES: usize = 24;
/// The fewest characters of one that somebody else has made: more than 128 bits, if they are chosen at random.
const SHORTEST: usize = 26;

/// The last part of the path, which only API servers know. Who does not know it is not answered.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretPath(String);

impl std::fmt::Debug for SecretPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretPath").finish_non_exhaustive()
    }
}

/// Why a text is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected at least {SHORTEST} lower case letters, digits or `-` inside, but found something else")]
pub struct NotSecret;

/// The operating system gives no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to get random numbers from the operating system")]
pub struct NotRandom;

impl SecretPath {
    /// A new one.
    ///
    /// # Errors
    /// [`NotRandom`], which no Linux does.
    pub fn make() -> Result<Self, NotRandom> {
        let mut bytes = [0; BYTES];
        let random = rustls::crypto::ring::default_provider().secure_random;
        random.fill(&mut bytes).map_err(|_| NotRandom)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// One that somebody else has made; space around it does not count. API servers take no other characters in the
    /// path of a Service.
    ///
    /// # Errors
    /// [`NotSecret`] if it is too short to be one, or cannot stand in a path.
    pub fn read(text: &str) -> Result<Self, NotSecret> {
        let text = text.trim_ascii();
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_inside = !text.starts_with('-') && !text.ends_with('-');
        if text.len() < SHORTEST || !text.bytes().all(fits) || !is_inside {
            return Err(NotSecret);
        }
        Ok(Self(text.to_owned()))
    }

    /// As it stands in a path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True iff it is this; how long that takes says nothing but whether the lengths are equal.
    fn is(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }
}

/// Where a policy of this name is asked.
#[must_use]
pub fn of_policy(policy: &str, secret: Option<&SecretPath>) -> String {
    match secret {
        Some(secret) => format!("/validate/{policy}/{}", secret.as_str()),
        None => format!("/validate/{policy}"),
    }
}

/// What a path asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination<'a> {
    /// Whether the server is alive.
    Health,
    /// The policy of this name, if there is one.
    Policy(&'a str),
    /// Nothing: who asks does not know the paths.
    Nothing,
}

/// What this path asks for, where these are the secrets; without any the name of a policy is enough.
pub(super) fn asked<'a>(path: &'a str, secrets: &[SecretPath]) -> Destination<'a> {
    if path == "/healthz" {
        return Destination::Health;
    }
    let Some(rest) = path.strip_prefix("/validate/") else {
        return Destination::Nothing;
    };
    match rest.split_once('/') {
        None if secrets.is_empty() => Destination::Policy(rest),
        // All are compared, so that the time does not tell which it was.
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
        assert!(!format!("{made:?}").contains(made.as_str()), "it is never printed");
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
