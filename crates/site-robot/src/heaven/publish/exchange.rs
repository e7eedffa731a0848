//! A staged heaven takes the place of the old one.

use std::{fs, io, path::Path};

use super::directory::{MARK, PublishDirectory, remove};
use crate::heaven::HeavenError;

/// Moves the staged tree into place; the old one is removed once the new one is seen there.
///
/// Where the system can exchange two directories (Linux), readers see the one
/// or the other at every moment; elsewhere there is none for an instant.
pub(super) fn put_in_place(places: &PublishDirectory) -> Result<(), HeavenError> {
    // Before the exchange: after a power failure a tree in place must not hold empty files.
    sync(&places.staging);
    let failed = HeavenError::on("put in place", &places.heaven);
    if !places.heaven.exists() {
        fs::rename(&places.staging, &places.heaven).map_err(failed)?;
    } else if exchange(&places.staging, &places.heaven).is_ok() {
        // What was staged is in place, and what was in place is staged.
        fs::rename(&places.staging, &places.old).map_err(failed)?;
    } else {
        in_two_steps(places).map_err(failed)?;
    }
    // The exchange itself is on the disk only when the directory above is.
    sync(&places.parent);
    prove(places)?;
    remove(&places.old)
}

fn in_two_steps(places: &PublishDirectory) -> io::Result<()> {
    fs::rename(&places.heaven, &places.old)?;
    fs::rename(&places.staging, &places.heaven).inspect_err(|_| {
        // It was there a moment ago; if it cannot go back, the next publication puts it back.
        let _ = fs::rename(&places.old, &places.heaven);
    })
}

/// Reads what must be there; without it the old tree comes back.
fn prove(places: &PublishDirectory) -> Result<(), HeavenError> {
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
            Err(HeavenError::on("prove", &start)(error))
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

/// Brings what was written to the disk: at once for all files, where the system can.
///
/// Heaven can be made again; a system that cannot do it loses no more than that.
pub(super) fn sync(directory: &Path) {
    let Ok(directory) = fs::File::open(directory) else {
        return;
    };
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::syncfs(&directory);
    #[cfg(not(target_os = "linux"))]
    let _ = directory.sync_all();
}
