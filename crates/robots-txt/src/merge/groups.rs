//! Merging of two robots.txt files, group by group.

use std::collections::{HashMap, HashSet};

use super::{
    super::{Dialect, RobotsTxt, preferences::combine},
    side::{Field, Side},
    union::{RuleLine, union},
};

/// The maximum size of the merged file in octets.
pub(super) const MAX_BYTES: usize = 8 << 20;

/// The maximum number of octets that are read, and that are stored, when groups are combined.
// A group of a thousand robots is read once for each robot, so merging small files can take a long
// time.
const MAX_READ: usize = 256 << 20;
const MAX_KEPT: usize = 32 << 20;

/// The maximum number of rule comparisons for all groups; more comparisons would take seconds.
const MAX_COMPARISONS: usize = 50_000_000;

/// The result of merging two robots.txt files.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct MergedFile {
    /// The content of the merged file.
    pub text: Vec<u8>,
    /// Whether the merged file disallows exactly what at least one of the two files disallows.
    ///
    /// For rules that contain several `*`, an exact list of rules may not exist; the merged file
    /// then disallows more.
    pub is_exact: bool,
}

/// Merges our rules into the robots.txt file of an upstream.
///
/// For each robot, the result disallows every path that at least one of the two files disallows, as
/// defined by RFC 9309. A robot that is named in either file gets its own group with the rules from
/// both files; if a file does not name the robot, the file's `*` rules are used. The longer
/// `Crawl-delay` applies. For `Content-Signal` and `Content-Usage`, the more restrictive preference
/// applies, per use and path; the `License` lines of both files are kept. Other fields of a group
/// are taken from our file if it contains the field, otherwise from the upstream's; sitemaps and
/// fields for the whole file are kept from both files.
///
/// Of the rules longer than 2,000 octets, `Disallow` rules are truncated and `Allow` rules are
/// removed, so that the result disallows more. Comments are removed.
///
/// Returns `None` if the result would exceed 8 MiB, or if computing it would take seconds.
///
/// # Example
///
/// ```
/// use robot_detection_robots_txt::{Dialect, RobotsTxt, merge};
///
/// let theirs = RobotsTxt::parse(b"User-agent: ExampleBot\nDisallow: /a\n", Dialect::rfc9309());
/// let ours = RobotsTxt::parse(b"User-agent: *\nDisallow: /b\n", Dialect::rfc9309());
/// let merged = merge(&theirs, &ours).expect("both are small");
/// let text = String::from_utf8_lossy(&merged.text);
/// assert!(text.starts_with("User-agent: ExampleBot\nDisallow: /b\nDisallow: /a\n"), "{text}");
/// ```
#[must_use]
pub fn merge(theirs: &RobotsTxt, ours: &RobotsTxt) -> Option<MergedFile> {
    let (theirs, ours) = (reread(theirs), reread(ours));
    let (theirs, ours) = (Side::new(&theirs), Side::new(&ours));
    let mut merged = MergedFile {
        text: Vec::new(),
        is_exact: true,
    };
    let contents = distinct_contents(&theirs, &ours);
    if !contents.too_many.is_empty() {
        return None;
    }
    let comparisons = contents.groups.iter().map(|(content, _)| {
        let ours = content.ours.len();
        ours.saturating_mul(ours + content.theirs.len())
    });
    if comparisons.sum::<usize>() > MAX_COMPARISONS {
        return None;
    }
    merged.text.extend(before(&theirs, &ours));
    for (content, names) in contents.groups {
        let most = MAX_BYTES.checked_sub(merged.text.len())?;
        let union = union(&content.theirs, &content.ours, most)?;
        merged.is_exact &= union.is_exact;
        write_group(&mut merged.text, &names, &content.fields, &union.rules);
        if merged.text.len() > MAX_BYTES {
            return None;
        }
    }
    write_end(&mut merged.text, &theirs, &ours);
    Some(merged)
}

/// Parses a robots.txt file again with the groups of RFC 9309, regardless of the file's dialect.
pub(super) fn reread(file: &RobotsTxt) -> RobotsTxt {
    RobotsTxt::parse(file.as_bytes(), Dialect::rfc9309())
}

