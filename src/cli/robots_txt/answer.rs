//! The answer to a line.

use std::{
    collections::{HashMap, hash_map},
    time::Duration,
};

use serde_json::{Map, Value, json};

use crate::robots_txt::{Access, Dialect, Escapes, ForRobot, RobotsTxt};

use super::{field::Field, meta::meta, question::Question};

/// Robots that are kept for one file.
const MAX_ROBOTS: usize = 256;

/// Answerer of lines, which remembers the file of the line before.
#[derive(Debug, Default)]
pub(super) struct Answers {
    kept: Option<KeptFile>,
}

impl Answers {
    /// Answers a line with an object, whatever it is.
    pub(super) fn answer(&mut self, line: &[u8]) -> Value {
        if line.trim_ascii().is_empty() {
            return error("the line is empty; write a JSON object");
        }
        let question = match serde_json::from_slice::<Question>(line) {
            Ok(question) => question,
            Err(cause) => return error(&format!("the line is no question: {cause}")),
        };
        self.answer_question(question)
            .unwrap_or_else(|cause| error(&cause))
    }

    fn answer_question(&mut self, mut question: Question) -> Result<Value, String> {
        let name = question.dialect.as_deref().unwrap_or("rfc9309");
        let Ok(dialect) = name.parse::<Dialect>() else {
            return Ok(json!({"unsupported": true}));
        };
        let wanted = question.wanted();
        if wanted.fields.is_empty() && !wanted.has_unknown {
            return Err(
                "nothing is asked; give url, queries, status, html, headers or want".to_owned(),
            );
        }
        let access = question
            .status
            .map(|status| Access::from_status(status, question.redirects.unwrap_or(0), &dialect));
        let body = question.take_body()?;
        let body = access.unwrap_or(Access::Rules).file(&body);
        let asked = Asked {
            question: &question,
            access,
            dialect: &dialect,
            kept: self.kept(question.robots_url.as_deref(), body, dialect),
        };
        asked.answer(&wanted.fields, wanted.has_unknown)
    }

    fn kept(&mut self, url: Option<&str>, body: &[u8], dialect: Dialect) -> &mut KeptFile {
        let kept = self.kept.take();
        let kept = kept.filter(|kept| kept.is(url, body, &dialect));
        self.kept
            .insert(kept.unwrap_or_else(|| KeptFile::new(url, body, dialect)))
    }
}

/// A question and the file that it is about.
struct Asked<'a> {
    question: &'a Question,
    access: Option<Access>,
    dialect: &'a Dialect,
    kept: &'a mut KeptFile,
}

impl Asked<'_> {
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
                .kept
                .robot(user_agent)
                .crawl_delay()
                .map_or(Value::Null, seconds),
            Field::RequestRate => self
                .kept
                .robot(user_agent)
                .request_rate()
                .map_or(Value::Null, |rate| {
                    json!([rate.requests, seconds(rate.period)])
                }),
            Field::Sitemaps => self.kept.file.sitemaps().map(|url| json!(url)).collect(),
            Field::Host => json!(self.kept.file.host()),
            Field::Access => match self.access {
                Some(access) => json!(access.as_str()),
                None => return Err("access needs status, 0 for no answer".to_owned()),
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
            return Err("allowed needs url, or queries".to_owned());
        };
        let user_agent = self.question.user_agent.as_deref().unwrap_or_default();
        Ok(Value::from(self.is_allowed(user_agent, url)))
    }

    /// Returns nothing where the file, read in a dialect that minds, is of another site.
    fn is_allowed(&mut self, user_agent: &str, url: &str) -> Option<bool> {
        let minds_site = self.dialect.escapes == Escapes::Resolved && has_robots_txt(url);
        if minds_site && !self.kept.file.covers(url) {
            return None;
        }
        Some(self.kept.robot(user_agent).check(url).allowed())
    }

    fn urls(
        &self,
        field: Field,
        changed: impl Fn(&RobotsTxt, &str) -> Value,
    ) -> Result<Value, String> {
        let file = &self.kept.file;
        match (&self.question.url, &self.question.queries) {
            (Some(url), _) => Ok(changed(file, url)),
            (None, Some(queries)) => {
                Ok(queries.iter().map(|(_, url)| changed(file, url)).collect())
            }
            (None, None) => Err(format!("{} needs url, or queries", field.name())),
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

/// Sites of http and https have a robots.txt.
fn has_robots_txt(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

fn error(text: &str) -> Value {
    json!({ "error": text })
}

/// Whole seconds are a whole number.
fn seconds(duration: Duration) -> Value {
    if duration.subsec_nanos() == 0 {
        return json!(duration.as_secs());
    }
    json!(duration.as_secs_f64())
}

/// File of the line before and the robots that have asked it: many lines in a row ask
/// the same one.
#[derive(Debug)]
struct KeptFile {
    pub(super) file: RobotsTxt,
    url: Option<String>,
    robots: HashMap<String, ForRobot>,
}

impl KeptFile {
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

    /// Returns `true` if parsing would give the same file again.
    pub(super) fn is(&self, url: Option<&str>, body: &[u8], dialect: &Dialect) -> bool {
        self.url.as_deref() == url && self.file.dialect() == dialect && self.file.as_bytes() == body
    }

    /// Returns what the file says to a robot.
    pub(super) fn robot(&mut self, name: &str) -> &ForRobot {
        if self.robots.len() >= MAX_ROBOTS && !self.robots.contains_key(name) {
            self.robots.clear();
        }
        match self.robots.entry(name.to_owned()) {
            hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hash_map::Entry::Vacant(entry) => entry.insert(self.file.for_robot(name)),
        }
    }
}
