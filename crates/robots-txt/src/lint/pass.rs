//! The linter's pass over the lines of a file.

use memchr::memchr;

use crate::Dialect;
use crate::LineReading;
use crate::RobotsTxt;
use crate::field::GOOGLE_MAX_LINE;
use crate::lines::{Line, Lines, MAX_FILE_BYTES, parsed_part};
use crate::preferences::Vocabulary;

use super::{
    Warning, WarningKind,
    groups::Groups,
    host::host,
    inherit::inherit,
    nearest::nearest,
    preferences::preferences,
    query::query_positions,
    rules::WrittenRule,
    values,
    warnings::{Warnings, quote},
};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl RobotsTxt {
    /// Returns warnings about lines that robots interpret differently than intended.
    ///
    /// The warnings are sorted by line. Only the first 200 warnings for the first 500 KiB are
    /// returned, followed by a warning that reports how many were omitted. All warnings refer to
    /// the file's dialect, because lines that are correct in one dialect may be wrong in another.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_robots_txt::{Dialect, RobotsTxt, WarningKind};
    ///
    /// let file = RobotsTxt::parse(b"User-agent: *\nDissalow: /a\n", Dialect::rfc9309());
    /// let warnings = file.warnings();
    /// assert_eq!(warnings[0].line, 2);
    /// assert_eq!(warnings[0].kind, WarningKind::UnknownField);
    /// assert!(warnings[0].text.ends_with("write Disallow"));
    /// ```
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        self.warnings_except(|_| false)
    }

    /// Returns the warnings, except warnings about `User-agent` names that are known to be valid.
    ///
    /// RFC 9309 §2.2.1 permits only product tokens that consist of letters, `-` and `_`. Some
    /// robots nevertheless use names with spaces or dots; pass a function that recognises them, for
    /// example by looking them up in a registry.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_robots_txt::{Dialect, RobotsTxt};
    ///
    /// let file = RobotsTxt::parse(b"User-agent: Example Bot\nDisallow: /\n", Dialect::rfc9309());
    /// assert_eq!(file.warnings().len(), 1);
    /// let warnings = file.warnings_except(|name| name.eq_ignore_ascii_case("example bot"));
    /// assert!(warnings.is_empty());
    /// ```
    #[must_use]
    pub fn warnings_except(&self, is_name: impl Fn(&str) -> bool) -> Vec<Warning> {
        let mut warnings = Warnings::default();
        let text = self.as_bytes();
        if !is_other(text, &mut warnings) {
            // Skip the byte order mark, so that it is not reported again as part of the first
            // field.
            let text = start(text, self.dialect(), &mut warnings);
            let text = end(text, &mut warnings);
            let mut pass = Pass {
                dialect: self.dialect(),
                is_name: &is_name,
                groups: Groups::new(self.dialect()),
                has_host: false,
                warnings: &mut warnings,
            };
            for line in Lines::new(text) {
                pass.line(line);
            }
            pass.groups.close(pass.warnings);
            inherit(self, &mut warnings);
            query_positions(self, &mut warnings);
        }
        warnings.finish()
    }
}

/// Returns `true` and adds a warning if robots cannot read the file as text.
fn is_other(text: &[u8], warnings: &mut Warnings) -> bool {
    let is_utf16 = match text {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        // In UTF-16 without a byte order mark, each ASCII character is adjacent to a NUL.
        [0, one, 0, other, ..] | [one, 0, other, 0, ..] => {
            one.is_ascii_graphic() && other.is_ascii_graphic()
        }
        _ => false,
    };
    let (kind, reason) = if is_utf16 {
        (
            WarningKind::Utf16,
            "the file is encoded in UTF-16, so robots find no rules; save it as UTF-8",
        )
    } else if text
        .strip_prefix(BYTE_ORDER_MARK)
        .unwrap_or(text)
        .trim_ascii_start()
        .starts_with(b"<")
    {
        (
            WarningKind::Html,
            "the file contains HTML, so robots find no rules; serve the rules as text/plain",
        )
    } else {
        return false;
    };
    warnings.add(1, kind, || reason.to_owned());
    true
}

fn start<'t>(text: &'t [u8], dialect: &Dialect, warnings: &mut Warnings) -> &'t [u8] {
    let Some(rest) = text.strip_prefix(BYTE_ORDER_MARK) else {
        return text;
    };
    let effect = match dialect.lines {
        LineReading::Standard | LineReading::Google => {
            "which some robots read as part of the first field"
        }
        _ => "so robots that use this dialect ignore the first line",
    };
    warnings.add(1, WarningKind::ByteOrderMark, || {
        format!("the file starts with a byte order mark, {effect}; save the file without it")
    });
    rest
}

