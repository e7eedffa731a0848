//! A parser that extracts two fields from log lines that are JSON objects.

use super::{
    FieldPath,
    combined::{RawEntry, number},
    scanner::{Raw, Scanner},
};

/// Maximum number of paths that are searched for each field.
// Few enough for their state to fit in stack arrays, so that parsing a line allocates nothing.
const MAX_PATHS: usize = 8;

/// A reader that extracts two fields from a JSON object.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    user_agents: Vec<FieldPath>,
    bytes: Vec<FieldPath>,
}

/// The remaining part of each path at the current depth; `None` for a path that leads to another
/// member.
#[derive(Clone, Copy, Debug, Default)]
struct RemainingPaths<'p> {
    user_agents: [Option<&'p [u8]>; MAX_PATHS],
    bytes: [Option<&'p [u8]>; MAX_PATHS],
}

/// The values found so far, each with the index of its path in the list.
#[derive(Clone, Copy, Debug, Default)]
struct FieldValues<'a> {
    user_agent: Option<(usize, Raw<'a>)>,
    bytes: Option<(usize, u64)>,
}

/// The paths that match the name of a member of an object.
struct MemberPaths<'p> {
    user_agent: Option<usize>,
    bytes: Option<usize>,
    below: Option<RemainingPaths<'p>>,
}

impl Fields {
    /// Creates a reader; in each list, the first path that a line contains is used.
    pub(super) fn new(mut user_agents: Vec<FieldPath>, mut bytes: Vec<FieldPath>) -> Self {
        user_agents.truncate(MAX_PATHS);
        bytes.truncate(MAX_PATHS);
        Self { user_agents, bytes }
    }

    /// Parses a log line. Returns `None` if the line is not a single complete JSON object.
    pub(super) fn read<'a>(&self, line: &'a [u8]) -> Option<RawEntry<'a>> {
        let found = self.find(line)?;
        Some(RawEntry {
            user_agent: found.user_agent.unwrap_or_default().1.0,
            bytes: found.bytes.unwrap_or_default().1,
        })
    }

    /// Returns the path of the first field in a line or, if this field is missing, of the second
    /// field.
    pub(super) fn matching_path(&self, line: &[u8]) -> Option<&FieldPath> {
        let found = self.find(line)?;
        let text = found
            .user_agent
            .and_then(|(index, _)| self.user_agents.get(index));
        text.or_else(|| self.bytes.get(found.bytes?.0))
    }

    fn find<'a>(&self, line: &'a [u8]) -> Option<FieldValues<'a>> {
        let mut scanner = Scanner::new(line);
        let mut found = FieldValues::default();
        let wanted = RemainingPaths {
            user_agents: paths(&self.user_agents),
            bytes: paths(&self.bytes),
        };
        object(&mut scanner, &wanted, &mut found)?;
        scanner.peek().is_none().then_some(found)
    }
}

fn paths(paths: &[FieldPath]) -> [Option<&[u8]>; MAX_PATHS] {
    std::array::from_fn(|index| paths.get(index).map(FieldPath::as_bytes))
}

/// Parses an object. To protect the stack, nested objects are parsed only as deeply as a path
/// requires.
fn object<'a>(
    scanner: &mut Scanner<'a>,
    wanted: &RemainingPaths<'_>,
    found: &mut FieldValues<'a>,
) -> Option<()> {
    if !scanner.take(b'{') {
        return None;
    }
    if scanner.take(b'}') {
        return Some(());
    }
    loop {
        let name = scanner.string()?;
        if !scanner.take(b':') {
            return None;
        }
        value(scanner, &wanted.step(name.0), found)?;
        if !scanner.take(b',') {
            return scanner.take(b'}').then_some(());
        }
    }
}

fn value<'a>(
    scanner: &mut Scanner<'a>,
    step: &MemberPaths<'_>,
    found: &mut FieldValues<'a>,
) -> Option<()> {
    if let Some(below) = &step.below
        && scanner.peek() == Some(b'{')
    {
        return object(scanner, below, found);
    }
    // The value is always skipped, and parsed only with a copy of the scanner, so a value of an
    // unexpected type, such as `null`, does not affect the rest of the line.
    let mut copy = *scanner;
    scanner.skip()?;
    if let Some(index) = step.user_agent
        // The first of several members with the same name is used (RFC 8259 §4 leaves this open).
        && found.user_agent.is_none_or(|(best, _)| index < best)
        && let Some(text) = text(&mut copy)
    {
        found.user_agent = Some((index, text));
    } else if let Some(index) = step.bytes
        && found.bytes.is_none_or(|(best, _)| index < best)
        && let Some(count) = count(&mut copy)
    {
        found.bytes = Some((index, count));
    }
    Some(())
}

/// Returns a string, or the first string in an array, because Caddy logs headers as arrays.
fn text<'a>(scanner: &mut Scanner<'a>) -> Option<Raw<'a>> {
    // The scanner is a copy, so the end of the array need not be consumed.
    scanner.take(b'[');
    scanner.string()
}

/// Returns the integer part of a number, which may be in quotes.
fn count(scanner: &mut Scanner<'_>) -> Option<u64> {
    let text = match scanner.peek()? {
        b'"' => scanner.string()?.0,
        _ => scanner.scalar()?,
    };
    number(text.split(|byte| *byte == b'.').next()?)
}

impl<'p> RemainingPaths<'p> {
    fn step(&self, name: &[u8]) -> MemberPaths<'p> {
        let mut below = Self::default();
        let (user_agent, deeper) = follow(&self.user_agents, name, &mut below.user_agents);
        let (bytes, deeper_too) = follow(&self.bytes, name, &mut below.bytes);
        MemberPaths {
            user_agent,
            bytes,
            below: (deeper || deeper_too).then_some(below),
        }
    }
}

