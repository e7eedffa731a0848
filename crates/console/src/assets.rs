//! The console's style sheet, scripts and icon.

use std::sync::LazyLock;

use axum::{
    extract::Path,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use sha2::{Digest, Sha256};

struct Asset {
    name: &'static str,
    content_type: &'static str,
    body: &'static str,
    /// First sixteen hexadecimal digits of the SHA-256 of the asset's content.
    version: String,
}

macro_rules! assets {
    ($($name:literal, $content_type:literal;)*) => {
        static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
            vec![$({
                let body = include_str!(concat!("../templates/admin/assets/", $name));
                Asset { name: $name, content_type: $content_type, body, version: version(body) }
            }),*]
        });
    };
}

assets! {
    "admin.css", "text/css; charset=utf-8";
    "admin.js", "text/javascript; charset=utf-8";
    "names.js", "text/javascript; charset=utf-8";
    "icon.svg", "image/svg+xml";
}

/// Returns the link to an asset, relative to the console's root.
///
/// The link contains a hash of the asset's content, so clients may cache the asset indefinitely.
pub(super) fn link(name: &str) -> String {
    match asset(name) {
        Some(asset) => format!("assets/{name}?v={}", asset.version),
        None => format!("assets/{name}"),
    }
}

/// The path parameter of an asset.
#[derive(Debug, Deserialize)]
pub(super) struct AssetPath {
    asset_name: String,
}

/// Serves a style sheet, script or icon of the console.
pub(super) async fn serve(Path(path): Path<AssetPath>, headers: HeaderMap) -> Response {
    let Some(asset) = asset(&path.asset_name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    // For clients that revalidate an immutable response, such as on a forced reload. The tag is
    // weak, because it identifies the content with or without compression (RFC 9110 §8.8.1).
    let etag = format!("W/\"{}\"", asset.version);
    let cached = [
        // Set here, because the compression layer skips responses without a body.
        (header::VARY, "accept-encoding".to_owned()),
        (header::ETAG, etag.clone()),
        (
            header::CACHE_CONTROL,
            // A year is the customary maximum; `immutable` (RFC 8246) avoids revalidation.
            "public, max-age=31536000, immutable".to_owned(),
        ),
    ];
    if is_known(&headers, &etag) {
        return (StatusCode::NOT_MODIFIED, cached).into_response();
    }
    let content_type = [(header::CONTENT_TYPE, asset.content_type)];
    (cached, content_type, asset.body).into_response()
}

fn asset(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

/// Returns `true` if the client already has the current content (RFC 9110 §13.1.2).
fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|known| known == "*" || weak(known) == weak(etag))
}

fn weak(etag: &str) -> &str {
    etag.trim_start_matches("W/")
}

fn version(body: &str) -> String {
    hex::encode(Sha256::digest(body)).chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Path<AssetPath> {
        let asset_name = name.to_owned();
        Path(AssetPath { asset_name })
    }

    #[test]
    fn asset_link_contains_the_content_version() {
        let link = link("admin.css");
        let (path, version) = link.split_once("?v=").unwrap();
        assert_eq!(path, "assets/admin.css");
        assert_eq!(version.len(), 16);
    }

    #[tokio::test]
    async fn cached_asset_is_not_sent_again() {
        let first = serve(named("admin.css"), HeaderMap::new()).await;
        assert_eq!(first.status(), StatusCode::OK);
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_NONE_MATCH, first.headers()[header::ETAG].clone());
        let second = serve(named("admin.css"), headers).await;
        assert_eq!(second.status(), StatusCode::NOT_MODIFIED);
    }

    #[tokio::test]
    async fn other_files_are_not_served() {
        for name in ["../base.html", "/etc/passwd", "admin.css/", ""] {
            let response = serve(named(name), HeaderMap::new()).await;
            assert_eq!(response.status(), StatusCode::NOT_FOUND, "{name}");
        }
    }
}
