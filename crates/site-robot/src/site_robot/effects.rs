//! Detects links with side effects.

use std::fmt;

use url::Url;

use super::traps::parameters;

/// A side effect that prevents a link from being followed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Effect {
    /// The link would log the site robot out.
    LogsOut,
    /// The link would change or delete data, as indicated by a word such as `delete`.
    Changes(&'static str),
}

/// Words in links that indicate that following the link changes data.
const CHANGES: [&str; 28] = [
    "addtocart",
    "approve",
    "archive",
    "ban",
    "block",
    "cancel",
    "checkout",
    "clear",
    "deactivate",
    "delete",
    "del",
    "destroy",
    "disable",
    "downvote",
    "erase",
    "kill",
    "publish",
    "purge",
    "remove",
    "reset",
    "restart",
    "revoke",
    "shutdown",
    "trash",
    "unfollow",
    "unpublish",
    "unsubscribe",
    "upvote",
];

/// Words that indicate a change only if they are a complete path segment.
const CHANGES_AS_SEGMENT: [&str; 13] = [
    "addtocart",
    "deactivate",
    "delete",
    "destroy",
    "downvote",
    "erase",
    "purge",
    "remove",
    "revoke",
    "trash",
    "unfollow",
    "unsubscribe",
    "upvote",
];

/// Names of query parameters whose values are actions.
const ACTIONS: [&str; 14] = [
    "a",
    "act",
    "action",
    "cmd",
    "command",
    "do",
    "event",
    "func",
    "method",
    "mode",
    "op",
    "operation",
    "task",
    "todo",
];

/// Extensions of static files, which have no side effects.
const STATIC: [&str; 7] = [".htm", ".html", ".md", ".pdf", ".txt", ".xhtml", ".xml"];

/// Extensions of programs, which may have side effects.
const DYNAMIC: [&str; 9] = [
    ".action", ".asp", ".aspx", ".cfm", ".cgi", ".do", ".jsp", ".php", ".pl",
];

/// Returns the side effect that following a link would probably have, if any.
///
/// This function evaluates complete path segments (`/posts/7/delete`, `/logout.php`), program names
/// (`/delete_post.php?id=7`), and the query (`?action=delete`, `?logout`). Links to articles with
/// such a word in the title (`/delete-a-file.html`, `?q=delete`) are not considered to have a side
/// effect.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::site_robot::{Effect, effect};
///
/// let effect = |url: &str| effect(&url.parse().unwrap());
/// assert_eq!(effect("http://h.example/sign-out"), Some(Effect::LogsOut));
/// assert_eq!(effect("http://h.example/p/7/delete"), Some(Effect::Changes("delete")));
/// assert_eq!(effect("http://h.example/sql-delete.html"), None);
/// ```
pub fn effect(url: &Url) -> Option<Effect> {
    // GET must not change anything (RFC 9110 §9.2.1), yet on many sites, content is deleted if a
    // robot that is logged in follows such a link.
    let mut segments = url.path().split('/').filter(|it| !it.is_empty());
    let by_path = segments.find_map(|segment| by_segment(segment, url.query().is_some()));
    by_path.or_else(|| parameters(url).find_map(|(name, value)| by_parameter(&name, &value)))
}

fn by_segment(segment: &str, has_query: bool) -> Option<Effect> {
    let lower = segment.to_ascii_lowercase();
    let ending = |endings: &[&str]| {
        let ending = endings.iter().find(|ending| lower.ends_with(**ending))?;
        Some(ending.len())
    };
    let dynamic = ending(&DYNAMIC);
    let is_static = ending(&STATIC);
    let cut = dynamic.or(is_static).unwrap_or(0);
    let name = segment
        .split_at_checked(segment.len().saturating_sub(cut))?
        .0;
    if !has_any_word(name) {
        return None;
    }
    let words = words(name);
    if logs_out(&words) {
        return Some(Effect::LogsOut);
    }
    if is_static.is_some() {
        return None;
    }
    let whole = words.concat();
    let first = words.first().map_or("", String::as_str);
    // Several words are usually the title of an article, not the name of a program.
    let is_program = dynamic.is_some() || has_query;
    let word = CHANGES_AS_SEGMENT
        .into_iter()
        .find(|word| *word == whole || (is_program && *word == first))?;
    Some(Effect::Changes(word))
}

