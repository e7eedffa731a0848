//! What may give a robot away anywhere in a User-Agent, found in the one pass
//! of the detector.

use std::ops::Range;

use super::{
    Sign,
    contacts::{is_address, is_contact_url, is_domain, is_name, is_site},
    platform::has_platform,
    words::{Words, has_any, words},
};

/// Text that gives a robot away where its rule holds.
#[derive(Debug)]
pub(in crate::detect) struct Mark {
    pub(in crate::detect) literal: &'static str,
    pub(in crate::detect) sign: Sign,
    rule: Rule,
}

/// What must stand around the literal of a mark.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// Anything.
    Anywhere,
    /// No letter behind it, but for a plural or a new word: `bots`, `botCheck`.
    EndOfWord,
    /// What calls itself a browser: others are told by their shape.
    Mozilla,
    /// A browser's name of which it is the last part: `ExampleAgent`, `example-agent`.
    Agent,
    /// A host name behind it, and not the address of a device's profile.
    Url,
    /// A name before it and a domain behind it.
    Address,
    /// No browser that calls itself compatible.
    Compatible,
    /// A name behind the engine that is none of a browser or a device.
    Engine,
    /// A domain behind it, and no name before it.
    Domain,
    /// A site's name before it, which ends here, behind what a browser says first.
    Site,
}

const fn mark(literal: &'static str, sign: Sign, rule: Rule) -> Mark {
    Mark {
        literal,
        sign,
        rule,
    }
}

const fn word(literal: &'static str) -> Mark {
    mark(literal, Sign::Word, Rule::Anywhere)
}

const fn attack(literal: &'static str) -> Mark {
    mark(literal, Sign::Attack, Rule::Anywhere)
}

/// The marks of robots, those first that say most.
pub(in crate::detect) const MARKS: &[Mark] = &[
    mark("bot", Sign::Word, Rule::EndOfWord),
    word("robot"),
    word("crawl"),
    word("spider"),
    word("scraper"),
    word("scrapy"),
    word("scraping"),
    word("fetch"),
    word("indexer"),
    word("indexing"),
    word("archiver"),
    word("archive"),
    word("slurp"),
    word("harvest"),
    word("checker"),
    mark("check", Sign::Word, Rule::EndOfWord),
    word("checking"),
    word("monitor"),
    word("validator"),
    word("validation"),
    mark("scan", Sign::Word, Rule::EndOfWord),
    word("scanner"),
    word("scanning"),
    word("parser"),
    word("extractor"),
    word("sitemap"),
    word("analyzer"),
    word("analyser"),
    word("screenshot"),
    word("uptime"),
    word("optimizer"),
    word("thumbnail"),
    word("headless"),
    word("resolver"),
    word("synthetic"),
    word("research"),
    word("measurement"),
    word("verification"),
    word("shorten"),
    word("generator"),
    word("diagnostics"),
    word("http client"),
    mark("preview", Sign::Word, Rule::Mozilla),
    mark("snapshot", Sign::Word, Rule::Mozilla),
    mark("translat", Sign::Word, Rule::Mozilla),
    mark("contact", Sign::Word, Rule::Mozilla),
    mark("agent", Sign::Word, Rule::Agent),
    mark("www.", Sign::Url, Rule::Url),
    mark(".com", Sign::Url, Rule::Site),
    mark(".net", Sign::Url, Rule::Site),
    mark(".org", Sign::Url, Rule::Site),
    mark(".io", Sign::Url, Rule::Site),
    mark(".ai", Sign::Url, Rule::Site),
    mark("(at)", Sign::Address, Rule::Address),
    mark("[at]", Sign::Address, Rule::Address),
    mark(" at ", Sign::Address, Rule::Address),
    attack("${"),
    attack("() {"),
    attack("<script"),
    attack("<?"),
    attack("/bin/"),
    attack("../"),
    attack("select("),
    mark("compatible;", Sign::Compatible, Rule::Compatible),
    mark("like gecko; ", Sign::Compatible, Rule::Engine),
    mark("like gecko, ", Sign::Compatible, Rule::Engine),
    mark("https://", Sign::Url, Rule::Url),
    mark("http://", Sign::Url, Rule::Url),
    mark("+", Sign::Url, Rule::Domain),
    mark("@", Sign::Address, Rule::Address),
];

