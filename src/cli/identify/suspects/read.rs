//! Reads log lines and collects the flagged clients.

use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

use anyhow::Context as _;
use indicatif::ProgressBar;

use super::{
    super::{
        args::IdentifyArgs,
        input::{Input, bar},
    },
    print,
};
use crate::access_log::{Lines, LoggedClient, LoggedRequest, ResponseParser};
use crate::cli::output;
use crate::detect::{Claim, Detector};
use crate::robots_txt::{Dialect, RobotRules, RobotsTxt};
use robot_detection_fleets::{Closed, Conduct, Flags, Fleet, Fleets, Observation};

/// Seconds of log time between two evaluations of the visitors.
const JUDGED_S: u64 = 60;

/// The minimum backward jump of the log's time, in seconds, that is treated as a clock correction.
const CLOCK_S: i64 = 2 * 86_400;

/// The number of lines examined to determine the start time of a log.
const FIRST_LINES: usize = 100;

/// The fixed seed of the sketches, so that a log always produces the same results; not a secret.
const SEED: u64 = 0;

/// A product token that does not occur in any robots.txt file.
const ANYBODY: &str = "any-other-robot";

/// The counts of the lines that were read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) lines: u64,
    pub(super) unreadable: u64,
    /// The number of requests for pages and their assets that have a browser's User-Agent.
    pub(super) judged: u64,
    pub(super) without_client: u64,
    pub(super) referred: u64,
    /// The number of requests older than requests already read, by more than one window.
    pub(super) late: u64,
    failed: u64,
}

/// An evaluator that finds suspects in log lines.
struct Reader<'r> {
    detector: &'r Detector,
    robots_txt: Option<RobotRules>,
    lines: ResponseParser,
    fleets: Fleets,
    found: FlaggedClients,
    counts: Counts,
    /// The time of the most recent evaluation.
    judged_s: i64,
    now_s: i64,
}

pub(in crate::cli::identify) fn run(
    args: &IdentifyArgs,
    detector: &Detector,
) -> anyhow::Result<ExitCode> {
    let robots_txt = args.robots_txt.as_deref().map(robots_txt).transpose()?;
    let inputs = by_time(Input::named(&args.input));
    let bar = bar(&inputs, true);
    let mut reader = Reader {
        detector,
        robots_txt,
        lines: ResponseParser::default(),
        fleets: Fleets::new(SEED),
        found: FlaggedClients::default(),
        counts: Counts::default(),
        judged_s: i64::MIN,
        now_s: i64::MIN,
    };
    for input in &inputs {
        if let Err(error) = reader.read(input, &bar) {
            reader.counts.failed += 1;
            bar.suspend(|| output::note(&format!("error: cannot read {input}: {error}")));
        }
    }
    if reader.counts.judged > 0 {
        reader.judge(reader.now_s);
    }
    bar.finish_and_clear();
    let Reader { found, counts, .. } = reader;
    if args.json {
        output::json(&print::value(&found, &counts, args.robots_txt.is_some()))?;
    } else {
        output::text(&print::text(&found, &counts))?;
        for sentence in print::cannot_tell(&counts, args.robots_txt.is_some()) {
            output::note(&sentence);
        }
    }
    Ok(ExitCode::from(u8::from(counts.failed > 0)))
}

fn robots_txt(path: &Path) -> anyhow::Result<RobotRules> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(RobotsTxt::parse(&text, Dialect::default()).for_robot(ANYBODY))
}

/// Returns the inputs in the order of their first lines, because the names of rotated logs sort
/// differently.
fn by_time(inputs: Vec<Input>) -> Vec<Input> {
    if inputs.contains(&Input::Stdin) {
        return inputs;
    }
    let begins = |input: &Input| {
        let mut lines = Lines::new(input.reader(&ProgressBar::hidden())?);
        let (mut served, mut left) = (ResponseParser::default(), FIRST_LINES);
        while left > 0 && lines.read_more()? {
            while let Some(line) = lines.next_line().filter(|_| left > 0) {
                if let Some(served) = served.read(line) {
                    return io::Result::Ok(Some(served.at_s));
                }
                left -= 1;
            }
        }
        Ok(None)
    };
    // Unreadable inputs are reported when they are read.
    let begun = inputs
        .into_iter()
        .map(|input| (begins(&input).ok().flatten(), input));
    let mut begun: Vec<_> = begun.collect();
    begun.sort_by_key(|(at_s, _)| *at_s);
    begun.into_iter().map(|(_, input)| input).collect()
}

