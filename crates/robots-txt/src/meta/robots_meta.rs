//! Statements for robots in a page and in its response headers, with their sources.

use std::collections::BTreeMap;

use super::{
    Directive, RobotsDirectives,
    items::{ItemKind, Items, trim},
};

/// The maximum number of robots for which statements are stored.
// The names come from the page, which could exhaust the memory if there were no limit.
const MAX_ROBOTS: usize = 1000;

/// The maximum number of bytes of a header value that are parsed.
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// The maximum number of words of a User-Agent that are examined.
const MAX_WORDS: usize = 64;

/// The maximum length of a robot's name in bytes.
const MAX_NAME_BYTES: usize = 128;

/// The statements in META tags and `X-Robots-Tag` headers, for all robots and for individual
/// robots.
///
/// Any bytes are accepted, and unknown items are skipped. The directives for all robots and the
/// directives for each of a robot's names apply to the robot. Statements are stored for the first
/// 1,000 named robots.
///
/// # Example
///
/// ```
/// use robot_detection_robots_txt::meta::RobotsMeta;
///
/// let mut meta = RobotsMeta::default();
/// meta.add_tag("robots", "nofollow");
/// meta.add_header(b"googlebot: noindex, otherbot: noarchive");
///
/// let googlebot = meta.for_robot("Googlebot/2.1");
/// assert_eq!(googlebot.directives.to_string(), "noindex, nofollow");
/// let because: Vec<_> = googlebot.because.iter().map(ToString::to_string).collect();
/// assert_eq!(because, [
///     r#"tag robots: "nofollow""#,
///     r#"X-Robots-Tag for googlebot: "noindex""#,
/// ]);
/// assert_eq!(meta.for_all_robots().directives.to_string(), "nofollow");
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RobotsMeta {
    everybody: Vec<Statement>,
    /// The statements, by robots' names in lower case.
    robots: BTreeMap<String, Vec<Statement>>,
}

/// A directive, with the tag or header that contains it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Statement {
    /// The directive that the statement contains.
    pub directive: Directive,
    /// The kind of source, which is a tag or a header.
    pub source: DirectiveSource,
    /// The name of the tag, or the token in the header, as written; empty for a header without a
    /// token.
    pub token: String,
    /// The text of the list item that contains the directive, as written.
    pub text: String,
}

/// The source of a directive.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum DirectiveSource {
    /// A META tag in the page.
    Tag,
    /// An `X-Robots-Tag` header of the response.
    Header,
}

/// The directives for a robot, with the statements on which they are based.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct RobotMeta<'m> {
    /// The directives that apply to the robot.
    pub directives: RobotsDirectives,
    /// The statements on which the directives are based: the strictest statement of each kind.
    pub because: Vec<&'m Statement>,
}

impl RobotsMeta {
    /// Adds the statements in a META tag, given its name and content.
    ///
    /// The name `robots` stands for all robots, and any other name stands for the robot with that
    /// name; white space around a name is ignored.
    pub fn add_tag(&mut self, name: &str, content: &str) {
        self.add(name, name, DirectiveSource::Tag, Items::from_tag(content));
    }

    /// Adds the statements in the value of an `X-Robots-Tag` header.
    ///
    /// The rules that follow `token:`, up to the next token, apply to the robot with that name;
    /// `robots:` and `*:` stand for all robots. Items with invalid UTF-8 are treated as unknown;
    /// content beyond 64 KiB is ignored.
    pub fn add_header(&mut self, value: &[u8]) {
        let value = value.get(..MAX_HEADER_BYTES).unwrap_or(value);
        let value = String::from_utf8_lossy(value);
        self.add(
            "robots",
            "",
            DirectiveSource::Header,
            Items::from_header(&value),
        );
    }

    /// Adds the statements in all headers named `X-Robots-Tag`, ignoring case.
    pub fn add_headers<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        headers: impl IntoIterator<Item = (N, V)>,
    ) {
        for (name, value) in headers {
            let name = name.as_ref().trim_ascii();
            if name.eq_ignore_ascii_case(b"x-robots-tag") {
                self.add_header(value.as_ref());
            }
        }
    }

    /// Adds the statements of another `RobotsMeta`.
    pub fn extend(&mut self, other: Self) {
        for statement in other.everybody {
            put(&mut self.everybody, statement);
        }
        for (robot, statements) in other.robots {
            for statement in statements {
                self.put(&robot, statement);
            }
        }
    }

    /// Returns the directives for a robot, given its product token or its complete User-Agent.
    ///
    /// Google's and Bing's robots obey the names documented by their operators: `googlebot` in
    /// addition to `googlebot-news` and similar names; `bingbot` and `msnbot`.
    #[must_use]
    pub fn for_robot(&self, user_agent: &str) -> RobotMeta<'_> {
        let names = robot_names(user_agent);
        let own = names.iter().filter_map(|name| self.robots.get(name));
        RobotMeta::new(self.everybody.iter().chain(own.flatten()))
    }

    /// Returns the directives for a robot that is not named in any tag or header.
    #[must_use]
    pub fn for_all_robots(&self) -> RobotMeta<'_> {
        RobotMeta::new(self.everybody.iter())
    }

    /// Returns all statements: for each robot, the strictest statement of each kind.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.everybody.iter().chain(self.robots.values().flatten())
    }

    fn add(&mut self, robot: &str, token: &str, source: DirectiveSource, items: Items<'_>) {
        let (mut robot, mut token) = (key(robot), trim(token));
        for item in items {
            let directives = match item.kind {
                ItemKind::Directives(directives) => directives,
                ItemKind::Token => {
                    (robot, token) = (key(item.text), item.text);
                    continue;
                }
                ItemKind::Unknown => continue,
            };
            for directive in directives.into_iter().flatten() {
                let statement = Statement {
                    directive,
                    source,
                    token: token.to_owned(),
                    text: item.text.to_owned(),
                };
                self.put(&robot, statement);
            }
        }
    }

    fn put(&mut self, robot: &str, statement: Statement) {
        if robot.is_empty() {
            put(&mut self.everybody, statement);
        } else if let Some(statements) = self.robots.get_mut(robot) {
            put(statements, statement);
        } else if self.robots.len() < MAX_ROBOTS && robot.len() <= MAX_NAME_BYTES {
            self.robots.insert(robot.to_owned(), vec![statement]);
        }
    }
}

