//! Plays one case against one server, and checks the result.

use std::time::Duration;

use tokio::time::timeout;

use super::{
    case::{Case, ConnectionState, Expected, Step},
    client::{Client, Place, Received},
    strict::{Request, Response},
    upstream::{PROBE_TARGET, ReceivedRequest, Upstream},
};

/// Time limit of a case, far above the need even on a busy machine.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);

const PROBE: &[u8] = b"GET /probe HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n";

/// Messages seen at both ends.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) received: Received,
    pub(super) ended: bool,
    pub(super) seen: ReceivedRequest,
}

impl Observed {
    /// Returns the complete requests of the case at the upstream.
    pub(super) fn requests(&self) -> Vec<&Request> {
        let requests = self.seen.requests.iter();
        requests
            .filter(|request| request.target != PROBE_TARGET)
            .collect()
    }

    /// Returns the responses to the case's requests.
    pub(super) fn responses(&self) -> Vec<&Response> {
        self.received
            .responses
            .iter()
            .filter(|response| !is_probe(response))
            .collect()
    }
}

fn is_probe(response: &Response) -> bool {
    response.headers.has_line(b"x-probe: yes")
}

/// Plays the case and checks the result; an error lists the messages seen.
pub(super) async fn check(place: &Place, upstream: &Upstream, case: &Case) -> Result<(), String> {
    let mut client = Client::connect(place, &case.methods).await;
    upstream.play(case);
    let played = timeout(DEADLINE, play(&mut client, case)).await;
    let settled = timeout(DEADLINE, upstream.settled()).await;
    let is_late = played.is_err() || settled.is_err();
    let observed = Observed {
        received: client.received(),
        ended: client.ended,
        seen: settled.unwrap_or_else(|_| upstream.seen()),
    };
    let faults = if is_late {
        vec!["it did not end in time".to_owned()]
    } else {
        faults(case, &observed)
    };
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}: {}\n{}",
        case.name,
        faults.join("; "),
        shown(&observed)
    ))
}

async fn play(client: &mut Client, case: &Case) {
    steps(client, case).await;
    client.responses(case.responses()).await;
    if case.then != ConnectionState::Closed && !case.steps.contains(&Step::End) {
        client.send(PROBE).await;
    }
    client.until_end().await;
}

pub(super) async fn steps(client: &mut Client, case: &Case) {
    let mut messages = 0;
    for step in &case.steps {
        match step {
            Step::Send(bytes) => client.send(bytes).await,
            Step::Wait => {
                messages += 1;
                client.messages(messages).await;
            }
            Step::End => client.end().await,
        }
    }
}

/// Plays the case without checking the result.
pub(super) async fn observe(
    place: &Place,
    upstream: &Upstream,
    case: &Case,
    patience: Duration,
) -> Observed {
    let mut client = Client::connect(place, &case.methods).await;
    upstream.play(case);
    let played = async {
        steps(&mut client, case).await;
        client.responses(case.responses().max(1)).await;
    };
    let _ = timeout(patience, played).await;
    if !case.steps.contains(&Step::End) {
        let _ = timeout(patience, async {
            client.send(PROBE).await;
            client.until_end().await;
        })
        .await;
    }
    Observed {
        received: client.received(),
        ended: client.ended,
        seen: upstream.seen(),
    }
}

fn faults(case: &Case, observed: &Observed) -> Vec<String> {
    let mut faults = Vec::new();
    client_faults(case, observed, &mut faults);
    upstream_faults(case, observed, &mut faults);
    faults
}

fn client_faults(case: &Case, observed: &Observed, faults: &mut Vec<String>) {
    let responses = observed.responses();
    if let Some(reason) = observed.received.malformed {
        faults.push(format!("a response is malformed: {reason}"));
    }
    if !matches_expected(&case.client, &responses) {
        faults.push(format!("the client should get {:?}", case.client));
    }
    let probes = observed.received.responses.len() - responses.len();
    let is_last = observed.received.responses.last().is_some_and(is_probe);
    if probes > 1 || (probes == 1 && !is_last) {
        faults.push("the next request's response is not the next one".to_owned());
    }
    if case.then == ConnectionState::Open && probes != 1 {
        faults.push("the connection does not serve the next request".to_owned());
    }
    // A 101 is followed by bytes of the other side.
    let switched = responses
        .last()
        .is_some_and(|response| response.status == 101);
    if !observed.received.rest.is_empty() && !switched {
        faults.push("bytes after the last response".to_owned());
    }
    let Some(first) = responses.first() else {
        return;
    };
    if first.status < 400 {
        for line in &case.gets {
            if !first.headers.has_line(line) {
                faults.push(format!(
                    "the client should get {:?}",
                    String::from_utf8_lossy(line)
                ));
            }
        }
        if case.body.as_ref().is_some_and(|body| *body != first.body) {
            faults.push("the client gets another body".to_owned());
        }
    }
    for name in &case.lacks {
        if first.headers.has_name(name) {
            faults.push(format!("the client should not get {name}"));
        }
    }
}