impl Reader<'_> {
    fn read(&mut self, input: &Input, bar: &ProgressBar) -> io::Result<()> {
        let mut lines = Lines::new(input.reader(bar)?);
        while lines.read_more()? {
            while let Some(line) = lines.next_line() {
                self.counts.lines += 1;
                if self.line(line).is_none() {
                    self.counts.unreadable += 1;
                }
            }
        }
        Ok(())
    }

    /// Evaluates a log line; returns `None` if the line contains no request.
    fn line(&mut self, line: &[u8]) -> Option<()> {
        let served = self.lines.read(line)?;
        let (at_s, status) = (served.at_s, served.status);
        // A client without a User-Agent does not claim to be a browser.
        let Some(user_agent) = served.user_agent else {
            return Some(());
        };
        let claim = self.detector.claim(user_agent);
        if !matches!(claim, None | Some(Claim::Person)) {
            return Some(());
        }
        let request = LoggedRequest::read(line)?;
        // Form submissions and requests with other methods are not page views.
        if !matches!(request.method.as_deref(), None | Some("GET" | "HEAD")) {
            return Some(());
        }
        let asked = LoggedClient::read(line);
        let Some(address) = asked.client else {
            self.counts.without_client += 1;
            return Some(());
        };
        let is_closed = |rules: &RobotRules| !rules.check(&request.target).allowed();
        let seen = Observation {
            at_s,
            user_agent,
            address,
            target: request.target.as_bytes(),
            status,
            has_referrer: asked.has_referrer,
            closed: (self.robots_txt.as_ref().is_some_and(is_closed)).then_some(Closed::Path),
            ..Observation::default()
        };
        self.counts.judged += 1;
        self.counts.referred += u64::from(asked.has_referrer);
        self.fleets.observe(&seen);
        self.pass(at_s);
        Some(())
    }

    /// Evaluates the requests made before a given time, if an evaluation is due.
    fn pass(&mut self, at_s: i64) {
        if at_s < self.now_s.saturating_sub(600) {
            self.counts.late += 1;
        }
        // A single line with a time in the future must not prevent the evaluation of later lines.
        let is_set_back = at_s < self.now_s.saturating_sub(CLOCK_S);
        self.now_s = if is_set_back {
            at_s
        } else {
            self.now_s.max(at_s)
        };
        if self.now_s.abs_diff(self.judged_s) >= JUDGED_S {
            self.judge(self.now_s);
        }
    }

    fn judge(&mut self, at_s: i64) {
        self.judged_s = at_s;
        let flags = self.fleets.judge(at_s);
        self.found.add(&flags, at_s);
    }
}

/// The maximum number of fleets, and of addresses and networks, to report, those with the most
/// requests first.
const MAX_TOLD: usize = 200;

/// A fleet, address or network that was flagged as suspicious.
#[derive(Clone, Debug)]
pub(super) struct FlaggedUntil<T> {
    pub(super) flagged: T,
    /// The time at which the client was last flagged, in seconds since 1970.
    pub(super) until_s: i64,
}

/// All clients that were flagged as suspects.
#[derive(Debug, Default)]
pub(super) struct FlaggedClients {
    pub(super) fleets: Vec<FlaggedUntil<Fleet>>,
    pub(super) conduct: Vec<FlaggedUntil<Conduct>>,
}

impl FlaggedClients {
    /// Adds the clients that were flagged at a given time.
    pub(super) fn add(&mut self, flags: &Flags, at_s: i64) {
        for fleet in flags.fleets() {
            let is_it = |told: &Fleet| told.since_s == fleet.since_s && told.is_same_as(fleet);
            put(&mut self.fleets, fleet, at_s, is_it, |fleet| {
                fleet.figures.requests
            });
        }
        for conduct in flags.conducts() {
            let is_it =
                |told: &Conduct| told.since_s == conduct.since_s && told.is_same_as(conduct);
            put(&mut self.conduct, conduct, at_s, is_it, |conduct| {
                conduct.requests
            });
        }
    }
}

fn put<T: Clone>(
    all: &mut Vec<FlaggedUntil<T>>,
    flagged: &T,
    at_s: i64,
    is_it: impl Fn(&T) -> bool,
    requests: fn(&T) -> u64,
) {
    let now = FlaggedUntil {
        flagged: flagged.clone(),
        until_s: at_s,
    };
    if let Some(known) = all.iter_mut().find(|told| is_it(&told.flagged)) {
        *known = now;
        return;
    }
    all.push(now);
    all.sort_by_key(|told| std::cmp::Reverse(requests(&told.flagged)));
    all.truncate(MAX_TOLD);
}