pub(super) fn write_group(text: &mut Vec<u8>, names: &[&str], fields: &[u8], rules: &[RuleLine]) {
    for name in names {
        push(text, "User-agent", name.as_bytes());
    }
    text.extend(fields);
    for rule in rules {
        let field = if rule.allow { "Allow" } else { "Disallow" };
        push(text, field, &rule.path);
    }
    // Without a rule, the group's names would be joined with the names of the next group (RFC 9309
    // §2.1).
    if rules.is_empty() {
        push(text, "Disallow", b"");
    }
    text.push(b'\n');
}

/// Writes the fields that apply to the whole file, from both files.
pub(super) fn write_end(text: &mut Vec<u8>, theirs: &Side<'_>, ours: &Side<'_>) {
    text.extend(whole_file(theirs, ours));
    while text.ends_with(b"\n\n") {
        text.pop();
    }
}

/// The content of a group whose rules have not been merged yet.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Content {
    pub(super) theirs: Vec<RuleLine>,
    pub(super) ours: Vec<RuleLine>,
    /// The lines of the group that are not rules.
    pub(super) fields: Vec<u8>,
}

/// The contents of groups, each with the robots that it applies to.
pub(super) struct Contents<'f> {
    /// The content and the robots of each group; the `*` group is the last.
    pub(super) groups: Vec<(Content, Vec<&'f str>)>,
    /// The robots whose groups are too large to merge.
    pub(super) too_many: Vec<&'f str>,
}

