//! Source of pages that are files below a directory.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use http::{
    HeaderMap,
    header::{self, HeaderValue},
};
use percent_encoding::percent_decode_str;
use tokio::{fs::File, io::AsyncReadExt as _};
use url::Url;

use super::{PageRequest, PageResponse, SourceError, SourceLimits};

/// Media types of files that contain text or links, by extension.
const TYPES: [(&str, &str); 11] = [
    ("atom", "application/atom+xml"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("md", "text/markdown"),
    ("pdf", "application/pdf"),
    ("rss", "application/rss+xml"),
    ("rtf", "application/rtf"),
    ("shtml", "text/html"),
    ("txt", "text/plain"),
    ("xhtml", "application/xhtml+xml"),
    ("xml", "application/xml"),
];

/// Source of `file:` URLs below a directory; no other files are read.
///
/// This source responds like a server: with 404 for missing files, symbolic links and names that
/// start with a dot, and with 304 for unchanged files. For a directory, it serves `index.html`,
/// after a redirect that adds the trailing slash.
#[derive(Clone, Debug)]
pub struct FileSource {
    /// The directory as specified, and its canonical path.
    named: Arc<Path>,
    directory: Arc<Path>,
    limits: SourceLimits,
}

impl FileSource {
    /// Creates a source for a directory.
    ///
    /// # Errors
    ///
    /// Returns an error if the path is not a directory, or if the directory cannot be read.
    pub fn new(directory: &Path, limits: SourceLimits) -> Result<Self, SourceError> {
        let refused = |reason| SourceError::Directory {
            directory: directory.display().to_string(),
            reason,
        };
        let found = directory.canonicalize().map_err(refused)?;
        if !found.is_dir() {
            return Err(refused(io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self {
            named: directory.into(),
            directory: found.into(),
            limits,
        })
    }

    /// Fetches a page.
    ///
    /// # Errors
    ///
    /// Returns an error for other URL schemes, for files that are too large, and for I/O errors.
    pub async fn fetch(&self, request: &PageRequest<'_>) -> Result<PageResponse, SourceError> {
        let url = request.url;
        if url.scheme() != "file" || url.host().is_some() {
            return Err(SourceError::NotServed {
                url: url.to_string(),
                reason: "not a local file: URL",
            });
        }
        let answer = tokio::time::timeout(self.limits.timeout, self.read(request)).await;
        answer.map_err(|_| SourceError::Timeout {
            url: url.to_string(),
            limit: self.limits.timeout,
        })?
    }

    async fn read(&self, request: &PageRequest<'_>) -> Result<PageResponse, SourceError> {
        let url = request.url;
        let refused = |reason| SourceError::File {
            url: url.to_string(),
            reason,
        };
        let (file, path) = match self.find(url).await {
            Ok(FileTarget::File(file, path)) => (file, path),
            Ok(FileTarget::Directory) => return Ok(redirect(url)),
            Ok(FileTarget::Nothing) => return Ok(status(404)),
            Err(error) if is_absent(&error) => return Ok(status(404)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(status(403));
            }
            Err(error) => return Err(refused(error)),
        };
        let metadata = file.metadata().await.map_err(refused)?;
        let headers = headers_of(&path, metadata.len(), metadata.modified().ok());
        let known = request.conditions.last_modified.as_deref();
        let last_modified = headers.get(header::LAST_MODIFIED);
        // The dates are compared for equality, because a file may be replaced with an older
        // version.
        if known.is_some() && known == last_modified.and_then(|it| it.to_str().ok()) {
            return Ok(PageResponse::new(304, headers, bytes::Bytes::new()));
        }
        if metadata.len() > self.limits.max_body_bytes {
            return Err(self.too_large(url));
        }
        let mut body = Vec::new();
        if !request.is_head {
            // The file may have grown in the meantime.
            let limit = self.limits.max_body_bytes.saturating_add(1);
            file.take(limit)
                .read_to_end(&mut body)
                .await
                .map_err(refused)?;
            if body.len() > self.limits.max_length() {
                return Err(self.too_large(url));
            }
        }
        Ok(PageResponse::new(200, headers, body.into()))
    }

    /// Opens the file or directory that a URL refers to, if it is below the directory of this
    /// source.
    async fn find(&self, url: &Url) -> io::Result<FileTarget> {
        let path = percent_decode_str(url.path()).decode_utf8_lossy();
        let Some(path) = self.below(Path::new(&*path)) else {
            return Ok(FileTarget::Nothing);
        };
        let is_slashed = url.path().ends_with('/');
        let directory = Arc::clone(&self.directory);
        let opened = tokio::task::spawn_blocking(move || {
            let file = open_below(&directory, &path)?;
            if !file.metadata()?.is_dir() {
                return FileTarget::file(file, path);
            }
            if !is_slashed {
                return Ok(FileTarget::Directory);
            }
            let index = path.join("index.html");
            open_below(&directory, &index).and_then(|file| FileTarget::file(file, index))
        });
        opened.await.map_err(io::Error::other)?
    }

    /// Returns the path relative to the directory; `None` for files that are outside or hidden.
    fn below(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(&self.named);
        let below = below.or_else(|_| path.strip_prefix(&self.directory)).ok()?;
        let is_plain = |part: Component<'_>| match part {
            Component::Normal(name) => !name.as_encoded_bytes().starts_with(b"."),
            _ => false,
        };
        let is_in =
            below.components().all(is_plain) && !path.as_os_str().as_encoded_bytes().contains(&0);
        is_in.then(|| below.to_owned())
    }

    fn too_large(&self, url: &Url) -> SourceError {
        SourceError::TooLarge {
            url: url.to_string(),
            max_body_bytes: self.limits.max_body_bytes,
        }
    }
}

/// File or directory that a URL refers to.
enum FileTarget {
    File(File, PathBuf),
    /// A directory whose URL has no trailing slash, which relative links require.
    Directory,
    Nothing,
}

impl FileTarget {
    fn file(file: fs::File, path: PathBuf) -> io::Result<Self> {
        let is_file = file.metadata()?.is_file();
        Ok(if is_file {
            Self::File(File::from_std(file), path)
        } else {
            Self::Nothing
        })
    }
}

/// Opens a file below a directory, and rejects symbolic links.
///
/// The kernel enforces this, even if files are replaced concurrently.
#[cfg(target_os = "linux")]
fn open_below(directory: &Path, path: &Path) -> io::Result<fs::File> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
    use rustix::io::Errno;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let directory = openat(CWD, directory, flags | OFlags::DIRECTORY, Mode::empty())?;
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    // The file is opened in non-blocking mode, so that opening a named pipe does not wait for a
    // writer.
    let file = openat2(
        directory,
        path,
        flags | OFlags::NONBLOCK,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
    );
    match file {
        Ok(file) => Ok(file.into()),
        // The path contains a symbolic link or leaves the directory.
        Err(Errno::LOOP | Errno::XDEV) => Err(io::ErrorKind::NotFound.into()),
        Err(error) => Err(error.into()),
    }
}

/// Opens a file below a directory, and rejects symbolic links.
#[cfg(not(target_os = "linux"))]
fn open_below(directory: &Path, path: &Path) -> io::Result<fs::File> {
    let path = directory.join(path);
    if path.canonicalize()? != path {
        return Err(io::ErrorKind::NotFound.into());
    }
    fs::File::open(path)
}

fn redirect(url: &Url) -> PageResponse {
    let mut answer = status(301);
    let location = HeaderValue::from_str(&format!("{}/", url.path()));
    if let Ok(location) = location {
        answer.headers.insert(header::LOCATION, location);
    }
    answer
}

fn status(status: u16) -> PageResponse {
    PageResponse::new(status, HeaderMap::new(), bytes::Bytes::new())
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::InvalidInput
    )
}

fn headers_of(path: &Path, length: u64, modified: Option<SystemTime>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    let extension = path
        .extension()
        .and_then(|it| it.to_str())
        .unwrap_or_default();
    let known = TYPES
        .iter()
        .find(|(name, _)| extension.eq_ignore_ascii_case(name));
    if let Some((_, media_type)) = known {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    }
    // Dates before 1970 cannot be represented.
    let modified = modified.filter(|it| *it > SystemTime::UNIX_EPOCH);
    let modified = modified.map(httpdate::fmt_http_date);
    if let Some(modified) = modified.and_then(|it| HeaderValue::from_str(&it).ok()) {
        headers.insert(header::LAST_MODIFIED, modified);
    }
    headers
}
