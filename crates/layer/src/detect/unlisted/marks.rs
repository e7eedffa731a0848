//! Marks in a User-Agent that may reveal an unlisted robot, found in the detector's single pass.

use std::ops::Range;

use crate::detect::agent::{is_domain, starts_with};

use super::{
    Agent, Sign, Unlisted,
    contacts::{is_address, is_contact_url, is_name_byte, is_site},
    occurrences::MAX_OCCURRENCES,
    words_found::{Words, has_any, has_platform, words},
};

/// A text that reveals a robot if the rule of the mark is satisfied.
#[derive(Debug)]
pub(in crate::detect) struct Mark {
    pub(in crate::detect) literal: &'static str,
    pub(in crate::detect) sign: Sign,
    rule: Rule,
}

/// A rule about the text around a mark's literal.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// Matches anywhere, because attacks are not names.
    Anywhere,
    /// Matches if the text is spelled as a word and is not part of a device name.
    Word,
    /// Matches if no letter follows, except in a plural or before a new word: `bots`, `botCheck`.
    EndOfWord,
    /// Matches if no letter is adjacent, except at a new word: `FooResearch`, not `Presearch`.
    WholeWord,
    /// Matches except on phones, where human visitors use apps that scan, check and translate.
    Tool,
    /// Matches like [`Tool`](Self::Tool), but only if no letter follows.
    EndOfTool,
    /// Matches in a text that starts like a browser's User-Agent and does not belong to an app;
    /// other texts are judged by their shape.
    Mozilla,
    /// Matches the last part of a name in a browser's User-Agent: `ExampleAgent`, `example-agent`.
    Agent,
    /// Matches like [`Agent`](Self::Agent), but only if nothing or a version follows:
    /// `ExampleUser/1.0`.
    User,
    /// Matches if followed by a host name that does not belong to a device profile's URL.
    Url,
    /// Matches between a name and a domain.
    Address,
    /// Matches except in the User-Agent of a browser that calls itself compatible.
    Compatible,
    /// Matches after the engine if followed by a name of neither a browser nor a device.
    Engine,
    /// Matches if a domain follows and no name precedes.
    Domain,
    /// Matches at the end of a site's name, after the first part of a browser's User-Agent.
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
    mark(literal, Sign::Word, Rule::Word)
}

const fn tool(literal: &'static str) -> Mark {
    mark(literal, Sign::Word, Rule::Tool)
}

const fn attack(literal: &'static str) -> Mark {
    mark(literal, Sign::Attack, Rule::Anywhere)
}

/// All marks of unlisted robots, the most significant first.
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
    tool("checker"),
    mark("check", Sign::Word, Rule::EndOfTool),
    tool("checking"),
    tool("monitor"),
    word("validator"),
    word("validation"),
    mark("scan", Sign::Word, Rule::EndOfTool),
    tool("scanner"),
    tool("scanning"),
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
    mark("research", Sign::Word, Rule::WholeWord),
    tool("measurement"),
    tool("verification"),
    word("shorten"),
    tool("generator"),
    tool("diagnostics"),
    word("http client"),
    word("httpclient"),
    mark("preview", Sign::Word, Rule::Mozilla),
    mark("snapshot", Sign::Word, Rule::Mozilla),
    mark("translat", Sign::Word, Rule::Mozilla),
    mark("contact", Sign::Word, Rule::Mozilla),
    mark("agent", Sign::Word, Rule::Agent),
    mark("user", Sign::Word, Rule::User),
    mark("powershell", Sign::Library, Rule::Anywhere),
    mark("www.", Sign::Url, Rule::Url),
    mark(".com", Sign::Url, Rule::Site),
    mark(".net", Sign::Url, Rule::Site),
    mark(".org", Sign::Url, Rule::Site),
    mark(".io", Sign::Url, Rule::Site),
    mark(".ai", Sign::Url, Rule::Site),
    mark("(at)", Sign::Address, Rule::Address),
    mark("[at]", Sign::Address, Rule::Address),
    mark(" at ", Sign::Address, Rule::Address),
    // Log4j lookups (CVE-2021-44228), Bash functions (CVE-2014-6271), and text that attacks a page,
    // a shell, a path or a query.
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
];

/// Marks that nearly all robots and few browsers have. They are found by their common bytes, and
/// only searched for if no robot is found.
const LATE_MARKS: [Mark; 4] = [
    mark("https://", Sign::Url, Rule::Url),
    mark("http://", Sign::Url, Rule::Url),
    mark("+", Sign::Url, Rule::Domain),
    mark("@", Sign::Address, Rule::Address),
];

