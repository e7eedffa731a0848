//! Preferences about the use of content: `Content-Signal` and `Content-Usage` lines.
//!
//! The implementation is based on contentsignals.org, draft-ietf-aipref-attach and
//! draft-ietf-aipref-vocab. A line that starts with a path applies only below that path; as with
//! rules, the longest matching path takes precedence.

use std::{borrow::Cow, collections::HashMap};

use super::{Dialect, RobotRules, RobotsTxt, field::Field, write::name};

/// The maximum number of comparisons, per group, of paths in one file with paths in the other file.
const MAX_COMPARISONS: usize = 100_000;

/// The vocabulary of one of the two fields, with the values of each word.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Vocabulary {
    /// The vocabulary of `Content-Signal` (contentsignals.org).
    Signal,
    /// The vocabulary of `Content-Usage` (IETF AI Preferences).
    Usage,
}

/// A parsed line that contains preferences.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct PreferenceLine<'t> {
    /// The path that the line applies to; empty if the line applies to everything.
    pub(super) path: &'t [u8],
    pub(super) members: Vec<Member<'t>>,
}

/// A preference about one use of content.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Member<'t> {
    /// The preference as written in the line.
    text: &'t [u8],
    pub(super) name: &'t [u8],
    /// The preference's value without parameters; `None` if there is no `=`.
    pub(super) value: Option<&'t [u8]>,
}

impl Vocabulary {
    /// Returns the vocabulary of the field with the given lower-case name.
    pub(super) fn for_field(name: &str) -> Option<Self> {
        match name {
            "content-signal" => Some(Self::Signal),
            "content-usage" => Some(Self::Usage),
            _ => None,
        }
    }

    /// Returns the words of the vocabulary that robots understand, with the values of each word.
    pub(super) const fn words(self) -> &'static [(&'static str, &'static [&'static str])] {
        const YES_NO: &[&str] = &["yes", "no"];
        const Y_N: &[&str] = &["y", "n"];
        match self {
            Self::Signal => &[
                ("search", YES_NO),
                ("ai-input", YES_NO),
                ("ai-train", YES_NO),
                ("use", &["immediate", "reference", "full"]),
            ],
            Self::Usage => &[("train-ai", Y_N), ("search", Y_N), ("ai-use", Y_N)],
        }
    }
}

/// A line of robots.txt about the use of pages.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct UseLine<'f> {
    /// The number of the line, counted from 1.
    pub line: usize,
    /// `Content-Usage` or `Content-Signal`.
    pub field: &'static str,
    /// The list of preferences, without the path.
    pub list: Cow<'f, str>,
}

impl RobotRules {
    /// Returns the `Content-Usage` and `Content-Signal` lines for a URL that the robot may fetch.
    ///
    /// Of the `Content-Usage` lines in the robot's groups, those with the longest matching path
    /// apply (draft-ietf-aipref-attach-05 §3.1). `Content-Signal` lines before the first group
    /// apply to all robots.
    #[must_use]
    pub fn use_lines(&self, url: &str) -> Vec<UseLine<'_>> {
        let mut longest = 0;
        let mut lines = Vec::new();
        for (field, group, line, value) in self.lines_of_use() {
            let (path, list) = split_path(value);
            let length = match field {
                Field::ContentUsage if group.is_none() => continue,
                Field::ContentUsage => match self.path_length(path, url) {
                    Some(length) => length,
                    None => continue,
                },
                _ => 0,
            };
            longest = longest.max(length);
            let line = UseLine {
                line,
                field: name(field),
                list: String::from_utf8_lossy(list),
            };
            lines.push((field, length, line));
        }
        lines.retain(|(field, length, _)| *field != Field::ContentUsage || *length == longest);
        lines.into_iter().map(|(_, _, line)| line).collect()
    }
}

/// Splits a line into its path, which may be empty, and its list.
fn split_path(value: &[u8]) -> (&[u8], &[u8]) {
    let value = value.trim_ascii();
    let end = match value {
        [b'/', ..] => value
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(value.len()),
        _ => 0,
    };
    value.split_at_checked(end).unwrap_or((b"", value))
}

