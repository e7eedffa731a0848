//! One line of output for each User-Agent.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::access_log::Entry;
use crate::detect::{Claim, Detector, Kind, Listed, SigningHost, Verdict};
use crate::registry::Pattern;

use super::{input::EntrySink, proving_sink::VerdictSink};

/// Verdict of a line that claims nothing.
const NO_VERDICT: &str = "-";

/// Writer of answers: the robot's id, `-` for none, `?` for an unreadable line.
#[derive(Debug)]
pub(super) struct AnswerWriter<'d, W> {
    detector: &'d Detector,
    out: W,
    is_json: bool,
    /// Verdict on the next line's claim, where claims are proven.
    verdict: Option<&'static str>,
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

    /// Adds the verdict to what is written.
    fn with_verdict(&self, mut answer: Value) -> Value {
        if let (Value::Object(members), Some(verdict)) = (&mut answer, self.verdict) {
            let verdict = (verdict != NO_VERDICT).then_some(verdict);
            members.insert("verdict".to_owned(), json!(verdict));
        }
        answer
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
            let answer = claim.map_or_else(|| json!({"robot": null}), |claim| object(&claim));
            let answer = self.with_verdict(answer);
            return writeln!(self.out, "{answer}");
        }
        let id = claim.as_ref().map_or("-", Claim::id);
        self.out.write_all(id.as_bytes())?;
        self.end()
    }

    fn unreadable(&mut self) -> io::Result<()> {
        if self.is_json {
            let answer = self.with_verdict(json!({"robot": null, "unreadable": true}));
            return writeln!(self.out, "{answer}");
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
            "pattern": pattern.map(pattern_object),
            "matched": matched,
        }),
        Claim::Unlisted(unlisted) => json!({
            "robot": claim.id(),
            "purpose": claim.purpose().as_str(),
            "sign": unlisted.sign.as_str(),
            "matched": matched,
        }),
        // `robot` is null: a program that counts robots by it must not count people.
        Claim::Shared(Listed { robot, pattern, .. }) => json!({
            "robot": null,
            "visitor": claim.id(),
            "shared": robot.id,
            "name": robot.name,
            "operator": robot.operator,
            "source": robot.source.as_str(),
            "details_url": robot.details_url,
            "pattern": pattern.map(pattern_object),
            "matched": matched,
        }),
        Claim::Signed(signed) => json!({
            "robot": claim.id(),
            "purpose": claim.purpose().as_str(),
            "sign": signed.unlisted.as_ref().map_or("signed", |unlisted| unlisted.sign.as_str()),
            "signer": signed.signer.as_ref().map(SigningHost::as_str),
        }),
        Claim::Nameless | Claim::Person => json!({
            "robot": claim.id(),
            "purpose": claim.purpose().as_str(),
        }),
    }
}

fn pattern_object(pattern: &Pattern) -> Value {
    json!({"kind": pattern.kind.as_str(), "text": pattern.text})
}