impl Mark {
    /// Tells whether the literal at `range` of `text` gives a robot away.
    pub(in crate::detect) fn holds(&self, text: &[u8], range: &Range<usize>) -> bool {
        let before = text.get(..range.start).unwrap_or_default();
        let after = text.get(range.end..).unwrap_or_default();
        match self.rule {
            Rule::Anywhere => !is_device(text, before),
            Rule::EndOfWord => {
                let literal = text.get(range.clone()).unwrap_or_default();
                let is_cubot = self.literal == "bot" && ends_with(before, b"cu");
                ends_word(literal, after) && !is_cubot && !is_device(text, before)
            }
            Rule::Mozilla => is_mozilla(text) && !is_device(text, before),
            Rule::Agent => is_mozilla(text) && is_agent(before, after) && !is_device(text, before),
            Rule::Url => is_contact_url(text, before, after),
            Rule::Address => is_address(text, before, after),
            Rule::Compatible => is_compatible_without_browser(before, after),
            Rule::Engine => {
                let rest = after.split(|&byte| byte == b')').next().unwrap_or_default();
                after.first().is_some_and(u8::is_ascii_alphabetic) && !has_platform(rest)
            }
            Rule::Site => is_site(text, before, after),
            Rule::Domain => {
                let is_url = after.starts_with(b"http://") || after.starts_with(b"https://");
                !is_url && !before.last().copied().is_some_and(is_name) && is_domain(after)
            }
        }
    }
}

/// Tells whether a word ends: with no letter behind it, or an `s` and no
/// letter, or a capital letter where it was written small.
fn ends_word(literal: &[u8], after: &[u8]) -> bool {
    let was_small = literal.last().is_some_and(u8::is_ascii_lowercase);
    match after {
        [b's' | b'S', rest @ ..] => !rest.first().is_some_and(u8::is_ascii_alphabetic),
        [next, ..] if next.is_ascii_uppercase() => was_small,
        [next, ..] => !next.is_ascii_alphabetic(),
        [] => true,
    }
}

/// Tells whether a name ends with this part, and is not that of the header or of
/// an add-on that hides the browser.
fn is_agent(before: &[u8], after: &[u8]) -> bool {
    let name = before.strip_suffix(b"-").unwrap_or(before);
    name.last().is_some_and(u8::is_ascii_alphabetic)
        && !after.first().is_some_and(u8::is_ascii_alphabetic)
        && !ends_with(name, b"user")
        && !ends_with(name, b"masking")
}

static ANDROID: Words = Words::new(|| words(["android", "andr0id"]));
static COMPATIBLE: Words = Words::new(|| words(["compatible"]));
static ENGINE: Words = Words::new(|| words(["like gecko"]));

/// Tells whether a word belongs to the name of a device: `M bot 54`, `Spider 8`.
///
/// Android's browsers name the device in their first comment.
pub(super) fn is_device(text: &[u8], before: &[u8]) -> bool {
    starts_with(text, b"Mozilla/")
        && !before.contains(&b')')
        && has_any(&ANDROID, before)
        && !has_any(&COMPATIBLE, before)
}

/// Tells whether `compatible;` is said where no browser says it: behind the
/// engine, in a second comment, or without any platform.
fn is_compatible_without_browser(before: &[u8], after: &[u8]) -> bool {
    let name = after.trim_ascii_start();
    let is_first = before
        .strip_suffix(b"(")
        .is_some_and(|product| !product.contains(&b'('));
    if name.is_empty() || is_explorer(name) {
        return false;
    }
    if is_first {
        return name.iter().any(u8::is_ascii_alphabetic) && !has_platform(after);
    }
    has_any(&ENGINE, before) && (ends_with(before, b"; ") || ends_with(before, b"("))
}

fn is_explorer(after: &[u8]) -> bool {
    let name = after.trim_ascii_start();
    starts_with(name, b"msie") || starts_with(name, b"ms ")
}

pub(in crate::detect) fn is_mozilla(text: &[u8]) -> bool {
    starts_with(text, b"Mozilla/") || starts_with(text, b"Opera/")
}

pub(super) fn starts_with(text: &[u8], start: &[u8]) -> bool {
    let found = text.get(..start.len());
    found.is_some_and(|found| found.eq_ignore_ascii_case(start))
}

pub(super) fn ends_with(text: &[u8], end: &[u8]) -> bool {
    let found = text.len().checked_sub(end.len());
    let found = found.and_then(|at| text.get(at..));
    found.is_some_and(|found| found.eq_ignore_ascii_case(end))
}