impl<'t> PreferenceLine<'t> {
    /// Parses the value of a `Content-Signal` or `Content-Usage` line.
    pub(super) fn read(value: &'t [u8]) -> Self {
        let (path, list) = split_path(value);
        let mut is_quoted = false;
        let members = list.split(|octet| {
            // A string in a structured field may contain commas (RFC 9651 §3.3.3).
            is_quoted ^= *octet == b'"';
            *octet == b',' && !is_quoted
        });
        let members = members.map(<[u8]>::trim_ascii);
        Self {
            path,
            members: members
                .filter(|member| !member.is_empty())
                .map(Member::read)
                .collect(),
        }
    }
}

impl<'t> Member<'t> {
    fn read(text: &'t [u8]) -> Self {
        let mut parts = text.splitn(2, |octet| *octet == b'=');
        let name = parts.next().unwrap_or_default().trim_ascii();
        let value = parts.next().map(|value| {
            // Parameters follow a value after semicolons (RFC 9651 §3.1.2).
            let bare = value.split(|octet| *octet == b';').next();
            bare.unwrap_or_default().trim_ascii()
        });
        Self { text, name, value }
    }

    /// Returns a number for how much the preference permits; the lowest number among several
    /// preferences wins.
    ///
    /// An unknown value neither grants nor restricts anything.
    fn grant(&self) -> u8 {
        // The number is above all reservations and below all grants.
        const UNKNOWN: u8 = 3;
        const WORDS: [(&str, u8); 7] = [
            ("no", 0),
            ("n", 0),
            ("immediate", 1),
            ("reference", 2),
            ("full", 4),
            ("yes", 5),
            ("y", 5),
        ];
        let value = self.value.unwrap_or_default();
        let is_value = |(word, _): &&(&str, u8)| value.eq_ignore_ascii_case(word.as_bytes());
        let known = WORDS.iter().find(is_value);
        known.map_or(UNKNOWN, |(_, grant)| *grant)
    }

    /// Returns `true` if the preference restricts the use of content.
    fn is_reservation(&self) -> bool {
        self.grant() < 3
    }
}

/// Parses a list of preferences and returns it in the format of a header, such as `train-ai=n,
/// search=y`.
///
/// `field` is `Content-Signal` or `Content-Usage`. The list can also be used in a robots.txt line,
/// optionally after a path.
///
/// # Errors
///
/// Returns an error that describes the correction if a word is unknown or the text is not a single
/// line.
///
/// # Example
///
/// ```
/// use robot_detection_robots_txt::preference_list;
///
/// assert_eq!(preference_list("Content-Usage", "train-ai=n,search=y")?, "train-ai=n, search=y");
/// assert!(preference_list("Content-Usage", "train-ai=no").is_err());
/// # Ok::<(), String>(())
/// ```
pub fn preference_list(field: &str, text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.contains(|c: char| c.is_control() || c == '#') {
        return Err(format!(
            "{text:?}: a list of preferences must be a single line without #"
        ));
    }
    if text.starts_with(['/', '*']) {
        return Err(format!("{text:?}: this list must not contain a path"));
    }
    let items = text.split(',').map(str::trim);
    let items: Vec<&str> = items.filter(|item| !item.is_empty()).collect();
    let list = items.join(", ");
    if list.is_empty() {
        return Ok(list);
    }
    let file = format!("User-agent: *\n{field}: {list}\nAllow: /\n");
    let file = RobotsTxt::parse(file.as_bytes(), Dialect::rfc9309());
    match file.warnings().into_iter().next() {
        // A wrong list is not written at all.
        Some(warning) => Err(warning.text.replace(" and is ignored", "")),
        None => Ok(list),
    }
}

/// Combines the preferences of two files for one group into lines, one for each path.
///
/// For each use, the more restrictive preference applies. If a path occurs in only one of the
/// files, its line is kept and combined with the other file's preferences for that path.
pub(super) fn combine(theirs: &[&[u8]], ours: &[&[u8]]) -> Vec<Vec<u8>> {
    let (theirs, ours) = (FilePreferences::new(theirs), FilePreferences::new(ours));
    let comparisons = theirs.lines.len().saturating_mul(ours.lines.len());
    if comparisons > MAX_COMPARISONS {
        // There are too many paths to compare, so apply every reservation to all paths.
        let mut all = Members::default();
        for (_, members) in theirs.lines.iter().chain(&ours.lines) {
            for member in &members.list {
                all.add(member);
            }
        }
        return vec![all.line(b"")];
    }
    let paths = theirs.lines.iter().map(|(path, _)| *path);
    let only_ours = ours.lines.iter().map(|(path, _)| *path);
    let only_ours = only_ours.filter(|path| !theirs.places.contains_key(path));
    let lines = paths.chain(only_ours).map(|path| {
        let mut members = Members::default();
        theirs.tell(path, &mut members);
        ours.tell(path, &mut members);
        members.line(path)
    });
    lines.collect()
}