/// Returns the first late mark that reveals a robot.
pub(super) fn find_late(agent: &Agent<'_>) -> Option<Unlisted> {
    memchr::memchr3_iter(b':', b'+', b'@', agent.text)
        .take(MAX_OCCURRENCES)
        .find_map(|at| {
            LATE_MARKS
                .iter()
                .find_map(|mark| mark.found_around(agent, at))
        })
}

impl Mark {
    /// Returns `true` if a literal is spelled and ends as the rule requires.
    fn is_word(&self, before: &[u8], literal: &[u8], after: &[u8]) -> bool {
        match self.rule {
            // Random letters may contain `bot` in any mixture of cases.
            Rule::EndOfWord => {
                is_spelled(literal) && ends_word(literal, after) && !is_in_version(before)
            }
            Rule::EndOfTool => ends_word(literal, after),
            Rule::WholeWord => {
                starts_word(before, literal) && !after.first().is_some_and(u8::is_ascii_alphabetic)
            }
            _ => true,
        }
    }

    /// Returns the mark around the byte at `at`, if the mark reveals a robot.
    fn found_around(&self, agent: &Agent<'_>, at: usize) -> Option<Unlisted> {
        let text = agent.text;
        let byte = text.get(at)?;
        let before = self.literal.bytes().position(|own| own == *byte)?;
        let start = at.checked_sub(before)?;
        let range = start..start + self.literal.len();
        let literal = text.get(range.clone())?;
        let is_there = literal.eq_ignore_ascii_case(self.literal.as_bytes());
        (is_there && self.matches(agent, &range)).then_some(Unlisted {
            sign: self.sign,
            range,
        })
    }

    /// Returns `true` if the literal at `range` in `text` reveals a robot.
    pub(super) fn matches(&self, agent: &Agent<'_>, range: &Range<usize>) -> bool {
        let Agent { text, words } = *agent;
        let before = text.get(..range.start).unwrap_or_default();
        let named = agent.words_before(before);
        let after = text.get(range.end..).unwrap_or_default();
        match self.rule {
            Rule::Anywhere => !is_device(words, named),
            Rule::Word | Rule::EndOfWord | Rule::WholeWord | Rule::Tool | Rule::EndOfTool => {
                let literal = text.get(range.clone()).unwrap_or_default();
                let is_tool = matches!(self.rule, Rule::Tool | Rule::EndOfTool);
                self.is_word(before, literal, after)
                    && !is_device_maker(before, literal)
                    && !is_device(words, named)
                    && (!is_tool || !is_app(words, before, literal))
            }
            Rule::Mozilla => {
                is_mozilla(text)
                    && !is_device(words, named)
                    && !ends_with(before, b"(via ")
                    && !is_app(words, before, text.get(range.clone()).unwrap_or_default())
            }
            Rule::Agent => is_mozilla(text) && is_agent(before, after) && !is_device(words, named),
            Rule::User => is_mozilla(text) && is_user(before, after) && !is_device(words, named),
            Rule::Url => is_contact_url(agent, before, after),
            Rule::Address => is_address(agent, before, after),
            Rule::Compatible => is_compatible_without_browser(before, after),
            Rule::Engine => {
                let rest = after.split(|&byte| byte == b')').next().unwrap_or_default();
                after.first().is_some_and(u8::is_ascii_alphabetic)
                    && ends_with(before, b"khtml, ")
                    && !has_platform(rest)
            }
            Rule::Site => is_site(text, before, after),
            Rule::Domain => {
                let is_url = after.starts_with(b"http://") || after.starts_with(b"https://");
                !is_url && !before.last().copied().is_some_and(is_name_byte) && is_domain(after)
            }
        }
    }
}

static ANDROID: Words = Words::new(|| words(["android", "andr0id"]));
static COMPATIBLE: Words = Words::new(|| words(["compatible"]));
static ENGINE: Words = Words::new(|| words(["like gecko"]));

/// Returns `true` if a word is part of a device name, such as `M bot 54` or `Spider 8`.
///
/// Android browsers include the name of the device in their first comment.
pub(super) fn is_device(text: &[u8], before: &[u8]) -> bool {
    starts_with(text, b"Mozilla/")
        && !before.contains(&b')')
        && has_any(&ANDROID, before)
        && !has_any(&COMPATIBLE, before)
}

