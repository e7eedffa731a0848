//! Where the bytes of a source are read from.

use std::path::{Path, PathBuf};

use tokio::io::AsyncReadExt;
use url::Url;

use crate::fetch::{Conditions, FetchResponse, Fetcher, UnzipError, gunzip, is_gzip, shown_url};

/// Place of a source.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Origin {
    /// Fetched over HTTP.
    Web(String),
    /// Read from this machine.
    File(PathBuf),
}

impl Origin {
    /// Reads what the configuration or a person wrote.
    ///
    /// Text with a scheme is a URL; anything else is a path, relative to the working
    /// directory. A single letter before the colon is a drive, not a scheme.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let Some(scheme) = scheme(text) else {
            return match text.trim() {
                "" => Err("the source has no URL: set one".to_owned()),
                path => Ok(Self::File(path.into())),
            };
        };
        match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" => Ok(Self::Web(text.to_owned())),
            "file" => file_path(text).map(Self::File),
            other => Err(format!(
                "{} cannot be read: {other}: is none of http:, https: and file:",
                shown_url(text)
            )),
        }
    }

    /// Reads the source, unpacked where it is gzip by its first bytes.
    ///
    /// A file has no conditions and is read every time. What is unpacked has the same
    /// limit as what is read.
    pub(super) async fn read(
        &self,
        fetcher: &Fetcher,
        conditions: &Conditions,
        progress: &(dyn Fn(u64, Option<u64>) + Send + Sync),
    ) -> Result<FetchResponse, String> {
        let fetched = self.read_packed(fetcher, conditions, progress).await?;
        unpacked(fetched, fetcher.limits().max_body_bytes)
    }

    async fn read_packed(
        &self,
        fetcher: &Fetcher,
        conditions: &Conditions,
        progress: &(dyn Fn(u64, Option<u64>) + Send + Sync),
    ) -> Result<FetchResponse, String> {
        let limits = fetcher.limits();
        match self {
            Self::Web(url) => fetcher
                .fetch(url, conditions, progress)
                .await
                .map_err(|error| error.to_string()),
            Self::File(path) => {
                // A file may lie on a network's disk that does not answer.
                let read = read_file(path, limits.max_body_bytes);
                let bytes = tokio::time::timeout(limits.timeout, read)
                    .await
                    .unwrap_or_else(|_| Err("takes too long to read".to_owned()))
                    .map_err(|reason| format!("the file {} {reason}", path.display()))?;
                progress(bytes.len() as u64, Some(bytes.len() as u64));
                Ok(FetchResponse::Body {
                    bytes,
                    content_type: None,
                    etag: None,
                    last_modified: None,
                })
            }
        }
    }
}

fn unpacked(fetched: FetchResponse, max_bytes: u64) -> Result<FetchResponse, String> {
    let FetchResponse::Body {
        bytes,
        etag,
        last_modified,
        ..
    } = &fetched
    else {
        return Ok(fetched);
    };
    if !is_gzip(bytes) {
        return Ok(fetched);
    }
    Ok(FetchResponse::Body {
        bytes: gunzip(bytes, max_bytes).map_err(|error| unzip_reason(&error))?,
        // The type is that of the archive.
        content_type: None,
        etag: etag.clone(),
        last_modified: last_modified.clone(),
    })
}

fn unzip_reason(error: &UnzipError) -> String {
    match error {
        UnzipError::Broken(error) => {
            format!("the gzip file is cut off or damaged ({error}): fetch or make it anew")
        }
        UnzipError::TooLarge(max_bytes) => {
            format!("the gzip file holds over {max_bytes} bytes: check that it is the right one")
        }
    }
}

fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme.then_some(scheme)
}

fn file_path(url: &str) -> Result<PathBuf, String> {
    Url::parse(url)
        .ok()
        .and_then(|url| url.to_file_path().ok())
        .ok_or_else(|| format!("{url:?} names no file of this machine: write file:///path"))
}

/// Reads a plain file up to a limit; a pipe or device could go on for ever.
async fn read_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, String> {
    let explain = |error: std::io::Error| format!("cannot be read: {error}");
    // Asked before it is opened, as opening a named pipe waits for somebody who writes to it.
    let about = tokio::fs::metadata(path).await.map_err(explain)?;
    if about.is_dir() {
        return Err("is a directory: name a file in it".to_owned());
    }
    if !about.is_file() {
        return Err("is no plain file: copy its content into one".to_owned());
    }
    let file = tokio::fs::File::open(path).await.map_err(explain)?;
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .await
        .map_err(explain)?;
    if bytes.len() as u64 > max_bytes {
        return Err(format!(
            "is over {max_bytes} bytes: check that it is the right one"
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_from_paths() {
        let file = |path: &str| Ok(Origin::File(path.into()));
        for (text, origin) in [
            (
                "http://h/all.txt",
                Ok(Origin::Web("http://h/all.txt".to_owned())),
            ),
            ("HTTPS://h/", Ok(Origin::Web("HTTPS://h/".to_owned()))),
            ("file:///srv/all.txt", file("/srv/all.txt")),
            ("FILE:///srv/a%20b", file("/srv/a b")),
            ("all.txt", file("all.txt")),
            ("/srv/a:b.txt", file("/srv/a:b.txt")),
            ("./http:x", file("./http:x")),
            (r"C:\robots\all.txt", file(r"C:\robots\all.txt")),
        ] {
            assert_eq!(Origin::parse(text), origin, "{text}");
        }
        for text in ["", "  ", "ftp://h/x", "data:,x", "file://otherhost/x"] {
            assert!(Origin::parse(text).is_err(), "{text}");
        }
        let refused = Origin::parse("ftp://me:s3cret@h/").unwrap_err();
        assert!(!refused.contains("s3cret"), "{refused}");
    }

    #[tokio::test]
    async fn only_a_plain_file_of_some_size_is_read() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("all.txt");
        std::fs::write(&path, b"12345").unwrap();
        assert_eq!(read_file(&path, 5).await.unwrap(), b"12345");
        assert!(
            read_file(&path, 4)
                .await
                .unwrap_err()
                .contains("over 4 bytes")
        );
        let error = read_file(room.path(), 5).await.unwrap_err();
        assert!(error.contains("directory"), "{error}");
        let error = read_file(Path::new("/dev/zero"), 5).await.unwrap_err();
        assert!(error.contains("no plain file"), "{error}");
        let error = read_file(&room.path().join("none"), 5).await.unwrap_err();
        assert!(error.contains("cannot be read"), "{error}");
    }
}
