//! Replaces the published robot heaven with the staged tree.

use std::{fs, io, path::Path};

use super::directory::{MARK, PublishDirectory, remove};
use crate::heaven::HeavenError;

/// Moves the staged tree into place, checks it, and then removes the old tree.
///
/// If the system can exchange two directories atomically (Linux), readers always see either the old
/// or the new tree; on other systems, the directory is missing for an instant.
pub(super) fn swap_in(places: &PublishDirectory) -> Result<(), HeavenError> {
    // Syncs before the exchange, so that a power failure cannot leave empty files in place.
    sync(&places.staging);
    let failed = HeavenError::io_error("replace", &places.heaven);
    if !places.heaven.exists() {
        fs::rename(&places.staging, &places.heaven).map_err(failed)?;
    } else if exchange(&places.staging, &places.heaven).is_ok() {
        // After the exchange, the staging directory contains the old tree.
        fs::rename(&places.staging, &places.old).map_err(failed)?;
    } else {
        in_two_steps(places).map_err(failed)?;
    }
    // The exchange is durable only after the parent directory is synced.
    sync(&places.parent);
    verify(places)?;
    remove(&places.old)
}

fn in_two_steps(places: &PublishDirectory) -> io::Result<()> {
    fs::rename(&places.heaven, &places.old)?;
    fs::rename(&places.staging, &places.heaven).inspect_err(|_| {
        // If moving the old tree back fails, the next publication restores it.
        let _ = fs::rename(&places.old, &places.heaven);
    })
}

/// Checks that the new tree is readable; if not, restores the old tree.
fn verify(places: &PublishDirectory) -> Result<(), HeavenError> {
    let start = places.heaven.join("index.html");
    let seen = fs::metadata(places.heaven.join(MARK)).and_then(|_| fs::metadata(&start));
    match seen {
        Ok(start) if start.len() > 0 => Ok(()),
        other => {
            if places.old.exists() {
                let _ = fs::rename(&places.heaven, &places.staging);
                let _ = fs::rename(&places.old, &places.heaven);
            }
            let error = other
                .err()
                .unwrap_or_else(|| io::ErrorKind::InvalidData.into());
            Err(HeavenError::io_error("verify", &start)(error))
        }
    }
}

#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).map_err(io::Error::from)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Flushes written files to disk, all at once if the system supports this.
///
/// A failure is harmless because robot heaven can be published again.
fn sync(directory: &Path) {
    let Ok(directory) = fs::File::open(directory) else {
        return;
    };
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::syncfs(&directory);
    #[cfg(not(target_os = "linux"))]
    let _ = directory.sync_all();
}