/// Returns `true` if `compatible;` occurs where no browser uses it: after the engine, in a second
/// comment, or without a platform.
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

pub(super) fn is_mozilla(text: &[u8]) -> bool {
    starts_with(text, b"Mozilla/") || starts_with(text, b"Opera/")
}

pub(super) fn ends_with(text: &[u8], end: &[u8]) -> bool {
    let found = text.len().checked_sub(end.len());
    let found = found.and_then(|at| text.get(at..));
    found.is_some_and(|found| found.eq_ignore_ascii_case(end))
}

static TELEPHONES: Words = Words::new(|| {
    words([
        "android",
        "andr0id",
        "iphone",
        "ipad",
        "ipod",
        "ios/",
        "ios ",
        "darwin",
        "cfnetwork",
    ])
});

/// Returns `true` if a word is in lower case, in upper case, or capitalised.
pub(super) fn is_spelled(word: &[u8]) -> bool {
    word.iter().skip(1).all(u8::is_ascii_lowercase) || word.iter().all(u8::is_ascii_uppercase)
}

/// Returns `true` if a word begins at the literal: not after a letter, or with a capital letter
/// after a small one.
pub(super) fn starts_word(before: &[u8], literal: &[u8]) -> bool {
    before.last().is_none_or(|last| {
        !last.is_ascii_alphabetic()
            || last.is_ascii_lowercase() && literal.first().is_some_and(u8::is_ascii_uppercase)
    })
}

/// Returns `true` behind a product's version, where browsers have random letters:
/// `Safari/537.36/iBot7KTt-08`.
fn is_in_version(before: &[u8]) -> bool {
    let word = before.rsplit(|byte| b" (;".contains(byte)).next();
    let mut parts = word.unwrap_or_default().splitn(3, |byte| *byte == b'/');
    let (name, version) = (parts.next(), parts.next().unwrap_or_default());
    name.is_some_and(|name| starts_with(name, b"safari"))
        && version.first().is_some_and(u8::is_ascii_digit)
        && parts.next().is_some()
}

/// Returns `true` if a word ends the name of a device maker, such as `CUBOT` or `iRobot`.
pub(super) fn is_device_maker(before: &[u8], literal: &[u8]) -> bool {
    let is = |word: &[u8]| literal.eq_ignore_ascii_case(word);
    let is_alone = |start: &[u8]| {
        ends_with(before, start)
            && !before
                .get(..before.len() - start.len())
                .and_then(<[u8]>::last)
                .is_some_and(u8::is_ascii_alphabetic)
    };
    is(b"bot") && (ends_with(before, b"cu") || is_alone(b"iro")) || is(b"robot") && is_alone(b"i")
}

/// Returns `true` if a word is part of the name of a phone app.
///
/// Such names are capitalised or written as one word: `CamScanner`, `barcodescanner`.
pub(super) fn is_app(text: &[u8], before: &[u8], literal: &[u8]) -> bool {
    let is_title = literal.first().is_some_and(u8::is_ascii_uppercase);
    (is_title || before.last().is_some_and(u8::is_ascii_alphabetic)) && has_any(&TELEPHONES, text)
}

/// Returns `true` if a word ends with the literal: not before a letter, or before a plural `s` or a
/// capital letter after a small one.
pub(super) fn ends_word(literal: &[u8], after: &[u8]) -> bool {
    let was_small = literal.last().is_some_and(u8::is_ascii_lowercase);
    match after {
        [b's' | b'S', rest @ ..] => !rest.first().is_some_and(u8::is_ascii_alphabetic),
        [next, ..] if next.is_ascii_uppercase() => was_small,
        [next, ..] => !next.is_ascii_alphabetic(),
        [] => true,
    }
}

/// Returns `true` if a name ends at the mark, and nothing or only a version follows.
pub(super) fn is_user(before: &[u8], after: &[u8]) -> bool {
    is_agent(before, after) && matches!(after, [] | [b'/' | b';' | b')', ..])
}

/// Returns `true` if a name ends at the mark, and is neither the name of the header itself nor the
/// name of an add-on that hides the browser.
pub(super) fn is_agent(before: &[u8], after: &[u8]) -> bool {
    let name = before.strip_suffix(b"-").unwrap_or(before);
    name.last().is_some_and(u8::is_ascii_alphabetic)
        && !after.first().is_some_and(u8::is_ascii_alphabetic)
        && !ends_with(name, b"user")
        && !ends_with(name, b"masking")
}