/// Returns `true` if a name contains any of the words. This check is fast, because few names do.
fn has_any_word(name: &str) -> bool {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    let whole: String = letters.flat_map(char::to_lowercase).collect();
    let logs_out = ["logout", "logoff", "signout", "signoff"];
    logs_out.iter().any(|word| whole.contains(word))
        || CHANGES_AS_SEGMENT
            .iter()
            .any(|word| whole.starts_with(word))
}

fn by_parameter(name: &str, value: &str) -> Option<Effect> {
    let named = words(name);
    if logs_out(&named) {
        return Some(Effect::LogsOut);
    }
    let whole = named.concat();
    if let Some(word) = changes(&CHANGES_AS_SEGMENT, &named) {
        return Some(Effect::Changes(word));
    }
    if !ACTIONS.contains(&whole.as_str()) {
        return None;
    }
    let said = words(value);
    if logs_out(&said) {
        return Some(Effect::LogsOut);
    }
    changes(&CHANGES, &said).map(Effect::Changes)
}

fn changes(known: &[&'static str], words: &[String]) -> Option<&'static str> {
    let whole = words.concat();
    let first = words.first()?;
    let is = |word: &&&'static str| **word == whole || **word == *first;
    known.iter().find(is).copied()
}

fn logs_out(words: &[String]) -> bool {
    let one = |word: &String| matches!(word.as_str(), "logout" | "logoff" | "signout" | "signoff");
    let two = |pair: &[String]| {
        let [first, second] = pair else {
            return false;
        };
        matches!(first.as_str(), "log" | "sign") && matches!(second.as_str(), "out" | "off")
    };
    // Longer names are usually titles of articles.
    words.len() <= 3 && (words.iter().any(one) || words.windows(2).any(two))
}

/// Splits a name into lower-case words, at punctuation and before capital letters.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        let begins = !c.is_alphanumeric() || (c.is_uppercase() && was_small);
        was_small = c.is_lowercase();
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LogsOut => f.write_str("the link would log the site robot out"),
            Self::Changes(word) => write!(f, "the link would modify data: {word}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect_of(path: &str) -> Option<Effect> {
        effect(&format!("http://h{path}").parse().unwrap())
    }

    #[test]
    fn links_with_side_effects_are_distinguished_from_articles() {
        for path in [
            "/logout",
            "/LogOut",
            "/log-out",
            "/user/signoff",
            "/sign_out.php",
            "/logout.html",
            "/wp-login.php?action=logout",
            "/?logout",
            "/?do=sign-out",
            "/account/logout/now",
            "/Special:UserLogout",
        ] {
            assert_eq!(effect_of(path), Some(Effect::LogsOut), "{path}");
        }
        for (path, word) in [
            ("/posts/7/delete", "delete"),
            ("/delete/7", "delete"),
            ("/delete.php?id=7", "delete"),
            ("/deletePost.do", "delete"),
            ("/delete_post?id=7", "delete"),
            ("/list?action=Delete&id=7", "delete"),
            ("/list?op=remove-item", "remove"),
            ("/list?delete=7", "delete"),
            ("/list?remove_item=7", "remove"),
            ("/newsletter/unsubscribe", "unsubscribe"),
            ("/x?cmd=shutdown", "shutdown"),
            ("/shop/?add-to-cart=7", "addtocart"),
        ] {
            assert_eq!(effect_of(path), Some(Effect::Changes(word)), "{path}");
        }
        for path in [
            "/",
            "/sql-delete.html",
            "/delete.html",
            "/blog/delete-your-cookies",
            "/?q=delete",
            "/blog/how-to-log-out-of-everything",
            "/removal",
            "/archive",
            "/publish",
            "/reset",
            "/catalog/outdoor",
            "/blog/outlook?page=2",
            "/?sort=remove",
            "/a?mode=list",
        ] {
            assert_eq!(effect_of(path), None, "{path}");
        }
    }

    #[test]
    fn each_effect_has_a_description() {
        let effect = Effect::Changes("delete");
        assert_eq!(effect.to_string(), "the link would modify data: delete");
    }
}
