//! One line of output for each User-Agent.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::access_log::Entry;
use crate::detect::{Claim, Detector, Listed};

use super::input::Sink;

/// Writer of answers: the robot's id, `-` for none, `?` for an unreadable line.
#[derive(Debug)]
pub(super) struct Answers<'d, W> {
    detector: &'d Detector,
    out: W,
    is_json: bool,
}

impl<'d, W: Write> Answers<'d, W> {
    pub(super) fn new(detector: &'d Detector, out: W, is_json: bool) -> Self {
        Self {
            detector,
            out,
            is_json,
        }
    }

    pub(super) fn answer(&mut self, user_agent: &[u8]) -> io::Result<()> {
        let claim = self.detector.identify(user_agent);
        if self.is_json {
            let answer = claim.map_or_else(|| json!({"robot": null}), |claim| object(&claim));
            return writeln!(self.out, "{answer}");
        }
        match claim {
            Some(claim) => writeln!(self.out, "{}", claim.id()),
            None => self.out.write_all(b"-\n"),
        }
    }

    fn unreadable(&mut self) -> io::Result<()> {
        if self.is_json {
            let answer = json!({"robot": null, "unreadable": true});
            return writeln!(self.out, "{answer}");
        }
        self.out.write_all(b"?\n")
    }
}

impl<W: Write> Sink for Answers<'_, W> {
    fn entry(&mut self, entry: Option<Entry<'_>>) -> io::Result<()> {
        match entry {
            Some(entry) => self.answer(entry.user_agent.unwrap_or_default()),
            None => self.unreadable(),
        }
    }

    fn pause(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns a claim as a JSON object.
pub(in crate::cli) fn object(claim: &Claim<'_>) -> Value {
    let range = claim.range();
    let matched = json!({"from": range.start, "to": range.end});
    match claim {
        Claim::Listed(Listed { robot, pattern, .. }) => json!({
            "robot": robot.id,
            "name": robot.name,
            "purpose": robot.purpose.as_str(),
            "operator": robot.operator,
            "source": robot.source.as_str(),
            "details_url": robot.details_url,
            "pattern": {"kind": pattern.kind.as_str(), "text": pattern.text},
            "matched": matched,
        }),
        Claim::Unlisted(unlisted) => json!({
            "robot": claim.id(),
            "purpose": claim.purpose().as_str(),
            "sign": unlisted.sign.as_str(),
            "matched": matched,
        }),
    }
}
