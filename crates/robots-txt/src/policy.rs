//! Tokens and labels of the drafts: groups that state a preference about the use of pages instead of
//! naming a robot, and labels that were dropped.

use super::{RobotRules, RobotsTxt};

/// A token that a `User-agent` line contains instead of a robot's name, so that the group states
/// for which paths a use is permitted.
///
/// Such a group says nothing about fetching. Only a group that contains the token states a
/// preference: the `*` groups are about fetching.
// Of the draft, only the title, the abstract and the metadata could be read. The abstract states
// that groups, paths and the longest match of RFC 9309 are unchanged. The token is from a secondary
// source, and that `*` states no preference is our reading.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PolicyToken {
    /// The use of pages, as a label of the AI Preferences vocabulary.
    pub usage: &'static str,
    /// The token.
    pub token: &'static str,
    /// The draft that defines the token.
    pub draft: &'static str,
    /// The section of the draft on which the implementation is based.
    pub section: &'static str,
    /// The status of the draft.
    pub state: &'static str,
}

/// The beginning of all tokens.
const PREFIX: &str = "__usage_";

impl PolicyToken {
    /// All known tokens.
    pub const ALL: [Self; 1] = [Self {
        usage: "train-ai",
        token: "__usage_ai-training",
        draft: "draft-kelley-aipref-training-preference-signal-00",
        section: "abstract",
        state: "individual draft of 2026-10-30",
    }];
}

impl RobotsTxt {
    /// Returns the rules that state for which paths a use is permitted, or `None` if no group
    /// contains the token.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_robots_txt::{Dialect, PolicyToken, RobotsTxt};
    ///
    /// let text = b"User-agent: __usage_ai-training\nDisallow: /\nAllow: /press/\n";
    /// let file = RobotsTxt::parse(text, Dialect::rfc9309());
    /// let training = file.policy(&PolicyToken::ALL[0]).expect("a group");
    /// assert!(!training.check("/a").allowed());
    /// assert!(training.check("/press/a").allowed());
    /// assert!(file.for_robot("GPTBot").check("/a").allowed());
    /// ```
    #[must_use]
    pub fn policy(&self, token: &PolicyToken) -> Option<RobotRules> {
        Some(self.for_robot(token.token)).filter(RobotRules::is_named)
    }
}

/// Labels of `Content-Usage` that a version of draft-ietf-aipref-vocab dropped, with the number and
/// date of this version.
const DROPPED: [(&str, &str); 8] = [
    ("tdm", "02 of 2025-07-21"),
    ("ai", "02 of 2025-07-21"),
    ("genai", "02 of 2025-07-21"),
    ("inference", "02 of 2025-07-21"),
    ("all", "03 of 2025-09-05"),
    ("train-genai", "04 of 2025-10-28"),
    ("bots", "05 of 2025-12-01"),
    ("ai-output", "05 of 2025-12-01"),
];

/// Returns the draft that dropped a label of `Content-Usage`.
#[must_use]
pub fn dropped_label(label: &str) -> Option<String> {
    let (_, version) = DROPPED.iter().find(|(dropped, _)| *dropped == label)?;
    Some(format!("draft-ietf-aipref-vocab-{version}"))
}

