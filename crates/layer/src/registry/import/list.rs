//! Import of plain lists, which contain one token per line.

use crate::registry::{
    Parsed, Robot, Source,
    collect::{Collector, Numbers},
    text::{clean, cut, decode, slug},
    useragent::token,
};

/// Maximum number of bytes in a line that is parsed as a token.
pub(in crate::registry) const MAX_LINE_BYTES: usize = 1024;

/// Parses a list. `#` starts a comment at the start of a line or after a space.
pub(in crate::registry) fn read(bytes: &[u8], source: &Source) -> Parsed {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut collector = Collector::default();
    let mut numbers = Numbers::new();
    let mut seen = std::collections::HashSet::new();
    for (number, line) in (1..).zip(bytes.split(|&b| b == b'\n')) {
        let line = decode(line.get(..MAX_LINE_BYTES).unwrap_or(line));
        let text = clean(without_comment(&line));
        if text.is_empty() {
            if line.contains('#') {
                collector.comment();
            }
            continue;
        }
        if !seen.insert(text.to_ascii_lowercase()) {
            collector.skip(number, &text, "duplicate of a token on an earlier line");
            continue;
        }
        match token(&text) {
            Ok(pattern) => {
                let mut robot = Robot::new(format!("list:{}", slug(&pattern.text)), source.clone());
                cut(&pattern.text, 200).clone_into(&mut robot.name);
                robot.useragent = text;
                robot.patterns = vec![pattern];
                collector.push_numbered(robot, number, &mut numbers);
            }
            Err(error) => collector.skip(number, &text, error.to_string()),
        }
    }
    collector.finish()
}

/// Returns a line without its comment.
pub(in crate::registry) fn without_comment(line: &str) -> &str {
    let comment = line
        .char_indices()
        .zip(std::iter::once(' ').chain(line.chars()))
        .find(|&((_, c), before)| c == '#' && before.is_whitespace())
        .map(|((at, _), _)| at);
    comment.and_then(|at| line.get(..at)).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::PatternKind;

    #[test]
    fn a_line_is_a_token_without_its_comment() {
        let parsed = read(
            b"# robots\r\nAcmeBot\r\n\r\nQuillSpider/2.1 # with a version\nacmebot\nbot\nAcme#Bot\nxy\n\xc4cmespider",
            &Source::web_robots_db(),
        );
        let found: Vec<_> = parsed
            .robots
            .iter()
            .map(|robot| (robot.id.as_str(), robot.patterns[0].text.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("list:acmebot", "AcmeBot"),
                ("list:quillspider", "QuillSpider"),
                ("list:acme-bot", "Acme#Bot"),
                ("list:cmespider", "Äcmespider"),
            ]
        );
        assert!(
            parsed
                .robots
                .iter()
                .all(|robot| robot.patterns[0].kind == PatternKind::Token)
        );
        let skipped: Vec<_> = parsed
            .skipped
            .iter()
            .map(|skipped| (skipped.line, skipped.what.as_str()))
            .collect();
        assert_eq!(skipped, [(5, "acmebot"), (6, "bot"), (8, "xy")]);
        assert_eq!((parsed.records, parsed.comment_lines), (7, 1));
    }

    #[test]
    fn names_with_the_same_id_are_numbered() {
        let parsed = read(b"Acme-Bot\nAcme_Bot\nAcme.Bot\n", &Source::web_robots_db());
        let ids: Vec<_> = parsed
            .robots
            .iter()
            .map(|robot| robot.id.as_str())
            .collect();
        assert_eq!(ids, ["list:acme-bot", "list:acme-bot-2", "list:acme-bot-3"]);
    }
}