impl<'m> RobotMeta<'m> {
    fn new(statements: impl Iterator<Item = &'m Statement>) -> Self {
        let mut answer = Self::default();
        for statement in statements {
            answer.directives.add(statement.directive.clone());
            let rank = statement.directive.rank();
            let mut known = answer.because.iter_mut();
            match known.find(|known| known.directive.rank() == rank) {
                None => answer.because.push(statement),
                Some(known) if statement.directive.is_stricter_than(&known.directive) => {
                    *known = statement;
                }
                Some(_) => {}
            }
        }
        answer
    }
}

/// Writes the source and the quoted text of the statement, with control characters escaped.
impl std::fmt::Display for Statement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let token = self.token.escape_debug();
        match self.source {
            DirectiveSource::Tag => write!(f, "tag {token}: {:?}", self.text),
            DirectiveSource::Header if self.token.is_empty() => {
                write!(f, "X-Robots-Tag: {:?}", self.text)
            }
            DirectiveSource::Header => write!(f, "X-Robots-Tag for {token}: {:?}", self.text),
        }
    }
}

/// Returns the key under which the statements for a robot's name are stored; the key for all robots
/// is empty.
fn key(name: &str) -> String {
    let name = trim(name);
    let product = name.split('/').next().unwrap_or_default();
    if product.eq_ignore_ascii_case("robots") || product == "*" {
        String::new()
    } else if product.is_empty() || product.len() > MAX_NAME_BYTES {
        // This key matches no robot's name.
        "/".to_owned()
    } else {
        product.to_ascii_lowercase()
    }
}

/// Adds a statement unless there is a statement of the same rank that is at least as strict.
fn put(statements: &mut Vec<Statement>, statement: Statement) {
    let rank = statement.directive.rank();
    match statements
        .iter_mut()
        .find(|known| known.directive.rank() == rank)
    {
        None => statements.push(statement),
        Some(known) if statement.directive.is_stricter_than(&known.directive) => {
            *known = statement;
        }
        Some(_) => {}
    }
}

/// Returns the names in tags and headers that a robot obeys, in lower case.
///
/// For a product token, with or without a version, the result is the token; for a complete
/// User-Agent, the result consists of its words. Google's robots obey `googlebot` in addition to
/// their own names that start with it, such as `googlebot-news`; Bing's robots obey `bingbot` and
/// `msnbot`.
fn robot_names(user_agent: &str) -> Vec<String> {
    let is_parting = |c: char| !(c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(c));
    let words = user_agent.split(is_parting).take(MAX_WORDS);
    let mut names: Vec<String> = Vec::new();
    for word in words {
        let name = word.split('/').next().unwrap_or_default();
        if !name.is_empty() && name.len() <= MAX_NAME_BYTES {
            names.push(name.to_ascii_lowercase());
        }
    }
    let is_of_google = names.iter().any(|name| name.starts_with("googlebot-"));
    let is_of_bing = names
        .iter()
        .any(|name| name == "bingbot" || name == "msnbot");
    if is_of_google {
        names.push("googlebot".to_owned());
    }
    if is_of_bing {
        names.extend(["bingbot".to_owned(), "msnbot".to_owned()]);
    }
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_tokens_and_user_agents() {
        assert_eq!(robot_names(""), [""; 0]);
        assert_eq!(robot_names("ExampleBot"), ["examplebot"]);
        assert_eq!(robot_names(" ExampleBot/1.0 "), ["examplebot"]);
        assert_eq!(robot_names("Googlebot"), ["googlebot"]);
        assert_eq!(
            robot_names("Googlebot-News"),
            ["googlebot", "googlebot-news"]
        );
        assert_eq!(robot_names("MSNBot/2.0b"), ["bingbot", "msnbot"]);
        let names = robot_names("Mozilla/5.0 (compatible; Bingbot/2.0; +http://example.com/b.htm)");
        for name in ["bingbot", "msnbot"] {
            assert!(names.iter().any(|known| known == name), "{names:?}");
        }
        let names = robot_names("Mozilla/5.0 (X; Googlebots/1)");
        assert!(!names.iter().any(|name| name == "googlebot"), "{names:?}");
        assert_eq!(robot_names(&"a".repeat(1000)), [""; 0]);
        assert_eq!(robot_names(&"a ".repeat(1000)), ["a"]);
    }
}
