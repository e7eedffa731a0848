//! Stored evidence of a single request.

use super::sql;

/// Event words of evidence.
///
/// A robots.txt violation is a `violation` regardless of the decision. An `impostor` broke no rule,
/// a `trap` was requested without breaking a rule that applies to the visitor, and the request of a
/// `suspect` was passed.
pub const EVIDENCE_EVENTS: [&str; 8] = [
    "redirect",
    "serve",
    "refuse",
    "slow",
    "impostor",
    "violation",
    "trap",
    "suspect",
];

/// Word that matches any reason for suspicion.
pub const ANY_REASON: &str = "any";

columns! {
    /// Request stored as evidence.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct Evidence {
        /// Time of the request, in milliseconds since the Unix epoch.
        pub at_ms: i64,
        /// Event, one of [`EVIDENCE_EVENTS`].
        pub event: String,
        /// Name of the site.
        pub site: String,
        /// Kind of the visitor.
        pub kind: String,
        /// ID of the robot; empty for human visitors.
        pub robot: String,
        /// Verdict on the request's claim; `none` without a claim or verification.
        pub verdict: String,
        /// Decision for the request, or the decision that a dry run would have enforced.
        pub decision: String,
        /// Cause of the decision: the rule's label, or a word.
        pub cause: String,
        /// HTTP status of the response.
        pub status: u16,
        /// HTTP method of the request.
        pub method: String,
        /// Requested host.
        pub host: String,
        /// Path without the query; for human visitors, the path's pattern.
        pub path: String,
        /// Address or network of the client; empty if addresses are not stored.
        pub address: String,
        /// User-Agent header of the request.
        pub user_agent: String,
        /// Host of the referring page.
        pub referrer: String,
        /// Evidence that contradicts an impostor's claim.
        pub proof: String,
        /// Violated rule or delay of robots.txt, if any.
        pub broken: Option<BrokenRule>,
        /// Comma-separated codes of the reasons for suspicion; empty if the visitor was not
        /// suspect.
        pub suspect: String,
    }
}

/// Robots.txt rule that a request violated, as of the time of the request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum BrokenRule {
    /// Disallowed path.
    Rule {
        /// Line number of the rule, starting at 1; 0 for a setting that refuses the robot.
        line: u64,
        /// Text of the rule.
        rule: String,
        /// Line number of the group's first `User-agent`.
        group_line: u64,
        /// User-agent names of the group.
        group: String,
    },
    /// `Crawl-delay` that was not observed.
    Delay {
        /// Required delay, in milliseconds.
        delay_ms: u64,
        /// Actual delay, in milliseconds.
        gap_ms: u64,
    },
}

columns! {
    /// Columns of [`BrokenRule`], as stored.
    struct BrokenColumns {
        broken: String,
        line: u64,
        rule: String,
        group_line: u64,
        agents: String,
        delay_ms: u64,
        gap_ms: u64,
    }
}

column!(Option<BrokenRule>, BrokenColumns, |columns| Ok(
    match &*columns.broken {
        sql::RULE => Some(BrokenRule::Rule {
            line: columns.line,
            rule: columns.rule,
            group_line: columns.group_line,
            group: columns.agents,
        }),
        sql::DELAY => Some(BrokenRule::Delay {
            delay_ms: columns.delay_ms,
            gap_ms: columns.gap_ms,
        }),
        _ => None,
    }
));
