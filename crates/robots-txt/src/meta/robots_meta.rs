//! What a page and its response say to robots, and who said it.

use std::collections::BTreeMap;

use super::{
    Directive, RobotsDirectives,
    items::{ItemKind, Items, trim},
};

/// Robots with statements of their own that are kept, at most.
// Names come from the page: without a limit, it says how much memory is taken.
const MAX_ROBOTS: usize = 1000;

/// Bytes of a header's value that are read, at most.
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// Words of a User-Agent that are looked at, at most.
const MAX_WORDS: usize = 64;

/// Bytes of a robot's name, at most.
const MAX_NAME_BYTES: usize = 128;

/// Statements of META tags and `X-Robots-Tag` headers, for everybody and by robot.
///
/// Nothing is refused: what is not known is skipped, and any bytes may come.
/// For a robot all statements for everybody and all for one of its names are
/// taken together. Of the first 1,000 robots that are named statements are kept.
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
/// assert_eq!(meta.for_everybody().directives.to_string(), "nofollow");
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RobotsMeta {
    everybody: Vec<Statement>,
    /// By name, in lower case.
    robots: BTreeMap<String, Vec<Statement>>,
}

/// Directive, and where it was found.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Statement {
    /// What it says.
    pub directive: Directive,
    /// In what it stood.
    pub source: DirectiveSource,
    /// Name of the tag, or token of the header, as written; empty: a header without a token.
    pub token: String,
    /// The item of the list as written.
    pub text: String,
}

/// Where a directive may stand.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum DirectiveSource {
    /// A META tag of the page.
    Tag,
    /// An `X-Robots-Tag` header of the response.
    Header,
}

/// What holds for a robot, and why.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct MetaAnswer<'m> {
    /// What holds.
    pub directives: RobotsDirectives,
    /// The statements that say so; of several of a kind the strictest.
    pub because: Vec<&'m Statement>,
}

impl RobotsMeta {
    /// Adds a META tag by its name and content.
    ///
    /// `robots` speaks to everybody, another name to the robot of that name;
    /// blanks around a name do not count.
    pub fn add_tag(&mut self, name: &str, content: &str) {
        self.add(name, name, DirectiveSource::Tag, Items::of_tag(content));
    }

    /// Adds the value of an `X-Robots-Tag` header.
    ///
    /// `token:` scopes the rules after it to a robot until another token
    /// comes; `robots:` and `*:` are for everybody. Bytes that are not UTF-8
    /// make an item unknown; what exceeds 64 KiB is not read.
    pub fn add_header(&mut self, value: &[u8]) {
        let value = value.get(..MAX_HEADER_BYTES).unwrap_or(value);
        let value = String::from_utf8_lossy(value);
        self.add(
            "robots",
            "",
            DirectiveSource::Header,
            Items::of_header(&value),
        );
    }

    /// Adds each header whose name is `X-Robots-Tag`, in upper or lower case.
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

    /// Adds what another one says.
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

    /// Returns what holds for a robot, by its product token or whole User-Agent.
    ///
    /// Robots of Google and of Bing obey the names that their operators say:
    /// `googlebot` beside `googlebot-news` and kin; `bingbot` and `msnbot`.
    #[must_use]
    pub fn for_robot(&self, user_agent: &str) -> MetaAnswer<'_> {
        let names = robot_names(user_agent);
        let own = names.iter().filter_map(|name| self.robots.get(name));
        MetaAnswer::new(self.everybody.iter().chain(own.flatten()))
    }

    /// Returns what holds for a robot that no tag or token names.
    #[must_use]
    pub fn for_everybody(&self) -> MetaAnswer<'_> {
        MetaAnswer::new(self.everybody.iter())
    }

    /// Returns all that is kept: of several statements of a kind, the strictest.
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

impl<'m> MetaAnswer<'m> {
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

/// Writes what was said where, for people: quoted, control characters escaped.
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

/// Returns the key of a name; empty for everybody.
fn key(name: &str) -> String {
    let name = trim(name);
    let product = name.split('/').next().unwrap_or_default();
    if product.eq_ignore_ascii_case("robots") || product == "*" {
        String::new()
    } else if product.is_empty() || product.len() > MAX_NAME_BYTES {
        // No robot has this name.
        "/".to_owned()
    } else {
        product.to_ascii_lowercase()
    }
}

/// Keeps one statement of each rank, the first of the strictest.
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

/// Returns the names, in lower case, of tags and headers that a robot obeys.
///
/// Of a product token, with or without a version, it is the token; of a whole
/// User-Agent each of its words. Robots of Google obey `googlebot` beside a
/// name of their own that starts with it, such as `googlebot-news`; those of
/// Bing obey `bingbot` and `msnbot`.
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