/// The preferences in one file, grouped by path.
#[derive(Debug, Default)]
struct FilePreferences<'t> {
    lines: Vec<(&'t [u8], Members<'t>)>,
    places: HashMap<&'t [u8], usize>,
}

/// A list of preferences, with at most one for each use.
#[derive(Clone, Debug, Default)]
struct Members<'t> {
    list: Vec<Member<'t>>,
    /// The index of each preference in the list, by lower-case name.
    places: HashMap<Vec<u8>, usize>,
}

impl<'t> FilePreferences<'t> {
    fn new(values: &[&'t [u8]]) -> Self {
        let mut side = Self::default();
        for value in values {
            let PreferenceLine { path, members } = PreferenceLine::read(value);
            let place = *side.places.entry(path).or_insert(side.lines.len());
            if place == side.lines.len() {
                side.lines.push((path, Members::default()));
            }
            if let Some((_, known)) = side.lines.get_mut(place) {
                for member in &members {
                    known.add(member);
                }
            }
        }
        side
    }

    /// Adds the preferences for a path: those of the path itself, or else those of the longest path
    /// above it.
    fn tell(&self, path: &[u8], members: &mut Members<'t>) {
        let own = self.places.get(path).and_then(|at| self.lines.get(*at));
        let above = || {
            let above = self.lines.iter().filter(|(above, _)| covers(above, path));
            above.max_by_key(|(above, _)| above.len())
        };
        if let Some((_, said)) = own.or_else(above) {
            for member in &said.list {
                members.add(member);
            }
        }
        if own.is_some() {
            return;
        }
        // The page determines which of two wildcard paths applies, so apply the reservations of
        // both.
        let meeting = self.lines.iter();
        for (_, said) in meeting.filter(|(other, _)| may_meet(other, path)) {
            let reserved = said.list.iter().filter(|member| member.is_reservation());
            for member in reserved {
                members.add(member);
            }
        }
    }
}

impl<'t> Members<'t> {
    fn add(&mut self, member: &Member<'t>) {
        let name = member.name.to_ascii_lowercase();
        let place = *self.places.entry(name).or_insert(self.list.len());
        match self.list.get_mut(place) {
            Some(known) if member.grant() < known.grant() => *known = *member,
            Some(_) => {}
            None => self.list.push(*member),
        }
    }

