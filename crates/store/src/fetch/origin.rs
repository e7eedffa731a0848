//! Places that are read: URLs, and files of this machine.

use std::{
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use tokio::io::AsyncReadExt;
use url::Url;

use super::{Conditions, FetchResponse, Fetcher, UnzipError, gunzip, is_gzip};

/// Time after which a file that is written to once more has another time.
const SETTLED: Duration = Duration::from_secs(2);

/// Place that is read: a URL, or a file of this machine.
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
    /// URL that is fetched over HTTP.
    Web(String),
    /// File of this machine.
    File(PathBuf),
}

impl Origin {
    /// Reads what the configuration or a person wrote.
    ///
    /// Text with a scheme is a URL; anything else is a path, relative to the working
    /// directory. A single letter before the colon is a drive, not a scheme.
    ///
    /// # Errors
    ///
    /// Fails with what is wrong, the password left out.
    pub fn parse(text: &str) -> Result<Self, String> {
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
    ///
    /// # Errors
    ///
    /// Fails with why it cannot be read.
    pub async fn read(
        &self,
        fetcher: &Fetcher,
        conditions: &Conditions,
        progress: &(dyn Fn(u64, Option<u64>) + Send + Sync),
    ) -> Result<FetchResponse, String> {
        let fetched = self.read_packed(fetcher, conditions, progress).await?;
        unpacked(fetched, fetcher.limits().max_body_bytes)
    }

    /// Reads it unless it is what the conditions describe; a file is known by its time and size.
    ///
    /// # Errors
    ///
    /// Fails with why it cannot be read.
    pub async fn read_if_changed(
        &self,
        fetcher: &Fetcher,
        conditions: &Conditions,
    ) -> Result<FetchResponse, String> {
        let Self::File(path) = self else {
            return self.read(fetcher, conditions, &|_, _| ()).await;
        };
        // Taken before it is read: what is written meanwhile is read once more.
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

/// Returns time and size of a file as one text, which is another once it is written to.
///
/// Of a file that was written just now there is none: clocks of file systems are coarse.
async fn file_stamp(path: &Path) -> Option<String> {
    let about = tokio::fs::metadata(path).await.ok()?;
    let written = about.modified().ok()?;
    if written.elapsed().is_ok_and(|age| age < SETTLED) {
        return None;
    }
    let written = written.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{}-{}", written.as_nanos(), about.len()))
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

/// Returns a URL without its password, for logs, pages and the database.
///
/// A user name stays, the password becomes `***`. Control characters are
/// removed; text that is no URL loses all that stands before an `@`.
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
        // The last `@`: a password that is not escaped may hold one too.
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

    #[test]
    fn a_password_is_never_shown() {
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
