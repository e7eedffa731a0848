//! The beginning of a log, by which it is known again.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

use crate::store::TrafficImport;

/// Bytes that are looked at: some lines, which no other log has in the same seconds.
const HEAD_BYTES: usize = 4 * 1024;

/// Beginning of a log in whole lines.
#[derive(Debug)]
pub(super) struct Head {
    bytes: Vec<u8>,
    first_line: String,
    hash: String,
}

impl Head {
    /// Reads it; `None` of a log without a whole line.
    pub(super) fn read(log: impl Read) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        log.take(HEAD_BYTES as u64).read_to_end(&mut bytes)?;
        let is_end = |byte: &u8| *byte == b'\n';
        let (Some(first), Some(last)) = (
            bytes.iter().position(is_end),
            bytes.iter().rposition(is_end),
        ) else {
            // One line without an end, or a very long one: all of it is its beginning.
            let hash = hash(&bytes);
            return Ok((!bytes.is_empty()).then(|| Self {
                first_line: hash.clone(),
                bytes,
                hash,
            }));
        };
        bytes.truncate(last + 1);
        Ok(Some(Self {
            first_line: hash(bytes.get(..first).unwrap_or_default()),
            hash: hash(&bytes),
            bytes,
        }))
    }

    /// Returns the hash of the first line.
    pub(super) fn first_line(&self) -> &str {
        &self.first_line
    }

    /// Returns length and hash of all of it.
    pub(super) fn whole(&self) -> (u64, &str) {
        (self.bytes.len() as u64, &self.hash)
    }

    /// Returns `true` if a log that was counted began as this one does.
    pub(super) fn is_of(&self, known: &TrafficImport) -> bool {
        let length = usize::try_from(known.head_bytes).unwrap_or(usize::MAX);
        let begun = self.bytes.get(..length);
        begun.is_some_and(|begun| hash(begun) == known.head)
    }
}

fn hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Head {
        Head::read(text.as_bytes()).unwrap().unwrap()
    }

    fn known(head: &Head) -> TrafficImport {
        let (head_bytes, hash) = head.whole();
        TrafficImport {
            import_id: hash.to_owned(),
            first_line: head.first_line().to_owned(),
            head_bytes,
            head: hash.to_owned(),
            name: String::new(),
            counted: 0,
            requests: 0,
        }
    }

    #[test]
    fn a_log_that_has_grown_is_the_same() {
        let short = head("a\nb\n");
        let long = format!("a\nb\n{}", "c\n".repeat(5_000));
        assert!(head(&long).is_of(&known(&short)));
        assert!(head("a\nb\nhalf a li").is_of(&known(&short)));
        assert_eq!(head(&long).first_line(), short.first_line());
        for other in ["a\nc\n", "a\n", "b\nb\n", ""] {
            let other = Head::read(other.as_bytes()).unwrap();
            assert!(!other.is_some_and(|other| other.is_of(&known(&short))));
        }
    }
}