    fn line(&self, path: &[u8]) -> Vec<u8> {
        let members: Vec<&[u8]> = self.list.iter().map(|member| member.text).collect();
        let members = members.join(&b", "[..]);
        let parts = [path, &members];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(&b' ')
    }
}

/// Returns `true` if one path covers another; the result is exact for paths without wildcards.
fn covers(above: &[u8], path: &[u8]) -> bool {
    !has_wildcards(above) && path.starts_with(above)
}

/// Returns `true` if two paths with wildcards may match the same page.
fn may_meet(one: &[u8], other: &[u8]) -> bool {
    let (first, second) = (literal(one), literal(other));
    (has_wildcards(one) || has_wildcards(other))
        && (first.starts_with(second) || second.starts_with(first))
}

fn has_wildcards(path: &[u8]) -> bool {
    path.contains(&b'*') || path.ends_with(b"$")
}

/// Returns the literal prefix of a path with wildcards.
pub(super) fn literal(path: &[u8]) -> &[u8] {
    let path = path.strip_suffix(b"$").unwrap_or(path);
    path.split(|octet| *octet == b'*')
        .next()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn octets<'l>(lines: &[&'l str]) -> Vec<&'l [u8]> {
        lines.iter().map(|line| line.as_bytes()).collect()
    }

    fn refs(lines: &[String]) -> Vec<&str> {
        lines.iter().map(String::as_str).collect()
    }

    fn combined(theirs: &[&str], ours: &[&str]) -> Vec<String> {
        let lines = combine(&octets(theirs), &octets(ours)).into_iter();
        lines.map(|line| String::from_utf8(line).unwrap()).collect()
    }

    #[test]
    fn more_restrictive_of_two_preferences_applies() {
        for (theirs, ours, expected) in [
            ("search=yes", "search=no", "search=no"),
            ("ai-train=no", "search=yes", "ai-train=no, search=yes"),
            ("train-ai=n, search=y", "train-ai=y", "train-ai=n, search=y"),
            ("Train-AI=n", "train-ai=y", "Train-AI=n"),
            ("use=reference", "use=full", "use=reference"),
            ("use=reference", "use=immediate", "use=immediate"),
            ("train-ai=maybe", "train-ai=y", "train-ai=maybe"),
            ("train-ai=maybe", "train-ai=n", "train-ai=n"),
            (
                "new=\"a,b\";c, x",
                "train-ai=n;d",
                "new=\"a,b\";c, x, train-ai=n;d",
            ),
            ("search=y, search=n", "", "search=n"),
        ] {
            assert_eq!(combined(&[theirs], &[ours]), [expected], "{theirs} {ours}");
        }
    }

    #[test]
    fn paths_keep_their_lines_combined_with_the_other_file() {
        assert_eq!(
            combined(
                &["train-ai=n", "/open/ train-ai=y", "/a/ search=n"],
                &["search=y"]
            ),
            [
                "train-ai=n, search=y",
                "/open/ train-ai=y, search=y",
                "/a/ search=n"
            ]
        );
        assert_eq!(
            combined(&["/a/ train-ai=y"], &["train-ai=n", "/a/b/ train-ai=y"]),
            ["/a/ train-ai=n", "train-ai=n", "/a/b/ train-ai=y"]
        );
        assert_eq!(
            combined(&["/*.pdf train-ai=y"], &["/docs/ train-ai=n, search=y"]),
            ["/*.pdf train-ai=n", "/docs/ train-ai=n, search=y"]
        );
        assert_eq!(
            combined(&["/*.pdf train-ai=y"], &["/docs/ search=y"]),
            ["/*.pdf train-ai=y", "/docs/ search=y"]
        );
    }

    #[test]
    fn reservations_of_too_many_paths_apply_everywhere() {
        let lines = |kind: &str, value: &str| -> Vec<String> {
            let numbers = 0..400;
            numbers.map(|n| format!("/{kind}/{n} {value}")).collect()
        };
        let (theirs, ours) = (lines("a", "train-ai=n"), lines("b", "search=y"));
        assert_eq!(
            combined(&refs(&theirs), &refs(&ours)),
            ["train-ai=n, search=y"]
        );
    }

    /// Returns the grants for a page: for each use, the strictest grant among the longest matching
    /// paths.
    fn grants(lines: &[String], page: &str) -> Vec<(String, u8)> {
        let lines: Vec<_> = lines
            .iter()
            .map(|line| PreferenceLine::read(line.as_bytes()))
            .collect();
        let matching = lines
            .iter()
            .filter(|it| page.as_bytes().starts_with(it.path));
        let longest = matching.clone().map(|it| it.path.len()).max();
        let mut found: Vec<(String, u8)> = Vec::new();
        for member in matching
            .filter(|it| Some(it.path.len()) == longest)
            .flat_map(|it| &it.members)
        {
            let name = String::from_utf8(member.name.to_vec()).unwrap();
            match found.iter_mut().find(|(known, _)| *known == name) {
                Some((_, grant)) => *grant = member.grant().min(*grant),
                None => found.push((name, member.grant())),
            }
        }
        found.sort();
        found
    }

    fn lines() -> impl Strategy<Value = Vec<String>> {
        let member = "(x|y)=(y|n)";
        let line = ("(/[ab]{0,2})?", prop::collection::vec(member, 1..3))
            .prop_map(|(path, members)| format!("{path} {}", members.join(", ")));
        prop::collection::vec(line, 1..4)
    }

    proptest! {
        #[test]
        fn page_is_granted_only_what_both_files_grant(
            theirs in lines(),
            ours in lines(),
            page in "/[ab]{0,3}",
        ) {
            let made = combined(&refs(&theirs), &refs(&ours));
            let mut expected = grants(&theirs, &page);
            for (name, grant) in grants(&ours, &page) {
                match expected.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, known)) => *known = grant.min(*known),
                    None => expected.push((name, grant)),
                }
            }
            expected.sort();
            prop_assert_eq!(grants(&made, &page), expected, "{:?}", made);
        }

        #[test]
        fn arbitrary_octets_do_not_panic(value in prop::collection::vec(any::<u8>(), 0..100)) {
            let lines = combine(&[&value], &[b"train-ai=n"]);
            prop_assert!(!lines.is_empty());
        }
    }
}
