//! Parses an nginx configuration as printed by `nginx -T`, where a line with a file's name precedes
//! the file.

use std::{iter::Peekable, mem, str::Chars};

/// Maximum nesting of blocks and included files.
const MAX_DEPTH: usize = 32;
/// Maximum number of directives; the directives of an included file are counted for each include.
const MAX_DIRECTIVES: usize = 500_000;
/// Start of the line that `nginx -T` prints before each file.
const MARK: &str = "# configuration file ";

/// The files of an nginx configuration, starting with the main file.
#[derive(Debug)]
pub(super) struct Source<'t> {
    files: Vec<(&'t str, &'t str)>,
}

/// An nginx directive and, if present, its block.
#[derive(Clone, Debug, Default)]
pub(super) struct Directive {
    pub(super) name: String,
    pub(super) args: Vec<String>,
    block: Vec<Self>,
    file: String,
    line: usize,
}

/// The error returned for an nginx configuration that cannot be parsed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct TextError {
    place: String,
    reason: &'static str,
}

impl<'t> Source<'t> {
    /// Splits a text into files; a text that contains no file names is treated as a single file.
    pub(super) fn new(text: &'t str) -> Self {
        // Name, start and end of each file; any output before the first file is not configuration.
        let mut found: Vec<(&str, usize, usize)> = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            let name = line.strip_prefix(MARK).map(str::trim_end);
            if let Some(name) = name.and_then(|name| name.strip_suffix(':')) {
                found.push((name, at, at));
            } else if let Some(last) = found.last_mut() {
                last.2 = start + line.len();
            }
        }
        if found.is_empty() {
            found.push(("configuration", 0, text.len()));
        }
        let files = found.into_iter();
        let files =
            files.map(|(name, start, end)| (name, text.get(start..end).unwrap_or_default()));
        Self {
            files: files.collect(),
        }
    }

    /// Returns the name of the main file.
    pub(super) fn name(&self) -> String {
        self.files.first().map_or("", |(name, _)| name).to_owned()
    }

    /// Returns the files that match an `include`: a path, or a pattern that contains `*` and `?`.
    fn included(&self, pattern: &str) -> impl Iterator<Item = (&'t str, &'t str)> {
        let main = self.name();
        let directory = main.rsplit_once('/').map_or("", |(directory, _)| directory);
        let pattern = if pattern.starts_with('/') {
            pattern.to_owned()
        } else {
            format!("{directory}/{pattern}")
        };
        let files = self.files.iter().copied();
        files.filter(move |(name, _)| matches(pattern.as_bytes(), name.as_bytes()))
    }
}

/// Parses the main file, and replaces each `include` directive with the included files.
pub(super) fn parse(source: &Source<'_>) -> Result<Vec<Directive>, TextError> {
    let mut reader = Reader {
        source,
        directives: 0,
    };
    let Some(&main) = source.files.first() else {
        return Ok(Vec::new());
    };
    reader.file(main, 0)
}

struct Reader<'s, 't> {
    source: &'s Source<'t>,
    directives: usize,
}

impl Reader<'_, '_> {
    fn file(
        &mut self,
        (name, text): (&str, &str),
        depth: usize,
    ) -> Result<Vec<Directive>, TextError> {
        let mut words = Words {
            file: name,
            line: 1,
            chars: text.chars().peekable(),
        };
        self.block(&mut words, depth, false)
    }

    fn block(
        &mut self,
        words: &mut Words<'_>,
        depth: usize,
        is_inner: bool,
    ) -> Result<Vec<Directive>, TextError> {
        if depth > MAX_DEPTH {
            return Err(words.error("blocks or included files are nested too deeply"));
        }
        let mut all = Vec::new();
        let mut one = Directive::default();
        loop {
            let word = words.next_word();
            let line = words.line;
            match word {
                None if is_inner => return Err(words.error("the text ends inside a block")),
                None => return Ok(all),
                Some(Word::Close) if is_inner => return Ok(all),
                Some(Word::Close) => return Err(words.error("unexpected }")),
                Some(Word::Text(text)) if one.name.is_empty() => {
                    one = Directive {
                        name: text,
                        file: words.file.to_owned(),
                        line,
                        ..Directive::default()
                    };
                }
                Some(Word::Text(text)) => one.args.push(text),
                Some(end) => {
                    self.directives += 1;
                    if self.directives > MAX_DIRECTIVES {
                        return Err(words.error("too many directives"));
                    }
                    let mut found = mem::take(&mut one);
                    if matches!(end, Word::Open) {
                        if found.name.ends_with("_by_lua_block") {
                            words.skip_block();
                        } else {
                            found.block = self.block(words, depth + 1, true)?;
                        }
                    } else if found.name == "include" {
                        for file in self.source.included(found.first()) {
                            all.extend(self.file(file, depth + 1)?);
                        }
                        continue;
                    }
                    all.push(found);
                }
            }
        }
    }
}

