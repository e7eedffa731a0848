//! Evaluates one line of `robots-txt eval`.

use std::collections::{HashMap, hash_map};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::question::Question;
use crate::robots_txt::meta::{ImagePreview, Limit, PageMeta, RobotsDirectives, UnavailableAfter};
use crate::robots_txt::{Access, Dialect, Escapes, RobotRules, RobotsTxt};

/// The maximum number of robots whose rules are cached for one file.
const MAX_ROBOTS: usize = 256;

/// An evaluator of input lines, which caches the robots.txt file from the previous line.
#[derive(Debug, Default)]
pub(super) struct Evaluator {
    cached: Option<CachedFile>,
}

impl Evaluator {
    /// Returns the answer to a line; if the line is not a query, the answer contains an `error`.
    pub(super) fn answer(&mut self, line: &[u8]) -> Value {
        if line.trim_ascii().is_empty() {
            return error("the line is empty; each line must be a JSON object");
        }
        let question = match serde_json::from_slice::<Question>(line) {
            Ok(question) => question,
            Err(cause) => return error(&format!("the line is not a query: {cause}")),
        };
        self.answer_question(question)
            .unwrap_or_else(|cause| error(&cause))
    }

    fn answer_question(&mut self, mut question: Question) -> Result<Value, String> {
        let name = question.dialect.as_deref().unwrap_or("rfc9309");
        let Ok(dialect) = name.parse::<Dialect>() else {
            return Ok(json!({"unsupported": true}));
        };
        let requested = question.requested();
        if requested.fields.is_empty() && !requested.has_unknown {
            return Err(
                "the line contains no query; specify url, queries, status, html, headers or want"
                    .to_owned(),
            );
        }
        let access = question
            .status
            .map(|status| Access::from_status(status, question.redirects.unwrap_or(0), &dialect));
        let body = question.take_body()?;
        let body = access.unwrap_or(Access::Rules).file(&body);
        let evaluation = Evaluation {
            question: &question,
            access,
            dialect: &dialect,
            cached: self.cached(question.robots_url.as_deref(), body, dialect),
        };
        evaluation.answer(&requested.fields, requested.has_unknown)
    }

    fn cached(&mut self, url: Option<&str>, body: &[u8], dialect: Dialect) -> &mut CachedFile {
        let cached = self.cached.take();
        let cached = cached.filter(|cached| cached.is(url, body, &dialect));
        self.cached
            .insert(cached.unwrap_or_else(|| CachedFile::new(url, body, dialect)))
    }
}

/// The evaluation of a query about a robots.txt file.
struct Evaluation<'a> {
    question: &'a Question,
    access: Option<Access>,
    dialect: &'a Dialect,
    cached: &'a mut CachedFile,
}

impl Evaluation<'_> {
    fn answer(mut self, fields: &[Field], has_unknown: bool) -> Result<Value, String> {
        let mut answer = Map::new();
        let mut is_unsupported = has_unknown;
        let mut meta = None;
        for field in fields {
            let value = match field {
                Field::Meta(name) => {
                    let meta = meta.get_or_insert_with(|| self.meta());
                    meta.get(*name).cloned()
                }
                field => Some(self.value(*field)?),
            };
            match value {
                Some(value) => drop(answer.insert(field.name().to_owned(), value)),
                // Reported rather than refused, so that test suites for several parsers can skip
                // unsupported features.
                None => is_unsupported = true,
            }
        }
        if is_unsupported {
            answer.insert("unsupported".to_owned(), Value::Bool(true));
        }
        Ok(Value::Object(answer))
    }

    fn value(&mut self, field: Field) -> Result<Value, String> {
        let user_agent = self.question.user_agent.as_deref().unwrap_or_default();
        Ok(match field {
            Field::Allowed => return self.allowed(),
            Field::EffectiveUrl => {
                return self.urls(field, |file, url| json!(file.effective_url(url)));
            }
            Field::CleanUrl => return self.urls(field, |file, url| json!(file.clean_url(url))),
            Field::CrawlDelay => self
                .cached
                .robot(user_agent)
                .crawl_delay()
                .map_or(Value::Null, seconds),
            Field::RequestRate => self
                .cached
                .robot(user_agent)
                .request_rate()
                .map_or(Value::Null, |rate| {
                    json!([rate.requests, seconds(rate.period)])
                }),
            Field::Sitemaps => self.cached.file.sitemaps().map(|url| json!(url)).collect(),
            Field::Host => json!(self.cached.file.host()),
            Field::Access => match self.access {
                Some(access) => json!(access.as_str()),
                None => {
                    return Err("the field access requires status (0 for no response)".to_owned());
                }
            },
            Field::Meta(_) => Value::Null,
        })
    }

    fn allowed(&mut self) -> Result<Value, String> {
        if let Some(queries) = &self.question.queries {
            let answers = queries
                .iter()
                .map(|(user_agent, url)| self.is_allowed(user_agent, url));
            return Ok(answers.map(Value::from).collect());
        }
        let Some(url) = &self.question.url else {
            return Err("the field allowed requires url or queries".to_owned());
        };
        let user_agent = self.question.user_agent.as_deref().unwrap_or_default();
        Ok(Value::from(self.is_allowed(user_agent, url)))
    }

    /// Returns whether the URL is allowed; `None` if the dialect compares sites and the site
    /// differs.
    fn is_allowed(&mut self, user_agent: &str, url: &str) -> Option<bool> {
        let is_site_specific = self.dialect.escapes == Escapes::Resolved && has_robots_txt(url);
        if is_site_specific && !self.cached.file.covers(url) {
            return None;
        }
        Some(self.cached.robot(user_agent).check(url).allowed())
    }

    fn urls(
        &self,
        field: Field,
        changed: impl Fn(&RobotsTxt, &str) -> Value,
    ) -> Result<Value, String> {
        let file = &self.cached.file;
        match (&self.question.url, &self.question.queries) {
            (Some(url), _) => Ok(changed(file, url)),
            (None, Some(queries)) => {
                Ok(queries.iter().map(|(_, url)| changed(file, url)).collect())
            }
            (None, None) => Err(format!("{} requires url or queries", field.name())),
        }
    }

    fn meta(&self) -> Map<String, Value> {
        meta(
            self.question.html.as_deref().unwrap_or_default(),
            self.question.headers.as_deref().unwrap_or_default(),
            self.question.user_agent.as_deref().unwrap_or_default(),
        )
    }
}

