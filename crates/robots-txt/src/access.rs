//! What the answer to a request for /robots.txt means.

use std::{fmt, time::Duration};

use super::{Dialect, StatusReading};

/// Redirects that are followed at most; after more, the file counts as absent
/// (RFC 9309 §2.3.1.2).
const MAX_REDIRECTS: u32 = 5;

/// What a robot may do, by how /robots.txt was answered.
///
/// # Example
///
/// ```
/// use robot_detection_robots_txt::{Access, Dialect};
///
/// let dialect = Dialect::rfc9309();
/// assert_eq!(Access::from_status(200, 0, &dialect), Access::Rules);
/// assert_eq!(Access::from_status(404, 0, &dialect), Access::AllowAll);
/// assert_eq!(Access::from_status(503, 0, &dialect), Access::DenyAll { retry: true });
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// What the rules of the file say.
    Rules,
    /// Everything: there are no rules.
    AllowAll,
    /// Nothing.
    DenyAll {
        /// Whether the reason passes by itself, so that it is worth asking again soon.
        retry: bool,
    },
}

impl Access {
    /// Time after which a file that cannot be reached counts as absent (RFC 9309 §2.3.1.4).
    pub const UNREACHABLE_LIMIT: Duration = Duration::from_hours(30 * 24);

    /// Creates what a dialect makes of a status, after so many redirects were followed.
    ///
    /// 0 stands for no answer: no name, no connection, a timeout. A status of
    /// 3xx means that the redirects were given up. 304 is no answer to this
    /// question: it says that the copy at hand is still good.
    ///
    /// | dialect's `status` | rules | all | nothing |
    /// | --- | --- | --- | --- |
    /// | `Standard` (RFC 9309 §2.3.1) | 2xx | 3xx, over five redirects, 4xx | 5xx, 0 |
    /// | `Google` | 2xx | the same without 429 | 429, 5xx, 0 |
    /// | `Restricted` (HTTP:TDG 9.4.2) | 2xx | 3xx, other 4xx | 401, 403; for now 5xx, 0 |
    /// | `AllowsAll` | 2xx | whatever else | |
    /// | `OnlyOk` | 200 | whatever else | |
    #[must_use]
    pub const fn from_status(status: u16, redirects: u32, dialect: &Dialect) -> Self {
        match (dialect.status, status) {
            (
                StatusReading::Standard | StatusReading::Google | StatusReading::OnlyOk,
                200..=299,
            ) if redirects > MAX_REDIRECTS => Self::AllowAll,
            (StatusReading::OnlyOk, 200) => Self::Rules,
            (StatusReading::OnlyOk, _) => Self::AllowAll,
            (_, 200..=299) => Self::Rules,
            (StatusReading::Google, 429) => Self::DenyAll { retry: true },
            (StatusReading::Restricted, 401 | 403) => Self::DenyAll { retry: false },
            (StatusReading::AllowsAll, _) | (_, 300..=499) => Self::AllowAll,
            _ => Self::DenyAll { retry: true },
        }
    }

    /// Returns the access after the file has been out of reach for so long.
    ///
    /// A refusal for now ends after [`UNREACHABLE_LIMIT`](Self::UNREACHABLE_LIMIT),
    /// 30 days: the file then counts as absent (RFC 9309 §2.3.1.4). A robot that
    /// has an older copy may go by that instead. Whoever is stricter does not ask.
    ///
    /// ```
    /// use std::time::Duration;
    /// use robot_detection_robots_txt::{Access, Dialect};
    ///
    /// let access = Access::from_status(0, 0, &Dialect::rfc9309());
    /// let day = Duration::from_hours(24);
    /// assert_eq!(access.unreachable_for(day), access);
    /// assert_eq!(access.unreachable_for(31 * day), Access::AllowAll);
    /// ```
    #[must_use]
    pub const fn unreachable_for(self, duration: Duration) -> Self {
        match self {
            Self::DenyAll { retry: true }
                if duration.as_secs() >= Self::UNREACHABLE_LIMIT.as_secs() =>
            {
                Self::AllowAll
            }
            _ => self,
        }
    }

    /// Returns the octets of the file to go by, of those that came.
    ///
    /// Without rules they are none, or ones that refuse everything: /robots.txt
    /// itself stays allowed where the dialect says so.
    #[must_use]
    pub const fn file(self, body: &[u8]) -> &[u8] {
        match self {
            Self::Rules => body,
            Self::AllowAll => b"",
            Self::DenyAll { .. } => b"User-agent: *\nDisallow: /\n",
        }
    }

    /// Returns the word for it: `rules`, `allow_all` or `disallow_all`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::AllowAll => "allow_all",
            Self::DenyAll { .. } => "disallow_all",
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "rules";
    const ALL: &str = "allow_all";
    const NONE: &str = "disallow_all";

    fn words(status: u16, redirects: u32) -> Vec<&'static str> {
        ["rfc9309", "google", "tdg", "v0", "yandex"]
            .map(|name| Access::from_status(status, redirects, &name.parse().unwrap()).as_str())
            .to_vec()
    }

    #[test]
    fn each_dialect_reads_the_status_in_its_way() {
        for (status, expected) in [
            (200, [RULES, RULES, RULES, RULES, RULES]),
            (204, [RULES, RULES, RULES, RULES, ALL]),
            (301, [ALL, ALL, ALL, ALL, ALL]),
            (400, [ALL, ALL, ALL, ALL, ALL]),
            (401, [ALL, ALL, NONE, ALL, ALL]),
            (403, [ALL, ALL, NONE, ALL, ALL]),
            (404, [ALL, ALL, ALL, ALL, ALL]),
            (410, [ALL, ALL, ALL, ALL, ALL]),
            (429, [ALL, NONE, ALL, ALL, ALL]),
            (500, [NONE, NONE, NONE, ALL, ALL]),
            (503, [NONE, NONE, NONE, ALL, ALL]),
            (0, [NONE, NONE, NONE, ALL, ALL]),
            (999, [NONE, NONE, NONE, ALL, ALL]),
        ] {
            assert_eq!(words(status, 0), expected, "{status}");
        }
    }

    #[test]
    fn a_file_behind_six_redirects_is_as_good_as_absent() {
        assert_eq!(words(200, 5), [RULES; 5]);
        assert_eq!(words(200, 6), [ALL, ALL, RULES, RULES, ALL]);
    }

    #[test]
    fn only_a_refusal_for_now_ends_after_thirty_days() {
        let days = |days: u64| Duration::from_hours(24 * days);
        let down = Access::from_status(503, 0, &Dialect::rfc9309());
        assert_eq!(down.unreachable_for(days(29)), down);
        assert_eq!(down.unreachable_for(days(30)), Access::AllowAll);
        let forbidden = Access::from_status(403, 0, &Dialect::tdg());
        assert_eq!(forbidden.unreachable_for(days(99)), forbidden);
    }
}