impl Directive {
    /// Returns the directive's first argument, or an empty text for a directive without arguments.
    pub(super) fn first(&self) -> &str {
        self.args.first().map_or("", String::as_str)
    }

    /// Returns `true` if `arg` is the directive's only argument.
    pub(super) fn has(&self, arg: &str) -> bool {
        self.args.len() == 1 && self.first() == arg
    }

    /// Returns the directives with the given name directly in the block.
    pub(super) fn children<'d>(&'d self, name: &'d str) -> impl Iterator<Item = &'d Self> {
        self.block.iter().filter(move |one| one.name == name)
    }

    /// Returns the directives with the given name directly in the block or in its `if` blocks.
    pub(super) fn own<'d>(&'d self, name: &'d str) -> impl Iterator<Item = &'d Self> {
        let conditional = self.children("if").flat_map(move |one| one.children(name));
        self.children(name).chain(conditional)
    }

    /// Returns `true` if any directive in the block, at any depth, meets a condition.
    pub(super) fn contains_any(&self, is: &dyn Fn(&Self) -> bool) -> bool {
        self.block.iter().any(|one| is(one) || one.contains_any(is))
    }

    /// Returns the directive's file name and line number.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

enum Word {
    Text(String),
    Open,
    Close,
    End,
}

/// A reader that splits an nginx file into words.
struct Words<'t> {
    file: &'t str,
    /// Line number of the last character read.
    line: usize,
    chars: Peekable<Chars<'t>>,
}

impl Words<'_> {
    fn next_char(&mut self) -> Option<char> {
        let next = self.chars.next();
        self.line += usize::from(next == Some('\n'));
        next
    }

    fn next_word(&mut self) -> Option<Word> {
        loop {
            match self.next_char()? {
                ';' => return Some(Word::End),
                '{' => return Some(Word::Open),
                '}' => return Some(Word::Close),
                '#' => self.skip_line(),
                quote @ ('"' | '\'') => return Some(Word::Text(self.quoted(quote))),
                c if c.is_whitespace() => {}
                c => return Some(Word::Text(self.bare(c))),
            }
        }
    }

    fn skip_line(&mut self) {
        while self.next_char().is_some_and(|c| c != '\n') {}
    }

    /// Reads a quoted word up to its closing quote, or to the end of the text.
    fn quoted(&mut self, quote: char) -> String {
        let mut text = String::new();
        while let Some(c) = self.next_char() {
            if c == quote {
                break;
            }
            text.push(c);
            if c == '\\' {
                text.extend(self.next_char());
            }
        }
        text
    }

    /// Reads an unquoted word; a brace after a dollar sign is part of the word.
    fn bare(&mut self, first: char) -> String {
        let mut text = String::from(first);
        let mut is_escaped = first == '\\';
        while let Some(&c) = self.chars.peek() {
            let is_variable = c == '{' && text.ends_with('$');
            let ends = c.is_whitespace() || c == ';' || c == '{';
            if ends && !is_escaped && !is_variable {
                break;
            }
            is_escaped = c == '\\' && !is_escaped;
            text.push(c);
            self.next_char();
        }
        text
    }

    /// Skips a Lua block, whose strings and comments may contain braces.
    fn skip_block(&mut self) {
        let mut depth = 1_usize;
        while depth > 0
            && let Some(c) = self.next_char()
        {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                '"' | '\'' => drop(self.quoted(c)),
                '-' if self.chars.peek() == Some(&'-') => self.skip_line(),
                _ => {}
            }
        }
    }

    fn error(&self, reason: &'static str) -> TextError {
        TextError {
            place: format!("{}:{}", self.file, self.line),
            reason,
        }
    }
}

/// Returns `true` if a file name matches a pattern; `*` and `?` do not match a slash.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    // Position of the last star, and the end of the part of the name that this star matched.
    let (mut star, mut p, mut n) = (None, 0, 0);
    while let Some(&c) = name.get(n) {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&expected) if expected == c || (expected == b'?' && c != b'/') => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star.filter(|(_, taken)| name.get(*taken) != Some(&b'/'))
                else {
                    return false;
                };
                star = Some((at, taken + 1));
                (p, n) = (at + 1, taken + 1);
            }
        }
    }
    pattern.iter().skip(p).all(|c| *c == b'*')
}
