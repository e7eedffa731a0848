//! Merging of one robot's rules from two files into one list.
//!
//! In each file, the longest matching rule decides. The longest rule also decides in the merged
//! list, where `Disallow` must win if it wins in one of the files. Therefore, the list contains a
//! rule with the decision of each pair of rules for their common paths. This rule is longer than
//! the rules of pairs that must not override it:
//!
//! - our `Disallow` rules are made longer than all `Allow` rules of the other file;
//! - our `Allow` rules are combined with the other file's rules, in the order of the other file's
//!   rules, each for the common paths.
//!
//! A pattern is extended by repeating one of its `*` or by appending a `*`, which does not change
//! the set of matching paths. Usually, no pattern has to be extended, because rules within a longer
//! rule are omitted and the original lengths are sufficient.

use std::borrow::Cow;

use super::region::Region;

/// The maximum number of our rules after they have been combined with the other file's rules.
const MAX_RULES: usize = 5_000;

/// The maximum number of comparisons of our rules with the other file's rules.
const MAX_COMPARISONS: usize = 2_000_000;

/// The maximum length of a combined rule in octets. The cost of a comparison is the product of both
/// rules' lengths.
const MAX_LENGTH: usize = 2_000;

/// The maximum number of steps to compute the intersections of rules.
const MAX_STEPS: usize = 2_000_000;

/// A rule as written in a robots.txt file.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct RuleLine {
    pub(super) allow: bool,
    pub(super) path: Vec<u8>,
}

/// The merged rules for one robot.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Union {
    pub(super) rules: Vec<RuleLine>,
    /// Whether the rules disallow exactly what at least one of the two files disallows.
    pub(super) is_exact: bool,
}

/// A rule with the data needed to compare it with other rules.
#[derive(Clone, Debug)]
struct Ranked {
    allow: bool,
    region: Region,
    length: usize,
}

/// Merges the rules of two files for one robot; each list may be empty.
///
/// Returns `None` if the result would exceed `most` octets.
pub(super) fn union(theirs: &[RuleLine], ours: &[RuleLine], most: usize) -> Option<Union> {
    if ours.is_empty() || theirs.is_empty() {
        let union = Union {
            rules: [theirs, ours].concat(),
            is_exact: true,
        };
        return (octets(&union.rules) <= most).then_some(union);
    }
    let (theirs, ours) = (short(theirs), short(ours));
    let is_exact = matches!((&theirs, &ours), (Cow::Borrowed(_), Cow::Borrowed(_)));
    let below: Vec<Ranked> = theirs.iter().map(Ranked::new).collect();
    let above = above(&below, &ours, most);
    // Each of our rules will be compared with all rules above and below it.
    let fits = |above: &Vec<Ranked>| above.len() * (below.len() + above.len()) <= MAX_COMPARISONS;
    let mut union = match above.filter(fits) {
        Some(above) => stack(&theirs, below, above, most)?,
        None => refusals_alone(&theirs, &below, &ours, most)?,
    };
    union.is_exact &= is_exact;
    (octets(&union.rules) <= most).then_some(union)
}

fn octets(rules: &[RuleLine]) -> usize {
    rules.iter().map(|rule| rule.path.len()).sum()
}

/// Removes long `Allow` rules, and truncates long `Disallow` rules, which then match more paths.
///
/// Truncated rules are still longer than all `Allow` rules, so they still win.
fn short(rules: &[RuleLine]) -> Cow<'_, [RuleLine]> {
    // Escapes may be written with fewer octets than are used to compare them.
    let is_short = |rule: &RuleLine| {
        rule.path.len() * 3 <= MAX_LENGTH || { Region::read(&rule.path).1 <= MAX_LENGTH }
    };
    if rules.iter().all(is_short) {
        return Cow::Borrowed(rules);
    }
    let cut = |rule: &RuleLine| {
        if is_short(rule) {
            return Some(rule.clone());
        }
        let (mut region, _) = Region::read(&rule.path);
        region.widen(MAX_LENGTH);
        let path = region.written(MAX_LENGTH + 1).filter(|_| !rule.allow)?;
        Some(RuleLine { allow: false, path })
    };
    Cow::Owned(rules.iter().filter_map(cut).collect())
}

/// Merges the rules without our `Allow` rules, so that the result disallows more than necessary.
fn refusals_alone(
    theirs: &[RuleLine],
    below: &[Ranked],
    ours: &[RuleLine],
    most: usize,
) -> Option<Union> {
    // Only `Allow` rules can override our rules.
    let allows = below.iter().filter(|rule| rule.allow);
    let longest = allows.map(|rule| rule.length).max().unwrap_or(0);
    let refusals = ours.iter().filter(|rule| !rule.allow);
    if refusals.clone().count().saturating_mul(longest) > most {
        return None;
    }
    let refusals = refusals.map(|rule| {
        let (region, _) = Region::read(&rule.path);
        let longer = region.written(region.length().max(longest + 1));
        RuleLine {
            allow: false,
            // A pattern without `*` is widened to match all paths that start with it.
            path: longer.unwrap_or_else(|| {
                let mut path = region.written(0).unwrap_or_default();
                path.pop();
                path.extend(std::iter::repeat_n(b'*', longest + 1));
                path
            }),
        }
    });
    Some(Union {
        rules: refusals.chain(theirs.iter().cloned()).collect(),
        is_exact: false,
    })
}

