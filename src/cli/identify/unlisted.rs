//! User-Agents of robots that no registry lists, as many as fit.

use std::collections::HashMap;

use super::tally::{Count, Row};

/// Most User-Agents that are told apart; later ones are counted together.
const MAX_NAMES: usize = 10_000;

/// Bytes of a User-Agent by which it is told apart.
const MAX_NAME_BYTES: usize = 256;

/// Counter of User-Agents that takes at most a few megabytes.
#[derive(Debug, Default)]
pub(super) struct UnlistedNames {
    names: HashMap<Box<[u8]>, Count>,
    others: Count,
}

impl UnlistedNames {
    pub(super) fn hit(&mut self, user_agent: &[u8], bytes: u64) {
        let name = user_agent.get(..MAX_NAME_BYTES).unwrap_or(user_agent);
        if let Some(count) = self.names.get_mut(name) {
            count.hit(bytes);
        } else if self.names.len() < MAX_NAMES {
            self.names.insert(name.into(), Count { hits: 1, bytes });
        } else {
            self.others.hit(bytes);
        }
    }

    /// Returns a row for each, and one without a name for all others.
    pub(super) fn rows(&self) -> Vec<Row> {
        let named = self.names.iter().map(|(name, count)| Row {
            cells: vec![Some(String::from_utf8_lossy(name).into_owned())],
            count: *count,
        });
        let others = (self.others.hits > 0).then_some(Row {
            cells: vec![None],
            count: self.others,
        });
        named.chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_no_hit_is_lost() {
        let mut names = UnlistedNames::default();
        for number in 0..MAX_NAMES as u64 + 5 {
            names.hit(format!("robot{number}").as_bytes(), 2);
        }
        names.hit(b"robot7", 1);
        let long = b"x".repeat(2 * MAX_NAME_BYTES);
        names.hit(&long, 1);
        let rows = names.rows();
        assert_eq!(rows.len(), MAX_NAMES + 1);
        let find = |name: Option<&str>| {
            let name = name.map(str::to_owned);
            rows.iter()
                .find(|row| row.cells == [name.clone()])
                .unwrap()
                .count
        };
        assert_eq!(find(Some("robot7")), Count { hits: 2, bytes: 3 });
        assert_eq!(find(None), Count { hits: 6, bytes: 11 });
    }

    #[test]
    fn long_names_are_cut() {
        let mut names = UnlistedNames::default();
        names.hit(&b"x".repeat(MAX_NAME_BYTES), 0);
        names.hit(&b"x".repeat(100 * MAX_NAME_BYTES), 0);
        assert_eq!(names.rows().len(), 1);
    }
}