/// Returns each distinct group content with the robots that it applies to.
pub(super) fn distinct_contents<'f>(theirs: &'f Side<'_>, ours: &'f Side<'_>) -> Contents<'f> {
    let mut found: Vec<(Content, Vec<&'f str>)> = Vec::new();
    let mut too_many = Vec::new();
    let mut places: HashMap<Content, usize> = HashMap::new();
    // The `*` group is added at the end.
    let mut seen = HashSet::from(["*".to_owned()]);
    let (mut read, mut kept) = (0_usize, 0_usize);
    for name in theirs.names().chain(ours.names()) {
        let key = name.to_ascii_lowercase();
        if seen.contains(&key) {
            continue;
        }
        read += theirs.octets(&key) + ours.octets(&key);
        if read > MAX_READ || kept > MAX_KEPT {
            too_many.push(name);
            seen.insert(key);
            continue;
        }
        let content = Content::of(&key, theirs, ours);
        seen.insert(key);
        let place = places.get(&content).copied();
        if let Some((_, names)) = place.and_then(|place| found.get_mut(place)) {
            names.push(name);
        } else {
            kept += content.octets();
            places.insert(content.clone(), found.len());
            found.push((content, vec![name]));
        }
    }
    if theirs.by_name.contains_key("*") || ours.by_name.contains_key("*") {
        found.push((Content::of("*", theirs, ours), vec!["*"]));
    }
    Contents {
        groups: found,
        too_many,
    }
}

impl Content {
    fn of(key: &str, theirs: &Side<'_>, ours: &Side<'_>) -> Self {
        let delay = theirs.crawl_delay(key).max(ours.crawl_delay(key));
        let mut fields = fields(key, theirs, ours);
        if let Some(delay) = delay {
            let seconds = delay.as_secs_f64().to_string();
            push(&mut fields, "Crawl-delay", seconds.as_bytes());
        }
        Self {
            theirs: theirs.rules(key),
            ours: ours.rules(key),
            fields,
        }
    }

    fn octets(&self) -> usize {
        let rules = self.theirs.iter().chain(&self.ours);
        let rules = rules.map(|rule| rule.path.len() + size_of::<RuleLine>());
        self.fields.len() + rules.sum::<usize>()
    }
}

/// Returns the lines of a robot's group that are not rules.
fn fields(key: &str, theirs: &Side<'_>, ours: &Side<'_>) -> Vec<u8> {
    let own: HashSet<&str> = ours.fields(key).map(|field| field.key.as_str()).collect();
    let is_kept = |field: &&Field| {
        let is_ours = own.contains(field.key.as_str()) && !field.is_license();
        !is_ours && !field.is_void(ours)
    };
    let kept = theirs.fields(key).filter(is_kept);
    let mut text = Vec::new();
    let mut written = HashSet::new();
    for field in kept.chain(ours.fields(key)) {
        let said = if own.contains(field.key.as_str()) && field.is_preference() {
            theirs.values(key, &field.key)
        } else {
            Vec::new()
        };
        // If both files have preferences, the combined lines replace our first line.
        let is_joined = !said.is_empty();
        let id = if is_joined {
            field.key.as_bytes()
        } else {
            &field.line
        };
        if !written.insert(id) {
            continue;
        }
        if is_joined {
            for line in combine(&said, &ours.values(key, &field.key)) {
                push_line(&mut text, field.name(), &line);
            }
        } else {
            text.extend(&field.line);
            text.push(b'\n');
        }
    }
    text
}

/// Returns the lines of both files that precede the first group.
pub(super) fn before(theirs: &Side<'_>, ours: &Side<'_>) -> Vec<u8> {
    let kept = theirs.before.iter().filter(|field| !field.is_void(ours));
    let mut text = Vec::new();
    let mut seen = HashSet::new();
    for field in kept.chain(&ours.before) {
        if seen.insert(&field.line) {
            text.extend(&field.line);
            text.push(b'\n');
        }
    }
    text
}

/// Returns the lines that apply to the whole file, which are written at the end of the merged file.
fn whole_file(theirs: &Side<'_>, ours: &Side<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    let mut seen = HashSet::new();
    for line in theirs.whole.iter().chain(&ours.whole) {
        if seen.insert(line.line.clone()) {
            text.extend(&line.line);
            text.push(b'\n');
        }
    }
    let mut seen = HashSet::new();
    for sitemap in theirs.file.sitemaps().chain(ours.file.sitemaps()) {
        if seen.insert(sitemap.clone()) {
            push(&mut text, "Sitemap", sitemap.as_bytes());
        }
    }
    text
}

fn push(text: &mut Vec<u8>, field: &str, value: &[u8]) {
    push_line(text, field.as_bytes(), value);
}

fn push_line(text: &mut Vec<u8>, field: &[u8], value: &[u8]) {
    text.extend(field);
    text.push(b':');
    if !value.is_empty() {
        text.push(b' ');
        text.extend(value);
    }
    text.push(b'\n');
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, strategy::ValueTree as _};

    use super::*;

    fn parse(text: &str) -> RobotsTxt {
        RobotsTxt::parse(text.as_bytes(), Dialect::rfc9309())
    }

    fn merged(theirs: &str, ours: &str) -> String {
        let merged = merge(&parse(theirs), &parse(ours)).unwrap();
        assert!(merged.is_exact);
        String::from_utf8(merged.text).unwrap()
    }

    #[test]
    fn rules_for_all_robots_apply_to_named_ones() {
        let theirs = "User-agent: A\nDisallow: /a\n\nUser-agent: *\nDisallow: /all\n";
        let ours = "User-agent: B\nDisallow: /\n\nUser-agent: *\nDisallow: /ours\n";
        assert_eq!(
            merged(theirs, ours),
            "User-agent: A\nDisallow: /ours\nDisallow: /a\n\n\
             User-agent: B\nDisallow: /\n\n\
             User-agent: *\nDisallow: /ours\nDisallow: /all\n"
        );
    }

    #[test]
    fn robot_without_restrictions_in_both_files_has_none() {
        let text = merged(
            "User-agent: A\nDisallow:\nUser-agent: *\nDisallow: /\n",
            "User-agent: a\nAllow: /\n",
        );
        assert_eq!(
            text,
            "User-agent: A\nAllow: /\n\nUser-agent: *\nDisallow: /\n"
        );
    }

    #[test]
    fn other_fields_are_kept_and_ours_take_precedence() {
        let theirs = "License: https://example.com/l\n\
            User-agent: A\nUser-agent: B\nCrawl-delay: 2 # slowly\nDisallow: /a\nVisit-time: 1-2\n\
            Clean-param: s /\nUser-agent: *\nContent-Signal: search=no\nHost: old.example\nAllow: /\n\
            Sitemap: https://example.com/a.xml\n";
        let ours = "User-agent: *\nContent-Signal: search=yes\nCrawl-delay: 1.5\nDisallow: /x\n\
            Host: www.example.com\nSitemap: https://example.com/a.xml\nSitemap: https://example.com/b.xml\n";
        assert_eq!(
            merged(theirs, ours),
            "License: https://example.com/l\n\
             User-agent: A\nUser-agent: B\nVisit-time: 1-2\nContent-Signal: search=yes\n\
             Host: www.example.com\nCrawl-delay: 2\nDisallow: /x\nDisallow: /a\n\n\
             User-agent: *\nContent-Signal: search=no\nHost: www.example.com\nCrawl-delay: 1.5\n\
             Disallow: /x\nAllow: /\n\n\
             Clean-param: s /\nSitemap: https://example.com/a.xml\nSitemap: https://example.com/b.xml\n"
        );
    }

    #[test]
    fn reservations_and_licenses_of_both_are_kept() {
        let theirs = "Content-Signal: ai-input=no\nLicense: a\nUser-agent: A\nUser-agent: *\n\
            content-usage : train-ai=n # not at all\nContent-Usage: /open train-ai=y\nLicense: b\n\
            Content-Signal: ai-train=no\nDisallow: /a\n";
        let ours = "License: a\nUser-agent: *\nContent-Usage: search=y\nLicense: c\nDisallow: /b\n\
            User-agent: B\nDisallow: /\n";
        assert_eq!(
            merged(theirs, ours),
            "Content-Signal: ai-input=no\nLicense: a\n\
             User-agent: A\nLicense: b\nContent-Signal: ai-train=no\n\
             Content-Usage: train-ai=n, search=y\nContent-Usage: /open train-ai=y, search=y\n\
             License: c\nDisallow: /b\nDisallow: /a\n\n\
             User-agent: B\ncontent-usage : train-ai=n\nContent-Usage: /open train-ai=y\nLicense: b\n\
             Content-Signal: ai-train=no\nDisallow: /\n\n\
             User-agent: *\nLicense: b\nContent-Signal: ai-train=no\n\
             Content-Usage: train-ai=n, search=y\nContent-Usage: /open train-ai=y, search=y\n\
             License: c\nDisallow: /b\nDisallow: /a\n"
        );
        let text = merged(
            "Content-Signal: search=no\nUser-agent: *\nDisallow: /a\n",
            "User-agent: *\nContent-Signal: search=yes\nDisallow: /b\n",
        );
        assert!(
            text.contains("User-agent: *\nContent-Signal: search=no\n"),
            "{text}"
        );
    }

    #[test]
    fn our_host_replaces_theirs() {
        let theirs =
            "Host: old.example\nLicense: x\nUser-agent: *\nDisallow: /a\nHost: older.example\n";
        let text = merged(
            theirs,
            "User-agent: *\nDisallow: /b\nHost: www.example.com\n",
        );
        assert_eq!(
            text,
            "License: x\nUser-agent: *\nHost: www.example.com\nDisallow: /b\nDisallow: /a\n"
        );
    }

    #[test]
    fn our_disallow_wins_over_their_escaped_wildcards() {
        let theirs = "User-agent: *\nAllow: /x%2A%2A%2A\n";
        let ours = "User-agent: *\nDisallow: /*.php\n";
        let file = parse(&merged(theirs, ours));
        let me = file.for_robot("robot");
        assert!(!me.check("/x***.php").allowed());
        assert!(me.check("/x***").allowed());
    }

    #[test]
    fn long_upstream_lines_do_not_exhaust_memory_or_stack() {
        let theirs = format!("User-agent: *\nDisallow: /{}*b\n", "a".repeat(900_000));
        let ours: Vec<_> = (0..400).map(|n| format!("Disallow: /*{n}\n")).collect();
        let ours = format!("User-agent: *\nAllow: /*zq\n{}", ours.concat());
        let merged = merge(&parse(&theirs), &parse(&ours)).unwrap();
        assert!(merged.text.len() < 1_000_000, "{}", merged.text.len());
        assert!(!merged.is_exact);
    }

    #[test]
    fn merge_that_exceeds_the_limit_fails() {
        use std::fmt::Write as _;
        let (mut theirs, mut ours) = (String::new(), "User-agent: *\n".to_owned());
        for n in 0..1_000 {
            let _ = writeln!(theirs, "User-agent: r{n}\nDisallow: /{n}");
        }
        for n in 0..500 {
            let _ = writeln!(ours, "Disallow: /a/rather/long/path/to/refuse/{n}");
        }
        assert!(merge(&parse(&theirs), &parse(&ours)).is_none());
    }

    /// Generates paths from a few different letters, wildcards and escaped wildcards, so that rules
    /// overlap with each other and with the checked paths.
    fn path() -> impl Strategy<Value = String> {
        "/[ab/]{0,3}(([*]|%2A|%24)[ab/]{0,2}){0,2}[$]?"
    }

    fn file() -> impl Strategy<Value = String> {
        let rule = (any::<bool>(), path()).prop_map(|(allow, path)| {
            let field = if allow { "Allow" } else { "Disallow" };
            format!("{field}: {path}\n")
        });
        let agents = prop::collection::vec(prop_oneof!["X", "x", "Y", "[*]"], 1..3);
        let group = (agents, prop::collection::vec(rule, 0..4)).prop_map(|(agents, rules)| {
            let agents = agents.iter().map(|agent| format!("User-agent: {agent}\n"));
            agents.chain(rules).collect::<String>()
        });
        prop::collection::vec(group, 0..4).prop_map(|groups| groups.concat())
    }

    #[test]
    fn most_files_with_wildcards_merge_exactly() {
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let mut draw = || file().new_tree(&mut runner).unwrap().current();
        let pairs: Vec<_> = (0..500).map(|_| (draw(), draw())).collect();
        let is_exact = |(theirs, ours): &&(String, String)| {
            merge(&parse(theirs), &parse(ours)).unwrap().is_exact
        };
        let exact = pairs.iter().filter(is_exact).count();
        assert!(exact >= 450, "{exact} of 500");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn disallows_what_either_file_disallows(
            theirs in file(),
            ours in file(),
            paths in prop::collection::vec("/[ab/*$]{0,7}", 1..24),
        ) {
            let (theirs, ours) = (parse(&theirs), parse(&ours));
            let merged = merge(&theirs, &ours).unwrap();
            let file = RobotsTxt::parse(&merged.text, Dialect::rfc9309());
            for robot in ["x", "y", "z"] {
                let [theirs, ours, both] = [&theirs, &ours, &file].map(|file| file.for_robot(robot));
                for path in &paths {
                    let one = theirs.check(path).allowed() && ours.check(path).allowed();
                    let is_right = both.check(path).allowed() == one
                        || (one && !merged.is_exact);
                    prop_assert!(
                        is_right,
                        "{robot} {path}: {}", String::from_utf8_lossy(&merged.text)
                    );
                }
            }
        }

        #[test]
        fn files_without_wildcards_merge_exactly(theirs in file(), ours in file()) {
            let plain = |text: String| {
                let text = text.replace("%2A", "").replace("%24", "");
                parse(&text.replace('*', ""))
            };
            let merged = merge(&plain(theirs), &plain(ours)).unwrap();
            prop_assert!(merged.is_exact);
            prop_assert!(!merged.text.windows(2).any(|pair| pair == b"/*" || pair == b"**"));
        }

        #[test]
        fn arbitrary_octets_can_be_merged(
            theirs in prop::collection::vec(any::<u8>(), 0..300),
            ours in "(User-agent|Disallow|Allow|Host|x): ?[*/$%a2\r]{0,5}\n",
        ) {
            let theirs = RobotsTxt::parse(&theirs, Dialect::google());
            prop_assert!(merge(&theirs, &parse(&ours)).is_some());
        }
    }
}
