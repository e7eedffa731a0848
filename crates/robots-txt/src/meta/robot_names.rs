//! Under which names a robot is addressed.

/// Words of a User-Agent that are looked at, and bytes of each, at most.
const MAX_WORDS: usize = 64;

/// Bytes of a robot's name, at most.
pub(super) const MAX_NAME_BYTES: usize = 128;

/// Returns the names, in lower case, of tags and headers that a robot obeys.
///
/// Of a product token, with or without a version, it is the token; of a whole
/// User-Agent each of its words. Robots of Google obey `googlebot` beside a
/// name of their own that starts with it, such as `googlebot-news`; those of
/// Bing obey `bingbot` and `msnbot`.
pub(super) fn robot_names(user_agent: &str) -> Vec<String> {
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
