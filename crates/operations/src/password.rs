//! Generation, hashing and verification of passwords.

use argon2::{
    Argon2,
    password_hash::{PasswordHasher, PasswordVerifier, generate_salt, phc::PasswordHash},
};

/// Maximum length of a password; the limit keeps long guesses from taking more time.
pub const MAX_PASSWORD_BYTES: usize = 1_024;
/// Minimum length of a password that an administrator chooses.
pub const MIN_PASSWORD_CHARS: usize = 12;

/// Number of groups in a password; each group has five letters and contains sixteen random bits.
const GROUPS: usize = 5;
// The letters of proquints (arXiv:0901.4016), which can be read aloud.
const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
const VOWELS: &[u8; 4] = b"aiou";

/// The error for a password that cannot be read, written or hashed.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the administrator's password: {0}")]
pub struct PasswordError(String);

impl PasswordError {
    /// Creates the error from a reason.
    pub fn new(reason: String) -> Self {
        Self(reason)
    }
}

/// Generates a password that can be read aloud.
///
/// The password has five groups of five letters, separated by hyphens, and contains 80 random bits
/// in 29 characters, such as `lusab-babad-gutih-tugad-mudof`.
///
/// # Panics
///
/// Panics if the operating system cannot provide random numbers.
pub fn generate_password() -> String {
    let random = generate_salt();
    let groups: Vec<String> = random
        .chunks_exact(2)
        .take(GROUPS)
        .map(|pair| {
            pair.iter()
                .fold(0, |bits, byte| bits << 8 | u16::from(*byte))
        })
        .map(group)
        .collect();
    groups.join("-")
}

/// Hashes a password with argon2id and returns the hash as a PHC string.
///
/// # Errors
///
/// Returns an error if the password is longer than 1,024 bytes, or if the operating system cannot
/// provide random numbers.
pub fn hash_password(password: &str) -> Result<String, PasswordError> {
    if password.len() > MAX_PASSWORD_BYTES {
        return Err(PasswordError(format!(
            "longer than {MAX_PASSWORD_BYTES} bytes"
        )));
    }
    Argon2::default()
        .hash_password(password.as_bytes())
        .map(|hash: PasswordHash| hash.to_string())
        .map_err(|error| PasswordError(error.to_string()))
}

/// Returns `true` if the password matches the hash.
pub fn verify_password(password: &str, hash: &str) -> bool {
    password.len() <= MAX_PASSWORD_BYTES
        // The parameters are part of the hash, so a password remains valid if the defaults change.
        && PasswordHash::new(hash).is_ok_and(|hash| {
            Argon2::default()
                .verify_password(password.as_bytes(), &hash)
                .is_ok()
        })
}

/// Encodes sixteen bits as consonant, vowel, consonant, vowel, consonant.
fn group(bits: u16) -> String {
    let letter = |set: &[u8], shift: u32| {
        // The size of both sets is a power of two, so all letters are equally likely.
        let index = usize::from(bits >> shift) % set.len();
        set.get(index).map_or('a', |byte| char::from(*byte))
    };
    [
        letter(CONSONANTS, 12),
        letter(VOWELS, 10),
        letter(CONSONANTS, 6),
        letter(VOWELS, 4),
        letter(CONSONANTS, 0),
    ]
    .into_iter()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_password_is_long_and_unique() {
        let first = generate_password();
        assert!(first.len() >= 20, "{first}");
        assert!(first.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
        assert_ne!(first, generate_password());
    }

    #[test]
    fn every_bit_of_a_group_is_spelled() {
        assert_eq!(group(0), "babab");
        assert_eq!(group(u16::MAX), "zuzuz");
        for bit in 0..16 {
            assert_ne!(group(1 << bit), group(0), "bit {bit}");
        }
    }

    #[test]
    fn only_the_right_password_is_verified() {
        let hash = hash_password("correct horse").unwrap();
        assert!(hash.starts_with("$argon2id$"), "{hash}");
        assert!(verify_password("correct horse", &hash));
        assert!(!verify_password("correct horse ", &hash));
        assert!(!verify_password("", &hash));
        assert!(!verify_password("correct horse", "not a hash"));
    }

    #[test]
    fn password_of_a_megabyte_is_refused() {
        assert!(hash_password(&"a".repeat(1 << 20)).is_err());
    }
}
