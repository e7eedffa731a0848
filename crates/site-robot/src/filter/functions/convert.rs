//! `convert-to-html`.

use std::sync::Arc;

use crate::filter::{
    CommandLine, Resource, Source, Step, StepOutcome, Work,
    content::Content,
    sniff::{is_untold, sniff},
};

use super::FunctionContext;

/// Converts one media type; `unknown` is what the server named no type of.
pub(super) fn make(making: &mut FunctionContext<'_>) -> Result<Box<dyn Step>, String> {
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
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        if let Some(media_type) = self.applies(work.resource) {
            self.convert(&media_type, work);
        }
        StepOutcome::Continue
    }
}

impl Convert {
    /// Returns the media type to convert from, sniffed where it is unknown.
    fn applies(&self, resource: &Resource) -> Option<String> {
        let media_type = resource.media_type();
        if self.media_type != "unknown" {
            return media_type.filter(|it| *it == self.media_type);
        }
        if !is_untold(media_type.as_deref()) {
            return None;
        }
        sniff(resource.body()).map(str::to_owned)
    }

    fn convert(&self, media_type: &str, work: &mut Work<'_>) {
        let Some(content) = work.resource.content().map(Arc::clone) else {
            return;
        };
        // All that text lacked was the name of its type.
        if media_type.starts_with("text/") {
            work.resource.assign(&self.to, media_type);
            return;
        }
        let Some(command) = work.commands.converter(media_type) else {
            let trouble = format!(
                "nothing makes text of {media_type}: install pdftotext (poppler-utils), or name a \
                 program in site_robot.converters"
            );
            if media_type == "application/pdf" {
                work.resource.note_trouble(trouble);
            }
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
