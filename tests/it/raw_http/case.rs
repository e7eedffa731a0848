//! Cases as written in the data files.

/// A step of one side.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Step {
    Send(Vec<u8>),
    /// Wait for one more message from the other side.
    Wait,
    /// Send nothing more.
    End,
}

/// Allowed result of one request for the client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Expected {
    Status(u16),
    /// A response with a truncated body.
    Cut(u16),
    Nothing,
}

/// Expected state of the client's connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ConnectionState {
    Open,
    Closed,
    Any,
}

/// Response of the upstream to one request.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) bytes: Vec<u8>,
    pub(super) closes: bool,
}

/// One case of a data file.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) steps: Vec<Step>,
    /// Methods of the requests, if needed for parsing the responses.
    pub(super) methods: Vec<String>,
    /// One for each request, the last one repeated; if empty, the default response.
    pub(super) answers: Vec<Answer>,
    /// Whether the upstream responds once it has the head.
    pub(super) early: bool,
    /// Allowed results for each request.
    pub(super) client: Vec<Vec<Expected>>,
    pub(super) then: ConnectionState,
    /// Allowed numbers of requests at the upstream.
    pub(super) upstream: Vec<usize>,
    /// Whether a request may be truncated on its way to the upstream.
    pub(super) cut: bool,
    /// `METHOD target body` of forwarded requests.
    pub(super) seen: Vec<Vec<u8>>,
    /// Header lines that the last request must have.
    pub(super) has: Vec<Vec<u8>>,
    /// Header names that no request may have.
    pub(super) not: Vec<String>,
    /// Header lines that the first response must have.
    pub(super) gets: Vec<Vec<u8>>,
    pub(super) lacks: Vec<String>,
    /// Body of the first response.
    pub(super) body: Option<Vec<u8>>,
    /// Bytes that the upstream gets after a 101.
    pub(super) tunnel: Option<Vec<u8>>,
}

impl Case {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            steps: Vec::new(),
            methods: Vec::new(),
            answers: Vec::new(),
            early: false,
            client: Vec::new(),
            then: ConnectionState::Any,
            upstream: Vec::new(),
            cut: false,
            seen: Vec::new(),
            has: Vec::new(),
            not: Vec::new(),
            gets: Vec::new(),
            lacks: Vec::new(),
            body: None,
            tunnel: None,
        }
    }

    /// Returns the minimum number of responses.
    pub(super) fn responses(&self) -> usize {
        self.client
            .iter()
            .filter(|allowed| !allowed.contains(&Expected::Nothing))
            .count()
    }
}

/// Parses a data file; panics if the file is invalid.
pub(super) fn parse(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("== ") {
            assert!(
                cases.iter().all(|case| case.name != name),
                "duplicate case {name:?}"
            );
            cases.push(Case::new(name));
            continue;
        }
        let case = cases.last_mut().expect("a case begins with its name");
        assert!(read(case, line).is_some(), "line {}: {line:?}", number + 1);
    }
    for case in &cases {
        let is_whole =
            !case.steps.is_empty() && !case.client.is_empty() && !case.upstream.is_empty();
        assert!(is_whole, "case {:?} is incomplete", case.name);
    }
    cases
}

fn read(case: &mut Case, line: &str) -> Option<()> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        ">" => send(&mut case.steps, bytes(rest)?),
        "wait" => case.steps.push(Step::Wait),
        "end" => case.steps.push(Step::End),
        "<" => {
            if case.answers.is_empty() {
                case.answers.push(Answer::default());
            }
            case.answers.last_mut()?.bytes.extend(bytes(rest)?);
        }
        "next" => case.answers.push(Answer::default()),
        "close" => case.answers.last_mut()?.closes = true,
        "early" => case.early = true,
        "methods:" => case.methods = words(rest),
        "client:" => client(case, rest)?,
        "upstream:" => upstream(case, rest)?,
        "seen:" => case.seen.push(unescaped(rest)?),
        "has:" => case.has.push(unescaped(rest)?),
        "not:" => case.not.extend(words(rest)),
        "gets:" => case.gets.push(unescaped(rest)?),
        "lacks:" => case.lacks.extend(words(rest)),
        "body:" => case.body = Some(unescaped(rest)?),
        "tunnel:" => case.tunnel = Some(bytes(rest)?),
        _ => return None,
    }
    Some(())
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(ToOwned::to_owned).collect()
}

