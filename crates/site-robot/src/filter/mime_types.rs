//! Parser for mime.types files, which list media types by file name extension.

use std::collections::HashMap;

use super::{Note, note::Notes, quoted};

/// Maximum size of a mime.types file.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Media types by file name extension, as listed in a mime.types file.
///
/// Both formats are supported: `text/html html htm`, and Netscape's `type=text/html exts=html,htm`.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::filter::MimeTypes;
///
/// let types = MimeTypes::parse("text/html html htm\ntype=text/plain exts=txt\n");
/// assert_eq!(types.for_name("/a/INDEX.HTM"), Some("text/html"));
/// assert_eq!(types.for_name("/a/read.me.txt"), Some("text/plain"));
/// assert_eq!(types.for_name("/a.html/"), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct MimeTypes {
    types: HashMap<Box<str>, Box<str>>,
    notes: Vec<Note>,
}

impl MimeTypes {
    /// Parses a mime.types file. Errors are returned by [`Self::notes`].
    pub fn parse(text: &str) -> Self {
        let mut types = Self::default();
        let mut notes = Notes::default();
        if text.len() > MAX_BYTES {
            notes.error(1, "the file is larger than 4 MiB");
        } else {
            for (at, line) in text.lines().enumerate() {
                types.line(at + 1, line, &mut notes);
            }
        }
        types.notes = notes.into_sorted();
        types
    }

    /// Returns the media type of a file name or path.
    pub fn for_name(&self, name: &str) -> Option<&str> {
        let name = name.split(['?', '#']).next()?;
        let file = name.rsplit('/').next()?;
        let (_, extension) = file.rsplit_once('.')?;
        let found = self.types.get(extension.to_ascii_lowercase().as_str())?;
        Some(found)
    }

    /// Returns the number of extensions listed in the file.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Returns `true` if the file lists no extensions.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Returns the errors and warnings found while parsing.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    fn line(&mut self, line: usize, text: &str, notes: &mut Notes) {
        let text = text.split('#').next().unwrap_or_default();
        let mut words = text.split_whitespace();
        let Some(first) = words.next() else {
            return;
        };
        let (media_type, extensions): (&str, Vec<&str>) = match first.strip_prefix("type=") {
            Some(media_type) => {
                let lists = words.filter_map(|word| word.strip_prefix("exts="));
                let lists = lists.flat_map(|list| list.trim_matches('"').split(','));
                (media_type, lists.collect())
            }
            None => (first, words.collect()),
        };
        if !media_type.contains('/') {
            // Netscape's file also lists encodings and languages, which are not media types.
            if !first.starts_with("enc=") && !first.starts_with("lang=") {
                let text = format!(
                    "{} is not a media type; the line was ignored",
                    quoted(first)
                );
                notes.warning(line, text);
            }
            return;
        }
        let media_type = media_type.to_ascii_lowercase();
        for extension in extensions.into_iter().filter(|it| !it.is_empty()) {
            let extension = extension.trim_start_matches('.').to_ascii_lowercase();
            self.types
                .entry(extension.into())
                .or_insert_with(|| media_type.as_str().into());
        }
    }
}
