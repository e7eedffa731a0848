//! Input for manually added robots, and the validation of this input.

use super::{Purpose, Robot, Source, normalise, proofs};

/// Maximum number of characters in an ID.
const MAX_ID_CHARS: usize = 100;
/// Maximum number of characters in any other field.
const MAX_FIELD_CHARS: usize = 500;

/// The form or command-line input for a new robot. Empty fields are treated as missing.
///
/// # Example
///
/// ```
/// use robot_detection_layer::registry::RobotInput;
///
/// let mut typed = RobotInput::default();
/// typed.id = "housebot".to_owned();
/// typed.useragent = "HouseBot/1.0".to_owned();
/// typed.host_suffixes = "crawl.house.example".to_owned();
/// assert_eq!(typed.robot()?.host_suffixes, ["crawl.house.example"]);
///
/// typed.ranges_url = "ftp://house.example/".to_owned();
/// assert_eq!(typed.robot().unwrap_err()[0].field, "ranges_url");
/// # Ok::<(), Vec<robot_detection_layer::registry::InputError>>(())
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct RobotInput {
    /// The ID of the robot: up to 100 letters, digits, `-`, `.`, `_` and `+`.
    pub id: String,
    /// The display name; defaults to the ID.
    pub name: String,
    /// The User-Agent as sent by the robot, from which patterns are derived.
    pub useragent: String,
    /// The purpose of the robot; see [`Purpose`] for the possible words.
    pub purpose: String,
    /// The company or project that operates the robot.
    pub operator: String,
    /// The robot's product token in robots.txt.
    pub product_token: String,
    /// The URL (`http:` or `https:`) of a page about the robot.
    pub details_url: String,
    /// The suffixes of the robot's host names, separated by spaces or commas.
    pub host_suffixes: String,
    /// The URL of a published list of the robot's addresses; `#` and a name select a part of the
    /// document.
    pub ranges_url: String,
    /// The hosts whose keys sign the robot's requests, separated by spaces or commas.
    pub signature_agents: String,
}

/// An error in one field of a [`RobotInput`].
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{field}: {message}")]
#[non_exhaustive]
pub struct InputError {
    /// The name of the invalid field in [`RobotInput`].
    pub field: &'static str,
    /// An instruction that corrects the field, as a sentence without a full stop.
    pub message: String,
}

impl RobotInput {
    /// Creates the robot from the input.
    ///
    /// # Errors
    ///
    /// Returns one error for each invalid field.
    pub fn robot(&self) -> Result<Robot, Vec<InputError>> {
        let mut errors = self.errors();
        let mut robot = Robot::new(self.id.trim(), Source::manual());
        match normalise(self.useragent.trim()) {
            Ok(patterns) => robot.patterns = patterns,
            Err(reason) => errors.push(InputError::new("useragent", reason.to_string())),
        }
        for (field, list, read, example) in [
            (
                "host_suffixes",
                &mut robot.host_suffixes,
                proofs::host_suffixes(&self.host_suffixes),
                "the suffix of a host name, such as crawl.example.com",
            ),
            (
                "signature_agents",
                &mut robot.signature_agents,
                proofs::signature_agents(&self.signature_agents),
                "a host that publishes keys over https, such as bot.example.com, or the URL of a key set, such as bot.example.com/keys.json",
            ),
        ] {
            match read.wrong {
                Some(word) if field == "host_suffixes" && proofs::is_public_suffix_word(&word) => {
                    let text = "anyone can register a name below this suffix; use one that only the operator's hosts have";
                    errors.push(InputError::new(field, format!("{word:?}: {text}")));
                }
                Some(word) => {
                    errors.push(InputError::new(field, format!("{word:?} is not {example}")));
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

    /// Returns the errors in the fields that are stored unchanged.
    fn errors(&self) -> Vec<InputError> {
        let mut errors = Vec::new();
        let mut refuse_if = |is_wrong: bool, field, message: &str| {
            if is_wrong {
                errors.push(InputError::new(field, message));
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
            "use a URL that begins with http:// or https://",
        );
        let url = self.ranges_url.trim();
        refuse_if(
            !url.is_empty() && proofs::http_url(url).as_deref() != Some(url),
            "ranges_url",
            "use the URL of a single document that begins with http:// or https://",
        );
        refuse_if(
            names_a_user(url),
            "ranges_url",
            "use a URL without user name and password, because the URL is visible to everyone",
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

impl InputError {
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

/// Returns `true` if a URL contains a user name before its host.
fn names_a_user(url: &str) -> bool {
    let behind = url.split_once("://").map_or("", |(_, behind)| behind);
    let end = behind.find(['/', '?', '#']).unwrap_or(behind.len());
    behind.get(..end).is_some_and(|host| host.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed() -> RobotInput {
        RobotInput {
            id: " housebot ".to_owned(),
            useragent: "HouseBot/1.0".to_owned(),
            ..RobotInput::default()
        }
    }

    #[test]
    fn the_robot_has_the_values_of_the_form() {
        let plain = typed().robot().unwrap();
        assert_eq!((&*plain.id, &*plain.name), ("housebot", "housebot"));
        assert_eq!(plain.source, Source::manual());
        assert_eq!((plain.operator, plain.ranges_url), (None, None));

        let full = RobotInput {
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

    /// Test cases, each with a field, an invalid value, and part of the error message.
    const FAULTS: &str = r#"
        id || 1 to 100 letters
        id | a b | 1 to 100 letters
        useragent || empty
        name | a\nb | on one line
        purpose | fun | one of the purposes
        details_url | javascript:alert(1) | begins with http://
        ranges_url | house.example/ips | begins with http://
        ranges_url | https://a.example/ https://b.example/ | of a single document
        ranges_url | https://me:secret@a.example/ | without user name
        host_suffixes | a.example localhost | "localhost" is not the suffix of a host name
        host_suffixes | 192.0.2.1 | "192.0.2.1" is not the suffix
        signature_agents | http://a.example | "http://a.example" is not a host that publishes keys over https
        signature_agents | https://a.example/keys?a=b | is not a host
    "#;

    #[test]
    fn exactly_the_invalid_fields_are_reported() {
        let long = format!("operator | {} | at most 500 characters", "x".repeat(501));
        for line in FAULTS.trim().lines().chain([&*long]) {
            let [name, value, message] = [0, 1, 2].map(|n| line.split('|').nth(n).unwrap().trim());
            let mut typed = typed();
            *match name {
                "id" => &mut typed.id,
                "name" => &mut typed.name,
                "useragent" => &mut typed.useragent,
                "purpose" => &mut typed.purpose,
                "operator" => &mut typed.operator,
                "details_url" => &mut typed.details_url,
                "ranges_url" => &mut typed.ranges_url,
                "host_suffixes" => &mut typed.host_suffixes,
                _ => &mut typed.signature_agents,
            } = value.replace("\\n", "\n");
            let errors = typed.robot().unwrap_err();
            let [error] = &*errors else {
                panic!("{line}: {errors:?}");
            };
            assert_eq!(error.field, name);
            assert!(error.message.contains(message), "{error}");
        }
        let nothing = RobotInput::default().robot().unwrap_err();
        let fields: Vec<_> = nothing.iter().map(|error| error.field).collect();
        assert_eq!(fields, ["id", "useragent"]);
    }
}