/// Returns the first path that ends with the given name, and whether other paths continue below
/// this member.
fn follow<'p>(
    paths: &[Option<&'p [u8]>; MAX_PATHS],
    name: &[u8],
    below: &mut [Option<&'p [u8]>; MAX_PATHS],
) -> (Option<usize>, bool) {
    let mut end = None;
    let mut is_deeper = false;
    for (index, (path, below)) in paths.iter().zip(below).enumerate() {
        let Some((head, rest)) = path.and_then(|path| path.split_at_checked(name.len())) else {
            continue;
        };
        if !head.eq_ignore_ascii_case(name) {
            continue;
        }
        if rest.is_empty() {
            end = end.or(Some(index));
        } else if let Some(rest) = rest.strip_prefix(b".") {
            *below = Some(rest);
            is_deeper = true;
        }
    }
    (end, is_deeper)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual(line: &str) -> Option<(String, u64)> {
        let fields = Fields::new(FieldPath::usual_user_agents(), FieldPath::usual_bytes());
        read(&fields, line)
    }

    fn read(fields: &Fields, line: &str) -> Option<(String, u64)> {
        let entry = fields.read(line.as_bytes())?;
        let user_agent = String::from_utf8(entry.user_agent.to_vec()).unwrap();
        Some((user_agent, entry.bytes))
    }

    fn named(user_agent: &str, bytes: &str, line: &str) -> Option<(String, u64)> {
        let fields = Fields::new(
            vec![user_agent.parse().unwrap()],
            vec![bytes.parse().unwrap()],
        );
        read(&fields, line)
    }

    #[test]
    fn fields_with_usual_names_are_found() {
        for (line, user_agent, bytes) in [
            ("{}", "", 0),
            (
                r#"{"http_user_agent":"A/1","body_bytes_sent":12}"#,
                "A/1",
                12,
            ),
            (r#"{"user_agent":"A/1","bytes_sent":"12"}"#, "A/1", 12),
            (r#" { "userAgent" : "A/1" , "bytes" : 12.0 } "#, "A/1", 12),
            (r#"{"agent":"A/1","size":0}"#, "A/1", 0),
            (
                r#"{"request":{"uri":"/","headers":{"Accept":["*/*"],"User-Agent":["A/1","B/2"]}},"size":12}"#,
                "A/1",
                12,
            ),
            (
                r#"{"request_User-Agent":"A/1","DownstreamContentSize":12}"#,
                "A/1",
                12,
            ),
            (r#"{"user_agent":{"original":"A/1","name":"B"}}"#, "A/1", 0),
            (r#"{"user_agent.original":"A/1"}"#, "A/1", 0),
            (r#"{"HTTP_USER_AGENT":"A/1"}"#, "A/1", 0),
            (r#"{"request":{"headers":{"user-agent":"A/1"}}}"#, "A/1", 0),
        ] {
            assert_eq!(usual(line), Some((user_agent.to_owned(), bytes)), "{line}");
        }
    }

    #[test]
    fn first_path_of_the_list_wins_at_any_position() {
        let both = Some(("A".to_owned(), 1));
        assert_eq!(
            usual(r#"{"agent":"B","bytes":2,"http_user_agent":"A","body_bytes_sent":1}"#),
            both
        );
        assert_eq!(
            usual(r#"{"http_user_agent":"A","body_bytes_sent":1,"agent":"B","bytes":2}"#),
            both
        );
    }

    #[test]
    fn value_of_an_unexpected_type_is_ignored() {
        for line in [
            r#"{"user_agent":null,"bytes":null}"#,
            r#"{"user_agent":5,"bytes":"-"}"#,
            r#"{"user_agent":[],"bytes":-4}"#,
            r#"{"user_agent":{},"bytes":[4]}"#,
            r#"{"user_agent":[["A"]],"bytes":""}"#,
            r#"{"request":"user_agent","x":{"user_agent":"A","bytes":4}}"#,
            r#"{"request":{"headers":["User-Agent"]}}"#,
        ] {
            assert_eq!(usual(line), Some((String::new(), 0)), "{line}");
        }
    }

    #[test]
    fn path_matches_nested_objects_and_names_with_dots() {
        let found = Some(("A/1".to_owned(), 7));
        let line = r#"{"a":{"b":{"c":"A/1"}},"n":{"sent":"7"}}"#;
        assert_eq!(named("a.b.c", "n.sent", line), found);
        let line = r#"{"a.b":{"c":"A/1"},"n.sent":7}"#;
        assert_eq!(named("a.b.c", "n.sent", line), found);
        assert_eq!(named("a.b", "n", line), Some((String::new(), 0)));
        assert_eq!(named("a.b.c.d", "n.s", line), Some((String::new(), 0)));
    }

    #[test]
    fn line_other_than_one_object_is_rejected() {
        for line in [
            "",
            "x",
            "[]",
            "\"user_agent\"",
            "{",
            r#"{"user_agent":"A"#,
            r#"{"user_agent":"A""#,
            r#"{"user_agent":"A"}}"#,
            r#"{"user_agent":"A"} {"user_agent":"B"}"#,
            r#"{"user_agent" "A"}"#,
            r#"{"user_agent":}"#,
            r#"{user_agent:"A"}"#,
            r#"{"user_agent":"A","#,
            r#"{"user_agent":"A",}"#,
            r#"192.0.2.1 - - [x] "GET / HTTP/1.1" 200 1"#,
        ] {
            assert_eq!(usual(line), None, "{line}");
        }
    }

    #[test]
    fn escapes_are_returned_undecoded() {
        let line = r#"{"agent":"say \"hi\" \\"}"#;
        assert_eq!(usual(line), Some((r#"say \"hi\" \\"#.to_owned(), 0)));
    }
}