fn end<'t>(text: &'t [u8], warnings: &mut Warnings) -> &'t [u8] {
    let Some(read) = text
        .get(..MAX_FILE_BYTES)
        .filter(|read| read.len() < text.len())
    else {
        return text;
    };
    warnings.add(Lines::new(read).count(), WarningKind::LongFile, || {
        "robots may ignore the file from this line on, because it exceeds 500 KiB; shorten the file, for example by using wildcards".to_owned()
    });
    // Exclude a truncated line, because only a part of it would be checked.
    parsed_part(text)
}

/// The state of the linter's pass between two lines.
struct Pass<'t, 'f> {
    dialect: &'t Dialect,
    is_name: &'f dyn Fn(&str) -> bool,
    groups: Groups<'t>,
    has_host: bool,
    warnings: &'f mut Warnings,
}

impl<'t> Pass<'t, '_> {
    fn line(&mut self, line: Line<'t>) {
        let number = line.number as usize;
        self.octets(line.bytes, number);
        // Comments may have any encoding.
        let text = line.before_comment().trim_ascii();
        if str::from_utf8(text).is_err() {
            self.warnings.add(number, WarningKind::NotUtf8, || {
                "the line is not UTF-8, so robots may not match it as intended; save the file as UTF-8"
                    .to_owned()
            });
        }
        if line.bytes.trim_ascii().is_empty() {
            self.groups.blank(number, self.warnings);
        } else if text.is_empty() {
            self.groups.comment();
        } else if let Some((name, value)) = split(text) {
            match Field::named(name).or_else(|| self.slip(name, number)) {
                Some(field) => self.field(field, value, number),
                None => self.groups.other(false),
            }
        } else {
            self.missing_colon(text, number);
        }
    }

    fn octets(&mut self, octets: &[u8], number: usize) {
        if octets.len() > GOOGLE_MAX_LINE {
            self.warnings.add(number, WarningKind::LongLine, || {
                "Google's robots read only 16,663 octets of a line; shorten the line".to_owned()
            });
        }
        if memchr(0, octets).is_some() {
            self.warnings.add(number, WarningKind::Nul, || {
                "the line contains a NUL, at which some robots stop reading; delete it".to_owned()
            });
        } else if octets
            .iter()
            .any(|octet| octet.is_ascii_control() && *octet != b'\t')
        {
            self.warnings
                .add(number, WarningKind::ControlCharacter, || {
                    "the line contains control characters, which robots treat as part of the line; delete them"
                        .to_owned()
                });
        }
    }

    /// Adds a warning for an unknown field name, and returns the field as which the dialect
    /// interprets the name, if any.
    fn slip(&mut self, name: &[u8], line: usize) -> Option<Field> {
        let forgiven = Field::forgiven(name);
        let is_read = forgiven.is_some() && self.dialect.lines == LineReading::Google;
        self.warnings.add(line, WarningKind::UnknownField, || {
            let effect = if is_read {
                "this dialect accepts it, but other robots ignore the line"
            } else {
                "robots ignore the line"
            };
            let is_url = ["http", "https"]
                .iter()
                .any(|scheme| name.eq_ignore_ascii_case(scheme.as_bytes()));
            let next = match Field::nearest(name) {
                _ if is_url => {
                    "if this is the URL of a sitemap, write Sitemap: before it".to_owned()
                }
                Some(known) => format!("write {known}"),
                None => "remove the line, or start it with # if it is a comment".to_owned(),
            };
            format!("unknown field {}: {effect}; {next}", quote(name))
        });
        forgiven.filter(|_| is_read)
    }

    fn field(&mut self, field: Field, value: &'t [u8], line: usize) {
        let (dialect, warnings) = (self.dialect, &mut *self.warnings);
        match field {
            Field::UserAgent => {
                if !str::from_utf8(value).is_ok_and(self.is_name) {
                    values::agent(value, line, dialect, warnings);
                }
                self.groups.agent(value, line, warnings);
            }
            Field::Allow if !dialect.allow => {
                warnings.add(line, WarningKind::UnknownAllow, || {
                    "robots that use this dialect ignore Allow; write Disallow for the other paths instead"
                        .to_owned()
                });
                self.groups.other(false);
            }
            Field::Allow | Field::Disallow => {
                let is_allow = field == Field::Allow;
                values::path(value, is_allow, line, dialect, warnings);
                let path = value;
                self.groups.rule(
                    WrittenRule {
                        path,
                        line,
                        is_allow,
                    },
                    warnings,
                );
            }
            Field::CrawlDelay => {
                values::crawl_delay(value, line, dialect, warnings);
                self.groups.pace(line, warnings);
            }
            Field::RequestRate => {
                values::request_rate(value, line, warnings);
                self.groups.pace(line, warnings);
            }
            _ => self.other(field, value, line),
        }
    }

    /// Checks the value of a field that applies to the whole file.
    fn other(&mut self, field: Field, value: &[u8], line: usize) {
        match field {
            Field::Sitemap => values::sitemap(value, line, self.warnings),
            Field::Host => {
                let is_first = !std::mem::replace(&mut self.has_host, true);
                host(value, is_first, line, self.dialect, self.warnings);
            }
            Field::CleanParam => values::clean_param(value, line, self.warnings),
            Field::Preferences(words) => preferences(words, value, line, self.warnings),
            Field::Noindex => self.warnings.add(line, WarningKind::Noindex, || {
                "robots ignore the line, because robots.txt controls only fetching; send the header X-Robots-Tag: noindex, or add a META tag"
                    .to_owned()
            }),
            _ => {}
        }
        match field {
            Field::Preferences(words) => self.groups.preferences(words),
            Field::Other => self.groups.other(false),
            _ => self.groups.other(true),
        }
    }

    fn missing_colon(&mut self, text: &'t [u8], line: usize) {
        let end = text.iter().position(u8::is_ascii_whitespace);
        let (word, value) = text.split_at(end.unwrap_or(text.len()));
        let value = value.trim_ascii();
        // Google's parser reads two words as a field and its value.
        let is_read = self.dialect.lines == LineReading::Google
            && !value.is_empty()
            && !value.iter().any(u8::is_ascii_whitespace);
        let field = Field::named(word).or_else(|| Field::forgiven(word));
        let known = Field::nearest(word);
        self.warnings
            .add(line, WarningKind::MissingColon, || match known {
                Some(known) if is_read && field.is_some() => format!(
                    "the line has no colon: this dialect accepts it, but other robots ignore the line; write {known}: {}",
                    quote(value)
                ),
                Some(known) => format!(
                    "the line has no colon and is ignored; write {known}: before the value"
                ),
                None => {
                    "the line is neither a field nor a comment and is ignored; for a comment, start the line with #"
                        .to_owned()
                }
            });
        if let Some(field) = field.filter(|_| is_read) {
            self.field(field, value, line);
        }
    }
}

