//! An on-disk cache of the account, keys and certificates, which is readable only by the program's
//! user.

use std::{
    fs::{self, DirBuilder, OpenOptions, Permissions},
    io::{self, ErrorKind, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
const ACCOUNT: &str = "account.json";
/// The maximum size of an ACME account file.
const MAX_ACCOUNT_BYTES: u64 = 64 * 1024;
/// The maximum length of a cache directory's name; file systems allow 255 bytes.
const MAX_NAME_BYTES: usize = 200;

/// The cache directory for one certificate authority.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    directory: PathBuf,
}

impl Cache {
    /// Creates the cache for a certificate authority; nothing is written before [`Cache::prepare`]
    /// is called.
    ///
    /// Each authority has its own directory, so certificates from a staging authority are never
    /// mistaken for certificates from another authority.
    pub(super) fn new(cache: &Path, authority: &str) -> Self {
        let url = authority.trim_start_matches("https://");
        let name = url.chars().map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' => c,
            _ => '_',
        });
        Self {
            directory: cache.join(name.take(MAX_NAME_BYTES).collect::<String>()),
        }
    }

    /// Creates the cache directory, and checks that the directory is writable.
    ///
    /// This method is called before every order: a certificate that cannot be stored would be
    /// ordered again at the next start, and authorities limit the number of orders.
    pub(super) fn prepare(&self) -> io::Result<()> {
        let made = DirBuilder::new()
            .recursive(true)
            .mode(DIRECTORY_MODE)
            .create(&self.directory);
        made.and_then(|()| {
            // An existing directory keeps its mode, but private keys will be written to it.
            let private = Permissions::from_mode(DIRECTORY_MODE);
            fs::set_permissions(&self.directory, private)
        })
        .map_err(|error| explain(&self.directory, &error))?;
        let trial = self.directory.join("trial.new");
        write(&trial, b"")
            .and_then(|()| fs::remove_file(&trial))
            .map_err(|error| explain(&self.directory, &error))
    }

    /// Returns the path of the file that contains a host's key and certificates.
    pub(super) fn certificate_file(&self, host: &str) -> PathBuf {
        self.directory.join(format!("{host}.pem"))
    }

    /// Atomically writes a host's key and certificates to the host's file.
    pub(super) fn save_certificate(&self, host: &str, pem: &str) -> io::Result<()> {
        self.replace(&self.certificate_file(host), pem.as_bytes())
    }

    /// Returns the stored ACME account, or `None` if no account has been created yet.
    pub(super) fn account(&self) -> io::Result<Option<Vec<u8>>> {
        let file = self.directory.join(ACCOUNT);
        let mut bytes = Vec::new();
        let read = fs::File::open(&file)
            .and_then(|opened| opened.take(MAX_ACCOUNT_BYTES).read_to_end(&mut bytes));
        match read {
            Ok(_) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(explain(&file, &error)),
        }
    }

    pub(super) fn save_account(&self, json: &[u8]) -> io::Result<()> {
        self.replace(&self.directory.join(ACCOUNT), json)
    }

    /// Renames the file of an account that the authority does not recognise.
    pub(super) fn remove_account(&self) -> io::Result<()> {
        let file = self.directory.join(ACCOUNT);
        let aside = self.directory.join("account.json.unknown");
        fs::rename(&file, aside).map_err(|error| explain(&file, &error))
    }

    fn replace(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut new = file.as_os_str().to_owned();
        new.push(".new");
        let new = PathBuf::from(new);
        write(&new, bytes)
            .and_then(|()| fs::rename(&new, file))
            // A rename survives a power failure only after the directory has been synced.
            .and_then(|()| fs::File::open(&self.directory)?.sync_all())
            .map_err(|error| explain(file, &error))
    }
}

fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    // `create_new`, which sets the mode, fails if a crash has left a file behind.
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(FILE_MODE)
        .open(file)?;
    opened.write_all(bytes)?;
    opened.sync_all()
}

fn explain(file: &Path, error: &io::Error) -> io::Error {
    let text = format!("{}: {error}", file.display());
    io::Error::new(error.kind(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn cached_files_are_readable_only_by_this_user() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("deep/cache");
        let cache = Cache::new(&root, "https://ca.example:14000/../dir?x");
        cache.prepare().unwrap();
        let ours = root.join("ca.example_14000_.._dir_x");
        for made in [&root, &ours] {
            assert_eq!(mode(made), 0o700);
        }
        assert_eq!(cache.account().unwrap(), None);
        cache.save_account(b"{}").unwrap();
        cache.save_certificate("a.example", "old").unwrap();
        cache.save_certificate("a.example", "new").unwrap();
        let file = cache.certificate_file("a.example");
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        for file in [file, ours.join(ACCOUNT)] {
            assert_eq!(mode(&file), 0o600);
        }
        assert_eq!(cache.account().unwrap().unwrap(), b"{}");
        cache.remove_account().unwrap();
        assert_eq!(cache.account().unwrap(), None);

        fs::set_permissions(&ours, Permissions::from_mode(0o755)).unwrap();
        cache.prepare().unwrap();
        assert_eq!(mode(&ours), 0o700);
        assert_eq!(fs::read_dir(&ours).unwrap().count(), 2);
    }

    #[test]
    fn unwritable_directory_is_named_in_the_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Cache::new(&file, "https://a/b").prepare().unwrap_err();
        assert!(error.to_string().contains("file/a_b"), "{error}");
    }
}
