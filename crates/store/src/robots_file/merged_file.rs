//! Robots.txt files that are generated from other files.

use std::{borrow::Borrow, collections::HashSet};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tracing::warn;

use robot_detection_layer::policy::HostName;
use robot_detection_layer::registry::Robot;
use robot_detection_robots_txt::{Dialect, RobotsTxt, Warning, merge, refusals};

pub(super) fn parse(text: &[u8]) -> RobotsTxt {
    RobotsTxt::parse(text, Dialect::default())
}

/// Returns the warnings about a file, except warnings about the names of the given robots.
pub fn lint<R: Borrow<Robot>>(file: &RobotsTxt, robots: &[R]) -> Vec<Warning> {
    let tokens = robots
        .iter()
        .filter_map(|robot| robot.borrow().token().ok());
    let tokens: HashSet<String> = tokens
        .map(|token| token.as_str().to_ascii_lowercase())
        .collect();
    file.warnings_except(|name| tokens.contains(&name.to_ascii_lowercase()))
}

/// The result of merging two robots.txt files.
#[derive(Clone, Debug)]
pub(super) struct MergedFile {
    pub(super) text: Bytes,
    /// A remark about the merge for the administrator.
    pub(super) remark: Option<&'static str>,
    /// The digests of the two input files, used to detect unchanged inputs.
    of: [[u8; 32]; 2],
}

/// Merges our rules into the upstream's robots.txt, unless neither has changed since `earlier`.
///
/// If the result would be too large, all `Disallow` rules of both files apply and all `Allow` rules
/// are dropped, so the merged file is never more permissive than either input.
pub(super) fn merged_file(theirs: &[u8], ours: &str, earlier: Option<&MergedFile>) -> MergedFile {
    let of = [theirs, ours.as_bytes()].map(|text| Sha256::digest(text).into());
    if let Some(earlier) = earlier.filter(|earlier| earlier.of == of) {
        return earlier.clone();
    }
    // Our file is then served unchanged, including comments.
    let (text, remark) = if theirs.is_empty() {
        (ours.to_owned().into(), None)
    } else {
        merged(&parse(theirs), &parse(ours.as_bytes()))
    };
    if let Some(remark) = remark {
        warn!("the upstream's robots.txt and our rules {remark}");
    }
    MergedFile {
        text: text.into(),
        remark,
        of,
    }
}

pub(super) fn merged(theirs: &RobotsTxt, ours: &RobotsTxt) -> (Vec<u8>, Option<&'static str>) {
    match merge(theirs, ours) {
        Some(merged) if merged.is_exact => (merged.text, None),
        Some(merged) => (
            merged.text,
            Some("cannot be merged exactly: the result disallows more than either file"),
        ),
        None => (
            refusals(theirs, ours),
            Some("are too large to be merged: all Disallow rules apply, but no Allow rules"),
        ),
    }
}

/// Returns the robots.txt of a mirror, which disallows everything and specifies the main mirror in
/// a `Host` line.
pub(super) fn mirror_file(main: &HostName) -> Vec<u8> {
    format!("User-agent: *\nDisallow: /\nHost: {main}\n").into()
}

/// Adds a `Host` line to the robots.txt group for `*`, and removes other `Host` lines.
pub(super) fn with_host(text: Vec<u8>, main: Option<&HostName>) -> Vec<u8> {
    let Some(main) = main else {
        return text;
    };
    let is_host = |line: &&[u8]| {
        let key = line
            .split(|octet| *octet == b':')
            .next()
            .unwrap_or_default();
        key.trim_ascii().eq_ignore_ascii_case(b"host")
    };
    let mut lines: Vec<&[u8]> = text
        .split_inclusive(|octet| *octet == b'\n')
        .filter(|line| !is_host(line))
        .collect();
    let text = lines.concat();
    let file = parse(&text);
    let last = file
        .groups()
        .filter(|group| group.agents.iter().any(|agent| agent == "*"))
        .find_map(|group| Some(group.rules.last()?.line()));
    let host = format!("Host: {main}\n");
    // The parser also ends lines at a lone CR (RFC 9309 §2.2); its line numbers are then no indexes
    // here.
    let is_by_lines = !text.contains(&b'\r') || lines.iter().all(|line| line.ends_with(b"\r\n"));
    if let Some(place) = last.filter(|place| is_by_lines && *place < lines.len()) {
        lines.insert(place, host.as_bytes());
        return lines.concat();
    }
    // A group without rules changes nothing, wherever it is.
    let mut text = text;
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    // After a last line of the group, the new line still belongs to the group. Elsewhere, the group
    // is started again, and robots combine both (RFC 9309 §2.2.1).
    if last.is_none_or(|place| place < lines.len() || !is_by_lines) {
        text.extend(b"\nUser-agent: *\n");
    }
    text.extend(host.as_bytes());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_too_large_to_be_merged_disallow_what_either_disallows() {
        let groups = (0..1_000).map(|n| format!("User-agent: r{n}\nDisallow: /{n}\nAllow: /x\n"));
        let theirs: String = groups.collect();
        let paths = (0..500).map(|n| format!("Disallow: /a/rather/long/path/to/refuse/{n}\n"));
        let ours = format!("User-agent: *\nAllow: /y\n{}", paths.collect::<String>());
        let made = merged_file(theirs.as_bytes(), &ours, None);
        assert!(
            made.remark
                .is_some_and(|remark| remark.contains("too large"))
        );
        let file = parse(&made.text);
        let allows = |path| file.for_robot("r7").check(path).allowed();
        assert!(!allows("/7") && !allows("/a/rather/long/path/to/refuse/9"));
        assert!(allows("/8"));
    }

    #[test]
    fn unchanged_files_are_not_merged_again() {
        let ours = "User-agent: *\nDisallow: /a\n";
        let first = merged_file(b"User-agent: *\nDisallow: /b\n", ours, None);
        let again = merged_file(b"User-agent: *\nDisallow: /b\n", ours, Some(&first));
        assert_eq!(again.text.as_ptr(), first.text.as_ptr());
        let other = merged_file(b"User-agent: *\nDisallow: /c\n", ours, Some(&first));
        assert_eq!(other.text, "User-agent: *\nDisallow: /a\nDisallow: /c\n");
    }

    #[test]
    fn file_of_a_main_mirror_names_the_mirror_once() {
        let main = HostName::parse("www.example.com").unwrap();
        for (file, named) in [
            ("", "\nUser-agent: *\nHost: www.example.com\n"),
            (
                "User-agent: *\nDisallow: /a\nHost: old.example\nDisallow: /b\n\nUser-agent: x\nDisallow: /\n",
                "User-agent: *\nDisallow: /a\nDisallow: /b\nHost: www.example.com\n\nUser-agent: x\nDisallow: /\n",
            ),
            (
                "User-agent: *\r\nDisallow: /a\r\n",
                "User-agent: *\r\nDisallow: /a\r\nHost: www.example.com\n",
            ),
            (
                "User-agent: *\nDisallow: /a",
                "User-agent: *\nDisallow: /a\nHost: www.example.com\n",
            ),
            (
                "User-agent: x\nDisallow: /",
                "User-agent: x\nDisallow: /\n\nUser-agent: *\nHost: www.example.com\n",
            ),
        ] {
            let text = with_host(file.into(), Some(&main));
            assert_eq!(String::from_utf8(text).unwrap(), named, "{file}");
        }
        assert_eq!(with_host(b"Host: x".to_vec(), None), b"Host: x");
    }
}