/// Compares responses with the allowed results, some of which may be absent.
fn matches_expected(expected: &[Vec<Expected>], responses: &[&Response]) -> bool {
    let Some((allowed, others)) = expected.split_first() else {
        return responses.is_empty();
    };
    let found = responses.split_first().is_some_and(|(response, rest)| {
        let kind = if response.is_cut {
            Expected::Cut(response.status)
        } else {
            Expected::Status(response.status)
        };
        allowed.contains(&kind) && matches_expected(others, rest)
    });
    found || (allowed.contains(&Expected::Nothing) && matches_expected(others, responses))
}

fn upstream_faults(case: &Case, observed: &Observed, faults: &mut Vec<String>) {
    let requests = observed.requests();
    for malformed in &observed.seen.malformed {
        faults.push(format!("the upstream gets no request, {malformed}"));
    }
    if !case.upstream.contains(&requests.len()) {
        faults.push(format!(
            "the upstream should get {:?} requests",
            case.upstream
        ));
    }
    if !case.cut && !observed.seen.cut.is_empty() {
        faults.push("a request broke off at the upstream".to_owned());
    }
    for (expected, request) in case.seen.iter().zip(&requests) {
        let mut found = [request.method.as_bytes(), &request.target].join(&b' ');
        if !request.body.is_empty() {
            found = [&found[..], &request.body].join(&b' ');
        }
        if found != *expected {
            faults.push(format!(
                "the upstream should get {:?}",
                String::from_utf8_lossy(expected)
            ));
        }
    }
    if let Some(last) = requests.last() {
        for line in &case.has {
            if !last.headers.has_line(line) {
                faults.push(format!(
                    "the upstream should get {:?}",
                    String::from_utf8_lossy(line)
                ));
            }
        }
    }
    for name in &case.not {
        if requests
            .iter()
            .any(|request| request.headers.has_name(name))
        {
            faults.push(format!("the upstream should not get {name}"));
        }
    }
    if case
        .tunnel
        .as_ref()
        .is_some_and(|tunnel| *tunnel != observed.seen.tunnel)
    {
        faults.push("other bytes came through the tunnel".to_owned());
    }
}

/// Returns a shortened description of the messages, for test output.
fn shown(observed: &Observed) -> String {
    let short = |bytes: &[u8]| {
        let text = bytes.escape_ascii().to_string();
        text.chars().take(200).collect::<String>()
    };
    let mut lines = Vec::new();
    for response in &observed.received.responses {
        let cut = if response.is_cut { ", cut" } else { "" };
        let (headers, body) = (response.headers.shown(), short(&response.body));
        lines.push(format!(
            "client: {}{cut} [{headers}] {body}",
            response.status
        ));
    }
    if !observed.received.rest.is_empty() {
        lines.push(format!("client, left: {}", short(&observed.received.rest)));
    }
    let end = if observed.ended {
        "closed"
    } else {
        "not closed"
    };
    lines.push(format!("client: {end}"));
    for request in &observed.seen.requests {
        let (target, body) = (short(&request.target), short(&request.body));
        let headers = request.headers.shown();
        lines.push(format!(
            "upstream: {} {target} [{headers}] {body}",
            request.method
        ));
    }
    for cut in &observed.seen.cut {
        lines.push(format!("upstream, cut: {}", short(cut)));
    }
    if !observed.seen.tunnel.is_empty() {
        lines.push(format!(
            "upstream, tunnel: {}",
            short(&observed.seen.tunnel)
        ));
    }
    format!("    {}\n", lines.join("\n    "))
}
