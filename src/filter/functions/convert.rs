//! `convert-to-html`.

use std::sync::Arc;

use crate::filter::{CommandLine, Outcome, Resource, Source, Step, Work, content::Content};

use super::Making;

/// Bytes at the beginning of a body that are looked at.
const SNIFFED: usize = 512;

/// What bodies begin with, and what they are then.
const MAGIC: [(&[u8], &str); 8] = [
    (b"%PDF-", "application/pdf"),
    (b"{\\rtf", "application/rtf"),
    (b"<MIFFile", "application/x-mif"),
    (b"%!PS", "application/postscript"),
    (b"PK\x03\x04", "application/zip"),
    (b"\xd0\xcf\x11\xe0", "application/msword"),
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
];

/// Converts one media type; `unknown` is what the server named no type of.
pub(super) fn make(making: &mut Making<'_>) -> Result<Box<dyn Step>, String> {
    let media_type = making.parameters.required("type")?;
    Ok(Box::new(Convert {
        media_type: media_type.trim().to_ascii_lowercase(),
        to: Source::named("type"),
    }))
}

struct Convert {
    media_type: String,
    to: Source,
}

impl Step for Convert {
    fn run(&self, work: &mut Work<'_>) -> Outcome {
        if let Some(media_type) = self.applies(work.resource) {
            self.convert(&media_type, work);
        }
        Outcome::Continue
    }
}

impl Convert {
    /// Returns the media type to convert from, sniffed where it is unknown.
    fn applies(&self, resource: &Resource) -> Option<String> {
        let media_type = resource.media_type();
        if self.media_type != "unknown" {
            return media_type.filter(|it| *it == self.media_type);
        }
        match media_type.as_deref() {
            None | Some("" | "unknown" | "application/octet-stream") => sniff(resource.body()),
            Some(_) => None,
        }
    }

    fn convert(&self, media_type: &str, work: &mut Work<'_>) {
        let Some(content) = work.resource.content().map(Arc::clone) else {
            return;
        };
        if media_type.starts_with("text/") {
            work.resource.assign(&self.to, media_type);
            return;
        }
        let Some(command) = work.commands.converter(media_type) else {
            return;
        };
        let mut trouble = None;
        let converted = content.converted(|| {
            let html = run(&command, media_type, content.body(), work);
            html.map_err(|error| trouble = Some(error)).ok()
        });
        if let Some(converted) = converted {
            work.resource.set_content(converted);
            work.resource.assign(&self.to, "text/html");
        } else if let Some(trouble) = trouble {
            work.resource.note_trouble(trouble);
        }
    }
}

fn run(
    command: &CommandLine,
    media_type: &str,
    body: &[u8],
    work: &Work<'_>,
) -> Result<Content, String> {
    let html = work.commands.run(command, body);
    let html = html.map_err(|error| format!("cannot convert {media_type} to HTML: {error}"))?;
    // What a converter writes names its own character set, or is UTF-8.
    Ok(Content::new(Some("text/html".to_owned()), html.into()))
}

/// Returns what a body is, by its first bytes.
fn sniff(body: &[u8]) -> Option<String> {
    let start = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let start = start.trim_ascii_start();
    let start = start.get(..SNIFFED).unwrap_or(start);
    let known = MAGIC.iter().find(|(magic, _)| start.starts_with(magic));
    if let Some((_, media_type)) = known {
        return Some((*media_type).to_owned());
    }
    let start = start.to_ascii_lowercase();
    let is_html = [
        "<!doctype html",
        "<html",
        "<head",
        "<title",
        "<body",
        "<!--",
    ]
    .iter()
    .any(|tag| start.starts_with(tag.as_bytes()));
    if is_html {
        return Some("text/html".to_owned());
    }
    let is_text = !start.is_empty() && !start.iter().any(|octet| matches!(octet, 0..=8 | 14..=26));
    is_text.then(|| "text/plain".to_owned())
}
