//! Robots that somebody adds by hand: what was typed in, and what is wrong with it.

use super::{Purpose, Robot, Source, normalise, proofs};

/// Signs of the longest id.
const MAX_ID_CHARS: usize = 100;
/// Signs of the longest text of another field.
const MAX_FIELD_CHARS: usize = 500;

/// Robot as it is typed in, in a form or on the command line; an empty text is none.
///
/// # Example
///
/// ```
/// use robot_detection_layer::registry::TypedRobot;
///
/// let mut typed = TypedRobot::default();
/// typed.id = "housebot".to_owned();
/// typed.useragent = "HouseBot/1.0".to_owned();
/// typed.host_suffixes = "crawl.house.example".to_owned();
/// assert_eq!(typed.robot()?.host_suffixes, ["crawl.house.example"]);
///
/// typed.ranges_url = "ftp://house.example/".to_owned();
/// assert_eq!(typed.robot().unwrap_err()[0].field, "ranges_url");
/// # Ok::<(), Vec<robot_detection_layer::registry::TypedError>>(())
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct TypedRobot {
    /// Identifier: up to 100 letters, digits, `-`, `.`, `_` and `+`.
    pub id: String,
    /// Name for people; the id by default.
    pub name: String,
    /// User agent as the robot sends it, of which the patterns are made.
    pub useragent: String,
    /// Word for what it is for, see [`Purpose`].
    pub purpose: String,
    /// Company or project that runs it.
    pub operator: String,
    /// Product token in robots.txt.
    pub product_token: String,
    /// Page about it, `http:` or `https:`.
    pub details_url: String,
    /// Endings of the host names of its addresses, with blanks or commas between them.
    pub host_suffixes: String,
    /// Published list of its addresses, `http:` or `https:`; after `#` the part that counts.
    pub ranges_url: String,
    /// Hosts whose keys sign its requests, with blanks or commas between them.
    pub signature_agents: String,
}

/// What is wrong with one field of a robot that is typed in.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{field}: {message}")]
#[non_exhaustive]
pub struct TypedError {
    /// Name of the field, as [`TypedRobot`] spells it.
    pub field: &'static str,
    /// What to do about it, in a sentence without a full stop.
    pub message: String,
}

