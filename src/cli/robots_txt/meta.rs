//! META tags and `X-Robots-Tag` headers, joined.

use serde_json::{Map, Value, json};

use crate::robots_txt::meta::{ImagePreview, Limit, PageMeta, RobotsDirectives, UnavailableAfter};

/// Returns the value of each field of [`META`](super::field::META), the same in every dialect.
pub(super) fn meta(
    html: &str,
    headers: &[(String, String)],
    user_agent: &str,
) -> Map<String, Value> {
    let mut meta = PageMeta::read(html.as_bytes()).robots;
    meta.add_headers(headers.iter().map(|(name, value)| (name, value)));
    let answer = meta.for_robot(user_agent);
    let values = values(&answer.directives).into_iter();
    values
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn values(it: &RobotsDirectives) -> [(&'static str, Value); 11] {
    [
        ("index", json!(it.index())),
        ("follow", json!(it.follow())),
        ("archive", json!(it.archive())),
        ("snippet", json!(it.snippet())),
        ("translate", json!(it.translate())),
        ("imageindex", json!(it.imageindex())),
        ("indexifembedded", json!(it.indexifembedded())),
        // `nosnippet` beats `max-snippet`.
        (
            "max_snippet",
            json!(it.max_snippet().map(|_| it.snippet_limit().number())),
        ),
        (
            "max_video_preview",
            json!(it.max_video_preview().map(Limit::number)),
        ),
        (
            "max_image_preview",
            json!(it.max_image_preview().map(ImagePreview::as_str)),
        ),
        (
            "unavailable_after",
            json!(it.unavailable_after().map(UnavailableAfter::as_str)),
        ),
    ]
}