/// Returns `true` if a `User-agent` value addresses a use of pages instead of a robot.
pub(super) fn is_policy(name: &[u8]) -> bool {
    let start = name.get(..PREFIX.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(PREFIX.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, merge};

    const TRAINING: &str = "__usage_ai-training";

    /// Parses a file in which `|` ends a line.
    fn parse(text: &str) -> RobotsTxt {
        RobotsTxt::parse(text.replace('|', "\n").as_bytes(), Dialect::default())
    }

    /// Returns whether a file permits a use for a path, `None` without a statement.
    fn stated(text: &str, token: &str, path: &str) -> Option<bool> {
        let token = PolicyToken {
            token: if token == TRAINING {
                TRAINING
            } else {
                "__usage_example"
            },
            ..PolicyToken::ALL[0]
        };
        let file = parse(text);
        Some(file.policy(&token)?.check(path).allowed())
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table of cases")]
    fn groups_state_for_which_paths_a_use_is_permitted() {
        const T: &str = "User-agent: __usage_ai-training";
        let (no, yes, none) = (Some(false), Some(true), None);
        // The abstract states that groups, paths and the longest match follow RFC 9309: the
        // sections are listed; that `*` states no preference is our reading.
        for (section, text, path, expected) in [
            ("abstract", "T|Disallow: /", "/", no),
            ("abstract", "T|Disallow: /", "/a", no),
            ("abstract", "T|Allow: /", "/a", yes),
            ("abstract", "T|Disallow:", "/a", yes),
            ("abstract", "T", "/a", yes),
            ("abstract", "", "/a", none),
            ("abstract", "User-agent: *|Disallow: /", "/a", none),
            (
                "abstract",
                "User-agent: *|Disallow: /||T|Allow: /",
                "/a",
                yes,
            ),
            (
                "abstract",
                "User-agent: *|Allow: /||T|Disallow: /",
                "/a",
                no,
            ),
            ("abstract", "User-agent: GPTBot|Disallow: /", "/a", none),
            (
                "abstract",
                "User-agent: GPTBot|Allow: /||T|Disallow: /",
                "/a",
                no,
            ),
            (
                "abstract",
                "User-agent: GPTBot|Disallow: /||T|Allow: /",
                "/a",
                yes,
            ),
            ("2.2.1", "User-agent: GPTBot|T|Disallow: /", "/a", no),
            ("2.2.1", "T|User-agent: GPTBot|Disallow: /", "/a", no),
            ("2.2.1", "User-agent: *|T|Disallow: /", "/a", no),
            (
                "2.2.1",
                "USER-AGENT: __USAGE_AI-Training|Disallow: /",
                "/a",
                no,
            ),
            ("2.2.1", "T|Disallow: /a||T|Disallow: /b", "/a", no),
            ("2.2.1", "T|Disallow: /a||T|Disallow: /b", "/b", no),
            (
                "2.2.1",
                "T|Disallow: /a||User-agent: x|Disallow: /c||T|Disallow: /b",
                "/b",
                no,
            ),
            (
                "2.2.1",
                "User-agent: __usage_ai-trainin|Disallow: /",
                "/a",
                none,
            ),
            ("2.2.1", "User-agent: ai-training|Disallow: /", "/a", none),
            (
                "2.2.1",
                "User-agent: __usage_ai-training2|Disallow: /",
                "/a",
                none,
            ),
            ("2.2.2", "T|Disallow: /|Allow: /press/", "/press/a", yes),
            ("2.2.2", "T|Disallow: /|Allow: /press/", "/a", no),
            ("2.2.2", "T|Allow: /press/|Disallow: /", "/press/a", yes),
            ("2.2.2", "T|Disallow: /a|Allow: /a", "/a", yes),
            ("2.2.2", "T|Disallow: /blog/", "/a", yes),
            ("2.2.2", "T|Disallow: /blog/", "/blog/a", no),
            ("2.2.2", "T|Disallow: /a%3Cb", "/a%3cb", no),
            ("2.2.3", "T|Disallow: /*.pdf$", "/x/y.pdf", no),
            ("2.2.3", "T|Disallow: /*.pdf$", "/x/y.pdf?a", yes),
            ("2.2.3", "T|Disallow: /a # no", "/a", no),
            ("2.2.4", "T|Crawl-delay: 5|Disallow: /", "/a", no),
            ("2.2.4", "T|Content-Usage: train-ai=y|Disallow: /", "/a", no),
            (
                "2.2.4",
                "T|Disallow: /|Sitemap: https://a.example/s",
                "/a",
                no,
            ),
            ("2.1", "T||Disallow: /", "/a", no),
        ] {
            let text = text
                .split('|')
                .map(|line| if line == "T" { T } else { line })
                .collect::<Vec<_>>()
                .join("|");
            assert_eq!(
                stated(&text, TRAINING, path),
                expected,
                "{section} {text} {path}"
            );
            // The group addresses no robot.
            let file = parse(&text);
            let without = text.replace(T, "User-agent: nobody");
            let other = parse(&without);
            for robot in ["GPTBot", "x", "training", "ai"] {
                let allowed = |file: &RobotsTxt| file.for_robot(robot).check(path).allowed();
                assert_eq!(allowed(&file), allowed(&other), "{text} {robot}");
            }
        }
    }

    #[test]
    fn further_uses_have_their_own_groups() {
        let text =
            "User-agent: __usage_ai-training|Disallow: /||User-agent: __usage_example|Disallow: /b";
        assert_eq!(stated(text, TRAINING, "/a"), Some(false));
        assert_eq!(stated(text, "__usage_example", "/a"), Some(true));
        assert_eq!(stated(text, "__usage_example", "/b"), Some(false));
        let file = parse(text);
        let kinds: Vec<_> = file.warnings().iter().map(|it| it.kind.as_str()).collect();
        assert_eq!(kinds, ["policy-token"]);
    }

    #[test]
    fn merged_groups_do_not_get_the_rules_for_all_robots() {
        for (theirs, ours, path, expected) in [
            (
                "User-agent: *|Disallow: /s",
                "User-agent: __usage_ai-training|Disallow: /a",
                "/a",
                Some(false),
            ),
            (
                "User-agent: *|Disallow: /s",
                "User-agent: __usage_ai-training|Disallow: /a",
                "/s",
                Some(true),
            ),
            (
                "User-agent: __usage_ai-training|Disallow: /a",
                "User-agent: *|Disallow: /s",
                "/s",
                Some(true),
            ),
            (
                "User-agent: __usage_ai-training|Disallow: /a",
                "User-agent: __usage_ai-training|Disallow: /b",
                "/a",
                Some(false),
            ),
            (
                "User-agent: __usage_ai-training|Allow: /|Disallow: /a",
                "User-agent: __usage_ai-training|Disallow: /",
                "/b",
                Some(false),
            ),
            (
                "User-agent: *|Disallow: /",
                "User-agent: *|Disallow: /b",
                "/b",
                None,
            ),
        ] {
            let merged = merge(&parse(theirs), &parse(ours)).unwrap().text;
            let text = String::from_utf8(merged).unwrap();
            assert_eq!(
                stated(&text, TRAINING, path),
                expected,
                "{theirs} {ours} {path}"
            );
        }
    }
}
