//! Writes one line of output for each User-Agent.

use std::io::{self, Write};

use serde::Serialize;

use crate::access_log::Entry;
use crate::detect::{Claim, Detector, Kind, Verdict};
use crate::operations::decisions::ClaimView;

use super::{input::EntrySink, proving_sink::VerdictSink};

/// The verdict printed for a line without a claim.
const NO_VERDICT: &str = "-";

/// A writer of results: the robot's id, `-` for no robot, or `?` for an unreadable line.
#[derive(Debug)]
pub(super) struct AnswerWriter<'d, W> {
    detector: &'d Detector,
    out: W,
    is_json: bool,
    /// The verdict on the claim in the next line, if claims are verified.
    verdict: Option<&'static str>,
}

/// The result for one line, printed as a JSON object.
#[derive(Serialize)]
struct Answer {
    claim: Option<ClaimView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unreadable: bool,
}

impl<'d, W: Write> AnswerWriter<'d, W> {
    pub(super) fn new(detector: &'d Detector, out: W, is_json: bool) -> Self {
        Self {
            detector,
            out,
            is_json,
            verdict: None,
        }
    }

    fn json(&mut self, claim: Option<ClaimView>, unreadable: bool) -> io::Result<()> {
        let answer = Answer {
            claim,
            verdict: self.verdict.filter(|verdict| *verdict != NO_VERDICT),
            unreadable,
        };
        writeln!(self.out, "{}", serde_json::to_string(&answer)?)
    }

    fn end(&mut self) -> io::Result<()> {
        match self.verdict {
            None => self.out.write_all(b"\n"),
            Some(verdict) => writeln!(self.out, " {verdict}"),
        }
    }

    pub(super) fn answer(&mut self, user_agent: &[u8]) -> io::Result<()> {
        let claim = self.detector.claim(user_agent);
        let claim = claim.filter(|claim| claim.kind() != Kind::Nameless);
        if self.is_json {
            let view = claim
                .as_ref()
                .map(|claim| ClaimView::new(claim, user_agent));
            return self.json(view, false);
        }
        let id = claim.as_ref().map_or("-", Claim::id);
        self.out.write_all(id.as_bytes())?;
        self.end()
    }

    fn unreadable(&mut self) -> io::Result<()> {
        if self.is_json {
            return self.json(None, true);
        }
        self.out.write_all(b"?")?;
        self.end()
    }
}

impl<W: Write> EntrySink for AnswerWriter<'_, W> {
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

impl<W: Write> VerdictSink for AnswerWriter<'_, W> {
    fn verdict(&mut self, verdict: Option<Verdict>) {
        self.verdict = Some(verdict.map_or(NO_VERDICT, Verdict::as_str));
    }
}
