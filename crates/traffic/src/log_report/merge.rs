//! Reads several logs as one, in the order of their times, and counts copied lines once.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::io::{self, Read};
use std::ops::Range;

use foldhash::fast::RandomState;

use crate::access_log::{Lines, LogLine, LogReader, Record};

/// A consumer of the requests in logs.
pub trait RequestSink {
    /// Handles a request, whose time is given in seconds since 1970.
    fn request(&mut self, record: &Record<'_>, time_s: i64);
}

/// Logs to read as one, in the order of the times of their lines.
#[derive(Clone, Debug)]
pub struct Logs {
    /// The time of the first request of each log, in seconds since 1970, in ascending order.
    pub first_s: Vec<i64>,
    /// Reader for the lines.
    pub reader: LogReader,
    /// The period to read, in seconds since 1970.
    pub period_s: Range<i64>,
}

/// Function that opens the log with the given number.
type Open<'o> = &'o dyn Fn(usize) -> io::Result<Box<dyn Read>>;

/// The counts of the lines that were read.
#[derive(Debug, Default)]
pub struct LineCounts {
    /// The number of lines.
    pub lines: u64,
    /// The number of lines in no known format, or without a time.
    pub unreadable: u64,
    /// The number of lines that another log also contains.
    pub copies: u64,
    /// The logs that could not be read to the end.
    pub failures: Vec<(usize, io::Error)>,
}

impl Logs {
    /// Passes all requests to a sink; if a log fails, continues with the others.
    pub fn read(&self, open_log: Open<'_>, sink: &mut dyn RequestSink) -> LineCounts {
        let mut counts = LineCounts::default();
        let mut copies = Copies::default();
        let mut open: Vec<Source<'_>> = Vec::new();
        let mut waiting = self.first_s.iter().enumerate().peekable();
        loop {
            let earliest = open.iter().map(|source| source.time_s).min();
            if let Some((number, _)) =
                waiting.next_if(|(_, first_s)| earliest.is_none_or(|time_s| **first_s <= time_s))
            {
                let opened = open_log(number).map(|log| Source::new(number, log, self));
                let next = opened.and_then(|mut source| {
                    let has_line = source.advance(&mut counts)?;
                    Ok(has_line.then_some(source))
                });
                match next {
                    Ok(source) => open.extend(source),
                    Err(error) => counts.failures.push((number, error)),
                }
                continue;
            }
            let sources = open.iter_mut().enumerate();
            let Some((at, source)) =
                sources.min_by_key(|(_, source)| (source.time_s, source.number))
            else {
                return counts;
            };
            source.hand_over(sink, &mut copies, &mut counts);
            let advanced = if open.len() == 1 {
                let until_s = waiting.peek().map_or(i64::MAX, |(_, first_s)| **first_s);
                let source = open.first_mut();
                source.map_or(Ok(false), |source| {
                    source.read_alone(until_s, sink, &mut copies, &mut counts)
                })
            } else {
                let source = open.get_mut(at);
                source.map_or(Ok(false), |source| source.advance(&mut counts))
            };
            match advanced {
                Ok(true) => {}
                Ok(false) => drop(open.remove(at)),
                Err(error) => counts.failures.push((open.remove(at).number, error)),
            }
        }
    }
}

/// A log that is being read.
struct Source<'i> {
    number: usize,
    lines: Lines<Box<dyn Read>>,
    reader: LogReader,
    period_s: &'i Range<i64>,
    /// The next line.
    head: Vec<u8>,
    /// The time of the next line.
    time_s: i64,
}

impl<'i> Source<'i> {
    fn new(number: usize, log: Box<dyn Read>, logs: &'i Logs) -> Self {
        Self {
            number,
            lines: Lines::new(log),
            reader: logs.reader.clone(),
            period_s: &logs.period_s,
            head: Vec::new(),
            time_s: i64::MIN,
        }
    }

    /// Moves to the next line that contains a request; returns `false` at the end of the log.
    fn advance(&mut self, counts: &mut LineCounts) -> io::Result<bool> {
        loop {
            while let Some(line) = self.lines.next_line() {
                if let Some((_, time_s)) = request(self.reader.read(line), self.period_s, counts) {
                    self.time_s = time_s;
                    self.head.clear();
                    self.head.extend_from_slice(line);
                    return Ok(true);
                }
            }
            if !self.lines.read_more()? {
                return Ok(false);
            }
        }
    }

    /// Passes the next line to the sink.
    fn hand_over(
        &mut self,
        sink: &mut dyn RequestSink,
        copies: &mut Copies,
        counts: &mut LineCounts,
    ) {
        if copies.is_copy(self.number, self.time_s, &self.head) {
            counts.copies += 1;
        } else if let LogLine::Request(record) = self.reader.read(&self.head) {
            sink.request(&record, self.time_s);
        }
    }

    /// Passes lines to the sink until a line's time is `until_s` or later; returns `false` at the
    /// end of the log.
    fn read_alone(
        &mut self,
        until_s: i64,
        sink: &mut dyn RequestSink,
        copies: &mut Copies,
        counts: &mut LineCounts,
    ) -> io::Result<bool> {
        loop {
            while let Some(line) = self.lines.next_line() {
                let Some((record, time_s)) = request(self.reader.read(line), self.period_s, counts)
                else {
                    continue;
                };
                if time_s >= until_s {
                    self.time_s = time_s;
                    self.head.clear();
                    self.head.extend_from_slice(line);
                    return Ok(true);
                }
                if time_s <= copies.second_s && copies.is_copy(self.number, time_s, line) {
                    counts.copies += 1;
                } else {
                    sink.request(&record, time_s);
                }
            }
            if !self.lines.read_more()? {
                return Ok(false);
            }
        }
    }
}

/// Counts a line, and returns the request in the line with its time, if it is in the period.
fn request<'l>(
    line: LogLine<'l>,
    period_s: &Range<i64>,
    counts: &mut LineCounts,
) -> Option<(Record<'l>, i64)> {
    let timed = match line {
        LogLine::Header => return None,
        LogLine::Request(record) => record.time_s.map(|time_s| (record, time_s)),
        LogLine::Unreadable => None,
    };
    counts.lines += 1;
    counts.unreadable += u64::from(timed.is_none());
    timed.filter(|(_, time_s)| period_s.contains(time_s))
}

/// The lines of the current second, to find lines that several logs contain.
///
/// Copies are read at the same time, because logs are read in the order of their times.
#[derive(Debug)]
struct Copies {
    second_s: i64,
    hasher: RandomState,
    /// The number of equal lines in each log.
    by_log: HashMap<(u64, usize), u32, RandomState>,
    /// The number of equal lines that were passed on.
    passed: HashMap<u64, u32, RandomState>,
}

impl Default for Copies {
    fn default() -> Self {
        Self {
            second_s: i64::MIN,
            hasher: RandomState::default(),
            by_log: HashMap::default(),
            passed: HashMap::default(),
        }
    }
}

impl Copies {
    /// Returns `true` if another log contains the line, and the line was already passed on.
    fn is_copy(&mut self, log: usize, time_s: i64, line: &[u8]) -> bool {
        if time_s > self.second_s {
            self.second_s = time_s;
            self.by_log.clear();
            self.passed.clear();
        }
        let hash = self.hasher.hash_one(line);
        let own = self.by_log.entry((hash, log)).or_default();
        *own += 1;
        let passed = self.passed.entry(hash).or_default();
        let is_copy = *own <= *passed;
        *passed = (*passed).max(*own);
        is_copy
    }
}
