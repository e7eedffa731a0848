//! Stored evidence of a single request.

use super::sql;

/// Events for which evidence is stored.
///
/// A request that violates robots.txt is a `violation`, regardless of the decision. A request from
/// an `impostor` or for a `trap` violated no rule that applies to the visitor, and a request from a
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

/// Word that matches every reason for suspicion.
pub const ANY_REASON: &str = "any";

columns! {
    /// Request stored as evidence.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct Evidence {
        /// Time of the request, in milliseconds since the Unix epoch.
        pub at_ms: i64,
        /// Event for which the request is stored, one of [`EVIDENCE_EVENTS`].
        pub event: String,
        /// Name of the site that received the request.
        pub site: String,
        /// Kind of visitor that sent the request.
        pub kind: String,
        /// ID of the robot that sent the request; empty for human visitors.
        pub robot: String,
        /// Verdict on the request's claim; `none` if there was no claim or no verification.
        pub verdict: String,
        /// Decision for the request; in a dry run, the decision that would have been enforced.
        pub decision: String,
        /// Cause of the decision: the label of a rule, or a word.
        pub cause: String,
        /// HTTP status of the response.
        pub status: u16,
        /// HTTP method of the request.
        pub method: String,
        /// Host that was requested.
        pub host: String,
        /// Path without the query; for human visitors, only the pattern of the path.
        pub path: String,
        /// Address or network of the client; empty if addresses are not stored.
        pub address: String,
        /// `User-Agent` header of the request.
        pub user_agent: String,
        /// Host of the referring page.
        pub referrer: String,
        /// Evidence that contradicts an impostor's claim.
        pub proof: String,
        /// Robots.txt rule or delay that the request violated, if any.
        pub broken: Option<BrokenRule>,
        /// Comma-separated codes of the reasons for suspicion; empty if the visitor was not a
        /// suspect.
        pub suspect: String,
    }
}

/// Robots.txt rule that a request violated, as it was at the time of the request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum BrokenRule {
    /// A disallowed path was requested.
    Rule {
        /// Line number of the rule, starting at 1; 0 if a setting refuses the robot.
        line: u64,
        /// Text of the robots.txt rule.
        rule: String,
        /// Line number of the first `User-agent` line in the group.
        group_line: u64,
        /// User-agent names in the rule's group.
        group: String,
    },
    /// The `Crawl-delay` was not observed.
    Delay {
        /// Delay that robots.txt requires, in milliseconds.
        delay_ms: u64,
        /// Delay that the robot observed, in milliseconds.
        gap_ms: u64,
    },
}

columns! {
    /// Columns in which a [`BrokenRule`] is stored.
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