impl TypedRobot {
    /// Makes the robot.
    ///
    /// # Errors
    ///
    /// Fails with an error for each field with which something is wrong.
    pub fn robot(&self) -> Result<Robot, Vec<TypedError>> {
        let mut errors = self.errors();
        let mut robot = Robot::new(self.id.trim(), Source::manual());
        match normalise(self.useragent.trim()) {
            Ok(patterns) => robot.patterns = patterns,
            Err(reason) => errors.push(TypedError::new("useragent", reason.to_string())),
        }
        for (field, list, read, example) in [
            (
                "host_suffixes",
                &mut robot.host_suffixes,
                proofs::host_suffixes(&self.host_suffixes),
                "the end of a host name, such as crawl.example.com",
            ),
            (
                "signature_agents",
                &mut robot.signature_agents,
                proofs::signature_agents(&self.signature_agents),
                "a host that publishes keys over https, such as bot.example.com, nor the URL of a key set, such as bot.example.com/keys.json",
            ),
        ] {
            match read.wrong {
                Some(word) if field == "host_suffixes" && proofs::is_ending_of_all(&word) => {
                    let text = "anybody can have a name below it; use one that only the operator's hosts end in";
                    errors.push(TypedError::new(field, format!("{word:?}: {text}")));
                }
                Some(word) => {
                    errors.push(TypedError::new(field, format!("{word:?} is not {example}")));
                }
                None => *list = read.facts,
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        if let Some(name) = filled(&self.name) {
            robot.name = name;
        }
        self.useragent.trim().clone_into(&mut robot.useragent);
        robot.purpose = Purpose::from_word(self.purpose.trim()).unwrap_or_default();
        robot.operator = filled(&self.operator);
        robot.product_token = filled(&self.product_token);
        robot.details_url = filled(&self.details_url);
        robot.ranges_url = filled(&self.ranges_url);
        Ok(robot)
    }

    /// Returns what is wrong with the fields that are kept as they are.
    fn errors(&self) -> Vec<TypedError> {
        let mut errors = Vec::new();
        let mut refuse_if = |is_wrong: bool, field, message: &str| {
            if is_wrong {
                errors.push(TypedError::new(field, message));
            }
        };
        let id = self.id.trim();
        let is_id = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '+');
        refuse_if(
            id.is_empty() || !id.chars().all(is_id) || id.chars().count() > MAX_ID_CHARS,
            "id",
            "use 1 to 100 letters, digits, '-', '.', '_' and '+'",
        );
        for (field, value) in self.texts() {
            refuse_if(
                value.chars().count() > MAX_FIELD_CHARS || value.chars().any(char::is_control),
                field,
                "use at most 500 characters, on one line",
            );
        }
        let purpose = self.purpose.trim();
        let is_purpose = purpose.is_empty() || Purpose::from_word(purpose).is_some();
        refuse_if(!is_purpose, "purpose", "choose one of the purposes");
        let url = self.details_url.trim();
        refuse_if(
            !url.is_empty() && !is_web_url(url),
            "details_url",
            "use an address that begins with http:// or https://",
        );
        let url = self.ranges_url.trim();
        refuse_if(
            !url.is_empty() && proofs::http_url(url).as_deref() != Some(url),
            "ranges_url",
            "use the address of one document, which begins with http:// or https://",
        );
        refuse_if(
            names_a_user(url),
            "ranges_url",
            "use an address without a user and a password: everybody may see it",
        );
        errors
    }

    fn texts(&self) -> [(&'static str, &str); 8] {
        [
            ("name", &self.name),
            ("useragent", &self.useragent),
            ("operator", &self.operator),
            ("product_token", &self.product_token),
            ("details_url", &self.details_url),
            ("host_suffixes", &self.host_suffixes),
            ("ranges_url", &self.ranges_url),
            ("signature_agents", &self.signature_agents),
        ]
    }
}

impl TypedError {
    fn new(field: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { field, message }
    }
}

fn filled(value: &str) -> Option<String> {
    Some(value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn is_web_url(url: &str) -> bool {
    let lower = url.get(..8).unwrap_or(url).to_ascii_lowercase();
    (lower.starts_with("http://") || lower.starts_with("https://")) && !url.contains(' ')
}

/// Returns `true` if a URL has a user before its host.
fn names_a_user(url: &str) -> bool {
    let behind = url.split_once("://").map_or("", |(_, behind)| behind);
    let end = behind.find(['/', '?', '#']).unwrap_or(behind.len());
    behind.get(..end).is_some_and(|host| host.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed() -> TypedRobot {
        TypedRobot {
            id: " housebot ".to_owned(),
            useragent: "HouseBot/1.0".to_owned(),
            ..TypedRobot::default()
        }
    }

    #[test]
    fn what_is_typed_in_is_what_the_robot_is() {
        let plain = typed().robot().unwrap();
        assert_eq!((&*plain.id, &*plain.name), ("housebot", "housebot"));
        assert_eq!(plain.source, Source::manual());
        assert_eq!((plain.operator, plain.ranges_url), (None, None));

        let full = TypedRobot {
            name: "House".to_owned(),
            purpose: "SEO".to_owned(),
            operator: " House & Co ".to_owned(),
            product_token: "HouseBot".to_owned(),
            details_url: "https://house.example/bot".to_owned(),
            host_suffixes: "*.Crawl.house.example, house.example  .house.example".to_owned(),
            ranges_url: " https://house.example/ips.json#prefixes ".to_owned(),
            signature_agents: "https://Keys.house.example/ keys.house.example:8443".to_owned(),
            ..typed()
        };
        let robot = full.robot().unwrap();
        assert_eq!(robot.name, "House");
        assert_eq!(robot.purpose, Purpose::Seo);
        assert_eq!(robot.operator.as_deref(), Some("House & Co"));
        assert_eq!(
            robot.host_suffixes,
            ["crawl.house.example", "house.example"]
        );
        let url = robot.ranges_url.as_deref();
        assert_eq!(url, Some("https://house.example/ips.json#prefixes"));
        let agents = ["keys.house.example", "keys.house.example:8443"];
        assert_eq!(robot.signature_agents, agents);
    }

    type Fault = (fn(&mut TypedRobot), &'static str, &'static str);

    const FAULTS: &[Fault] = &[
        (|it| it.id.clear(), "id", "1 to 100 letters"),
        (|it| it.id = "a b".to_owned(), "id", "1 to 100 letters"),
        (|it| it.useragent.clear(), "useragent", "empty"),
        (|it| it.name = "a\nb".to_owned(), "name", "on one line"),
        (
            |it| it.operator = "x".repeat(501),
            "operator",
            "at most 500 characters",
        ),
        (
            |it| it.purpose = "fun".to_owned(),
            "purpose",
            "one of the purposes",
        ),
        (
            |it| it.details_url = "javascript:alert(1)".to_owned(),
            "details_url",
            "begins with http://",
        ),
        (
            |it| it.ranges_url = "house.example/ips".to_owned(),
            "ranges_url",
            "begins with http://",
        ),
        (
            |it| it.ranges_url = "https://a.example/ https://b.example/".to_owned(),
            "ranges_url",
            "of one document",
        ),
        (
            |it| it.ranges_url = "https://me:secret@a.example/".to_owned(),
            "ranges_url",
            "without a user",
        ),
        (
            |it| it.host_suffixes = "a.example localhost".to_owned(),
            "host_suffixes",
            "\"localhost\" is not the end of a host name",
        ),
        (
            |it| it.host_suffixes = "192.0.2.1".to_owned(),
            "host_suffixes",
            "\"192.0.2.1\" is not the end",
        ),
        (
            |it| it.signature_agents = "http://a.example".to_owned(),
            "signature_agents",
            "\"http://a.example\" is not a host that publishes keys over https",
        ),
        (
            |it| it.signature_agents = "https://a.example/keys?a=b".to_owned(),
            "signature_agents",
            "is not a host",
        ),
    ];

    #[test]
    fn each_field_that_is_wrong_is_told_and_no_other() {
        for (change, field, message) in FAULTS {
            let mut typed = typed();
            change(&mut typed);
            let errors = typed.robot().unwrap_err();
            let [error] = &*errors else {
                panic!("{field}: {errors:?}");
            };
            assert_eq!(error.field, *field);
            assert!(error.message.contains(message), "{error}");
        }
        let nothing = TypedRobot::default().robot().unwrap_err();
        let fields: Vec<_> = nothing.iter().map(|error| error.field).collect();
        assert_eq!(fields, ["id", "useragent"]);
    }
}