/// Returns the rules that must win over the other file's rules, in ascending order.
fn above(below: &[Ranked], ours: &[RuleLine], most: usize) -> Option<Vec<Ranked>> {
    let (mut steps, mut octets) = (MAX_STEPS, 0);
    let mut ours: Vec<Ranked> = ours.iter().map(Ranked::new).collect();
    ours.sort_by_key(Ranked::rank);
    let mut theirs: Vec<&Ranked> = below.iter().collect();
    theirs.sort_by_key(|rule| rule.rank());
    let mut above = Vec::new();
    for rule in ours {
        let allows = rule.allow;
        let region = rule.region.clone();
        above.push(rule);
        if allows {
            for other in &theirs {
                let common = region.common(&other.region, &mut steps)?;
                octets += common.iter().map(Region::length).sum::<usize>();
                if octets > most || above.len() > MAX_RULES {
                    return None;
                }
                above.extend(common.into_iter().map(|region| Ranked {
                    allow: other.allow,
                    length: region.length(),
                    region,
                }));
            }
        }
        if above.len() > MAX_RULES {
            return None;
        }
    }
    // From here on, a rule's position determines its length, instead of the rule as written.
    for rule in &mut above {
        rule.length = rule.region.length();
    }
    Some(above)
}

/// Places our rules above the other file's rules, and makes each rule long enough for its position.
///
/// Returns `None` if the result would exceed `most` octets.
fn stack(
    theirs: &[RuleLine],
    below: Vec<Ranked>,
    above: Vec<Ranked>,
    most: usize,
) -> Option<Union> {
    let above = visible(above);
    let is_hidden = |rule: &Ranked| above.iter().any(|over| over.region.contains(&rule.region));
    let (mut lower, mut lines) = (Vec::new(), Vec::new());
    for (rule, line) in below.into_iter().zip(theirs) {
        if !is_hidden(&rule) {
            lower.push(rule);
            lines.push(line.clone());
        }
    }
    let mut union = Union {
        rules: Vec::new(),
        is_exact: true,
    };
    let mut upper: Vec<RuleLine> = Vec::new();
    let mut octets = 0;
    for mut rule in above {
        let needed = needed(&rule, &lower);
        if needed.is_none() && is_said(&rule, &lower) {
            continue;
        }
        rule.length = rule.length.max(needed.unwrap_or(0));
        octets += rule.length;
        if octets > most {
            return None;
        }
        if let Some(path) = rule.region.written(rule.length) {
            upper.push(RuleLine {
                allow: rule.allow,
                path,
            });
            lower.push(rule);
            continue;
        }
        union.is_exact = false;
        if !rule.allow {
            // The rule cannot be made long enough, so remove the rules that would win over it.
            make_room(&mut rule, &mut lower, &mut upper, &mut lines);
        }
    }
    upper.reverse();
    upper.extend(lines);
    union.rules = upper;
    Some(union)
}

/// Removes the rules that never take effect because a rule above matches all of their paths.
fn visible(above: Vec<Ranked>) -> Vec<Ranked> {
    let mut visible: Vec<Ranked> = Vec::with_capacity(above.len());
    for rule in above.into_iter().rev() {
        if !visible
            .iter()
            .any(|over| over.region.contains(&rule.region))
        {
            visible.push(rule);
        }
    }
    visible.reverse();
    visible
}

/// Returns the length that a rule needs to win over contradicting rules below it, or `None` if
/// there are none.
fn needed(rule: &Ranked, lower: &[Ranked]) -> Option<usize> {
    let others = lower
        .iter()
        .filter(|other| other.allow != rule.allow && other.region.may_meet(&rule.region));
    // If two rules have the same length, `Allow` wins.
    let longest = others.map(|other| other.length).max();
    longest.map(|longest| longest + usize::from(!rule.allow))
}

/// Returns `true` if a rule is redundant; this requires that no rule below contradicts it.
fn is_said(rule: &Ranked, lower: &[Ranked]) -> bool {
    let same = |other: &Ranked| !other.allow && other.region.contains(&rule.region);
    rule.allow || lower.iter().any(same)
}

/// Removes the `Allow` rules that would win over a `Disallow` rule that cannot be extended.
fn make_room(
    rule: &mut Ranked,
    lower: &mut Vec<Ranked>,
    upper: &mut Vec<RuleLine>,
    lines: &mut Vec<RuleLine>,
) {
    let length = rule.region.length();
    let wins = |other: &Ranked| {
        other.allow && other.length >= length && other.region.may_meet(&rule.region)
    };
    let is_gone = |line: &RuleLine| line.allow && wins(&Ranked::new(line));
    upper.retain(|line| !is_gone(line));
    lines.retain(|line| !is_gone(line));
    lower.retain(|other| !wins(other));
    if let Some(path) = rule.region.written(length) {
        upper.push(RuleLine { allow: false, path });
    }
    rule.length = length;
    lower.push(rule.clone());
}