/// Returns `true` for http and https URLs, whose sites can have a robots.txt file.
fn has_robots_txt(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

fn error(text: &str) -> Value {
    json!({ "error": text })
}

/// Returns seconds as a JSON number; whole seconds are an integer.
fn seconds(duration: Duration) -> Value {
    if duration.subsec_nanos() == 0 {
        return json!(duration.as_secs());
    }
    json!(duration.as_secs_f64())
}

/// The robots.txt file from the previous line, with the rules for robots queried so far.
///
/// Test suites send many consecutive lines about the same file, which is parsed only once.
#[derive(Debug)]
struct CachedFile {
    pub(super) file: RobotsTxt,
    url: Option<String>,
    robots: HashMap<String, RobotRules>,
}

impl CachedFile {
    pub(super) fn new(url: Option<&str>, body: &[u8], dialect: Dialect) -> Self {
        let file = match url {
            Some(url) => RobotsTxt::parse_from(url, body, dialect),
            None => RobotsTxt::parse(body, dialect),
        };
        Self {
            file,
            url: url.map(str::to_owned),
            robots: HashMap::new(),
        }
    }

    /// Returns `true` if parsing these inputs would produce the same file again.
    pub(super) fn is(&self, url: Option<&str>, body: &[u8], dialect: &Dialect) -> bool {
        self.url.as_deref() == url && self.file.dialect() == dialect && self.file.as_bytes() == body
    }

    /// Returns the rules for a robot in the cached file.
    pub(super) fn robot(&mut self, name: &str) -> &RobotRules {
        if self.robots.len() >= MAX_ROBOTS && !self.robots.contains_key(name) {
            // Test suites query few robots, so clearing the cache is simpler than evicting the
            // oldest entry.
            self.robots.clear();
        }
        match self.robots.entry(name.to_owned()) {
            hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hash_map::Entry::Vacant(entry) => entry.insert(self.file.for_robot(name)),
        }
    }
}

/// Returns the values of the fields in [`META`](META), which are the same in every dialect.
pub(super) fn meta(
    html: &str,
    headers: &[(String, String)],
    user_agent: &str,
) -> Map<String, Value> {
    let mut meta = PageMeta::read(html.as_bytes()).robots;
    meta.add_headers(headers.iter().map(|(name, value)| (name, value)));
    let answer = meta.for_robot(user_agent);
    let values = values(&answer.directives).into_iter();
    values
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn values(it: &RobotsDirectives) -> [(&'static str, Value); 11] {
    [
        ("index", json!(it.index())),
        ("follow", json!(it.follow())),
        ("archive", json!(it.archive())),
        ("snippet", json!(it.snippet())),
        ("translate", json!(it.translate())),
        ("imageindex", json!(it.imageindex())),
        ("indexifembedded", json!(it.indexifembedded())),
        // `nosnippet` takes precedence over `max-snippet`.
        (
            "max_snippet",
            json!(it.max_snippet().map(|_| it.snippet_limit().number())),
        ),
        (
            "max_video_preview",
            json!(it.max_video_preview().map(Limit::number)),
        ),
        (
            "max_image_preview",
            json!(it.max_image_preview().map(ImagePreview::as_str)),
        ),
        (
            "unavailable_after",
            json!(it.unavailable_after().map(UnavailableAfter::as_str)),
        ),
    ]
}

/// A field in an answer about a file or its response status.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Field {
    Allowed,
    CrawlDelay,
    RequestRate,
    Sitemaps,
    Host,
    EffectiveUrl,
    CleanUrl,
    Access,
    /// A field about META tags and headers, given by name.
    Meta(&'static str),
}

/// Fields about META tags and `X-Robots-Tag` headers.
pub(super) const META: [&str; 11] = [
    "index",
    "follow",
    "archive",
    "snippet",
    "translate",
    "imageindex",
    "indexifembedded",
    "max_snippet",
    "max_video_preview",
    "max_image_preview",
    "unavailable_after",
];

impl Field {
    /// Fields about a robots.txt file that do not require a URL.
    pub(super) const ABOUT_FILE: [Self; 4] = [
        Self::CrawlDelay,
        Self::RequestRate,
        Self::Sitemaps,
        Self::Host,
    ];

    /// Returns the output field with the given name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "allowed" => Self::Allowed,
            "crawl_delay" => Self::CrawlDelay,
            "request_rate" => Self::RequestRate,
            "sitemaps" => Self::Sitemaps,
            "host" => Self::Host,
            "effective_url" => Self::EffectiveUrl,
            "clean_url" => Self::CleanUrl,
            "access" => Self::Access,
            _ => Self::Meta(META.into_iter().find(|field| *field == name)?),
        })
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::CrawlDelay => "crawl_delay",
            Self::RequestRate => "request_rate",
            Self::Sitemaps => "sitemaps",
            Self::Host => "host",
            Self::EffectiveUrl => "effective_url",
            Self::CleanUrl => "clean_url",
            Self::Access => "access",
            Self::Meta(name) => name,
        }
    }
}
