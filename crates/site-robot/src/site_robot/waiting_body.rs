//! Temporary storage of large page bodies on disk (Sun 7.1 `max-memory-per-url`).

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, Write as _},
    path::Path,
};

use bytes::Bytes;
use tokio::task::spawn_blocking;

use super::RobotConf;

/// Body of a page that is waiting to be processed.
#[derive(Debug)]
pub(super) enum WaitingBody {
    Memory(Bytes),
    /// An unnamed temporary file, which is deleted on drop.
    Disk(File),
}

impl WaitingBody {
    /// Moves a body that exceeds the size limit to disk; if this fails, the body stays in memory.
    pub(super) async fn new(body: Bytes, conf: &RobotConf) -> Self {
        let is_large = body.len() as u64 > conf.max_memory_per_url_bytes;
        // All bodies stay in memory unless the limit is set.
        if !is_large || !conf.has_own("max-memory-per-url") {
            return Self::Memory(body);
        }
        let (copy, directory) = (body.clone(), conf.tmpdir.clone());
        let written = spawn_blocking(move || write(&copy, directory.as_deref())).await;
        match written.map_err(io::Error::other).flatten() {
            Ok(file) => Self::Disk(file),
            Err(error) => {
                tracing::warn!("cannot store a page on disk; keeping it in memory: {error}");
                Self::Memory(body)
            }
        }
    }

    /// Returns the body, reading it back from disk if necessary.
    pub(super) fn take(self) -> io::Result<Bytes> {
        match self {
            Self::Memory(body) => Ok(body),
            Self::Disk(mut file) => {
                let mut body = Vec::new();
                file.read_to_end(&mut body)?;
                Ok(body.into())
            }
        }
    }
}

fn write(body: &[u8], directory: Option<&Path>) -> io::Result<File> {
    let mut file = match directory {
        Some(directory) => tempfile::tempfile_in(directory)?,
        None => tempfile::tempfile()?,
    };
    file.write_all(body)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn wait(body: &'static str, directory: &str) -> WaitingBody {
        let limit = format!("max-memory-per-url=4\ntmpdir={directory}\n");
        let conf = RobotConf::parse("robot.conf", &limit).unwrap();
        WaitingBody::new(Bytes::from_static(body.as_bytes()), &conf).await
    }

    #[tokio::test]
    async fn large_body_is_stored_on_disk_and_restored_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        let large = wait("larger", path).await;
        assert!(matches!(large, WaitingBody::Disk(_)));
        assert_eq!(large.take().unwrap(), "larger");
        assert!(matches!(wait("four", path).await, WaitingBody::Memory(_)));
        let none = std::fs::read_dir(path).unwrap().next();
        assert!(none.is_none(), "the temporary file has no name");
        let kept = wait("larger", "/nowhere").await;
        assert!(matches!(&kept, WaitingBody::Memory(_)));
        assert_eq!(kept.take().unwrap(), "larger");
    }
}