impl Ranked {
    fn new(line: &RuleLine) -> Self {
        let (region, length) = Region::read(&line.path);
        Self {
            allow: line.allow,
            region,
            length,
        }
    }

    fn rank(&self) -> (usize, bool) {
        (self.length, self.allow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 1 << 20;

    fn lines(text: &str) -> Vec<RuleLine> {
        let line = |rule: &str| {
            let (sign, path) = rule.split_at(1);
            RuleLine {
                allow: sign == "+",
                path: path.as_bytes().to_vec(),
            }
        };
        text.split_whitespace().map(line).collect()
    }

    fn shown(union: &Union) -> String {
        let rules = union.rules.iter().map(|rule| {
            let sign = if rule.allow { "+" } else { "-" };
            format!("{sign}{}", String::from_utf8_lossy(&rule.path))
        });
        rules.collect::<Vec<_>>().join(" ")
    }

    macro_rules! cases {
        ($($name:ident: $theirs:expr, $ours:expr => $union:expr;)*) => {
            $(#[test] fn $name() {
                let union = union(&lines($theirs), &lines($ours), MOST).unwrap();
                assert_eq!(shown(&union), $union);
                assert!(union.is_exact);
            })*
        };
    }

    cases! {
        nothing_of_ours_leaves_theirs: "-/a +/a/b", "" => "-/a +/a/b";
        nothing_of_theirs_leaves_ours: "", "+/x -/" => "+/x -/";
        refusals_add_up: "-/a -/b", "-/c" => "-/c -/a -/b";
        the_same_rule_stands_once: "-/a -/b", "-/a" => "-/a -/b";
        what_we_refuse_hides_what_they_allow: "-/a +/a/b -/c", "-/a/" => "-/a -/c";
        what_they_refuse_is_not_allowed_by_ours: "-/", "+/a" => "-/";
        both_have_to_allow: "-/ +/a", "-/ +/a/b" => "+/a/b -/";
        a_longer_allow_of_theirs_loses: "+/private/public/", "-/*.php" =>
            "-/*.php*********** +/private/public/";
        an_escaped_wildcard_counts_as_three: "+/x%2A%2A%2A", "-/*.php" =>
            "-/*.php****** +/x%2A%2A%2A";
        ours_with_an_escape_is_long_enough: "+/x*", "-/x%2A" => "-/x%2A +/x*";
        exact_paths_keep_their_length: "-/ +/$", "-/ +/$" => "+/$ -/";
        an_exact_path_of_ours: "+/a", "-/a$" => "-/a$ +/a";
    }

    #[test]
    fn inexpressible_rules_disallow_more() {
        let theirs = lines("+/*a*b*c");
        let ours = lines("-/abc$");
        let union = union(&theirs, &ours, MOST).unwrap();
        assert!(!union.is_exact);
        assert_eq!(shown(&union), "-/abc$");
    }

    #[test]
    fn too_many_rules_keep_only_disallow() {
        let many = (0..3000)
            .map(|n| format!("-/{n}*x +/{n}*y"))
            .collect::<Vec<_>>();
        let theirs = lines(&many.join(" "));
        let union = union(&theirs, &lines("+/*z -/*q$"), MOST).unwrap();
        assert!(!union.is_exact);
        assert_eq!(union.rules.len(), theirs.len() + 1);
        assert_eq!(union.rules[0].path, b"/*****q$");
    }

    #[test]
    fn long_rules_are_truncated() {
        let long = "a".repeat(900_000);
        let theirs = lines(&format!("-/{long}*b +/{long}*c +/x -/y"));
        let union = union(&theirs, &lines("+/*zq -/*q"), MOST).unwrap();
        assert!(!union.is_exact);
        let lengths: Vec<_> = union.rules.iter().map(|rule| rule.path.len()).collect();
        assert!(
            lengths.iter().all(|length| *length <= MAX_LENGTH + 9),
            "{lengths:?}"
        );
        let cut = union
            .rules
            .iter()
            .rfind(|rule| rule.path.starts_with(b"/aaa"));
        assert_eq!(
            cut.map(|rule| (rule.allow, rule.path.len())),
            Some((false, MAX_LENGTH + 1))
        );
    }

    #[test]
    fn union_that_exceeds_the_limit_fails() {
        let theirs = lines(&format!("+/{}", "a".repeat(1_900)));
        let ours: Vec<_> = (0..400).map(|n| format!("-/*{n} ")).collect();
        let ours = ours.concat();
        assert_eq!(union(&theirs, &lines(&ours), 700_000), None);
        assert!(union(&theirs, &lines(&ours), 1_000_000).is_some());
        assert_eq!(union(&theirs, &[], 1_000), None);
    }
}
