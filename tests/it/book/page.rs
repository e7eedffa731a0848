//! Markdown pages: their code blocks, the comments before the blocks, and their prose.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A Markdown document, such as README or a page of the book, with its text.
#[derive(Debug)]
pub(super) struct Page {
    /// Path relative to the top of the repository.
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// Code block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Language after the opening fence.
    pub(super) language: String,
    pub(super) text: String,
    /// Line number of the opening fence, starting at 1.
    pub(super) line: usize,
    /// Whether the block directly follows the previous block.
    pub(super) follows: bool,
    notes: Vec<String>,
}

impl Block {
    /// Returns the text of the named comment before the block.
    pub(super) fn note(&self, name: &str) -> Option<&str> {
        self.notes.iter().find_map(|note| note.strip_prefix(name))
    }
}

impl Page {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(root().join(&path));
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { path, text }
    }

    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns the code blocks in order.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut notes = Vec::new();
        let mut open: Option<Block> = None;
        let mut ended_at = 0;
        for (number, line) in (1..).zip(self.text.lines()) {
            let bare = line.trim();
            if let Some(block) = &mut open {
                if bare == "```" {
                    ended_at = number;
                    blocks.extend(open.take());
                } else {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
            } else if let Some(language) = bare.strip_prefix("```") {
                open = Some(Block {
                    language: language.to_owned(),
                    text: String::new(),
                    line: number,
                    follows: ended_at + 1 == number,
                    notes: std::mem::take(&mut notes),
                });
            } else if let Some(note) = comment(bare) {
                notes.push(note.to_owned());
            } else if !bare.is_empty() {
                notes.clear();
            }
        }
        assert!(open.is_none(), "{}: unclosed code block", self.name());
        blocks
    }

    /// Returns the lines outside blocks and comments, numbered from 1.
    pub(super) fn prose(&self) -> Vec<(usize, &str)> {
        let mut is_code = false;
        let lines = (1..).zip(self.text.lines());
        lines
            .filter(|(_, line)| {
                let is_fence = line.trim_start().starts_with("```");
                is_code ^= is_fence;
                !is_code && !is_fence && comment(line.trim()).is_none()
            })
            .collect()
    }

    /// Returns the text between backticks outside blocks, without line breaks.
    pub(super) fn code_spans(&self) -> Vec<String> {
        let prose: Vec<_> = self.prose().into_iter().map(|(_, line)| line).collect();
        let prose = prose.join("\n");
        let spans = prose.split('`').skip(1).step_by(2);
        spans
            .map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    }
}

/// Returns the top of the repository.
pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(super) fn readme() -> Page {
    Page::read("README.md".into())
}

/// Returns the book's page with a name.
pub(super) fn page_of_book(name: &str) -> Page {
    Page::read(Path::new("docs/src").join(name))
}

/// Returns all documents with tested code and links.
pub(super) fn pages() -> Vec<Page> {
    let mut paths: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
        .map(PathBuf::from)
        .into();
    let beside_the_book = entries(Path::new("docs")).into_iter();
    paths.extend(beside_the_book.filter(|path| is_markdown(path)));
    paths.extend(pages_of_book());
    paths.into_iter().map(Page::read).collect()
}

/// Returns the paths of all pages of the book.
pub(super) fn pages_of_book() -> Vec<PathBuf> {
    let mut directories = vec![PathBuf::from("docs/src")];
    let mut pages = Vec::new();
    while let Some(directory) = directories.pop() {
        for path in entries(&directory) {
            if root().join(&path).is_dir() {
                directories.push(path);
            } else if is_markdown(&path) {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// Returns the sorted paths of a directory's entries.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(directory)).unwrap();
    let paths = entries.map(|entry| directory.join(entry.unwrap().file_name()));
    let mut paths: Vec<_> = paths.collect();
    paths.sort();
    paths
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

fn comment(line: &str) -> Option<&str> {
    let text = line.strip_prefix("<!--")?.strip_suffix("-->")?;
    Some(text.trim())
}

#[test]
fn blocks_have_their_comments_and_prose_has_none() {
    let text =
        "a\n<!-- not run: no -->\n\n```sh\nb\n```\n```text\nc\n```\n`d\ne` f\n```toml\n```\n";
    let page = Page {
        path: "p.md".into(),
        text: text.to_owned(),
    };
    let blocks = page.blocks();
    let seen: Vec<_> = blocks
        .iter()
        .map(|block| (&*block.language, &*block.text, block.line, block.follows))
        .collect();
    let right = [
        ("sh", "b\n", 4, false),
        ("text", "c\n", 7, true),
        ("toml", "", 12, false),
    ];
    assert_eq!(seen, right);
    assert_eq!(blocks[0].note("not run: "), Some("no"));
    assert!(blocks[1].note("not run: ").is_none());
    assert_eq!(page.prose(), [(1, "a"), (3, ""), (10, "`d"), (11, "e` f")]);
    assert_eq!(page.code_spans(), ["d e"]);
}
