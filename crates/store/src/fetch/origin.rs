//! Data sources: URLs and local files.

use std::{
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use tokio::io::AsyncReadExt;
use url::Url;

use super::{Conditions, FetchResponse, Fetcher, UnzipError, gunzip, is_gzip};

/// The minimum age of a file at which another write is certain to change the file's modification
/// time.
const SETTLED: Duration = Duration::from_secs(2);

/// A data source: a URL or a local file.
///
/// # Example
///
/// ```
/// use robot_detection_store::fetch::Origin;
///
/// assert!(matches!(Origin::parse("https://lists.example/all.txt")?, Origin::Web(_)));
/// assert!(matches!(Origin::parse("lists/all.txt")?, Origin::File(_)));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Origin {
    /// A URL to fetch over HTTP.
    Web(String),
    /// The path of a local file.
    File(PathBuf),
}

impl Origin {
    /// Parses a URL or path that comes from the configuration or the command line.
    ///
    /// Text that starts with a scheme is a URL; other text is a path relative to the working
    /// directory. A single letter before the colon is a drive letter, not a scheme.
    ///
    /// # Errors
    ///
    /// Returns an error message, without any password, if the text is invalid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(scheme) = scheme(text) else {
            return match text.trim() {
                "" => Err("the source has no URL".to_owned()),
                path => Ok(Self::File(path.into())),
            };
        };
        match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" => Ok(Self::Web(text.to_owned())),
            "file" => file_path(text).map(Self::File),
            other => Err(format!(
                "cannot read {}: unknown scheme {other}:, expected http:, https: or file:",
                shown_url(text)
            )),
        }
    }

    /// Reads the data from the source; gzip data is decompressed.
    ///
    /// Conditions apply only to URLs; a file is always read. The size limit applies before and
    /// after decompression.
    ///
    /// # Errors
    ///
    /// Returns an error message if the data cannot be read.
    pub async fn read(
        &self,
        fetcher: &Fetcher,
        conditions: &Conditions,
        progress: &(dyn Fn(u64, Option<u64>) + Send + Sync),
    ) -> Result<FetchResponse, String> {
        let fetched = self.read_packed(fetcher, conditions, progress).await?;
        unpacked(fetched, fetcher.limits().max_body_bytes)
    }

    /// Reads the data from the source if the data has changed since `conditions`; files are
    /// compared by modification time and size.
    ///
    /// # Errors
    ///
    /// Returns an error message if the data cannot be read.
    pub async fn read_if_changed(
        &self,
        fetcher: &Fetcher,
        conditions: &Conditions,
    ) -> Result<FetchResponse, String> {
        let Self::File(path) = self else {
            return self.read(fetcher, conditions, &|_, _| ()).await;
        };
        // Determined before reading, so that a change during reading causes another read.
        let stamp = file_stamp(path).await;
        if stamp.is_some() && stamp == conditions.last_modified {
            return Ok(FetchResponse::NotModified);
        }
        let read = self.read(fetcher, conditions, &|_, _| ()).await?;
        Ok(match read {
            FetchResponse::Body {
                bytes,
                content_type,
                etag,
                ..
            } => FetchResponse::Body {
                bytes,
                content_type,
                etag,
                last_modified: stamp,
            },
            FetchResponse::NotModified => FetchResponse::NotModified,
        })
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
                // The file may be on an unresponsive network drive.
                let read = read_file(path, limits.max_body_bytes);
                let bytes = tokio::time::timeout(limits.timeout, read)
                    .await
                    .unwrap_or_else(|_| Err("reading took too long".to_owned()))
                    .map_err(|reason| {
                        format!("cannot read the file {}: {reason}", path.display())
                    })?;
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
        // The media type is that of the gzip file.
        content_type: None,
        etag: etag.clone(),
        last_modified: last_modified.clone(),
    })
}

fn unzip_reason(error: &UnzipError) -> String {
    match error {
        UnzipError::Broken(error) => {
            format!("the gzip file is truncated or damaged ({error}); download or create it again")
        }
        UnzipError::TooLarge(max_bytes) => {
            format!(
                "the gzip file contains over {max_bytes} bytes; check that it is the right file"
            )
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
        .ok_or_else(|| format!("{url:?} is not a local file; write file:///path"))
}

/// Returns a file's modification time and size as text, which changes with each write.
///
/// Returns `None` for a file that was just written, because file system clocks are coarse.
async fn file_stamp(path: &Path) -> Option<String> {
    let about = tokio::fs::metadata(path).await.ok()?;
    let written = about.modified().ok()?;
    if written.elapsed().is_ok_and(|age| age < SETTLED) {
        return None;
    }
    let written = written.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{}-{}", written.as_nanos(), about.len()))
}

/// Reads a regular file up to a size limit. Pipes and devices are rejected, as their data could be
/// endless.
async fn read_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, String> {
    let explain = |error: std::io::Error| format!("{error}");
    // Checked before opening: opening a named pipe blocks until there is a writer.
    let about = tokio::fs::metadata(path).await.map_err(explain)?;
    if about.is_dir() {
        return Err("it is a directory; specify a file in the directory".to_owned());
    }
    if !about.is_file() {
        return Err("it is not a regular file; copy its content to a regular file".to_owned());
    }
    let file = tokio::fs::File::open(path).await.map_err(explain)?;
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .await
        .map_err(explain)?;
    if bytes.len() as u64 > max_bytes {
        return Err(format!(
            "its size is over {max_bytes} bytes; check that it is the right file"
        ));
    }
    Ok(bytes)
}

/// Returns a URL without its password, for use in logs, pages and the database.
///
/// The user name is retained, and the password is replaced by `***`. Control characters are
/// removed. If the text is not a URL, everything before an `@` is removed.
///
/// # Example
///
/// ```
/// use robot_detection_store::fetch::shown_url;
///
/// let shown = shown_url("https://me:secret@lists.example/all.txt");
/// assert_eq!(shown, "https://me:***@lists.example/all.txt");
/// ```
pub fn shown_url(url: &str) -> String {
    let text: String = url.chars().filter(|c| !c.is_control()).collect();
    let Ok(mut parsed) = Url::parse(&text) else {
        return without_userinfo(text);
    };
    if parsed.password().is_none() {
        return text;
    }
    match parsed.set_password(Some("***")) {
        Ok(()) => parsed.into(),
        Err(()) => without_userinfo(text),
    }
}

fn without_userinfo(text: String) -> String {
    match text.split_once("://") {
        // The last `@`, as an unescaped password may also contain the character.
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((_, place)) => format!("{scheme}://***@{place}"),
            None => text,
        },
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_paths_are_distinguished() {
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
    async fn only_a_regular_file_within_the_limit_is_read() {
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
        assert!(error.contains("not a regular file"), "{error}");
        let error = read_file(&room.path().join("none"), 5).await.unwrap_err();
        assert!(error.contains("No such file"), "{error}");
    }

    #[test]
    fn password_is_never_shown() {
        for (url, shown) in [
            ("http://h/x", "http://h/x"),
            ("http://u@h/x", "http://u@h/x"),
            ("http://u:p@h/x?q=1", "http://u:***@h/x?q=1"),
            ("http://:p@h/", "http://:***@h/"),
            ("http://u:p@@h/", "http://u:***@h/"),
            ("http://u:p@h:99999/x", "http://***@h:99999/x"),
            ("/var/lib/robots@home.txt", "/var/lib/robots@home.txt"),
            ("file:///srv/all.txt", "file:///srv/all.txt"),
            ("http://h/a\r\nb", "http://h/ab"),
        ] {
            assert_eq!(shown_url(url), shown);
        }
    }
}