/// Splits a line into the field name and the value.
fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, value) = text.split_at_checked(memchr(b':', text)?)?;
    let value = value.get(1..).unwrap_or_default();
    Some((name.trim_ascii(), value.trim_ascii()))
}

/// A field that at least some robots support.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Field {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    RequestRate,
    Sitemap,
    Host,
    CleanParam,
    Noindex,
    Preferences(Vocabulary),
    /// A field that some robots support, but whose value is not checked.
    Other,
}

const FIELDS: [(&str, Field); 18] = [
    ("User-agent", Field::UserAgent),
    ("Allow", Field::Allow),
    ("Disallow", Field::Disallow),
    ("Crawl-delay", Field::CrawlDelay),
    ("Request-rate", Field::RequestRate),
    ("Sitemap", Field::Sitemap),
    ("Host", Field::Host),
    ("Clean-param", Field::CleanParam),
    // Google obeyed this undocumented field until September 2019.
    ("Noindex", Field::Noindex),
    ("Nofollow", Field::Noindex),
    ("Noarchive", Field::Noindex),
    ("Nosnippet", Field::Noindex),
    // From Conner's Extended Standard for Robot Exclusion (1996), like `Request-rate`.
    ("Visit-time", Field::Other),
    ("Robot-version", Field::Other),
    ("Comment", Field::Other),
    ("Content-Signal", Field::Preferences(Vocabulary::Signal)),
    ("Content-Usage", Field::Preferences(Vocabulary::Usage)),
    ("License", Field::Other),
];

/// The spellings that Google's parser accepts as the beginning of a field name.
const FORGIVEN: [(&str, Field); 12] = [
    ("user-agent", Field::UserAgent),
    ("useragent", Field::UserAgent),
    ("user agent", Field::UserAgent),
    ("allow", Field::Allow),
    ("disallow", Field::Disallow),
    ("dissallow", Field::Disallow),
    ("dissalow", Field::Disallow),
    ("disalow", Field::Disallow),
    ("diasllow", Field::Disallow),
    ("disallaw", Field::Disallow),
    ("sitemap", Field::Sitemap),
    ("site-map", Field::Sitemap),
];

impl Field {
    /// Returns the field with the given name, ignoring case.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        let is_name = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        find(&FIELDS, is_name)
    }

    /// Returns the field as which Google's parser interprets a name.
    pub(super) fn forgiven(name: &[u8]) -> Option<Self> {
        let begins = |known: &str| {
            name.get(..known.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(known.as_bytes()))
        };
        find(&FORGIVEN, begins)
    }

    /// Returns the known field name that is most similar to a misspelt name, if any is similar
    /// enough.
    pub(super) fn nearest(name: &[u8]) -> Option<&'static str> {
        nearest(name, FIELDS.iter().map(|(known, _)| *known))
    }
}

fn find(fields: &[(&'static str, Field)], is_name: impl Fn(&str) -> bool) -> Option<Field> {
    let found = fields.iter().find(|(known, _)| is_name(known));
    found.map(|(_, field)| *field)
}
