//! Words that say nothing, and words that say robot.

/// Words of which a name cannot be made: it would name everybody.
const GENERIC: &[&str] = &[
    // Articles, prepositions and the like.
    "a",
    "an",
    "and",
    "at",
    "by",
    "for",
    "from",
    "in",
    "is",
    "it",
    "my",
    "of",
    "on",
    "or",
    "our",
    "that",
    "the",
    "this",
    "to",
    "via",
    "with",
    "your",
    // The trade.
    "agent",
    "agents",
    "api",
    "app",
    "application",
    "bot",
    "bots",
    "client",
    "crawl",
    "crawler",
    "crawlers",
    "crawling",
    "data",
    "feed",
    "fetch",
    "fetcher",
    "fetching",
    "file",
    "home",
    "http",
    "https",
    "html",
    "index",
    "indexer",
    "indexing",
    "internet",
    "link",
    "links",
    "net",
    "network",
    "operator",
    "page",
    "pages",
    "program",
    "reader",
    "request",
    "requests",
    "robot",
    "robots",
    "rss",
    "scraper",
    "script",
    "search",
    "searching",
    "server",
    "service",
    "site",
    "sites",
    "software",
    "spider",
    "spiders",
    "spidering",
    "system",
    "test",
    "tester",
    "testing",
    "tool",
    "tools",
    "uri",
    "url",
    "urls",
    "user",
    "useragent",
    "version",
    "viewer",
    "web",
    "website",
    "worm",
    "www",
    "xml",
    // Browsers, their engines and what they run on.
    "android",
    "applewebkit",
    "browser",
    "chrome",
    "chromium",
    "compatible",
    "desktop",
    "edge",
    "explorer",
    "firefox",
    "gecko",
    "ie",
    "ios",
    "ipad",
    "iphone",
    "khtml",
    "like",
    "linux",
    "mac",
    "macintosh",
    "mobile",
    "mozilla",
    "msie",
    "navigator",
    "netscape",
    "opera",
    "phone",
    "safari",
    "seamonkey",
    "tablet",
    "trident",
    "tv",
    "ubuntu",
    "unix",
    "webkit",
    "webview",
    "win",
    "win32",
    "win64",
    "windows",
    "x11",
    // Languages.
    "java",
    "javascript",
    "perl",
    "php",
    "python",
    "ruby",
    "vb",
    // Names that nobody has.
    "com",
    "default",
    "demo",
    "example",
    "generic",
    "inc",
    "ltd",
    "new",
    "none",
    "null",
    "old",
    "org",
    "other",
    "sample",
    "unknown",
];

/// Libraries that many robots are made with.
const LIBRARIES: &[&str] = &[
    "jdk",
    "libcurl",
    "libwww",
    "libwww-fm",
    "libwww-perl",
    "lwp",
    "pycurl",
    "python-requests",
    "python-urllib",
    "urllib",
];

/// Parts of a word that make it a name for a robot.
const ROBOT_PARTS: &[&str] = &[
    "archiver", "bot", "catch", "check", "copy", "crawl", "download", "explor", "fetch", "gather",
    "grab", "harvest", "hopper", "index", "link", "mirror", "monitor", "reap", "robo", "rover",
    "scan", "scooter", "scrap", "search", "seek", "slurp", "snarf", "spider", "spyder", "validat",
    "walker", "wander", "worm",
];

/// Words that end in `bot` and are makers of telephones.
const NOT_ROBOTS: &[&str] = &["cubot"];

/// Returns `true` if a name is made only of generic words, numbers and a few single letters.
///
/// Letters alone are not: they are too short for a token, but not generic.
pub(super) fn is_generic(name: &str) -> bool {
    let mut words = name
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() > 1)
        .peekable();
    if words.peek().is_none() {
        return name.chars().all(|c| !c.is_alphabetic());
    }
    words.all(|word| word.bytes().all(|b| b.is_ascii_digit()) || contains(GENERIC, word))
}

/// Returns `true` if a name, without its version, is that of a library.
pub(super) fn is_library(name: &str) -> bool {
    contains(LIBRARIES, name)
}

/// Returns `true` if a part of the name is a word for robots.
pub(super) fn has_robot_part(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ROBOT_PARTS.iter().any(|part| name.contains(part))
}

/// Returns `true` if a segment of a browser-like User-Agent speaks of a robot.
///
/// Stricter than [`has_robot_part`]: a browser's segments are full of words.
pub(super) fn names_robot(segment: &str) -> bool {
    let segment = segment.to_ascii_lowercase();
    segment.split(|c: char| !c.is_alphanumeric()).any(|word| {
        let ends_in_bot = word
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .ends_with("bot");
        (ends_in_bot && !contains(NOT_ROBOTS, word))
            || [
                "spider",
                "crawl",
                "robot",
                "slurp",
                "archiver",
                "fetcher",
                "validator",
            ]
            .iter()
            .any(|part| word.contains(part))
    })
}

fn contains(words: &[&str], word: &str) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_generic_words_are_generic() {
        for generic in [
            "Web Robot",
            "The Spider 2",
            "Mozilla",
            "I Robot",
            "http-client",
            "Java",
            "2000",
            "",
        ] {
            assert!(is_generic(generic), "{generic}");
        }
        for name in [
            "Acme Spider",
            "Websurfer",
            "W3C",
            "Go Zilla",
            "M",
            "H-U-S-K",
        ] {
            assert!(!is_generic(name), "{name}");
        }
    }

    #[test]
    fn segments_that_speak_of_robots_are_told_from_telephones() {
        for robot in [
            "FooBot/1.0",
            "Foo Spider",
            "foo_bot2",
            "Crawler",
            "archiver",
        ] {
            assert!(names_robot(robot), "{robot}");
        }
        for phone in ["CUBOT X18", "Abbott", "bottle", "Windows NT 5.1"] {
            assert!(!names_robot(phone), "{phone}");
        }
    }
}