fn send(steps: &mut Vec<Step>, bytes: Vec<u8>) {
    if let Some(Step::Send(before)) = steps.last_mut() {
        before.extend(bytes);
    } else {
        steps.push(Step::Send(bytes));
    }
}

fn client(case: &mut Case, text: &str) -> Option<()> {
    let (statuses, then) = text.rsplit_once(' ')?;
    case.then = match then {
        "open" => ConnectionState::Open,
        "closed" => ConnectionState::Closed,
        "any" => ConnectionState::Any,
        _ => return None,
    };
    for allowed in statuses.split(' ') {
        case.client
            .push(allowed.split('|').map(expected).collect::<Option<_>>()?);
    }
    Some(())
}

fn expected(text: &str) -> Option<Expected> {
    if text == "-" {
        return Some(Expected::Nothing);
    }
    match text.strip_suffix("-cut") {
        Some(status) => status.parse().ok().map(Expected::Cut),
        None => text.parse().ok().map(Expected::Status),
    }
}

fn upstream(case: &mut Case, text: &str) -> Option<()> {
    let (numbers, cut) = match text.strip_suffix(" cut") {
        Some(numbers) => (numbers, true),
        None => (text, false),
    };
    case.cut = cut;
    case.upstream = numbers
        .split('|')
        .map(|number| number.parse().ok())
        .collect::<Option<_>>()?;
    Some(())
}

/// Returns a line with its line end, which a final backslash suppresses.
fn bytes(line: &str) -> Option<Vec<u8>> {
    match line.strip_suffix('\\') {
        Some(line) => unescaped(line),
        None => unescaped(line).map(|mut bytes| {
            bytes.extend(b"\r\n");
            bytes
        }),
    }
}

/// Resolves `\r`, `\n`, `\t`, `\0`, `\\`, `\s` (a space), `\xNN` and `\(N:text)` (text repeated).
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        bytes.extend(before.as_bytes());
        let kind = escape.chars().next()?;
        rest = escape.get(1..)?;
        match kind {
            'r' => bytes.push(b'\r'),
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            's' => bytes.push(b' '),
            '0' => bytes.push(0),
            '\\' => bytes.push(b'\\'),
            'x' => {
                bytes.push(u8::from_str_radix(rest.get(..2)?, 16).ok()?);
                rest = rest.get(2..)?;
            }
            '(' => {
                let (repeated, after) = rest.split_once(')')?;
                let (times, text) = repeated.split_once(':')?;
                bytes.extend(unescaped(text)?.repeat(times.parse().ok()?));
                rest = after;
            }
            _ => return None,
        }
    }
    bytes.extend(rest.as_bytes());
    Some(bytes)
}

#[test]
fn lines_of_a_case_are_parsed() {
    let cases = parse(
        "== a case\n# why\n> GET / HTTP/1.1\n> X: \\(2:a\\x00)\\\nend\n< ok\nclose\n\
         client: 200|400-cut - closed\nupstream: 0|1 cut\n",
    );
    let [case] = &cases[..] else {
        panic!("{cases:?}")
    };
    let sent = b"GET / HTTP/1.1\r\nX: a\0a\0".to_vec();
    assert_eq!(case.steps, [Step::Send(sent), Step::End]);
    assert!(case.answers[0].closes && case.answers[0].bytes == b"ok\r\n");
    let allowed = [
        vec![Expected::Status(200), Expected::Cut(400)],
        vec![Expected::Nothing],
    ];
    assert_eq!(case.client, allowed);
    assert_eq!((case.then, case.responses()), (ConnectionState::Closed, 1));
    assert_eq!((&case.upstream[..], case.cut), (&[0, 1][..], true));
}
